//! The table of the baselines: the cost of plain proxying.

use hoptax_result::{ArmKind, ArmResult, CostMeasure, Interval, LoadSpec, RoundMeasure, StudyResult};

use crate::load_rate;
use crate::numbers::{grouped, level, or_dash};
use crate::rows::{arm_level, baselines, mark, own_load, reference_level};
use crate::table::Table;

/// A column: its heading and its measure.
type Column = (&'static str, CostMeasure);

/// The columns of slice measures; those of round measures follow.
const OF_SLICES: [Column; 6] = [
    ("CPU us", CostMeasure::CpuUs),
    ("max rate/s", CostMeasure::MaxRate),
    ("p50 us", CostMeasure::ResponseP50Us),
    ("p90 us", CostMeasure::ResponseP90Us),
    ("quiet p99 us", CostMeasure::ResponseQuietP99Us),
    ("p99 us", CostMeasure::ResponseP99Us),
];

/// A baseline in the table.
struct Row<'r> {
    arm: &'r ArmResult,
    /// The load of arms that are compared with this baseline under their own load; none for the load of its own numbers.
    load: Option<&'r LoadSpec>,
}

impl Row<'_> {
    fn name(&self, result: &StudyResult) -> String {
        match self.load {
            Some(load) => format!("{} ({})", self.arm.id, load_rate::rate(result, load)),
            None => format!("{}{}", self.arm.id, mark(result, self.arm)),
        }
    }

    /// Its level in a measure, in the unit of tables. Under a load that the baseline does not normally have, only in the measures whose
    /// costs are taken from that load.
    fn level(&self, result: &StudyResult, measure: CostMeasure) -> Option<Interval> {
        let Some(load) = self.load else { return arm_level(self.arm, measure) };
        let usual = |arm: &ArmResult| result.plan.usual_load_of(&arm.id, measure.measure());
        let is_of_load = |other: &&ArmResult| usual(other) == Some(load) && usual(self.arm) != Some(load);
        let other = users(result, self.arm, load).find(is_of_load)?;
        reference_level(result, other, measure)
    }
}

/// The arms that are compared with a baseline under their own load.
fn users<'r>(
    result: &'r StudyResult,
    baseline: &'r ArmResult,
    load: &'r LoadSpec,
) -> impl Iterator<Item = &'r ArmResult> {
    let compared = result.arms.iter().filter(move |arm| arm.compared_with.as_ref() == Some(&baseline.id));
    compared.filter(move |arm| own_load(result, arm) == Some(load))
}

/// The levels of all baselines, the main one first. Each is followed by its levels under the own loads of arms that are compared with it,
/// because the costs of these arms are shares of those levels. None if no number remains.
pub(crate) fn levels(result: &StudyResult) -> Option<Table> {
    let arms = baselines(result);
    let of_rounds = RoundMeasure::compared()
        .map(|measure| (measure.definition().short_heading, CostMeasure::OfRounds(measure)));
    let mut rows: Vec<Row<'_>> = Vec::new();
    for arm in arms.iter().copied() {
        rows.push(Row { arm, load: None });
        rows.extend(result.plan.loads.iter().map(|load| Row { arm, load: Some(load) }));
    }
    let columns: Vec<Column> = OF_SLICES
        .into_iter()
        .chain(of_rounds)
        .filter(|column| rows.iter().any(|row| row.level(result, column.1).is_some()))
        .collect();
    rows.retain(|row| {
        row.load.is_none() || columns.iter().any(|column| row.level(result, column.1).is_some())
    });
    let cells = |row: &Row<'_>| -> Vec<String> {
        let cell = |column: &Column| or_dash(row.level(result, column.1).as_ref().map(level));
        columns.iter().map(cell).collect()
    };
    let what = if arms.iter().all(|arm| arm.hops.is_empty()) { "without a proxy" } else { "plain proxying" };
    let load = result.plan.response_load();
    let at = load.filter(|_| columns.iter().any(|column| column.1.is_quantile()));
    let at = at.map_or_else(String::new, |load| match load.rate {
        Some(rate) => format!(", response times at {} requests/s", grouped(rate, 0)),
        None => format!(", response times under {}", load.name),
    });
    let headings = std::iter::once("arm").chain(columns.iter().map(|column| column.0));
    let rows = rows.iter().map(|row| (row.name(result), cells(row)));
    (!columns.is_empty()).then(|| Table::of_words(format!("{what}, per request{at}"), headings, rows))
}

/// A line for each baseline other than the main one, with the arms compared with it, and a line with the arms whose numbers are means over
/// copies.
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
    use hoptax_result::{ArmLoad, ResponseCost};

    use super::*;
    use crate::fixture;

    #[test]
    fn a_baseline_has_its_levels_in_a_row() {
        let table = levels(&fixture::study()).unwrap();
        assert_eq!(
            table.headings(),
            ["arm", "CPU us", "max rate/s", "p50 us", "p90 us", "p99 us", "memory MiB", "kB/connection"]
        );
        assert_eq!(
            table.texts_of("baseline"),
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
    fn a_baseline_has_a_row_for_each_load_that_arms_compared_with_it_have_of_their_own() {
        let mut result = fixture::study();
        let ids = result.arms.iter().map(|arm| arm.id.clone());
        let others: Vec<String> = ids.filter(|id| id != "jwt").collect();
        let slow = LoadSpec {
            name: "slow".to_owned(),
            rate: Some(1_600.0),
            arms: vec!["baseline".to_owned(), "jwt".to_owned()],
            ..result.plan.loads[1].clone()
        };
        let unused = LoadSpec { name: "second".to_owned(), arms: others.clone(), ..slow.clone() };
        result.plan.loads[1].arms = others;
        result.plan.loads.extend([unused, slow]);
        let under = |load: &str| ArmLoad {
            load: load.to_owned(),
            rate: Some(Interval::around(1_600.0, 1.0)),
            cpu_us_per_request: Some(Interval::around(55.0, 0.6)),
            response_us: ResponseCost { p50: Some(Interval::around(101.0, 1.2)), ..ResponseCost::default() },
            ..ArmLoad::default()
        };
        let baseline = result.arms.iter_mut().find(|arm| arm.id == "baseline").unwrap();
        baseline.loads = ["second", "slow"].map(under).into();
        let table = levels(&result).unwrap();
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["baseline", "baseline (1,600/s)", "baseline{size=4096}"]);
        // Neither the rate of an open loop nor memory is a number of this load.
        assert_eq!(table.texts(1), ["55.00 ±0.60", "-", "101.0 ±1.2", "-", "-", "-", "-"]);
        assert_eq!(table.rows[0], levels(&fixture::study()).unwrap().rows[0]);
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
