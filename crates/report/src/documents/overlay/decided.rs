//! The difference between a number of two runs, the decision on it, and tables and charts of such differences.

use hoptax_result::{ComparisonBody, Decision, Interval};
use hoptax_stats::{decide_by_interval, sum_of_independent};

use crate::chart::{DifferenceRow, Differences};
use crate::document::Section;
use crate::numbers::{decimals, grouped};
use crate::quantity::{Form, Quantity};
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
/// **Method.** The runs share no rounds, so their numbers are independent, and [`sum_of_independent`] of one number and the negative other
/// gives the interval of the difference. That of the share also has the error of the level, whatever else depends on it
/// ([`Interval::share_of`]), and [`decide_by_interval`] decides by it with a margin of [`MARGIN_SHARE`]. Each interval is computed within
/// its own run and does not cover the variation between sittings of the same study.
///
/// **Degenerate cases.** `None` if the level may be zero, and if neither number has an interval with a width.
pub(super) fn decided(reference: &Interval, other: &Interval, level: &Interval) -> Option<Decided> {
    let difference = sum_of_independent(&[*other, reference.times(-1.0)])?;
    let share = difference.share_of(level).filter(|_| difference.low < difference.high)?;
    let decision = decide_by_interval(&share, MARGIN_SHARE)?;
    Some(Decided { difference, share, decision })
}

impl Decided {
    /// The share in percent.
    pub(super) fn percent(&self) -> Quantity {
        Quantity::difference(&self.share.times(PERCENT), "%")
    }

    /// The share with the decision: `+12.1 ±1.4 %, different`.
    fn in_words(&self) -> String {
        format!("{}, {}", self.percent().with_unit(), self.decision.as_str())
    }
}

/// What is known about the difference between a number of two runs.
pub(super) enum Found {
    /// Its interval.
    Decided(Decided),
    /// Its bounds, in the unit of the number, because only bounds of one of the numbers are known. It is undecided: not every bound has the
    /// confidence of an interval.
    Bounded(Quantity),
}

/// The bounds of the difference of `other` from `reference`, in their unit: from the low end of the one less the high end of the other to
/// the high end less the low end. None if no end of the difference is known.
pub(super) fn bounded(reference: &Quantity, other: &Quantity) -> Option<Quantity> {
    let less = |one: Option<f64>, other: Option<f64>| Some(one? - other?);
    let (low, high) = (less(other.low, reference.high), less(other.high, reference.low));
    low.or(high)?;
    Some(Quantity::bounded(low, high, reference.unit, Form::Difference))
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
    pub(super) reference: Quantity,
    /// The difference, as a share of the number of the reference, or its bounds.
    pub(super) found: Found,
}

impl Compared {
    /// The difference in the unit of the number.
    fn difference(&self) -> Quantity {
        match &self.found {
            Found::Decided(found) => Quantity::difference(&found.difference, self.unit),
            Found::Bounded(bounds) => bounds.clone(),
        }
    }

    /// The share with the decision, or the bounds: `+12.1 ±1.4 %, different`, `-20 to +300 us, undecided`.
    pub(super) fn in_words(&self) -> String {
        match &self.found {
            Found::Decided(found) => found.in_words(),
            Found::Bounded(bounds) => format!("{}, {}", bounds.with_unit(), Decision::Undecided.as_str()),
        }
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
        let (share, decision) = match &one.found {
            Found::Decided(found) => (Cell::Quantity(found.percent()), found.decision),
            Found::Bounded(bounds) => {
                (Cell::Quantity(bounds.bounded_share(&one.reference)), Decision::Undecided)
            }
        };
        let numbers = [
            Cell::Quantity(one.reference.clone()),
            Cell::Quantity(one.difference()),
            share,
            Cell::words(decision.as_str()),
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

/// The chart of the differences, also of those that only bounds hold; none if there are none. `subject` names the subject that each belongs
/// to.
pub(super) fn chart(
    title: &str,
    axis: String,
    all: &[Compared],
    subject: impl Fn(&Compared) -> String,
) -> Option<Section> {
    let row = |one: &Compared| {
        let (share, text, decision) = match &one.found {
            Found::Decided(found) => {
                let reference = grouped(one.reference.estimate?, decimals(found.difference.half_width()));
                let text = format!("{}: {} from {reference}", one.words, one.difference().text());
                (found.percent(), text, found.decision)
            }
            Found::Bounded(bounds) => {
                (bounds.bounded_share(&one.reference), bounds.with_unit(), Decision::Undecided)
            }
        };
        Some(DifferenceRow {
            subject: subject(one),
            measure: one.measure.clone(),
            share,
            text,
            limit: None,
            outcome: decision.into(),
        })
    };
    let chart = Differences {
        title: title.to_owned(),
        axis,
        margin: Some(PERCENT * MARGIN_SHARE),
        rows: all.iter().filter_map(row).collect(),
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
        let found = decided(&reference, &other, &reference).unwrap();
        assert!((found.difference.estimate - 10.0).abs() < 1e-9, "{found:?}");
        assert!((found.difference.half_width() - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.decision, Decision::Different);
        // From 9 of 50.6 to 11 of 49.4: of a level of exactly 50, it would be 2.0.
        assert_eq!(found.in_words(), "+20.0 ±2.3 %, different");
        let back = decided(&other, &reference, &reference).unwrap();
        assert_eq!(back.in_words(), "-20.0 ±2.3 %, different");
    }

    #[test]
    fn the_error_of_the_level_may_hide_that_a_difference_is_small() {
        let around = Interval::around;
        let decision = |level| decided(&around(10.0, 0.1), &around(10.8, 0.1), &around(50.0, level)).unwrap();
        assert_eq!(decision(0.1).decision, Decision::Equivalent);
        assert_eq!(decision(5.0).decision, Decision::Different);
    }

    #[test]
    fn a_difference_within_the_margin_is_equivalent_and_a_wide_one_undecided() {
        let around = |estimate, half_width| Interval::around(estimate, half_width);
        let decision = |other| {
            let reference = around(50.0, 0.3);
            decided(&reference, &other, &reference).unwrap().decision
        };
        // The margin is 1.
        assert_eq!(decision(around(50.1, 0.3)), Decision::Equivalent);
        assert_eq!(decision(around(50.1, 1.2)), Decision::Undecided);
    }

    #[test]
    fn the_bounds_of_a_difference_hold_each_difference_of_two_numbers_within_theirs() {
        let of = |low, high| Quantity::bounded(low, high, "us", Form::Level);
        let text = |reference, other| bounded(&reference, &other).map(|found| found.with_unit());
        let both = text(of(Some(100.0), Some(130.0)), of(Some(90.0), Some(160.0)));
        assert_eq!(both.as_deref(), Some("-40 to +60 us"));
        let beside_an_interval =
            text(Quantity::level(&Interval::around(100.0, 10.0), "us"), of(Some(150.0), None));
        assert_eq!(beside_an_interval.as_deref(), Some("≥ +40.0 us"));
        assert_eq!(text(of(Some(1.0), None), of(Some(2.0), None)), None);
    }

    #[test]
    fn nothing_is_decided_without_a_level_or_an_interval() {
        let one = Interval::around(1.0, 0.1);
        for level in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(decided(&one, &one, &Interval::around(level, 0.0)), None, "{level}");
        }
        assert_eq!(decided(&one, &one, &Interval::around(1.0, 1.0)), None, "it may be zero");
        let exact = Interval::around(1.0, 0.0);
        assert_eq!(decided(&exact, &exact, &one), None);
        assert!(decided(&exact, &one, &exact).is_some());
    }
}
