//! Numbers with their intervals, one row each, on a common axis.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Level, Scale, Tone};
use crate::quantity::Quantity;

/// Numbers with their intervals on one axis.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Intervals {
    /// Its title.
    pub(crate) title: String,
    /// The label of the axis, with the unit.
    pub(crate) axis: String,
    /// The scale of the axis: linear or logarithmic.
    pub(crate) scale: Scale,
    /// The number that all others are held against; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<Level>,
    /// The rows, those of one name beside each other.
    pub(crate) rows: Vec<IntervalRow>,
}

/// A number with its interval.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct IntervalRow {
    /// Its name.
    pub(crate) name: String,
    /// Its kind, as a legend has it: `measured`, `predicted`.
    pub(crate) kind: &'static str,
    /// The colour of its kind.
    pub(crate) tone: Tone,
    /// The number. One that has neither an estimate nor an end is only in the table.
    pub(crate) number: Quantity,
    /// A sentence about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Intervals {
    /// Rows on a linear axis; none if no number is known.
    pub(crate) fn new(title: &str, axis: &str, rows: Vec<IntervalRow>) -> Option<Self> {
        let is_known = |row: &IntervalRow| {
            let Quantity { estimate, low, high, .. } = row.number;
            estimate.or(low).or(high).is_some()
        };
        rows.iter().any(is_known).then(|| Self {
            title: title.to_owned(),
            axis: axis.to_owned(),
            scale: Scale::Linear,
            level: None,
            rows,
        })
    }
}

impl IntervalRow {
    /// A measured number.
    pub(crate) fn measured(name: impl Into<String>, number: Quantity) -> Self {
        Self { name: name.into(), kind: "measured", tone: Tone::Own, number, note: None }
    }

    /// A number computed from other measurements.
    pub(crate) fn predicted(name: impl Into<String>, number: Quantity) -> Self {
        let number = number.predicted();
        Self { name: name.into(), kind: "predicted", tone: Tone::Third, number, note: None }
    }

    /// Adds a sentence to the row.
    #[must_use]
    pub(crate) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::Interval;

    use super::*;
    use crate::quantity::{Basis, Form};

    #[test]
    fn a_chart_needs_a_number_that_is_known_by_one_end_at_least() {
        let unknown = || IntervalRow::measured("a", Quantity::unknown("withheld", "us"));
        assert!(Intervals::new("t", "us", vec![unknown()]).is_none());
        assert!(Intervals::new("t", "us", Vec::new()).is_none());
        let bounded = Quantity::bounded(None, Some(3.0), "us", Form::Level);
        let rows = vec![unknown(), IntervalRow::measured("b", bounded)];
        assert_eq!(Intervals::new("t", "us", rows).unwrap().rows.len(), 2);
    }

    #[test]
    fn measured_and_predicted_numbers_have_two_colours() {
        let number = || Quantity::level(&Interval::around(10.0, 1.0), "us");
        let rows = [IntervalRow::measured("a", number()), IntervalRow::predicted("a", number())];
        assert_ne!(rows[0].tone, rows[1].tone);
        assert_eq!((rows[1].kind, &rows[1].number.basis), ("predicted", &Basis::Predicted));
    }
}
