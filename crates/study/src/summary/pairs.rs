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
    /// CPU time of the proxy per answered request, less its idle use: usually in the closed loop.
    CpuUsPerRequest,
    /// The same at the speed that the machine usually had in the study.
    CpuUsAtUsualSpeed,
    /// The same as the first of one proxy of several, by its number.
    HopCpuUsPerRequest(usize),
    /// CPU time of the origins per answered request.
    OriginCpuUsPerRequest,
    /// CPU time of the companion per answered request.
    CompanionCpuUsPerRequest,
    /// That of proxies, origins and companion together.
    TogetherCpuUsPerRequest,
    /// Bytes that the link carried per answered request.
    LinkBytesPerRequest,
    /// Answered requests per second: usually in the closed loop.
    Rate,
    /// Median response time: usually in the first open loop.
    ResponseP50Us,
}

impl Measure {
    /// The load that it is taken from where none is named: response times from the first open loop, all else from the closed
    /// one. Where there is none, requests still cost CPU time.
    pub(super) fn usual_load(self, plan: &Plan) -> Option<usize> {
        let first = |is_open: bool| plan.loads.iter().position(|load| load.open.is_some() == is_open);
        match self {
            Self::ResponseP50Us => first(true),
            Self::Rate => first(false),
            _ => first(false).or(first(true)),
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
            Self::CpuUsAtUsualSpeed => {
                Some(Self::CpuUsPerRequest.of(round, slice)? / slice.slowdown.unwrap_or(1.0))
            }
            Self::TogetherCpuUsPerRequest => {
                let parts =
                    [Self::CpuUsPerRequest, Self::OriginCpuUsPerRequest, Self::CompanionCpuUsPerRequest];
                parts.into_iter().map(|part| part.of(round, slice)).sum()
            }
            Self::OriginCpuUsPerRequest => Some(slice.origin_cpu_ns as f64 / 1e3 / answered),
            Self::CompanionCpuUsPerRequest => Some(slice.companion_cpu_ns as f64 / 1e3 / answered),
            Self::LinkBytesPerRequest => Some(slice.link_bytes as f64 / answered),
            Self::Rate => (slice.recorded_s > 0.0).then(|| answered / slice.recorded_s),
            Self::ResponseP50Us => slice.response_p50_us,
        }
    }
}

/// The values of one arm in one round under the load that a measure is usually taken from, by block: where there are copies of
/// it, or slices that were measured again and all count, the mean of theirs.
pub(super) fn values(plan: &Plan, round: &RoundRecord, arm: usize, measure: Measure) -> BTreeMap<u32, f64> {
    measure.usual_load(plan).map(|load| values_under(load, round, arm, measure)).unwrap_or_default()
}

/// The same under one load.
fn values_under(load: usize, round: &RoundRecord, arm: usize, measure: Measure) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for slice in round.slices.iter().filter(|slice| slice.arm == arm && slice.load == load) {
        if let Some(value) = measure.of(round, slice) {
            let (sum, count) = sums.entry(slice.block).or_default();
            *sum += value;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(block, (sum, count))| (block, sum / count)).collect()
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
    paired(plan, rounds, arm, other, Measure::CpuUsAtUsualSpeed, |value, other| (value - other) / other)
}

/// `arm`'s rate over that of `other` under one load, by round and block.
pub(super) fn rate_ratios(load: usize, rounds: &[RoundRecord], arm: usize, other: usize) -> Vec<Vec<f64>> {
    let of_round = |round: &RoundRecord| {
        let others = values_under(load, round, other, Measure::Rate);
        let own = values_under(load, round, arm, Measure::Rate);
        own.into_iter().filter_map(|(block, rate)| Some(rate / others.get(&block)?)).collect()
    };
    rounds.iter().map(of_round).collect()
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
    level_under(measure.usual_load(plan)?, rounds, arm, measure)
}

/// The same under one load.
pub(super) fn level_under(
    load: usize,
    rounds: &[RoundRecord],
    arm: usize,
    measure: Measure,
) -> Option<Interval> {
    let of_round =
        |round| median(&values_under(load, round, arm, measure).into_values().collect::<Vec<f64>>());
    mean_over_rounds(&rounds.iter().filter_map(of_round).collect::<Vec<f64>>(), CONFIDENCE)
}

/// The 99th percentile of response time of `arm`, or its difference from that of `other`, microseconds. A slice has
/// too few requests for it, so it is taken from all requests of a round. None when all rounds together have too few.
pub(super) fn tail(
    load: usize,
    rounds: &[RoundRecord],
    arm: usize,
    other: Option<usize>,
) -> Option<Interval> {
    // By round; None for a round without an answer, and altogether when the answers are too few.
    let by_round = |arm: usize| -> Option<Vec<Option<f64>>> {
        let all: Vec<_> = rounds.iter().map(|round| round.response(load, arm)).collect();
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
