//! What a new connection costs a proxy besides its requests, for plain proxies and for functions such as TLS.
//!
//! A request of a closed loop whose connections end after *r* requests costs what one on a connection that is kept costs, and a part of
//! what a connection costs. That part is on straight lines over *1/r* between the closed loops that a study has: not quite the *r*-th part,
//! because a busy proxy also reads fewer requests at once where some of them come with a connection. It is known at full load only.

use hoptax_result::ArmResult;

use crate::arms::{plain_traffic, priced};
use crate::graph::{Called, Traffic};
use crate::interpolation::weighted;
use crate::learn::Source;
use crate::sum::{Measured, Sum};

/// The loads that measure it, as in a study file.
const LOADS: &str =
    "loads `{name: kept, loop: closed}` and `{name: new, loop: closed, requests_per_connection: 1}`";

/// The CPU time of a new connection that carries a number of requests, us: a weighted sum of measured CPU times.
#[derive(Debug)]
pub(crate) struct OfConnection(Vec<(f64, Measured)>);

/// The new connections of requests of one kind.
#[derive(Debug)]
pub(crate) struct Connections<'a> {
    /// For each request.
    pub(crate) per_request: f64,
    pub(crate) plain: OfConnection,
    /// What the functions add that the results state it for.
    pub(crate) functions: Vec<(&'a Called, OfConnection)>,
    /// The functions that no result states it for.
    pub(crate) unknown: Vec<&'a str>,
}

impl OfConnection {
    /// From the CPU time per request under a load; none if the result has no such loads, or if the numbers do not count.
    ///
    /// With fewer requests than in all of them, a connection costs what it costs with the fewest.
    fn new(source: &Source<'_>, requests: u32, number: impl Fn(&str) -> Option<Measured>) -> Option<Self> {
        let kept = number(source.kept()?)?;
        let mut points: Vec<(f64, Measured)> = source
            .renewed()
            .into_iter()
            .filter_map(|(load, requests)| Some((1.0 / f64::from(requests), number(load)?)))
            .collect();
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (most, _) = points.last()?;
        // For each connection, without what its requests cost on a connection that is kept.
        let wanted = (1.0 / f64::from(requests)).min(*most);
        points.insert(0, (0.0, kept.clone()));
        let part = weighted(&points, |(share, _)| *share, wanted)
            .map(|(weight, (_, measured))| (weight / wanted, measured.clone()));
        Some(Self(part.chain([(-1.0 / wanted, kept)]).collect()))
    }

    /// Adds the CPU time of so many connections.
    pub(crate) fn add<'a>(&'a self, sum: &mut Sum<'a>, connections: f64) {
        self.0.iter().for_each(|(weight, measured)| sum.add(connections * weight, measured));
    }
}

impl<'a> Connections<'a> {
    /// What the results state about connections that carry this many requests each. What they lack is reported to `note`, with an arm
    /// that measures it.
    pub(crate) fn learn(
        requests: u32,
        (traffic, functions): (&Traffic, &'a [Called]),
        sources: &[Source<'_>],
        mut note: impl FnMut((String, String)),
    ) -> Option<Self> {
        let plain = sources.iter().find_map(|source| of_plain(source, requests, traffic));
        if plain.is_none() {
            note((
                format!("the CPU time of a new connection with {}: the {LOADS}", traffic.protocol),
                format!("- {{function: baseline, at: {{protocol: {}}}}}", traffic.protocol),
            ));
        }
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for called in functions {
            match sources.iter().find_map(|source| of_function(source, requests, called, traffic)) {
                Some(one) => known.push((called, one)),
                None => unknown.push(called.text.as_str()),
            }
        }
        Some(Self { per_request: 1.0 / f64::from(requests), plain: plain?, functions: known, unknown })
    }

    /// Adds the CPU time of the connections of so many requests, with that of the functions that are kept.
    pub(crate) fn add<'b>(&'b self, sum: &mut Sum<'b>, requests: f64, is_kept: impl Fn(&Called) -> bool) {
        let connections = requests * self.per_request;
        self.plain.add(sum, connections);
        for (_, one) in self.functions.iter().filter(|(called, _)| is_kept(called)) {
            one.add(sum, connections);
        }
    }
}

/// A connection to a plain proxy: with the same requests, or else with any of the same protocol.
fn of_plain(source: &Source<'_>, requests: u32, traffic: &Traffic) -> Option<OfConnection> {
    let of = |arm: &ArmResult| OfConnection::new(source, requests, |load| source.level(arm, load));
    let plain = |is_it: &dyn Fn(&Traffic) -> bool| {
        let mut arms = source.result.arms.iter();
        arms.find(|arm| plain_traffic(arm).is_some_and(|own| is_it(&own)))
    };
    plain(&|own| own == traffic).or_else(|| plain(&|own| own.protocol == traffic.protocol)).and_then(of)
}

/// What a function adds to a connection.
fn of_function(
    source: &Source<'_>,
    requests: u32,
    called: &Called,
    traffic: &Traffic,
) -> Option<OfConnection> {
    let (arm, _) = priced(source.result, |function| called.is(function), traffic)?;
    OfConnection::new(source, requests, |load| source.cost(arm, load))
}
