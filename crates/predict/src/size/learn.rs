//! Learns from results the CPU time per request as a function of the busy share of the processors, for plain proxies and for added
//! functions.

use hoptax_judge::summary::CpuByRound;
use hoptax_result::{ArmResult, Interval, LoadSpec, Loop, PlannedHop, StudyResult};
use hoptax_stats::Weighted;

use crate::size::arms::{Candidate, alone, hops, plain_traffic, reference, single_function};
use crate::size::graph::{Called, Traffic};
use crate::size::interpolation::weighted;
use crate::size::sum::{Measured, Sum};

/// A result, and those of its loads under which all arms are about equally busy: closed loops, and open loops at a share of the capacity.
pub(crate) struct Source<'a> {
    pub(crate) number: usize,
    pub(crate) result: &'a StudyResult,
    loads: Vec<LoadRounds<'a>>,
}

/// A load with the CPU times of its rounds; none if the result has no rounds.
struct LoadRounds<'a> {
    load: &'a LoadSpec,
    by_round: Option<CpuByRound<'a>>,
}

/// CPU time per request, us, as a function of the busy share of the processors, ascending.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve(Vec<Point>);

/// A point of a curve: a weighted sum of measured CPU times.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    busy: f64,
    terms: Vec<Weighted<Measured>>,
}

/// A number that is missing from all results.
pub(crate) struct Gap {
    /// The number in words.
    pub(crate) number: String,
    /// An arm, as in a study file, that measures it.
    pub(crate) arm: String,
}

/// CPU time of a plain proxy, and the arms that state it.
pub(crate) struct Plain<'a> {
    pub(crate) curve: Curve,
    pub(crate) source: usize,
    pub(crate) arm: &'a ArmResult,
    /// The arms with smaller and larger bodies, if the CPU time is interpolated between them; `arm` is the nearer one.
    pub(crate) between: Option<[&'a ArmResult; 2]>,
}

/// CPU time that a function adds, and the arm that states it.
pub(crate) struct Priced<'a> {
    pub(crate) curve: Curve,
    pub(crate) source: usize,
    pub(crate) arm: &'a ArmResult,
    /// True if the measurement had exactly the requested kind of requests.
    pub(crate) is_same_traffic: bool,
}

/// The sizes of the bodies of requests and responses, of which one varies.
struct BodySizes {
    varied_bytes: u64,
    other_bytes: u64,
}

impl<'a> Source<'a> {
    pub(crate) fn new(number: usize, result: &'a StudyResult) -> Self {
        let is_equally_busy = |load: &&LoadSpec| load.loop_ == Loop::Closed || load.utilisation.is_some();
        let loads = result.plan.loads.iter().filter(is_equally_busy);
        let loads =
            loads.map(|load| LoadRounds { load, by_round: CpuByRound::new(result, &load.name) }).collect();
        Self { number, result, loads }
    }

    /// The plain proxy with these requests; none if the result has none that counts.
    pub(crate) fn plain(&self, traffic: &Traffic) -> Option<Plain<'a>> {
        self.plain_of(self.result.arms.iter().find(|arm| plain_traffic(arm).as_ref() == Some(traffic))?)
    }

    /// The plain proxy of an arm; none if none of its numbers counts.
    pub(crate) fn plain_of(&self, arm: &'a ArmResult) -> Option<Plain<'a>> {
        let curve = self.levels(arm, |_| true)?;
        Some(Plain { curve, source: self.number, arm, between: None })
    }

    /// A plain proxy whose body size lies between those of two measured plain proxies, interpolated linearly over the size; none if the
    /// result lacks one side.
    pub(crate) fn plain_between(&self, traffic: &Traffic) -> Option<Plain<'a>> {
        let of_request = |traffic: &Traffic| BodySizes {
            varied_bytes: traffic.request_bytes,
            other_bytes: traffic.response_bytes,
        };
        let of_response = |traffic: &Traffic| BodySizes {
            varied_bytes: traffic.response_bytes,
            other_bytes: traffic.request_bytes,
        };
        self.between(traffic, of_response).or_else(|| self.between(traffic, of_request))
    }

    /// Interpolates over one of the two sizes, with the other unchanged.
    fn between(&self, traffic: &Traffic, sizes: impl Fn(&Traffic) -> BodySizes) -> Option<Plain<'a>> {
        let BodySizes { varied_bytes: wanted, other_bytes } = sizes(traffic);
        let mut measured: Vec<(u64, Plain<'a>)> = Vec::new();
        for arm in &self.result.arms {
            let Some(own) = plain_traffic(arm).filter(|own| own.protocol == traffic.protocol) else {
                continue;
            };
            let own = sizes(&own);
            let plain = self.plain_of(arm).filter(|_| own.other_bytes == other_bytes);
            measured.extend(plain.map(|plain| (own.varied_bytes, plain)));
        }
        let low = measured.iter().filter(|(bytes, _)| *bytes < wanted).max_by_key(|(bytes, _)| *bytes)?;
        let high = measured.iter().filter(|(bytes, _)| *bytes > wanted).min_by_key(|(bytes, _)| *bytes)?;
        let share = (wanted - low.0) as f64 / (high.0 - low.0) as f64;
        let curve = Curve::between(&low.1.curve, &high.1.curve, share)?;
        let nearer = if share < 0.5 { low.1.arm } else { high.1.arm };
        Some(Plain { curve, source: self.number, arm: nearer, between: Some([low.1.arm, high.1.arm]) })
    }

    /// The CPU time of an arm under the loads for which `counts` is true; none if none of its numbers counts.
    fn levels(&self, arm: &ArmResult, counts: impl Fn(&str) -> bool) -> Option<Curve> {
        let point = |load| {
            Some(Point { busy: busy(arm, load)?, terms: vec![Weighted::new(1.0, self.level(arm, load)?)] })
        };
        Curve::new(self.loads().filter(|load| counts(load)).filter_map(point).collect())
    }

    /// Returns the CPU time that a function adds to requests of this protocol; none if the result does not state it.
    pub(crate) fn function(&self, called: &Called, traffic: &Traffic) -> Option<Priced<'a>> {
        let arms = alone(self.result, |function| called.is(function), traffic);
        let Candidate { arm, is_same_traffic } = arms.first().copied()?;
        let plain = reference(self.result, arm)?;
        let in_use = self.levels(plain, |load| !self.is_closed(load));
        let points = self.loads().filter_map(|load| self.added(arm, plain, in_use.as_ref(), load));
        let curve = Curve::new(points.collect())?;
        Some(Priced { curve, source: self.number, arm, is_same_traffic })
    }

    /// Returns true if the result states the CPU time of the plain proxy with these requests under a load that counts; none if it has no
    /// such proxy.
    pub(crate) fn states_plain(&self, traffic: &Traffic) -> Option<bool> {
        let arm = self.result.arms.iter().find(|arm| plain_traffic(arm).as_ref() == Some(traffic))?;
        Some(self.loads().any(|load| self.level(arm, load).is_some()))
    }

    /// Returns true if the result states the CPU time that this function adds to a plain proxy under a load that counts; none if it has no
    /// arm with only this function and with this protocol.
    pub(crate) fn states_function(&self, called: &Called, traffic: &Traffic) -> Option<bool> {
        let arms = alone(self.result, |function| called.is(function), traffic);
        let Candidate { arm, .. } = arms.first().copied()?;
        let plain = reference(self.result, arm);
        let has_level = |load| plain.is_some_and(|plain| self.level(plain, load).is_some());
        let is_stated = |load| self.cost(arm, load).is_some() && (self.is_closed(load) || has_level(load));
        Some(self.loads().any(is_stated))
    }

    /// Returns the CPU time that a function adds to a plain proxy under one load. The plain proxy comes with its CPU time under all open
    /// loops.
    ///
    /// An open loop at a share of the capacity does not make both proxies equally busy: the capacity is measured only once, and below
    /// capacity their requests become more expensive by different factors. So the cost is corrected by the difference that this makes for a
    /// plain proxy, according to its curve. A closed loop keeps both proxies fully busy. It is not a point of that curve, which is flat
    /// above the busiest open loop.
    fn added(&self, arm: &ArmResult, plain: &ArmResult, in_use: Option<&Curve>, load: &str) -> Option<Point> {
        let cost = self.cost(arm, load)?;
        let [own, of_plain] = [busy(arm, load)?, busy(plain, load)?];
        if self.is_closed(load) {
            return Some(Point { busy: of_plain, terms: vec![Weighted::new(1.0, cost)] });
        }
        let level = self.level(plain, load)?;
        let at_own = in_use?.at(own).into_terms().map(|term| Weighted::new(-term.weight, term.value.clone()));
        Some(Point {
            busy: own,
            terms: [cost, level].map(|one| Weighted::new(1.0, one)).into_iter().chain(at_own).collect(),
        })
    }

    /// Returns the cost of an arm over the arm that it is compared with, under one load; none if the cost does not count.
    pub(crate) fn cost(&self, arm: &ArmResult, load: &str) -> Option<Measured> {
        let other = arm.compared_with.as_deref()?;
        let interval = arm.under(load)?.cost.cpu_us_per_request?;
        Some(self.measured(interval, self.by_round(load).and_then(|by_round| by_round.cost(&arm.id, other))))
    }

    /// The CPU time of an arm under one load; none if the number does not count.
    pub(crate) fn level(&self, arm: &ArmResult, load: &str) -> Option<Measured> {
        let interval = arm.under(load)?.cpu_us_per_request?;
        Some(self.measured(interval, self.by_round(load).map(|by_round| by_round.level(&arm.id))))
    }

    fn measured(&self, interval: Interval, rounds: Option<Vec<Option<f64>>>) -> Measured {
        let confidence = self.result.plan.quantile_confidence();
        Measured { source: self.number, interval, rounds, confidence }
    }

    /// The rounds of a load; none if the result has none.
    fn by_round(&self, load: &str) -> Option<&CpuByRound<'a>> {
        self.loads.iter().find(|one| one.load.name == load)?.by_round.as_ref()
    }

    /// The processors that the proxies of an arm can keep busy at once.
    pub(crate) fn processors(&self, arm: &ArmResult) -> f64 {
        let all = processors(self.result);
        let workers = |hop: &PlannedHop| hop.workers.map_or(all, f64::from);
        hops(arm).map_or(all, |hops| hops.iter().map(workers).sum::<f64>().min(all))
    }

    fn is_closed(&self, load: &str) -> bool {
        self.result.plan.loads.iter().any(|one| one.name == load && one.loop_ == Loop::Closed)
    }

    /// The loads under which all arms are about equally busy, and whose connections are kept.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &'a str> {
        let kept = self.loads.iter().filter(|one| one.load.requests_per_connection.is_none());
        kept.map(|one| one.load.name.as_str())
    }

    /// A closed loop whose connections are kept.
    pub(crate) fn kept(&self) -> Option<&'a str> {
        self.loads().find(|load| self.is_closed(load))
    }

    /// The closed loops whose connections end after a number of requests, with that number: the first for each number.
    pub(crate) fn renewed(&self) -> Vec<(&'a str, u32)> {
        let mut found: Vec<(&'a str, u32)> = Vec::new();
        for load in self.loads.iter().map(|one| one.load).filter(|load| load.loop_ == Loop::Closed) {
            let requests = load.requests_per_connection.filter(|requests| *requests > 0);
            let is_new = |requests: &u32| found.iter().all(|(_, other)| other != requests);
            if let Some(requests) = requests.filter(is_new) {
                found.push((&load.name, requests));
            }
        }
        found
    }

    /// The ids of the arms that have only the function `id`, whatever its knobs and the protocol.
    pub(crate) fn arms_of(&self, id: &str) -> impl Iterator<Item = &'a str> {
        let has = move |arm: &&ArmResult| single_function(arm).is_some_and(|function| function.id == id);
        self.result.arms.iter().filter(has).map(|arm| arm.id.as_str())
    }
}

/// The number of processors that proxies may use.
fn processors(result: &StudyResult) -> f64 {
    result.environment.proxy_cpus.len().max(1) as f64
}

impl Curve {
    /// None without a point.
    fn new(mut points: Vec<Point>) -> Option<Self> {
        points.sort_by(|one, other| one.busy.total_cmp(&other.busy));
        (!points.is_empty()).then_some(Self(points))
    }

    /// Interpolates between two curves at each busy share of either: `share` is 0 for the first curve and 1 for the second.
    fn between(low: &Self, high: &Self, share: f64) -> Option<Self> {
        let point = |busy: f64| {
            let of = |curve: &Self, weight: f64| -> Vec<Weighted<Measured>> {
                let terms = curve.at(busy).into_terms();
                terms.map(|own| Weighted::new(weight * own.weight, own.value.clone())).collect()
            };
            Point { busy, terms: [of(low, 1.0 - share), of(high, share)].concat() }
        };
        Self::new(low.busy_shares().chain(high.busy_shares()).map(point).collect())
    }

    /// The busy shares of its points, ascending.
    pub(crate) fn busy_shares(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|point| point.busy)
    }

    /// The CPU time at this busy share: interpolated linearly between the nearest points, or that of the first or last point outside of all
    /// points.
    pub(crate) fn at(&self, busy: f64) -> Sum<'_> {
        let mut sum = Sum::default();
        weighted(&self.0, |point| point.busy, busy)
            .flat_map(|point| {
                point.value.terms.iter().map(move |own| (point.weight * own.weight, &own.value))
            })
            .for_each(|(weight, measured)| sum.add(weight, measured));
        sum
    }
}

/// The busy share of the proxies of an arm under a load, as a share of the capacity of their processors. It has the same meaning as `b` in
/// `b = cores(b) / workers`, so it refers to the time in which the load was offered. As a share of the time between readings of counters,
/// proxies that were saturated in short slices would look partly idle.
fn busy(arm: &ArmResult, load: &str) -> Option<f64> {
    arm.under(load)?.proxy_busy_share
}
