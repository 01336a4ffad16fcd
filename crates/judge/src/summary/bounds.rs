//! Bounds of the numbers of an arm that hold in spite of the disturbances in the evidence. Checks keep the bounds of numbers that they
//! withhold for such a disturbance, and drop the others.

mod quantiles;

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{
    ArmLoad, ArmResult, Bound, BoundOf, Bounds, CostMeasure, CountedTime, Disturbance, Interval, LoadSpec,
    Loop, Sample, StudyPlan, StudyRound,
};

use super::samples::{Pairing, Rounds};
use super::speed::{Speed, speed};
use super::times::{self, Times};
use crate::measures::{self, Measure};
use quantiles::{QUANTILES, QUIET_P99, Quantile, Side};

/// The evidence that bounds are computed from.
pub(super) struct Evidence<'a> {
    rounds: Rounds<'a>,
    /// Times of all slices that count.
    of_all: Tail<'a>,
    /// Times of quiet slices.
    of_quiet: Tail<'a>,
    /// The first measurement of each planned slice, disturbed or not, so that disturbances cannot select slices; none if these are the
    /// slices that count.
    as_planned: Option<AsPlanned>,
}

/// Times of slices, by round.
struct Tail<'a> {
    responses: &'a [Times],
    /// Send lags of the generator itself, nanoseconds.
    lags: Vec<Times>,
}

struct AsPlanned {
    rounds: Vec<StudyRound>,
    /// Speeds by load.
    speeds: BTreeMap<String, Speed>,
}

/// Computes a number of an arm again, from other slices.
type Recompute<'a> = &'a dyn Fn(&Rounds<'_>, Option<&Speed>) -> Option<Interval>;

impl<'a> Evidence<'a> {
    pub(super) fn new(rounds: Rounds<'a>, quiet: &'a [Times], plan: &StudyPlan) -> Self {
        let lags = |source: times::Source| times::decode(rounds.all, source.own_lag);
        Self {
            rounds,
            of_all: Tail { responses: rounds.times, lags: lags(times::ALL) },
            of_quiet: Tail { responses: quiet, lags: lags(times::QUIET) },
            as_planned: AsPlanned::new(rounds.all, plan),
        }
    }

    /// The bounds of the numbers of an arm under a load. `others` are those of the arm that it is compared with.
    pub(super) fn of_load(
        &self,
        arm: &ArmResult,
        under: &ArmLoad,
        others: Option<&ArmLoad>,
        load: &LoadSpec,
    ) -> Bounds {
        let mut bounds = self.of_slices(arm, under);
        if load.loop_ == Loop::Open {
            let other = arm.compared_with.as_deref().zip(others);
            let all = QUANTILES.iter().map(|quantile| (quantile, &self.of_all, other));
            // Without quiet slices, there is nothing to bound.
            let of_both = other.filter(|(_, others)| others.quiet_share.is_some());
            let quiet = under.quiet_share.map(|_| (&QUIET_P99, &self.of_quiet, of_both));
            bounds.extend(all.chain(quiet).flat_map(|(quantile, tail, other)| {
                self.of_quantile((&arm.id, under), other, quantile, tail)
            }));
        }
        Bounds(bounds)
    }

    /// Bounds of numbers whose slices may be a biased selection: from the number of the slices that count to that of all slices as planned.
    fn of_slices(&self, arm: &ArmResult, under: &ArmLoad) -> Vec<Bound> {
        let (id, load) = (arm.id.as_str(), under.load.as_str());
        let level = |rounds: &Rounds<'_>, measure: &Measure| rounds.level(id, load, measure);
        let cpu_cost = |rounds: &Rounds<'_>, speed: Option<&Speed>, compare: fn(f64, f64) -> f64| {
            let other = arm.compared_with.as_deref()?;
            let factors = speed.map(|speed| speed.between(id, other));
            let factors = factors.as_ref();
            rounds.cost(Pairing { arm: id, other, load, measure: &measures::CPU, factors }, compare)
        };
        let rate_cost = |rounds: &Rounds<'_>| {
            let other = arm.compared_with.as_deref()?;
            rounds.cost(Pairing::new(id, other, load, &measures::RATE), |own, other| own - other)
        };
        let numbers: [(BoundOf, CostMeasure, Option<Interval>, Recompute<'_>); 5] = [
            (BoundOf::Level, CostMeasure::CpuUs, under.cpu_us_per_request, &|rounds, _| {
                level(rounds, &measures::CPU)
            }),
            (BoundOf::Level, CostMeasure::MaxRate, under.rate, &|rounds, _| level(rounds, &measures::RATE)),
            (BoundOf::Cost, CostMeasure::CpuUs, under.cost.cpu_us_per_request, &|rounds, speed| {
                cpu_cost(rounds, speed, |own, other| own - other)
            }),
            (BoundOf::Cost, CostMeasure::CpuShare, under.cost.cpu_share, &|rounds, speed| {
                cpu_cost(rounds, speed, |own, other| (own - other) / other)
            }),
            (BoundOf::Cost, CostMeasure::MaxRate, under.cost.max_rate, &|rounds, _| rate_cost(rounds)),
        ];
        let bound =
            |(of, measure, stated, recompute): (BoundOf, CostMeasure, Option<Interval>, Recompute<'_>)| {
                let both = self.with_all_slices(stated?, load, recompute)?;
                Bound::new(of, measure, Some(both.low), Some(both.high))
            };
        numbers.into_iter().filter_map(bound).collect()
    }

    /// The interval of a number, extended to that of all slices as planned.
    fn with_all_slices(&self, stated: Interval, load: &str, recompute: Recompute<'_>) -> Option<Interval> {
        let Some(as_planned) = &self.as_planned else { return Some(stated) };
        let rounds = Rounds { all: &as_planned.rounds, times: &[], ..self.rounds };
        let planned = recompute(&rounds, as_planned.speeds.get(load))?;
        Some(Interval { low: stated.low.min(planned.low), high: stated.high.max(planned.high), ..stated })
    }

    /// A quantile of response time, and its difference from that of another arm.
    fn of_quantile(
        &self,
        (arm, under): (&str, &ArmLoad),
        other: Option<(&str, &ArmLoad)>,
        quantile: &Quantile,
        tail: &Tail<'_>,
    ) -> Vec<Bound> {
        let load = under.load.as_str();
        let p50 = &measures::RESPONSE_P50;
        // The median is computed slice by slice, so it depends on which slices count.
        let extended = |stated: Option<Interval>, recompute: Recompute<'_>| {
            let of_slices = quantile.measure == CostMeasure::ResponseP50Us;
            if of_slices { self.with_all_slices(stated?, load, recompute) } else { stated }
        };
        let is_of_quiet = quantile.measure == CostMeasure::ResponseQuietP99Us;
        let missing = |under: &ArmLoad| {
            // In the worst case, all missing requests belong to quiet slices.
            let part = under.quiet_share.filter(|_| is_of_quiet).unwrap_or(1.0);
            (quantiles::missing_share(&under.book) / part).min(1.0)
        };
        let side = |arm: &str, under: &ArmLoad| {
            let stated =
                extended((quantile.level)(&under.response_us), &|rounds, _| rounds.level(arm, load, p50));
            Side {
                responses: of_arm(tail.responses, arm, load),
                lags: of_arm(&tail.lags, arm, load),
                missing: missing(under),
                stated,
            }
        };
        let (own, confidence) = (side(arm, under), self.rounds.confidence);
        let level = own.level(quantile, confidence);
        let cost = other.map(|(other, others)| {
            let stated = extended(quantile.measure.interval(&under.cost), &|rounds, _| {
                rounds.cost(Pairing::new(arm, other, load, p50), |own, other| own - other)
            });
            own.cost(&side(other, others), stated, quantile, confidence)
        });
        let level = Bound::new(BoundOf::Level, quantile.measure, level.low, level.high);
        let cost = cost.and_then(|cost| Bound::new(BoundOf::Cost, quantile.measure, cost.low, cost.high));
        level.into_iter().chain(cost).collect()
    }
}

/// The times of an arm under a load, round by round.
fn of_arm<'t>(times: &'t [Times], arm: &str, load: &str) -> Vec<&'t [CountedTime]> {
    let key = (arm.to_owned(), load.to_owned());
    times.iter().map(|round| round.get(&key).map_or([].as_slice(), Vec::as_slice)).collect()
}

impl AsPlanned {
    fn new(rounds: &[StudyRound], plan: &StudyPlan) -> Option<Self> {
        let mut samples = rounds.iter().flat_map(|round| &round.samples);
        if samples.all(|sample| sample.set_aside.iter().all(Vec::is_empty)) {
            return None;
        }
        let of_round = |round: &StudyRound| StudyRound {
            samples: round.samples.iter().map(first_of_each).collect(),
            ..StudyRound::default()
        };
        let rounds: Vec<StudyRound> = rounds.iter().map(of_round).collect();
        let of_load = |load: &LoadSpec| Some((load.name.clone(), speed(&rounds, &load.name)?));
        let speeds = plan.loads.iter().filter_map(of_load).collect();
        Some(Self { rounds, speeds })
    }
}

/// The items of a column of slices that belong to the chosen ones.
fn pick<T: Clone>(column: &[T], is_chosen: &[bool]) -> Vec<T> {
    let chosen = column.iter().zip(is_chosen).filter(|(_, is_chosen)| **is_chosen);
    chosen.map(|(item, _)| item.clone()).collect()
}

/// The first measurement of each planned slice, as if nothing had disturbed it. The CPU time of a process that was replaced meanwhile is
/// not known.
fn first_of_each(sample: &Sample) -> Sample {
    let mut met = BTreeSet::new();
    let slices = sample.block.iter().zip(&sample.copy).zip(&sample.set_aside);
    let is_first: Vec<bool> =
        slices.map(|(planned, by)| !by.contains(&Disturbance::Restarted) && met.insert(planned)).collect();
    let count = is_first.iter().filter(|is_first| **is_first).count();
    Sample {
        arm: sample.arm.clone(),
        load: sample.load.clone(),
        began_s: pick(&sample.began_s, &is_first),
        block: pick(&sample.block, &is_first),
        copy: pick(&sample.copy, &is_first),
        set_aside: vec![Vec::new(); count],
        slowdown: vec![None; count],
        values: sample.values.iter().map(|(name, values)| (name.clone(), pick(values, &is_first))).collect(),
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests;
