//! What holds the numbers of an arm, whatever the disturbances that the evidence shows did to them. Checks keep the bounds of numbers that
//! they withhold for such a disturbance, and drop the others.

use std::collections::BTreeMap;

use hoptax_result::{
    ArmLoad, ArmResult, Book, Bound, BoundOf, Bounds, CostMeasure, Interval, LoadSpec, Loop, Sample,
    StudyPlan, StudyRound,
};
use hoptax_stats::{Ends, lateness, quantile_ends};

use super::histogram;
use super::response::Times;
use super::samples::Rounds;
use super::speed::{Speed, speed};
use crate::measure;

/// The evidence that bounds are computed from.
pub(super) struct Evidence<'a> {
    rounds: Rounds<'a>,
    /// How late the generator itself was to send, nanoseconds, as in [`Rounds::times`].
    lags: Vec<Times>,
    as_planned: AsPlanned,
}

/// The first measurement of each planned slice, disturbed or not, so that no disturbance selects any.
struct AsPlanned {
    rounds: Vec<StudyRound>,
    /// By load.
    speeds: BTreeMap<String, Speed>,
    /// Whether they differ from the slices that count.
    differ: bool,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(rounds: Rounds<'a>, plan: &StudyPlan) -> Self {
        let of_sample = |sample: &Sample| {
            let counts = histogram::counts(Some(sample.own_lag.as_ref()?));
            Some(((sample.arm.clone(), sample.load.clone()), counts))
        };
        let lags =
            rounds.all.iter().map(|round| round.samples.iter().filter_map(of_sample).collect()).collect();
        Self { rounds, lags, as_planned: AsPlanned::new(rounds.all, plan) }
    }

    /// The bounds of an arm under a load, beside its numbers.
    pub(super) fn of_load(&self, arm: &ArmResult, under: &ArmLoad, others: Option<&ArmLoad>, load: &LoadSpec) -> Bounds {
        let mut bounds = self.of_slices(arm, under);
        if load.loop_ == Loop::Open {
            for quantile in &QUANTILES {
                bounds.extend(self.of_quantile(arm, (under, others), quantile));
            }
        }
        Bounds(bounds)
    }

    /// Between the number of the slices that count and that of all slices as planned.
    fn of_slices(&self, arm: &ArmResult, under: &ArmLoad) -> Vec<Bound> {
        let load = under.load.as_str();
        let planned = self.as_planned.rounds(self.rounds.confidence);
        let factors = |other: &str| Some(self.as_planned.speeds.get(load)?.between(&arm.id, other));
        let other = arm.compared_with.as_deref();
        let differs = |measure, compare: fn(f64, f64) -> f64, is_cpu: bool| {
            let factors = other.filter(|_| is_cpu).and_then(factors);
            planned.cost((&arm.id, other?), load, (measure, factors.as_ref()), compare)
        };
        let less: fn(f64, f64) -> f64 = |own, other| own - other;
        let of_all: [(BoundOf, CostMeasure, Option<Interval>, &dyn Fn() -> Option<Interval>); 5] = [
            (BoundOf::Level, CostMeasure::CpuUs, under.cpu_us_per_request, &|| {
                planned.level(&arm.id, load, &measure::CPU)
            }),
            (BoundOf::Level, CostMeasure::MaxRate, under.rate, &|| planned.level(&arm.id, load, &measure::RATE)),
            (BoundOf::Cost, CostMeasure::CpuUs, under.cost.cpu_us_per_request, &|| {
                differs(&measure::CPU, less, true)
            }),
            (BoundOf::Cost, CostMeasure::CpuShare, under.cost.cpu_share, &|| {
                differs(&measure::CPU, |own, other| (own - other) / other, true)
            }),
            (BoundOf::Cost, CostMeasure::MaxRate, under.cost.max_rate, &|| differs(&measure::RATE, less, false)),
        ];
        let bound = |(of, measure, stated, planned): (BoundOf, CostMeasure, Option<Interval>, &dyn Fn() -> Option<Interval>)| {
            let stated = stated?;
            let planned = if self.as_planned.differ { planned()? } else { stated };
            Some(Bound::new(of, measure, Some(stated.low), Some(stated.high))?.extended_to(&planned))
        };
        of_all.into_iter().filter_map(bound).collect()
    }

    /// What holds a quantile of response time and its difference from that of the other arm.
    fn of_quantile(
        &self,
        arm: &ArmResult,
        (under, others): (&ArmLoad, Option<&ArmLoad>),
        quantile: &Quantile,
    ) -> Vec<Bound> {
        let stated = quantile.measure.of(&under.cost);
        let own = self.side(&arm.id, under, quantile);
        let level = own.level(quantile, self.rounds.confidence);
        let mut found = vec![Bound::new(BoundOf::Level, quantile.measure, level.low, level.high)];
        if let Some((other, others)) = arm.compared_with.as_deref().zip(others) {
            let other = self.side(other, others, quantile);
            let cost = own.cost(&other, stated, quantile, self.rounds.confidence);
            found.push(Bound::new(BoundOf::Cost, quantile.measure, cost.low, cost.high));
        }
        found.into_iter().flatten().collect()
    }

    fn side(&self, arm: &str, under: &ArmLoad, quantile: &Quantile) -> Side<'_> {
        let key = (arm.to_owned(), under.load.clone());
        let of = |times: &'_ [Times]| -> Vec<Vec<(u64, u64)>> { times.iter().map(|round| round.get(&key).cloned().unwrap_or_default()).collect() };
        Side {
            responses: self.rounds.times.iter().map(|round| round.get(&key).map_or([].as_slice(), Vec::as_slice)).collect(),
            lags: self.lags.iter().map(|round| round.get(&key).map_or([].as_slice(), Vec::as_slice)).collect(),
            missing: missing_share(&under.book),
            stated: (quantile.level)(under),
        }
    }
}
