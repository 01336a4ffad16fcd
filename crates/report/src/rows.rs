//! The rows of a study: one for each arm that is compared, dearest first, with what every output says of it.

use hoptax_result::{ArmKind, ArmResult, Interval, Loop, Measure, Place, StudyResult};

use crate::numbers::{difference, percent_difference, percent_of};

/// One compared arm.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) arm: &'a ArmResult,
    pub(crate) name: String,
    pub(crate) cpu: Cell,
    pub(crate) cpu_percent: String,
    /// The same without its interval, where there is no room for it.
    pub(crate) cpu_percent_alone: String,
    pub(crate) p50: Cell,
    pub(crate) p99: Cell,
    pub(crate) max_rate: Cell,
    pub(crate) max_rate_percent: String,
    /// Whether its CPU cost cannot be told from zero.
    pub(crate) is_near_zero: bool,
}

/// One number of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
}

/// The rows, dearest first; arms without a CPU cost come last.
pub(crate) fn rows(result: &StudyResult) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> =
        result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline).map(|arm| row(result, arm)).collect();
    let cost = |row: &Row<'_>| {
        row.arm.cost.cpu_us_per_request.map_or(f64::NEG_INFINITY, |interval| interval.estimate)
    };
    rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    rows
}

/// The arms that others are compared with, the main one first.
pub(crate) fn baselines(result: &StudyResult) -> Vec<&ArmResult> {
    let mut baselines: Vec<&ArmResult> =
        result.arms.iter().filter(|arm| arm.kind == ArmKind::Baseline).collect();
    baselines.sort_by_key(|arm| arm.id != result.plan.baseline);
    baselines
}

/// The arm that `arm` is compared with.
pub(crate) fn compared_with<'a>(result: &'a StudyResult, arm: &ArmResult) -> Option<&'a ArmResult> {
    result.arms.iter().find(|other| Some(&other.id) == arm.compared_with.as_ref())
}

fn row<'a>(result: &'a StudyResult, arm: &'a ArmResult) -> Row<'a> {
    let cost = &arm.cost;
    let baseline = compared_with(result, arm);
    let share = |cost: Option<Interval>, whole: Option<Interval>| {
        cost.zip(whole)
            .and_then(|(cost, whole)| percent_of(cost.estimate, whole.estimate))
            .unwrap_or_default()
    };
    // Without a proxy there is no CPU time and no rate of one to be measured.
    let has_proxy = !arm.hops.is_empty();
    // Response times are those of an open loop.
    let has_schedule = result.plan.loads.iter().any(|load| load.loop_ == Loop::Open);
    Row {
        arm,
        name: match arm.kind {
            ArmKind::Same => format!("{} (A/A)", arm.id),
            ArmKind::Direct => format!("{} (no proxy)", arm.id),
            ArmKind::Baseline | ArmKind::Function | ArmKind::Position => arm.id.clone(),
        },
        cpu: cell(result, arm, (Measure::Cpu, cost.cpu_us_per_request), has_proxy),
        cpu_percent_alone: cost
            .cpu_share
            .and_then(|share| percent_of(share.estimate, 1.0))
            .unwrap_or_default(),
        cpu_percent: cost.cpu_share.as_ref().map(percent_difference).unwrap_or_default(),
        p50: cell(result, arm, (Measure::ResponseP50, cost.response_us.p50), has_schedule),
        p99: cell(result, arm, (Measure::ResponseP99, cost.response_us.p99), has_schedule),
        max_rate: cell(
            result,
            arm,
            (Measure::MaxRate, cost.max_rate),
            has_proxy && arm.kind != ArmKind::Position,
        ),
        max_rate_percent: share(cost.max_rate, baseline.and_then(|other| other.max_rate)),
        is_near_zero: cost.cpu_us_per_request.is_some_and(|interval| interval.contains(0.0)),
    }
}

fn cell(
    result: &StudyResult,
    arm: &ArmResult,
    (measure, cost): (Measure, Option<Interval>),
    measurable: bool,
) -> Cell {
    let text = match cost {
        Some(cost) => difference(&cost),
        None if measurable && is_withheld(result, arm, measure) => "withheld".to_owned(),
        None => "-".to_owned(),
    };
    Cell { text }
}

/// Whether a finding took a cost of this arm away.
fn is_withheld(result: &StudyResult, arm: &ArmResult, measure: Measure) -> bool {
    let load = match measure {
        Measure::MaxRate => result.plan.rate_load(),
        Measure::ResponseP50 | Measure::ResponseP90 | Measure::ResponseP99 => result.plan.response_load(),
        _ => result.plan.cpu_load(),
    };
    let place = Place {
        arm: &arm.id,
        compared_with: arm.compared_with.as_deref(),
        load: load.map(|load| load.name.as_str()),
        measure,
    };
    result.findings.iter().any(|finding| finding.takes_away(&place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_compared_arm_has_one_row_and_the_dearest_comes_first() {
        let result = fixture::study();
        let rows = rows(&result);
        let compared = result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline);
        assert_eq!(rows.len(), compared.count());
        let costs: Vec<f64> =
            rows.iter().filter_map(|row| row.arm.cost.cpu_us_per_request).map(|cost| cost.estimate).collect();
        assert!(costs.windows(2).all(|pair| pair[0] >= pair[1]), "{costs:?}");
        assert_eq!(rows.last().unwrap().arm.kind, ArmKind::Direct);
        assert_eq!(rows.last().unwrap().cpu.text, "-");
    }

    #[test]
    fn what_was_withheld_is_called_so() {
        let result = fixture::study();
        let rows = rows(&result);
        let delay = rows.iter().find(|row| row.arm.id == "fault/delay").unwrap();
        assert_eq!(delay.max_rate.text, "withheld");
        let void = fixture::void();
        assert!(super::rows(&void).iter().all(|row| row.p50.text == "withheld"));
    }
}
