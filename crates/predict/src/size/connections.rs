//! The cost of a new connection to a proxy, without its requests, for plain proxies and for functions such as TLS.
//!
//! In a closed loop whose connections end after *r* requests, a request costs as much as on a connection that is kept, plus a part of the
//! cost of a connection. This part is interpolated linearly over *1/r* between the closed loops of a study. It is not exactly one *r*-th,
//! because a busy proxy reads fewer requests at once if some of them arrive with a new connection. It is known at full load only.

use hoptax_result::ArmResult;
use hoptax_stats::Weighted;

use crate::size::arms::{Candidate, alone, plain};
use crate::size::graph::{Called, Traffic};
use crate::size::interpolation::weighted;
use crate::size::learn::{Gap, Source};
use crate::size::sum::{Measured, Sum};

/// The loads that measure the cost of a connection, as in a study file.
const LOADS: &str =
    "loads `{name: kept, loop: closed}` and `{name: new, loop: closed, requests_per_connection: 1}`";

/// The CPU time of a new connection that carries a number of requests, us.
#[derive(Debug)]
pub(crate) struct OfConnection<'a> {
    /// A weighted sum of measured CPU times.
    terms: Vec<Weighted<Measured>>,
    /// The index of the result that states this CPU time.
    pub(crate) source: usize,
    /// The arm that it was measured on.
    pub(crate) arm: &'a ArmResult,
    /// True if the measurement had exactly the requested kind of requests.
    pub(crate) is_same_traffic: bool,
}

/// The new connections that requests of one kind cause.
#[derive(Debug)]
pub(crate) struct Connections<'a> {
    /// New connections for each request.
    pub(crate) per_request: f64,
    pub(crate) plain: OfConnection<'a>,
    /// The functions whose cost of connections is in the results, with the cost that each adds.
    pub(crate) functions: Vec<(&'a Called, OfConnection<'a>)>,
    /// The functions whose cost of connections is in no result.
    pub(crate) unknown: Vec<&'a str>,
}

impl<'a> OfConnection<'a> {
    /// Computed from the CPU times per request of the first of these arms whose numbers count; none if the result has no such loads, or if
    /// no numbers count.
    fn of_first(
        arms: Vec<Candidate<'a>>,
        source: &Source<'a>,
        requests: u32,
        number: impl Fn(&ArmResult, &str) -> Option<Measured>,
    ) -> Option<Self> {
        arms.into_iter().find_map(|Candidate { arm, is_same_traffic }| {
            let terms = Self::terms(source, requests, |load| number(arm, load))?;
            Some(Self { terms, source: source.number, arm, is_same_traffic })
        })
    }

    /// Computed from the CPU time per request under each load; none if the result has no such loads, or if the numbers do not count.
    ///
    /// A connection with fewer requests than any measured one costs as much as the measured one with the fewest.
    fn terms(
        source: &Source<'_>,
        requests: u32,
        number: impl Fn(&str) -> Option<Measured>,
    ) -> Option<Vec<Weighted<Measured>>> {
        let kept = number(source.kept()?)?;
        let mut points: Vec<(f64, Measured)> = source
            .renewed()
            .into_iter()
            .filter_map(|(load, requests)| Some((1.0 / f64::from(requests), number(load)?)))
            .collect();
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (most, _) = points.last()?;
        // For each connection, without the cost of its requests on a connection that is kept.
        let wanted = (1.0 / f64::from(requests)).min(*most);
        points.insert(0, (0.0, kept.clone()));
        let part = weighted(&points, |(share, _)| *share, wanted)
            .map(|part| Weighted::new(part.weight / wanted, part.value.1.clone()));
        Some(part.chain([Weighted::new(-1.0 / wanted, kept)]).collect())
    }

    /// Adds the CPU time of this many connections.
    pub(crate) fn add<'b>(&'b self, sum: &mut Sum<'b>, connections: f64) {
        self.terms.iter().for_each(|term| sum.add(connections * term.weight, &term.value));
    }
}

impl<'a> Connections<'a> {
    /// Learns the cost of connections that carry this many requests each. Each gap in the results is reported to `note`.
    pub(crate) fn learn(
        requests: u32,
        traffic: &Traffic,
        functions: &'a [Called],
        sources: &[Source<'a>],
        mut note: impl FnMut(Gap),
    ) -> Option<Self> {
        let plain = preferred(sources.iter().filter_map(|source| of_plain(source, requests, traffic)));
        if plain.is_none() {
            note(Gap {
                number: format!("the CPU time of a new connection with {}: the {LOADS}", traffic.protocol),
                arm: format!("- {{function: baseline, at: {{protocol: {}}}}}", traffic.protocol),
            });
        }
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for called in functions {
            let found = sources.iter().filter_map(|source| of_function(source, requests, called, traffic));
            match preferred(found) {
                Some(one) => known.push((called, one)),
                None => unknown.push(called.text.as_str()),
            }
        }
        Some(Self { per_request: 1.0 / f64::from(requests), plain: plain?, functions: known, unknown })
    }

    /// The indexes of the results that state these costs.
    pub(crate) fn sources(&self) -> impl Iterator<Item = usize> {
        let functions = self.functions.iter().map(|(_, one)| one.source);
        std::iter::once(self.plain.source).chain(functions)
    }

    /// Adds the CPU time of the connections of this many requests, with the functions for which `is_kept` is true.
    pub(crate) fn add<'b>(&'b self, sum: &mut Sum<'b>, requests: f64, is_kept: impl Fn(&Called) -> bool) {
        let connections = requests * self.per_request;
        self.plain.add(sum, connections);
        for (_, one) in self.functions.iter().filter(|(called, _)| is_kept(called)) {
            one.add(sum, connections);
        }
    }
}

/// Returns the first measurement with the same requests, or else the first of all.
fn preferred<'a>(found: impl Iterator<Item = OfConnection<'a>>) -> Option<OfConnection<'a>> {
    found.min_by_key(|one| !one.is_same_traffic)
}

/// A connection to a plain proxy: measured with the same requests, or else with any requests of the same protocol.
fn of_plain<'a>(source: &Source<'a>, requests: u32, traffic: &Traffic) -> Option<OfConnection<'a>> {
    let arms = plain(source.result, traffic);
    OfConnection::of_first(arms, source, requests, |arm, load| source.level(arm, load))
}

/// Returns the cost that a function adds to a connection: measured with the same requests, or else with any requests of the same protocol.
fn of_function<'a>(
    source: &Source<'a>,
    requests: u32,
    called: &Called,
    traffic: &Traffic,
) -> Option<OfConnection<'a>> {
    let arms = alone(source.result, |function| called.is(function), traffic);
    OfConnection::of_first(arms, source, requests, |arm, load| source.cost(arm, load))
}
