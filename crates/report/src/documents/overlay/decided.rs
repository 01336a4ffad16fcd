//! The difference between a number of two runs, the decision on it, and tables and charts of such differences.

use hoptax_result::{ComparisonBody, Decision, Interval};
use hoptax_stats::{decide_by_interval, sum_of_independent};

use crate::chart::{DifferenceRow, Differences};
use crate::document::Section;
use crate::numbers::{decimals, grouped};
use crate::quantity::Quantity;
use crate::table::{Cell, Column, Row, Table};

/// Equivalence margin, as a share of the reference.
pub(super) const MARGIN_SHARE: f64 = ComparisonBody::USUAL_MARGIN_SHARE;

const PERCENT: f64 = 100.0;

/// A difference between two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decided {
    /// The number of the run minus that of the reference, in their unit.
    pub(super) difference: Interval,
    /// The difference as a share of a level.
    pub(super) share: Interval,
    /// The decision.
    pub(super) decision: Decision,
}

/// The difference of `other` from `reference`, as a share of `level`, which is in the unit of both.
///
/// **Method.** The runs share no rounds, so their numbers are independent. [`sum_of_independent`] of one number and the negative other
/// gives the interval, and [`decide_by_interval`] decides with a margin of [`MARGIN_SHARE`] of the level. Each interval is computed within
/// its own run and does not cover the variation between sittings of the same study.
///
/// **Degenerate cases.** `None` if the level is not above zero, and if neither number has an interval with a width.
pub(super) fn decided(reference: &Interval, other: &Interval, level: f64) -> Option<Decided> {
    if !level.is_finite() || level <= 0.0 {
        return None;
    }
    let difference = sum_of_independent(&[*other, reference.times(-1.0)])?;
    let decision = decide_by_interval(&difference, MARGIN_SHARE * level)?;
    Some(Decided { difference, share: difference.times(1.0 / level), decision })
}

impl Decided {
    /// The share in percent.
    pub(super) fn percent(&self) -> Quantity {
        Quantity::difference(&self.share.times(PERCENT), "%")
    }

    /// The share with the decision: `+12.1 ±1.4 %, different`.
    pub(super) fn in_words(&self) -> String {
        format!("{}, {}", self.percent().with_unit(), self.decision.as_str())
    }
}

/// A number of a run, compared with the same number of the reference.
pub(super) struct Compared {
    /// The run.
    pub(super) run: String,
    /// The part of the run that it describes, for tables: a percentile, or an arm.
    pub(super) part: String,
    /// Its measure, for charts.
    pub(super) measure: String,
    /// Its measure with the unit.
    pub(super) words: String,
    /// The unit.
    pub(super) unit: &'static str,
    /// The number of the reference.
    pub(super) reference: Interval,
    /// The difference, as a share of the number of the reference.
    pub(super) found: Decided,
}

impl Compared {
    /// The difference in the unit of the number.
    fn difference(&self) -> Quantity {
        Quantity::difference(&self.found.difference, self.unit)
    }
}

/// The table of differences from `reference`, a row for each; none if there are none. Numeric columns have the unit `unit`. If the numbers
/// have different units, each row states its measure.
pub(super) fn table(
    title: String,
    names: &str,
    reference: &str,
    unit: Option<&str>,
    all: &[Compared],
) -> Option<Section> {
    let has_measures = unit.is_none();
    let heading = |of: &str| unit.map_or_else(|| of.to_owned(), |unit| format!("{of} {unit}"));
    let row = |one: &Compared| {
        let numbers = [
            Cell::level(Some(&one.reference), one.unit),
            Cell::Quantity(one.difference()),
            Cell::Quantity(one.found.percent()),
            Cell::words(one.found.decision.as_str()),
        ];
        let measure = has_measures.then(|| Cell::words(&one.words));
        Row::new(format!("{}: {}", one.run, one.part), measure.into_iter().chain(numbers).collect())
    };
    let numbers = [
        Column::new(heading(reference), 2),
        Column::new(heading("difference"), 3),
        Column::new("relative %", 1),
        Column::text("decision", 0),
    ];
    let measure = has_measures.then(|| Column::text("measure", 0));
    let table = Table::new(title, names, measure.into_iter().chain(numbers), all.iter().map(row));
    (!all.is_empty()).then(|| Section::of_table(table))
}

/// The chart of differences; none if there are none. `subject` names the subject that each belongs to.
pub(super) fn chart(
    title: &str,
    axis: String,
    all: &[Compared],
    subject: impl Fn(&Compared) -> String,
) -> Option<Section> {
    let row = |one: &Compared| {
        let reference = grouped(one.reference.estimate, decimals(one.found.difference.half_width()));
        DifferenceRow {
            subject: subject(one),
            measure: one.measure.clone(),
            share: one.found.percent(),
            text: format!("{}: {} from {reference}", one.words, one.difference().text()),
            limit: None,
            outcome: one.found.decision.into(),
        }
    };
    let chart = Differences {
        title: title.to_owned(),
        axis,
        margin: Some(PERCENT * MARGIN_SHARE),
        rows: all.iter().map(row).collect(),
    };
    Section::of_differences(title, chart)
}

/// The notes on how all differences are computed and decided.
pub(super) fn notes(reference: &str) -> Vec<String> {
    let margin = PERCENT * MARGIN_SHARE;
    vec![
        format!(
            "differences are those from {reference}; equivalent: the whole 95 % interval is within the margin of {margin} %; otherwise \
             different: it excludes zero; undecided: neither"
        ),
        "each interval is that of its own run, and sittings of one study differ by more: `hoptax compare` measures side by side, \
         where differences between sittings cancel"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_two_runs_has_the_interval_of_both_and_its_share_that_of_the_level() {
        let (reference, other) = (Interval::around(50.0, 0.6), Interval::around(60.0, 0.8));
        let found = decided(&reference, &other, 50.0).unwrap();
        assert!((found.difference.estimate - 10.0).abs() < 1e-9, "{found:?}");
        assert!((found.difference.half_width() - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.decision, Decision::Different);
        assert_eq!(found.in_words(), "+20.0 ±2.0 %, different");
        let back = decided(&other, &reference, 50.0).unwrap();
        assert_eq!(back.in_words(), "-20.0 ±2.0 %, different");
    }

    #[test]
    fn a_difference_within_the_margin_is_equivalent_and_a_wide_one_undecided() {
        let around = |estimate, half_width| Interval::around(estimate, half_width);
        let decision = |other| decided(&around(50.0, 0.3), &other, 50.0).unwrap().decision;
        // The margin is 1.
        assert_eq!(decision(around(50.1, 0.3)), Decision::Equivalent);
        assert_eq!(decision(around(50.1, 1.2)), Decision::Undecided);
    }

    #[test]
    fn nothing_is_decided_without_a_level_or_an_interval() {
        let one = Interval::around(1.0, 0.1);
        for level in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(decided(&one, &one, level), None, "{level}");
        }
        let exact = Interval::around(1.0, 0.0);
        assert_eq!(decided(&exact, &exact, 1.0), None);
        assert!(decided(&exact, &one, 1.0).is_some());
    }
}
