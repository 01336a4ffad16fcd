//! Learns from results: CPU time per request over the busy share of the processors, for plain proxies and for what functions add.

use hoptax_result::{ArmLoad, ArmResult, Interval, Loop, StudyResult};
use hoptax_study::summary::CpuByRound;

use crate::arms::{plain_chain, plain_traffic, priced, reference, single_function};
use crate::graph::{Called, Traffic};
use crate::interpolation::weighted;
use crate::sharing::Sharing;
use crate::sum::{Measured, Sum};

/// A result, and the loads of it at which all arms are equally busy: closed loops, and open loops at a share of the capacity.
pub(crate) struct Source<'a> {
    pub(crate) number: usize,
    pub(crate) result: &'a StudyResult,
    loads: Vec<(&'a str, Option<CpuByRound<'a>>)>,
}

/// A CPU time per request, us, over the busy share of the processors, ascending.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve(Vec<Point>);

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    busy: f64,
    load: String,
    measured: Measured,
}

/// What a plain proxy uses.
pub(crate) struct Plain<'a> {
    pub(crate) curve: Curve,
    pub(crate) source: usize,
    pub(crate) arm: &'a ArmResult,
}

/// What a function adds.
pub(crate) struct Priced<'a> {
    pub(crate) curve: Curve,
    pub(crate) source: usize,
    pub(crate) arm: &'a ArmResult,
    /// Whether it was measured with the requests that it was asked for.
    pub(crate) is_same_traffic: bool,
}

impl<'a> Source<'a> {
    pub(crate) fn new(number: usize, result: &'a StudyResult) -> Self {
        let is_equally_busy =
            |load: &&hoptax_result::LoadSpec| load.loop_ == Loop::Closed || load.utilisation.is_some();
        let loads = result.plan.loads.iter().filter(is_equally_busy);
        let loads = loads.map(|load| (load.name.as_str(), CpuByRound::new(result, &load.name))).collect();
        Self { number, result, loads }
    }

    /// The plain proxy with these requests; none if the result has none that counts.
    pub(crate) fn plain(&self, traffic: &Traffic) -> Option<Plain<'a>> {
        self.plain_of(self.result.arms.iter().find(|arm| plain_traffic(arm).as_ref() == Some(traffic))?)
    }

    /// The plain proxy of an arm; none if none of its numbers counts.
    pub(crate) fn plain_of(&self, arm: &'a ArmResult) -> Option<Plain<'a>> {
        let curve = self.curve(arm, |load| {
            Some((under(arm, load.0)?.cpu_us_per_request?, load.1.map(|by_round| by_round.level(&arm.id))))
        })?;
        Some(Plain { curve, source: self.number, arm })
    }

    /// What a function adds to requests of this protocol; none if the result does not state it.
    pub(crate) fn function(&self, called: &Called, traffic: &Traffic) -> Option<Priced<'a>> {
        let (arm, is_same_traffic) = priced(self.result, |function| called.is(function), traffic)?;
        let other = reference(self.result, arm)?;
        let curve = self.curve(other, |load| {
            let rounds = load.1.map(|by_round| by_round.cost(&arm.id, &other.id));
            Some((under(arm, load.0)?.cost.cpu_us_per_request?, rounds.flatten()))
        })?;
        Some(Priced { curve, source: self.number, arm, is_same_traffic })
    }

    /// What proxies that share processors cost each other, from each chain of plain proxies that counts. Within a chain there is no TLS, so
    /// one whose plain proxy accepts TLS does not count.
    pub(crate) fn chains(&self) -> Vec<Sharing<'a>> {
        let chain = |arm: &'a ArmResult| {
            let other = reference(self.result, arm).filter(|other| plain_traffic(other).is_some())?;
            Sharing::new(self.plain_of(other)?, self.plain_of(arm)?, plain_chain(arm)?)
        };
        self.result.arms.iter().filter_map(chain).collect()
    }

    /// What an arm costs more than the arm that it is compared with, under one load; none if that does not count.
    pub(crate) fn cost(&self, arm: &ArmResult, load: &str) -> Option<Measured> {
        let (_, by_round) = self.loads.iter().find(|(name, _)| *name == load)?;
        let other = arm.compared_with.as_deref()?;
        Some(Measured {
            source: self.number,
            interval: under(arm, load)?.cost.cpu_us_per_request?,
            rounds: by_round.as_ref().and_then(|by_round| by_round.cost(&arm.id, other)),
            confidence: self.result.plan.quantile_confidence(),
        })
    }

    /// The loads at which all arms are equally busy.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &'a str> {
        self.loads.iter().map(|(name, _)| *name)
    }

    /// The ids of the arms that have only the function `id`, whatever its knobs and the protocol.
    pub(crate) fn arms_of(&self, id: &str) -> impl Iterator<Item = &'a str> {
        let has = move |arm: &&ArmResult| single_function(arm).is_some_and(|function| function.id == id);
        self.result.arms.iter().filter(has).map(|arm| arm.id.as_str())
    }

    /// The busy shares of the processors of an arm, with a number under each load.
    fn curve(
        &self,
        arm: &ArmResult,
        number: impl Fn((&str, Option<&CpuByRound<'a>>)) -> Option<(Interval, Option<Vec<Option<f64>>>)>,
    ) -> Option<Curve> {
        let processors = self.result.environment.proxy_cpus.len().max(1) as f64;
        let point = |(load, by_round): &(&str, Option<CpuByRound<'a>>)| {
            let busy = under(arm, load)?.proxy_core_share? / processors;
            let (interval, rounds) = number((load, by_round.as_ref()))?;
            let confidence = self.result.plan.quantile_confidence();
            let measured = Measured { source: self.number, interval, rounds, confidence };
            Some(Point { busy, load: (*load).to_owned(), measured })
        };
        Curve::new(self.loads.iter().filter_map(point).collect())
    }
}

/// The results of an arm under one load.
pub(crate) fn under<'a>(arm: &'a ArmResult, load: &str) -> Option<&'a ArmLoad> {
    arm.loads.iter().find(|one| one.load == load)
}

impl Curve {
    /// None without a point.
    fn new(mut points: Vec<Point>) -> Option<Self> {
        points.sort_by(|one, other| one.busy.total_cmp(&other.busy));
        (!points.is_empty()).then_some(Self(points))
    }

    /// The busy shares of its points, ascending.
    pub(crate) fn busy_shares(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|point| point.busy)
    }

    /// The number under one load.
    pub(crate) fn under(&self, load: &str) -> Option<&Measured> {
        self.0.iter().find(|point| point.load == load).map(|point| &point.measured)
    }

    /// The CPU time at this busy share: on a straight line between the nearest points, and that of the first or last point
    /// outside of all.
    pub(crate) fn at(&self, busy: f64) -> Sum<'_> {
        let mut sum = Sum::default();
        weighted(&self.0, |point| point.busy, busy)
            .for_each(|(weight, point)| sum.add(weight, &point.measured));
        sum
    }
}
