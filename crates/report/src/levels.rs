//! The table of the baselines: the cost of plain proxying.

use hoptax_result::{ArmKind, ArmResult, CostMeasure, RoundMeasure, StudyResult};

use crate::numbers::{grouped, level};
use crate::rows::{arm_level, baselines};
use crate::side_table::SideTable;

/// A column: its heading and its measure.
type Column = (&'static str, CostMeasure);

/// The columns of measures of slices; those of rounds follow.
const OF_SLICES: [Column; 6] = [
    ("CPU us", CostMeasure::CpuUs),
    ("max rate/s", CostMeasure::MaxRate),
    ("p50 us", CostMeasure::ResponseP50Us),
    ("p90 us", CostMeasure::ResponseP90Us),
    ("quiet p99 us", CostMeasure::ResponseQuietP99Us),
    ("p99 us", CostMeasure::ResponseP99Us),
];

/// The levels of all baselines, the main one first; none if none of their numbers is left.
pub(crate) fn levels(result: &StudyResult) -> Option<SideTable> {
    let arms = baselines(result);
    let of_rounds = RoundMeasure::compared()
        .map(|measure| (measure.definition().short_heading, CostMeasure::OfRounds(measure)));
    let is_stated = |column: &Column| arms.iter().any(|arm| arm.level(column.1).is_some());
    let columns: Vec<Column> = OF_SLICES.into_iter().chain(of_rounds).filter(is_stated).collect();
    let cells = |arm: &ArmResult| -> Vec<String> {
        let cell = |column: &Column| arm_level(arm, column.1).as_ref().map_or_else(|| "-".to_owned(), level);
        columns.iter().map(cell).collect()
    };
    let what = if arms.iter().all(|arm| arm.hops.is_empty()) { "without a proxy" } else { "plain proxying" };
    let load = result.plan.response_load();
    let at = load.filter(|_| columns.iter().any(|column| column.1.is_quantile()));
    let at = at.map_or_else(String::new, |load| match load.rate {
        Some(rate) => format!(", response times at {} requests/s", grouped(rate, 0)),
        None => format!(", response times under {}", load.name),
    });
    (!columns.is_empty()).then(|| SideTable {
        title: format!("{what}, per request{at}"),
        header: std::iter::once("arm")
            .chain(columns.iter().map(|column| column.0))
            .map(str::to_owned)
            .collect(),
        rows: arms.iter().map(|arm| (arm.id.clone(), cells(arm))).collect(),
    })
}

/// One line per baseline other than the main one with the arms compared with it, and the arms whose numbers are
/// means of copies.
pub(crate) fn notes(result: &StudyResult) -> Vec<String> {
    let of = |arm: &ArmResult| {
        let compared = result
            .arms
            .iter()
            .filter(|other| other.compared_with.as_ref() == Some(&arm.id) && arm.id != result.plan.baseline);
        let compared: Vec<&str> = compared.map(|other| other.id.as_str()).collect();
        (!compared.is_empty()).then(|| format!("compared with {}: {}", arm.id, compared.join(", ")))
    };
    let mut notes: Vec<String> = baselines(result).into_iter().filter_map(of).collect();
    let several = result.arms.iter().filter(|arm| arm.kind == ArmKind::Baseline && arm.copies > 1);
    let several: Vec<String> = several.map(|arm| format!("{} of {}", arm.copies, arm.id)).collect();
    if !several.is_empty() {
        notes.push(format!("mean of copies, each with its own processes: {}", several.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_baseline_has_its_levels_in_a_row() {
        let table = levels(&fixture::study()).unwrap();
        assert_eq!(
            table.header,
            ["arm", "CPU us", "max rate/s", "p50 us", "p90 us", "p99 us", "memory MiB", "kB/connection"]
        );
        assert_eq!(table.rows[0].0, "baseline");
        assert_eq!(
            table.rows[0].1,
            [
                "46.00 ±0.52",
                "21,739 ±210",
                "95.0 ±1.3",
                "140.0 ±6.0",
                "240 ±22",
                "67.70 ±0.40",
                "21.60 ±0.80"
            ]
        );
        assert!(levels(&fixture::void()).is_none());
    }

    #[test]
    fn the_notes_list_arms_that_are_compared_with_another_baseline() {
        assert_eq!(
            notes(&fixture::study()),
            [
                "compared with baseline{size=4096}: compress/gzip",
                "mean of copies, each with its own processes: 2 of baseline, 2 of baseline{size=4096}"
            ]
        );
    }
}
