//! Tables of costs by load: CPU time as a share and in us, and response time.

use hoptax_result::{ArmLoad, ArmResult, CostMeasure, Interval, LoadSpec, Loop, StudyResult};

use crate::load_rate::rate;
use crate::rows::{Asked, cell, in_percent, rows};
use crate::table::{Cell, Table};

/// A measure of an arm under a load.
pub(crate) type Of = fn(&ArmLoad) -> Option<Interval>;

/// CPU cost in percent of the CPU time of the reference arm under the same load.
pub(crate) const CPU_SHARE: Of = |load| load.cost.cpu_share.as_ref().map(in_percent);
/// Quantiles of response time.
const RESPONSES: [CostMeasure; 4] = [
    CostMeasure::ResponseP50Us,
    CostMeasure::ResponseP90Us,
    CostMeasure::ResponseQuietP99Us,
    CostMeasure::ResponseP99Us,
];

/// A column: its heading, its load and its measure.
type Column<'a> = (String, &'a LoadSpec, CostMeasure);

/// CPU time added per request, as a share and in us: a row for each arm and a column for each load. Empty unless at least two loads have
/// numbers.
pub(crate) fn cpu(result: &StudyResult) -> Vec<Table> {
    let table = |unit: &str, measure: CostMeasure| {
        let column = |load| (heading(result, load), load, measure);
        let columns: Vec<Column<'_>> = loads_with(result, measure).into_iter().map(column).collect();
        let title = format!("CPU cost per request by load, {unit}");
        (columns.len() > 1).then(|| table(result, title, &columns))
    };
    let shares = table("% of the arm compared with under the same load", CostMeasure::CpuShare);
    [shares, table("us", CostMeasure::CpuUs)].into_iter().flatten().collect()
}

/// Response time added, with a column for each open loop and quantile that at least half of the arms have. None for a study with one open
/// loop, whose costs are in the main table.
pub(crate) fn responses(result: &StudyResult) -> Option<Table> {
    let arms = proxied(result);
    let mut columns: Vec<Column<'_>> = Vec::new();
    for measure in RESPONSES {
        let is_of_most = |load: &&LoadSpec| {
            2 * arms.iter().filter(|arm| cost_under(arm, load, measure).is_some()).count() >= arms.len()
        };
        let loads = loads_with(result, measure).into_iter().filter(is_of_most);
        columns.extend(loads.map(|load| {
            (format!("{}, {}", measure.measure().as_str(), heading(result, load)), load, measure)
        }));
    }
    let title =
        "response time cost by load, us: the quantiles that at least half of the arms have".to_owned();
    (open_loops(result) > 1 && !columns.is_empty()).then(|| table(result, title, &columns))
}

fn table(result: &StudyResult, title: String, columns: &[Column<'_>]) -> Table {
    let cells = |arm: &ArmResult| {
        let text = |(_, load, measure): &Column<'_>| cost(result, arm, load, *measure).text();
        columns.iter().map(text).collect()
    };
    let headings = columns.iter().map(|column| column.0.clone());
    let rows = proxied(result).into_iter().map(|arm| (arm.id.clone(), cells(arm)));
    Table::of_words(title, std::iter::once("arm".to_owned()).chain(headings), rows)
}

/// The cost of an arm under a load.
pub(crate) fn cost(result: &StudyResult, arm: &ArmResult, load: &LoadSpec, measure: CostMeasure) -> Cell {
    let is_measurable = !arm.hops.is_empty() && arm.under(&load.name).is_some();
    cell(result, arm, &Asked { measure, load: Some(load), is_measurable }, cost_under(arm, load, measure))
}

fn cost_under(arm: &ArmResult, load: &LoadSpec, measure: CostMeasure) -> Option<Interval> {
    measure.interval(&arm.under(&load.name)?.cost)
}

/// The loads under which any arm has a cost: closed loops, then open ones by their rate or share.
fn loads_with(result: &StudyResult, measure: CostMeasure) -> Vec<&LoadSpec> {
    let arms = proxied(result);
    let has_value = |load: &&LoadSpec| arms.iter().any(|arm| cost_under(arm, load, measure).is_some());
    let mut loads: Vec<&LoadSpec> = result.plan.loads.iter().filter(has_value).collect();
    let place = |load: &LoadSpec| load.utilisation.or(load.rate).unwrap_or(0.0);
    loads.sort_by(|a, b| place(a).total_cmp(&place(b)));
    loads
}

/// The compared arms with proxies, in the order of the main table.
fn proxied(result: &StudyResult) -> Vec<&ArmResult> {
    rows(result).iter().map(|row| row.arm).filter(|arm| !arm.hops.is_empty()).collect()
}

/// The load with its rate and how busy it kept the proxies.
pub(crate) fn heading(result: &StudyResult, load: &LoadSpec) -> String {
    format!("{} ({})", load.name, rate(result, load))
}

/// Number of open loops.
pub(crate) fn open_loops(result: &StudyResult) -> usize {
    result.plan.loads.iter().filter(|load| load.loop_ == Loop::Open).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_load_has_a_column_and_each_proxied_arm_a_row() {
        let result = fixture::loaded();
        let [shares, us] = &cpu(&result)[..] else { panic!("two units") };
        assert_eq!(
            us.headings(),
            ["arm", "saturation (closed loop)", "fixed-rate (4,000/s)", "half (10,000/s)"]
        );
        assert_eq!(us.texts_of("lua"), ["+4.95 ±0.50", "+7.43 ±0.75", "+5.94 ±0.60"]);
        assert_eq!(shares.texts_of("lua"), ["+10.76 ±0.91", "+10.76 ±0.91", "+10.76 ±0.91"]);
        assert!(us.rows.iter().all(|row| row.name != "direct"));
        assert!(cpu(&fixture::study()).is_empty());
    }

    #[test]
    fn quantiles_that_half_of_the_arms_have_are_shown_for_each_open_loop() {
        let mut result = fixture::loaded();
        let arms = result.arms.len();
        for (place, arm) in result.arms.iter_mut().enumerate() {
            for load in arm.loads.iter_mut().filter(|load| load.load != "saturation") {
                load.cost.response_us.p50 = Some(Interval::new(9.0, 8.0, 10.0));
                load.cost.response_us.p90 = load.cost.response_us.p50.filter(|_| place < arms / 4);
            }
        }
        let table = responses(&result).unwrap();
        assert_eq!(table.headings(), ["arm", "p50, fixed-rate (4,000/s)", "p50, half (10,000/s)"]);
        assert_eq!(table.texts(0), ["+9.0 ±1.0", "+9.0 ±1.0"]);
        result.plan.loads.truncate(2);
        assert_eq!(responses(&result), None, "the main table has them");
    }
}
