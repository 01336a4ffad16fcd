//! Compares measured response times of compositions with predictions from the single functions and plain proxies of the same study.

use hoptax_checks::thresholds::Limits;
use hoptax_checks::vague::vague_level;
use hoptax_result::{ArmResult, CheckedResponse, CheckedTime, ErrorSummary, Interval};

use crate::size::busy::Placed;
use crate::size::latency::tail;
use crate::size::measured_at::MeasuredAt;
use crate::size::simulation::intervals;
use crate::size::times::{AllTimes, FlowTimes, Formula, LeftOut, TimesCurve, mean, measured_at};

/// Parts of the response time of a chain.
pub(crate) struct ChainTimes {
    /// Response times of the plain proxy alone, or of the origin and of each proxy.
    base: TimesCurve,
    added: Vec<FlowTimes>,
    /// Time that sharing processors adds, if the study states it.
    sharing: Option<FlowTimes>,
}

/// Learns the parts of the response time of a chain of proxies. The proxies share their processors and so form one queue: their quantiles
/// add up like those of the functions of one proxy ([`Formula`]).
///
/// # Errors
/// A sentence that names the response times that the study does not state.
pub(crate) fn chain_times(
    placed: Placed<'_, '_>,
    times: &mut AllTimes<'_, '_>,
) -> Result<ChainTimes, String> {
    let Placed { proxies: chain, placement } = placed;
    let flows = || chain.iter().filter_map(|proxy| proxy.flows.first());
    let first = flows().next().ok_or("it has no proxy")?;
    let mut functions = Vec::new();
    for (called, priced) in flows().flat_map(|flow| &flow.functions) {
        functions.push(times.of_function(priced).ok_or_else(|| {
            format!(
                "the response times of `{}` alone are withheld at every share of the capacity",
                called.text
            )
        })?);
    }
    if let [_] = chain {
        // A single proxy needs no arm without a proxy.
        let base = times.whole(&first.plain).ok_or_else(|| {
            format!(
                "the response times of `{}` are withheld at every share of the capacity",
                first.plain.arm.id
            )
        })?;
        return Ok(ChainTimes { base, added: vec![FlowTimes::new(functions)], sharing: None });
    }
    let mut added = vec![FlowTimes::new(functions)];
    for flow in flows() {
        added.push(FlowTimes::new(vec![times.added(&flow.plain)?]));
    }
    let sharing = placement.sharing.as_ref().and_then(|sharing| times.sharing(sharing));
    Ok(ChainTimes { base: times.direct(&first.plain)?, added, sharing })
}

/// The prediction and the measurement under one load, at `rate` requests per second.
///
/// # Errors
/// The number that is missing.
pub(crate) fn checked_response(
    times: &mut AllTimes<'_, '_>,
    arm: &ArmResult,
    load: &str,
    placed: Placed<'_, '_>,
    parts: &ChainTimes,
    rate: f64,
) -> Result<CheckedResponse, String> {
    let measured = times.formula(0, arm, load).ok_or("its response times are withheld")?;
    let of_each = placed.busy(rate);
    // All proxies run on the same processors.
    let busy = of_each.first().map_or(0.0, |busy| busy.processors.min(1.0));
    let mut predicted = Formula::default();
    predicted.add_all(1.0, &parts.base.at(busy));
    parts.added.iter().for_each(|added| predicted.add_all(1.0, &added.at(busy)));
    if let Some(sharing) = &parts.sharing {
        let others = of_each.iter().map(|busy| 1.0 - busy.part).sum();
        predicted.add_all(others, &sharing.at(busy));
    }
    let base: MeasuredAt = parts.base.measured_at();
    let is_unknown = placed.proxies.len() > 1 && parts.sharing.is_none();
    let is_extrapolated = is_unknown
        || base.is_beyond_loads(busy)
        || measured_at(parts.added.iter().chain(&parts.sharing)).is_beyond_loads(busy);
    let numbers = |left_out: LeftOut| {
        let values = times.table().values([&measured, &predicted].into_iter(), left_out);
        let [measured, predicted] = [&measured, &predicted].map(|formula| values.sums(formula));
        let pair = |[measured, predicted]: [f64; 2]| [measured, predicted, measured - predicted];
        let means = pair([mean(&measured), mean(&predicted)]);
        let tails = pair([measured, predicted].map(tail));
        [means, tails].concat()
    };
    let intervals = intervals(numbers, &times.rounds()).ok_or("its parts have too few rounds in common")?;
    let time = |from: usize| {
        let [measured, predicted, difference] = intervals.get(from..from + 3)? else { return None };
        Some(CheckedTime {
            measured_us: *measured,
            predicted_us: *predicted,
            difference_us: *difference,
            error_share: -difference.estimate / measured.estimate,
            is_interaction: !difference.contains(0.0),
            is_wide: is_wide(measured, predicted),
        })
    };
    let has_tail = [&measured, &predicted].iter().all(|formula| times.table().has_tail(formula));
    Ok(CheckedResponse {
        arm: arm.id.clone(),
        load: load.to_owned(),
        hops: placed.proxies.len() as u32,
        functions: placed.proxies.iter().map(|proxy| proxy.functions().len()).sum::<usize>() as u32,
        mean: time(0).ok_or("its parts have too few rounds in common")?,
        p99: time(3).filter(|_| has_tail),
        is_extrapolated,
    })
}

/// True if the interval of the measured or of the predicted time is too wide to judge the prediction by. Both widths are judged relative to
/// the measured time: relative to the prediction, an error that makes it too low would make it wide, and one that makes it too high would
/// not.
fn is_wide(measured: &Interval, predicted: &Interval) -> bool {
    let around = measured.estimate - predicted.estimate;
    let moved = Interval::new(measured.estimate, predicted.low + around, predicted.high + around);
    let limits = Limits::default();
    [measured, &moved].into_iter().any(|time| vague_level(time, &limits).is_some())
}

/// The errors of times that are neither extrapolated nor wide; none without such times.
pub(crate) fn errors(
    checked: &[CheckedResponse],
    time: impl Fn(&CheckedResponse) -> Option<CheckedTime>,
) -> Option<ErrorSummary> {
    let errors: Vec<f64> = checked
        .iter()
        .filter(|one| !one.is_extrapolated)
        .filter_map(time)
        .filter(|time| !time.is_wide)
        .map(|time| time.error_share.abs())
        .collect();
    ErrorSummary::of(&errors)
}
