//! The numbers whose intervals are judged by their width.

use hoptax_result::{ArmLoad, ArmResult, Cost, CostMeasure, Interval, LoadSpec, Measure, StudyResult};

use crate::vague::Width;

/// The half-widths of an arm's costs against the arm `other` that it is compared with, each with its load.
pub(super) fn cost_widths<'a>(
    result: &'a StudyResult,
    arm: &'a ArmResult,
    other: &ArmResult,
) -> Vec<(Option<&'a str>, Measure, Width)> {
    let share = |cost: Option<Interval>, level: Option<Interval>| {
        cost.zip(level).map(|(cost, level)| Width::new(&cost, level.estimate))
    };
    let tail = |cost: Option<Interval>, level: Option<Interval>| {
        cost.zip(level).map(|(cost, level)| Width::of_tail(&cost, level.estimate))
    };
    let name = |load: Option<&'a LoadSpec>| load.map(|load| load.name.as_str());
    let (cpu_load, rate_load) =
        (name(result.plan.cpu_load_of(&arm.id)), name(result.plan.rate_load_of(&arm.id)));
    let level_of = |measure: CostMeasure| result.level_of_reference(arm, other, measure);
    // Both are reported. The share varies with the level, too. An arm without proxies has no level, and its proxies take no CPU time.
    let cpu = |cost: &Cost, level: Option<Interval>| {
        let level_us = level.map(|level| level.estimate).or(other.hops.is_empty().then_some(0.0))?;
        let of_us = Width::new(&cost.cpu_us_per_request?, level_us);
        let of_share = cost.cpu_share.map(|cost| Width::new(&cost, 1.0));
        Some(of_share.filter(|of_share| of_share.share > of_us.share).unwrap_or(of_us))
    };
    let mut widths = vec![
        (cpu_load, Measure::Cpu, cpu(&arm.cost, level_of(CostMeasure::CpuUs))),
        (rate_load, Measure::MaxRate, share(arm.cost.max_rate, level_of(CostMeasure::MaxRate))),
    ];
    for load in &arm.loads {
        let Some(others) = other.under(&load.load) else { continue };
        let (name, cost, level) = (Some(load.load.as_str()), &load.cost, &others.response_us);
        if name != cpu_load {
            widths.push((name, Measure::Cpu, cpu(cost, others.cpu_us_per_request)));
        }
        widths.push((name, Measure::ResponseP50, share(cost.response_us.p50, level.p50)));
        widths.push((name, Measure::ResponseP90, tail(cost.response_us.p90, level.p90)));
        widths.push((name, Measure::ResponseP99, tail(cost.response_us.p99, level.p99)));
        widths.push((name, Measure::ResponseQuietP99, tail(cost.response_us.quiet_p99, level.quiet_p99)));
    }
    widths.into_iter().filter_map(|(load, measure, share)| Some((load, measure, share?))).collect()
}

/// The levels of an arm, each with its load.
pub(super) fn levels<'a>(
    result: &'a StudyResult,
    arm: &'a ArmResult,
) -> impl Iterator<Item = (Option<&'a str>, Measure, Interval)> {
    let rate_load = result.plan.rate_load_of(&arm.id).map(|load| load.name.as_str());
    let of_load = |load: &'a ArmLoad| {
        let name = Some(load.load.as_str());
        [
            (name, Measure::Cpu, load.cpu_us_per_request),
            (name, Measure::ResponseP50, load.response_us.p50),
            (name, Measure::ResponseP90, load.response_us.p90),
            (name, Measure::ResponseP99, load.response_us.p99),
            (name, Measure::ResponseQuietP99, load.response_us.quiet_p99),
        ]
    };
    let of_arm = std::iter::once((rate_load, Measure::MaxRate, arm.max_rate));
    let all = of_arm.chain(arm.loads.iter().flat_map(of_load));
    all.filter_map(|(load, measure, level)| Some((load, measure, level?)))
}
