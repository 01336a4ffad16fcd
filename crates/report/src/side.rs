//! The secondary tables: every arm under each load, and every proxy.

use hoptax_result::{
    ArmKind, ArmLoad, ArmResult, CostMeasure, Interval, LoadSpec, Loop, RoundMeasure, StudyResult,
};
use hoptax_stats::{mean_over_rounds, standard_error};

use crate::by_load::open_loops;
use crate::numbers::{grouped, level, or_dash, percent, signed};
use crate::quantity::Quantity;
use crate::rows::{arm_level, hop_level, mark};
use crate::table::{Cell, Table};
use crate::{by_load, handshakes, layers, parts, rules, timeline, words};

/// The secondary tables of a study: costs of its functions that are not in the main table.
pub(crate) fn side_tables(result: &StudyResult) -> Vec<Table> {
    let mut tables = timeline::tables(result);
    tables.extend(by_load::responses(result));
    tables.extend(result.plan.loads.iter().filter_map(|load| handshakes::table(result, load)));
    for load in &result.plan.loads {
        let table = statuses(result, load);
        tables.extend(Some(table).filter(|table| !table.rows.is_empty()));
    }
    if result.arms.iter().any(|arm| arm.companion_cpu_us_per_request.is_some()) {
        tables.push(companion(result));
    }
    if result.arms.iter().any(|arm| arm.kind == ArmKind::Position) {
        tables.push(hops(result));
    }
    tables.extend(null(result));
    tables.extend(rules::table(result));
    tables.extend(layers::tables(result));
    tables.extend(layers::top_down(result));
    tables
}

/// Every arm under each load, unless the main table has nearly the same content.
pub(crate) fn levels_by_load(result: &StudyResult) -> Vec<Table> {
    let has_network = result.arms.iter().any(|arm| arm.network().is_some());
    if result.plan.link.is_none() && !has_network && open_loops(result) < 2 {
        return Vec::new();
    }
    let tables = result.plan.loads.iter().map(|load| under(result, load));
    tables.filter(|table| !table.rows.is_empty()).collect()
}

/// Returns tables of the proxies' work per request and once per round, for example at their start, and of the intervals of a timeline.
pub(crate) fn work(result: &StudyResult) -> Vec<Table> {
    let of_rounds = RoundMeasure::ALL.into_iter().filter_map(|measure| own(result, measure));
    parts::table(result).into_iter().chain(of_rounds).chain(timeline::courses(result)).collect()
}

fn number(interval: Option<&Interval>) -> String {
    or_dash(interval.map(level))
}

/// A column: its heading, and its value for an arm.
type Column = (&'static str, fn(&ArmLoad) -> Option<String>);

/// Columns of a load; those without any value are left out.
const COLUMNS: [Column; 16] = [
    ("rate/s", |load| load.rate.as_ref().map(level)),
    ("rate ratio", |load| load.rate_ratio.as_ref().map(level)),
    ("proxy busy", |load| load.busy_share().map(|share| percent(share, 0))),
    ("p50 us", |load| load.response_us.p50.as_ref().map(level)),
    ("quiet p99 us", |load| load.response_us.quiet_p99.as_ref().map(level)),
    ("in quiet slices", |load| load.quiet_share.map(|share| percent(share, 1))),
    ("p99 us", |load| load.response_us.p99.as_ref().map(level)),
    ("within 1 ms", |load| load.within_1_ms_share.map(|share| percent(share, 1))),
    ("over 10 ms", |load| load.over_10_ms_share.map(|share| percent(share, 1))),
    ("proxy CPU us", |load| load.cpu_us_per_request.as_ref().map(level)),
    ("origin CPU us", |load| load.origin_cpu_us_per_request.as_ref().map(level)),
    ("companion CPU us", |load| load.companion_cpu_us_per_request.as_ref().map(level)),
    ("total CPU us", |load| load.together_cpu_us_per_request.as_ref().map(level)),
    ("all CPU us", |load| load.all_cpu_us_per_request.as_ref().map(level)),
    ("packets in", |load| load.received_packets_per_request.as_ref().map(level)),
    ("link bytes", |load| load.link_bytes_per_request.as_ref().map(level)),
];

/// Every arm under one load.
fn under(result: &StudyResult, load: &LoadSpec) -> Table {
    let of = |arm: &ArmResult| arm.under(&load.name).cloned();
    let arms: Vec<(&ArmResult, ArmLoad)> =
        result.arms.iter().filter_map(|arm| Some((arm, of(arm)?))).collect();
    // In an open loop, all rates are the same.
    let is_shown = |column: &Column| {
        !(column.0 == "rate ratio" && load.loop_ == Loop::Open)
            && arms.iter().any(|(_, load)| column.1(load).is_some())
    };
    let columns: Vec<Column> = COLUMNS.into_iter().filter(is_shown).collect();
    let cells = |load: &ArmLoad| columns.iter().map(|column| or_dash(column.1(load))).collect();
    let title = format!("{}, {}", load.name, words::loop_of(result, load));
    let headings = std::iter::once("arm").chain(columns.iter().map(|column| column.0));
    Table::of_words(title, headings, arms.iter().map(|(arm, load)| (arm.id.clone(), cells(load))))
}

/// The responses of every arm under one load, by status; empty if the load expects a single status.
fn statuses(result: &StudyResult, load: &LoadSpec) -> Table {
    let mut rows = Vec::new();
    for arm in &result.arms {
        let Some(under) = arm.under(&load.name) else { continue };
        for (place, status) in under.statuses.iter().enumerate() {
            let first = |text: String| if place == 0 { text } else { String::new() };
            let ratio = number(under.admitted_ratio.as_ref());
            rows.push((
                first(arm.id.clone()),
                vec![
                    status.status.to_string(),
                    number(status.per_second.as_ref()),
                    number(status.response_us.p50.as_ref()),
                    number(status.response_us.p99.as_ref()),
                    first(ratio),
                ],
            ));
        }
    }
    let title = format!("responses by status under {}, {}", load.name, words::loop_of(result, load));
    Table::of_words(title, ["arm", "status", "per second", "p50 us", "p99 us", "admitted/expected"], rows)
}

/// The costs of functions that call a companion, divided between the proxy and the companion.
fn companion(result: &StudyResult) -> Table {
    let row = |arm: &ArmResult| {
        let companion = arm.companion_cpu_us_per_request?;
        let proxy = arm.cost.cpu_us_per_request;
        let both = proxy.map(|proxy| grouped(proxy.estimate + companion.estimate, 1));
        let is_uncertain = arm.cost.uncertain_signs.contains(&CostMeasure::CpuUs);
        let proxy = proxy.map(|proxy| Quantity::difference(&proxy, "us").with_sign(is_uncertain));
        let name = format!("{}{}", arm.id, mark(result, arm));
        Some((name, vec![proxy.into(), Cell::level(Some(&companion), "us"), both.into()]))
    };
    let title = "functions that call a service (companion), CPU time per request";
    let headings = ["arm", "proxy cost us", "companion us", "total us"];
    Table::of_cells(title, headings, result.arms.iter().filter_map(row))
}

/// The separate table of a round measure: the value of an arm's proxies, and the cost of the function. None without numbers.
fn own(result: &StudyResult, measure: RoundMeasure) -> Option<Table> {
    let definition = measure.definition();
    let unit = definition.unit_name;
    let row = |arm: &ArmResult| {
        let own = of_whole_arm(result, arm, measure)?;
        let cost = arm.cost.of_rounds.get(measure);
        let added = cost.map(|cost| Quantity::judged_alone(&cost.in_units(definition.unit), unit));
        Some((arm.id.clone(), vec![Cell::level(Some(&own), unit), added.into()]))
    };
    let headings = ["arm".to_owned(), unit.to_owned(), format!("added {unit}")];
    let table = Table::of_cells(definition.own_table?, headings, result.arms.iter().filter_map(row));
    (!table.rows.is_empty()).then_some(table)
}

/// Returns the value of an arm in a round measure, over all its proxies. Values per handled request do not add up over several proxies,
/// because each clone handles only a part of the requests. So the total of each round is used; a result without rounds has none.
fn of_whole_arm(result: &StudyResult, arm: &ArmResult, measure: RoundMeasure) -> Option<Interval> {
    let sum_of_hops = arm_level(arm, CostMeasure::OfRounds(measure))?;
    if arm.hops.len() < 2 || measure.definition().is_of_first_proxy {
        return Some(sum_of_hops);
    }
    let rounds = result.rounds.iter().filter_map(|round| round.arms.get(&arm.id));
    let totals: Vec<f64> = rounds.filter_map(|round| (measure.definition().total)(round)).collect();
    let mean = mean_over_rounds(&totals, result.plan.quantile_confidence())?;
    Some(mean.in_units(measure.definition().unit))
}

/// Resource use of each proxy, by arm.
fn hops(result: &StudyResult) -> Table {
    let mut rows = Vec::new();
    for arm in &result.arms {
        for (place, hop) in arm.hops.iter().enumerate() {
            let name = if place == 0 { format!("{}{}", arm.id, mark(result, arm)) } else { String::new() };
            let of_rounds = RoundMeasure::compared().map(|measure| hop_level(hop, measure));
            let numbers = std::iter::once(hop.cpu_us_per_request).chain(of_rounds);
            let cells = std::iter::once(hop.name.clone()).chain(numbers.map(|one| number(one.as_ref())));
            rows.push((name, cells.collect()));
        }
    }
    let of_rounds = RoundMeasure::compared().map(|measure| measure.definition().short_heading);
    Table::of_words("each proxy", ["arm", "proxy", "CPU us"].into_iter().chain(of_rounds), rows)
}

/// Minimum number of A/A arms for the null table.
const NULL_ARMS: usize = 5;

/// The measures in the null table, with their names.
fn null_measures() -> Vec<(&'static str, CostMeasure)> {
    let of_slices = [
        ("CPU time", CostMeasure::CpuUs),
        ("CPU time as a share", CostMeasure::CpuShare),
        ("maximum rate", CostMeasure::MaxRate),
        ("p50", CostMeasure::ResponseP50Us),
        ("p90", CostMeasure::ResponseP90Us),
        ("quiet p99", CostMeasure::ResponseQuietP99Us),
        ("p99", CostMeasure::ResponseP99Us),
    ];
    let of_rounds =
        RoundMeasure::compared().map(|measure| (measure.definition().words, CostMeasure::OfRounds(measure)));
    of_slices.into_iter().chain(of_rounds).collect()
}

/// Summary of many A/A arms as a test of the setup: how many of their intervals contain zero, and how their estimates are distributed.
fn null(result: &StudyResult) -> Option<Table> {
    let same: Vec<&ArmResult> = result.arms.iter().filter(|arm| arm.kind == ArmKind::Same).collect();
    if same.len() < NULL_ARMS {
        return None;
    }
    let row = |(name, measure): (&str, CostMeasure)| {
        let costs: Vec<(&ArmResult, Interval)> =
            same.iter().filter_map(|arm| Some((*arm, measure.interval(&arm.cost)?))).collect();
        let errors: Vec<f64> = costs
            .iter()
            .filter_map(|(arm, cost)| {
                let freedom = result.degrees_of_freedom(cost, arm.contrast(), measure, None);
                let error = standard_error(cost, freedom, result.plan.quantile_confidence())?;
                Some(cost.estimate / error)
            })
            .collect();
        let count = errors.len() as f64;
        let holding = costs.iter().filter(|(_, cost)| cost.contains(0.0)).count();
        let mean = errors.iter().sum::<f64>() / count;
        let rms = (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt();
        let cells = vec![format!("{holding} of {}", costs.len()), signed(mean, 2), grouped(rms, 2)];
        (!errors.is_empty()).then(|| (name.to_owned(), cells))
    };
    let title = "A/A arms, whose true cost is zero: coverage of the intervals";
    let headings = ["measure", "contain zero", "mean, standard errors", "root mean square"];
    Some(Table::of_words(title, headings, null_measures().into_iter().filter_map(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_arm_under_a_load_has_how_busy_its_proxy_was() {
        let result = fixture::shares();
        let table = under(&result, &result.plan.loads[1]);
        let column = table.columns.iter().position(|column| column.heading == "proxy busy").unwrap();
        assert_eq!(["lua", "direct"].map(|arm| table.texts_of(arm).remove(column)), ["39 %", "-"]);
    }

    #[test]
    fn many_identical_arms_summarise_the_coverage() {
        let mut result = fixture::study();
        // The fixture has the evidence of one round. Without it, the ten rounds that it states count.
        result.rounds.clear();
        assert!(null(&result).is_none());
        let same = result.arms.iter().find(|arm| arm.kind == ArmKind::Same).cloned().unwrap();
        for (number, estimate) in [(2, -0.8), (3, 0.2), (4, 0.9), (5, 0.0)] {
            let mut copy = same.clone();
            copy.id = format!("same#{number}");
            copy.cost.cpu_us_per_request = Some(Interval::around(estimate, 0.5));
            result.arms.push(copy);
        }
        let table = null(&result).unwrap();
        // Ten rounds: a half-width is 2.262 standard errors, so these are 0.45, -3.62, 0.90, 4.07 and 0.
        assert_eq!(table.texts_of("CPU time"), ["3 of 5", "+0.36", "2.48"]);
    }
}
