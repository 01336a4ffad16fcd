//! The table of the baselines: the cost of plain proxying.

use hoptax_result::{ArmKind, ArmResult, RoundMeasure, StudyResult};

use crate::numbers::{grouped, level};
use crate::rows::{arm_level, baselines};
use crate::side_table::SideTable;

/// A column: its heading, and its value for an arm.
type Column = (&'static str, fn(&ArmResult) -> Option<String>);

const COLUMNS: [Column; 6] = [
    ("CPU us", |arm| arm.cpu_us_per_request.as_ref().map(level)),
    ("max rate/s", |arm| arm.max_rate.as_ref().map(level)),
    ("p50 us", |arm| arm.response_us.p50.as_ref().map(level)),
    ("p90 us", |arm| arm.response_us.p90.as_ref().map(level)),
    ("quiet p99 us", |arm| arm.response_us.quiet_p99.as_ref().map(level)),
    ("p99 us", |arm| arm.response_us.p99.as_ref().map(level)),
];

/// The levels of all baselines, the main one first; none if none of their numbers is left.
pub(crate) fn levels(result: &StudyResult) -> Option<SideTable> {
    let arms = baselines(result);
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|column| arms.iter().any(|arm| column.1(arm).is_some())).collect();
    let of_rounds = |arm: &ArmResult, measure| arm_level(arm, measure).as_ref().map(level);
    let measures: Vec<RoundMeasure> = RoundMeasure::compared()
        .filter(|measure| arms.iter().any(|arm| of_rounds(arm, *measure).is_some()))
        .collect();
    let cells = |arm: &ArmResult| -> Vec<String> {
        let of_slices = columns.iter().map(|column| column.1(arm));
        let all = of_slices.chain(measures.iter().map(|measure| of_rounds(arm, *measure)));
        all.map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect()
    };
    let what = if arms.iter().all(|arm| arm.hops.is_empty()) { "without a proxy" } else { "plain proxying" };
    let load = result.plan.response_load();
    let at =
        load.filter(|_| columns.iter().any(|column| column.0.contains("p9") || column.0.contains("p50")));
    let at = at.map_or_else(String::new, |load| match load.rate {
        Some(rate) => format!(", response times at {} requests/s", grouped(rate, 0)),
        None => format!(", response times under {}", load.name),
    });
    (!columns.is_empty() || !measures.is_empty()).then(|| SideTable {
        title: format!("{what}, per request{at}"),
        header: std::iter::once("arm")
            .chain(columns.iter().map(|column| column.0))
            .chain(measures.iter().map(|measure| measure.definition().short_heading))
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
