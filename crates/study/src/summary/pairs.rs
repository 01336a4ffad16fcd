//! The numbers of single slices, and how they are put together: by block into differences, by round into levels.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_result::Interval;
use hoptax_stats::{mean_over_rounds, median, quantile_supported};

use crate::plan::{CONFIDENCE, Plan};
use crate::record::{RoundRecord, SliceRecord};

/// The quantile of response time that is taken from a whole round.
const TAIL: f64 = 0.99;

/// What a slice says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// CPU time of the proxy per answered request, less its idle use: closed loop.
    CpuUsPerRequest,
    /// The same of one proxy of several, by its number.
    HopCpuUsPerRequest(usize),
    /// CPU time of the origins per answered request: at the fixed rate if there is one.
    OriginCpuUsPerRequest,
    /// Bytes that the link carried per answered request: at the fixed rate if there is one.
    LinkBytesPerRequest,
    /// Answered requests per second: closed loop.
    Rate,
    /// Median response time: open loop.
    ResponseP50Us,
}

impl Measure {
    fn is_open(self, plan: &Plan) -> bool {
        match self {
            Self::ResponseP50Us => true,
            Self::OriginCpuUsPerRequest | Self::LinkBytesPerRequest => {
                plan.loads.iter().any(|load| load.open.is_some())
            }
            _ => false,
        }
    }

    /// The value of one slice; None when it does not count.
    pub(super) fn of(self, round: &RoundRecord, slice: &SliceRecord) -> Option<f64> {
        let answered = slice.book.answered as f64;
        if slice.set_aside || slice.book.answered == 0 {
            return None;
        }
        match self {
            Self::CpuUsPerRequest | Self::HopCpuUsPerRequest(_) => {
                let idle = round.idle.get(&slice.arm).copied().unwrap_or_default();
                let (cpu_ns, idle_ns) = match self {
                    Self::HopCpuUsPerRequest(hop) => {
                        (*slice.hops_cpu_ns.get(hop)?, *idle.hops_cpu_ns.get(hop)?)
                    }
                    _ => (slice.proxy_cpu_ns, idle.cpu_ns),
                };
                let idle_share = if idle.wall_ns == 0 { 0.0 } else { idle_ns as f64 / idle.wall_ns as f64 };
                let busy_us = cpu_ns as f64 / 1e3 - idle_share * slice.wall_s * 1e6;
                Some(busy_us / answered)
            }
            Self::OriginCpuUsPerRequest => Some(slice.origin_cpu_ns as f64 / 1e3 / answered),
            Self::LinkBytesPerRequest => Some(slice.link_bytes as f64 / answered),
            Self::Rate => (slice.recorded_s > 0.0).then(|| answered / slice.recorded_s),
            Self::ResponseP50Us => slice.response_p50_us,
        }
    }
}

/// The values of one arm in one round, by block.
pub(super) fn values(plan: &Plan, round: &RoundRecord, arm: usize, measure: Measure) -> BTreeMap<u32, f64> {
    let loads = |slice: &SliceRecord| {
        plan.loads.get(slice.load).is_some_and(|load| load.open.is_some() == measure.is_open(plan))
    };
    let slices = round.slices.iter().filter(|slice| slice.arm == arm && loads(slice));
    slices.filter_map(|slice| Some((slice.block, measure.of(round, slice)?))).collect()
}

/// The differences of `arm` from `other`, by round and block.
pub(super) fn differences(
    plan: &Plan,
    rounds: &[RoundRecord],
    arm: usize,
    other: usize,
    measure: Measure,
) -> Vec<Vec<f64>> {
    paired(plan, rounds, arm, other, measure, |value, other| value - other)
}

/// By how much of `other`'s CPU time per request `arm` differs from it, by round and block.
pub(super) fn cpu_shares(plan: &Plan, rounds: &[RoundRecord], arm: usize, other: usize) -> Vec<Vec<f64>> {
    paired(plan, rounds, arm, other, Measure::CpuUsPerRequest, |value, other| (value - other) / other)
}

/// `arm`'s rate over that of `other`, by round and block.
pub(super) fn rate_ratios(plan: &Plan, rounds: &[RoundRecord], arm: usize, other: usize) -> Vec<Vec<f64>> {
    paired(plan, rounds, arm, other, Measure::Rate, |value, other| value / other)
}

fn paired(
    plan: &Plan,
    rounds: &[RoundRecord],
    arm: usize,
    other: usize,
    measure: Measure,
    compare: impl Fn(f64, f64) -> f64,
) -> Vec<Vec<f64>> {
    let of_round = |round: &RoundRecord| {
        let others = values(plan, round, other, measure);
        let pairs = values(plan, round, arm, measure);
        pairs.into_iter().filter_map(|(block, value)| Some(compare(value, *others.get(&block)?))).collect()
    };
    rounds.iter().map(of_round).collect()
}

/// The level of `arm` itself: the median of each round's slices, and the mean of these over rounds.
pub(super) fn level(plan: &Plan, rounds: &[RoundRecord], arm: usize, measure: Measure) -> Option<Interval> {
    let levels: Vec<f64> = rounds.iter().filter_map(|round| level_in(plan, round, arm, measure)).collect();
    mean_over_rounds(&levels, CONFIDENCE)
}

fn level_in(plan: &Plan, round: &RoundRecord, arm: usize, measure: Measure) -> Option<f64> {
    median(&values(plan, round, arm, measure).into_values().collect::<Vec<f64>>())
}

/// The 99th percentile of response time of `arm`, or its difference from that of `other`, microseconds. A slice has
/// too few requests for it, so it is taken from all requests of a round. None when all rounds together have too few.
pub(super) fn tail(rounds: &[RoundRecord], arm: usize, other: Option<usize>) -> Option<Interval> {
    // By round; None for a round without an answer, and altogether when the answers are too few.
    let by_round = |arm: usize| -> Option<Vec<Option<f64>>> {
        let all: Vec<_> = rounds.iter().map(|round| round.response(arm)).collect();
        let us = |one: &Histogram<u64>| (!one.is_empty()).then(|| one.value_at_quantile(TAIL) as f64 / 1e3);
        quantile_supported(all.iter().map(Histogram::len).sum(), TAIL).then(|| all.iter().map(us).collect())
    };
    let own = by_round(arm)?;
    let tails: Vec<f64> = match other {
        None => own.into_iter().flatten().collect(),
        Some(other) => {
            own.into_iter().zip(by_round(other)?).filter_map(|(own, other)| Some(own? - other?)).collect()
        }
    };
    mean_over_rounds(&tails, CONFIDENCE)
}
