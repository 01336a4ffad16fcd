//! A number with its interval, unit and basis, and its text with as many decimals as the interval supports.

use std::borrow::Cow;

use hoptax_checks::thresholds::Limits;
use hoptax_checks::vague::vague_level;
use hoptax_result::{Interval, share_ends};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::numbers::{UNCERTAIN_SIGN, all_decimals, decimals, grouped, signed, ungrouped};

/// Origin of a quantity: measured, bounded, predicted or unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Basis {
    /// Measured: the interval has its stated confidence.
    Measured,
    /// Only the ends are known.
    Bounded,
    /// Computed from other measurements.
    Predicted,
    /// The value is not known, with the reason.
    Unknown(String),
}

/// Form of a quantity in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// An amount, without a sign: `27.41 ±0.32`.
    Level,
    /// A difference, with a sign: `+4.95 ±0.65`.
    Difference,
}

/// A number with its interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    /// The estimate; none if only bounds are known.
    pub(crate) estimate: Option<f64>,
    /// The lower end; none if it is unknown.
    pub(crate) low: Option<f64>,
    /// The upper end; none if it is unknown.
    pub(crate) high: Option<f64>,
    /// The unit: `us`, `%`, `requests/s`.
    pub(crate) unit: &'static str,
    /// The form: an amount or a difference.
    pub(crate) form: Form,
    /// Its basis.
    pub(crate) basis: Basis,
    /// True for a difference whose sign is uncertain when all numbers of its column are judged together.
    pub(crate) has_uncertain_sign: bool,
}

/// A quantity as documents have it: with its text, so that nothing else has to format it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Quantity")]
struct Written<'a> {
    /// Its text without the unit: `27.41 ±0.32`.
    text: String,
    /// The estimate; absent if only bounds are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<f64>,
    /// The lower end; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    /// The upper end; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    /// The unit: `us`, `%`, `requests/s`.
    unit: &'a str,
    /// The form: an amount or a difference.
    form: Form,
    /// Its basis.
    basis: &'a Basis,
    /// True if it is a difference whose sign is not supported once all of its column are judged together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_uncertain_sign: bool,
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { estimate, low, high, unit, form, basis, has_uncertain_sign } = self;
        Written {
            text: self.text(),
            estimate: *estimate,
            low: *low,
            high: *high,
            unit,
            form: *form,
            basis,
            has_uncertain_sign: *has_uncertain_sign,
        }
        .serialize(serializer)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

impl Quantity {
    /// A measured amount.
    pub(crate) fn level(interval: &Interval, unit: &'static str) -> Self {
        Self::measured(interval, unit, Form::Level)
    }

    /// A measured difference.
    pub(crate) fn difference(interval: &Interval, unit: &'static str) -> Self {
        Self::measured(interval, unit, Form::Difference)
    }

    /// A measured difference that nothing judges together with others: its own interval decides if its sign is supported. That of exact
    /// counts may have no width, and is in no doubt then.
    pub(crate) fn judged_alone(interval: &Interval, unit: &'static str) -> Self {
        Self::difference(interval, unit).with_sign(interval.contains(0.0) && interval.low < interval.high)
    }

    fn measured(interval: &Interval, unit: &'static str, form: Form) -> Self {
        Self {
            estimate: Some(interval.estimate),
            low: Some(interval.low),
            high: Some(interval.high),
            ..Self::empty(unit, form, Basis::Measured)
        }
    }

    /// A number without an interval.
    pub(crate) fn point(estimate: f64, unit: &'static str, form: Form) -> Self {
        Self { estimate: Some(estimate), ..Self::empty(unit, form, Basis::Measured) }
    }

    /// An amount with the ends of its interval, if it has one.
    pub(crate) fn estimated(estimate: f64, low: Option<f64>, high: Option<f64>, unit: &'static str) -> Self {
        Self { estimate: Some(estimate), low, high, ..Self::empty(unit, Form::Level, Basis::Measured) }
    }

    /// Bounds of a number: at least one of its ends.
    pub(crate) fn bounded(low: Option<f64>, high: Option<f64>, unit: &'static str, form: Form) -> Self {
        Self { low, high, ..Self::empty(unit, form, Basis::Bounded) }
    }

    /// A predicted amount: by its ends alone, as a bound, if its interval is so wide that the estimate says nothing, by the rule for the
    /// levels of a study ([`vague_level`]).
    pub(crate) fn predicted_level(interval: &Interval, unit: &'static str) -> Self {
        match vague_level(interval, &Limits::default()) {
            Some(_) => Self::bounded(Some(interval.low), Some(interval.high), unit, Form::Level),
            None => Self::level(interval, unit).predicted(),
        }
    }

    /// A measured amount: by its ends alone, as a bound, if its interval `is_wide`.
    pub(crate) fn measured_level(interval: &Interval, is_wide: bool, unit: &'static str) -> Self {
        if is_wide {
            Self::bounded(Some(interval.low), Some(interval.high), unit, Form::Level)
        } else {
            Self::level(interval, unit)
        }
    }

    /// Bounds of a share of a reference, %; unknown without an end.
    pub(crate) fn bounded_percent(low: Option<f64>, high: Option<f64>) -> Self {
        if low.or(high).is_none() {
            return Self::unknown("the share of the reference is not known", "%");
        }
        let percent = |end: f64| 100.0 * end;
        Self::bounded(low.map(percent), high.map(percent), "%", Form::Difference)
    }

    /// Its bounds as shares of a level, which is within its own, %; unknown if the level may be zero.
    pub(crate) fn bounded_share(&self, level: &Self) -> Self {
        let share = share_ends((self.low, self.high), (level.low, level.high));
        let (low, high) = share.unwrap_or_default();
        Self::bounded_percent(low, high)
    }

    /// The error of a prediction by its ends alone, %, if an interval is too wide for a share of the estimate. The ends are those of the
    /// quotient of all predicted and measured times within their intervals. So the widths add up, which is right however the two depend on
    /// each other. An end is missing if the measured time may be arbitrarily near to 0.
    pub(crate) fn error_by_ends(measured: &Interval, predicted: &Interval) -> Self {
        let share =
            |predicted: f64, measured: f64| (measured > 0.0).then(|| 100.0 * (predicted / measured - 1.0));
        let low = share(predicted.low, if predicted.low < 0.0 { measured.low } else { measured.high });
        let high = share(predicted.high, if predicted.high < 0.0 { measured.high } else { measured.low });
        Self::bounded(low, high, "%", Form::Difference)
    }

    /// An unknown number, with the reason.
    pub(crate) fn unknown(why: impl Into<String>, unit: &'static str) -> Self {
        Self::empty(unit, Form::Level, Basis::Unknown(why.into()))
    }

    /// A number without an estimate or ends.
    pub(crate) fn empty(unit: &'static str, form: Form, basis: Basis) -> Self {
        Self { estimate: None, low: None, high: None, unit, form, basis, has_uncertain_sign: false }
    }

    /// Marks the sign of the difference as uncertain, if it `is_uncertain`.
    #[must_use]
    pub(crate) fn with_sign(self, is_uncertain: bool) -> Self {
        Self { has_uncertain_sign: is_uncertain, ..self }
    }

    /// Marks the quantity as computed from other measurements.
    #[must_use]
    pub(crate) fn predicted(self) -> Self {
        Self { basis: Basis::Predicted, ..self }
    }

    /// Its text without the unit: `27.41 ±0.32`, `+0.46 ±0.80 ?`, `-20 to +300`, `≥ 12`, `-`.
    pub(crate) fn text(&self) -> String {
        let text = self.without_mark();
        if self.has_uncertain_sign { text + UNCERTAIN_SIGN } else { text }
    }

    fn without_mark(&self) -> String {
        match (self.estimate, self.low, self.high) {
            (Some(estimate), Some(low), Some(high)) => {
                self.with_interval(&Interval::new(estimate, low, high))
            }
            (None, Some(_), Some(_)) => self.ends(),
            (_, Some(low), None) => format!("≥ {}", self.plain(self.outward(low, digits(low), f64::floor))),
            (_, None, Some(high)) => format!("≤ {}", self.plain(self.outward(high, digits(high), f64::ceil))),
            (Some(estimate), None, None) => self.plain(estimate),
            (None, None, None) => "-".to_owned(),
        }
    }

    /// The ends of its interval; empty unless it has both.
    pub(crate) fn ends(&self) -> String {
        let (Some(low), Some(high)) = (self.low, self.high) else { return String::new() };
        let middle = Interval::new(f64::midpoint(low, high), low, high);
        let decimals = self.decimals(&middle);
        let (low, high) = (self.outward(low, decimals, f64::floor), self.outward(high, decimals, f64::ceil));
        format!("{} to {}", self.number(low, decimals), self.number(high, decimals))
    }

    /// The lower end of a bound, rounded down as in its text, but without commas: for a command that must not exceed it. None without a
    /// lower end.
    pub(crate) fn rounded_down(&self) -> Option<String> {
        let low = self.low?;
        Some(ungrouped(self.outward(low, digits(low), f64::floor), digits(low)))
    }

    /// An end for printing. A bound is rounded outward, so that the printed bound is still valid.
    fn outward(&self, end: f64, decimals: usize, round: fn(f64) -> f64) -> f64 {
        let scale = 10_f64.powi(decimals as i32);
        let scaled = end * scale;
        // Undo floating-point noise of a product that is a whole number.
        let is_whole = (scaled - scaled.round()).abs() < 1e-6;
        if self.basis == Basis::Bounded && !is_whole { round(scaled) / scale } else { end }
    }

    /// Number of decimals that the interval supports. Cores and dimensionless numbers are often far below one.
    fn decimals(&self, interval: &Interval) -> usize {
        if matches!(self.unit, "cores" | "") {
            all_decimals(interval)
        } else {
            decimals(interval.half_width())
        }
    }

    fn number(&self, value: f64, decimals: usize) -> String {
        match self.form {
            Form::Level => grouped(value, decimals),
            Form::Difference => signed(value, decimals),
        }
    }

    fn with_interval(&self, interval: &Interval) -> String {
        // Also state the ends of an interval that is far from symmetric around its estimate.
        let (below, above) = (interval.estimate - interval.low, interval.high - interval.estimate);
        let is_even = below.max(above) <= 1.5 * below.min(above) || interval.half_width() <= f64::EPSILON;
        let decimals = self.decimals(interval);
        if !is_even {
            // The estimate distinguishes it from a bound.
            return format!("{} ({})", self.number(interval.estimate, decimals), self.ends());
        }
        format!("{} ±{}", self.number(interval.estimate, decimals), grouped(interval.reach(), decimals))
    }

    /// One number, with three significant digits.
    fn plain(&self, value: f64) -> String {
        self.number(value, digits(value))
    }

    /// Its text with the unit: `27.41 ±0.32 us`.
    pub(crate) fn with_unit(&self) -> String {
        format!("{} {}", self.text(), self.unit).trim_end().to_owned()
    }
}

/// Number of decimals for three significant digits.
fn digits(value: f64) -> usize {
    match value.abs() {
        large if large >= 100.0 => 0,
        middling if middling >= 10.0 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval::new(estimate, low, high)
    }

    #[test]
    fn a_quantity_is_written_with_the_digits_of_its_interval() {
        let level = Quantity::level(&interval(27.412, 27.09, 27.73), "us");
        assert_eq!(level.text(), "27.41 ±0.32");
        let difference = Quantity::difference(&interval(4.95, 4.3, 5.6), "us");
        assert_eq!(difference.text(), "+4.95 ±0.65");
        assert_eq!(difference.with_sign(true).text(), "+4.95 ±0.65 ?");
        let alone =
            |low, high| Quantity::judged_alone(&interval(f64::midpoint(low, high), low, high), "us").text();
        assert_eq!(alone(-0.9, 0.1), "-0.40 ±0.50 ?");
        assert_eq!([alone(-0.9, -0.1), alone(0.0, 0.0)], ["-0.50 ±0.40", "+0.00 ±0.00"]);
    }

    #[test]
    fn cores_and_pure_numbers_have_as_many_decimals_as_their_interval_supports() {
        let of = |estimate, half: f64, unit| {
            Quantity::level(&interval(estimate, estimate - half, estimate + half), unit).with_unit()
        };
        assert_eq!(of(1.2654, 0.038, "cores"), "1.265 ±0.038 cores");
        assert_eq!(of(0.000_225_4, 0.000_045, ""), "0.000225 ±0.000045");
        assert_eq!(of(0.000_225_4, 0.000_045, "us"), "0.00 ±0.00 us");
        assert_eq!(Quantity::point(1_234.5, "us", Form::Level).with_unit(), "1,234 us");
    }

    #[test]
    fn bounds_are_written_by_their_ends() {
        let of = |low, high, form| Quantity::bounded(low, high, "us", form).text();
        assert_eq!(of(Some(-20.0), Some(300.0), Form::Difference), "-20 to +300");
        assert_eq!(of(Some(0.213), Some(0.434), Form::Level), "0.21 to 0.44");
        assert_eq!(of(Some(1_234.0), None, Form::Level), "≥ 1,234");
        assert_eq!(of(None, Some(12.34), Form::Difference), "≤ +12.4");
        // A bound is rounded outwards, so that the text holds for the value.
        assert_eq!(of(Some(1_234.7), None, Form::Level), "≥ 1,234");
        assert_eq!(of(None, Some(-7.781), Form::Difference), "≤ -7.78");
        assert_eq!(of(Some(-20.3), Some(299.2), Form::Difference), "-21 to +300");
        assert_eq!(of(Some(0.3), Some(0.7), Form::Level), "0.30 to 0.70");
        assert_eq!(Quantity::unknown("no responses", "us").text(), "-");
        // A command has the same number as the text.
        let command = |low| Quantity::bounded(low, None, "us", Form::Level).rounded_down();
        let numbers = [1_199.6, 99.96, 20.5, 2.0].map(|low| command(Some(low)).unwrap());
        assert_eq!(numbers, ["1199", "99.9", "20.5", "2.00"]);
        assert_eq!(command(None), None);
    }

    #[test]
    fn a_predicted_level_with_a_wide_interval_is_a_bound() {
        let of = |estimate, half| Quantity::predicted_level(&Interval::around(estimate, half), "us");
        let (narrow, wide) = (of(100.0, 49.0), of(100.0, 187.0));
        assert_eq!((narrow.text().as_str(), narrow.basis), ("100 ±49", Basis::Predicted));
        assert_eq!((wide.text().as_str(), wide.basis), ("-87 to 287", Basis::Bounded));
    }

    #[test]
    fn a_measured_level_with_a_wide_interval_is_a_bound() {
        let of = |is_wide| Quantity::measured_level(&Interval::around(100.0, 80.0), is_wide, "us");
        assert_eq!([of(false).text(), of(true).text()], ["100 ±80", "20 to 180"]);
        assert_eq!(of(true).basis, Basis::Bounded);
    }

    #[test]
    fn bounds_are_shares_of_a_level_that_is_above_zero() {
        let level = |low, high| Quantity::bounded(low, high, "us", Form::Level);
        let of = |low, level| {
            Quantity::bounded(low, Some(30.0), "us", Form::Difference).bounded_share(&level).text()
        };
        assert_eq!(of(Some(-10.0), level(Some(50.0), Some(60.0))), "-20 to +60");
        assert_eq!(of(Some(12.0), level(Some(50.0), Some(60.0))), "+20 to +60");
        assert_eq!(of(None, level(Some(50.0), None)), "≤ +60.0");
        assert_eq!([of(None, level(None, Some(9.0))), of(None, level(Some(0.0), Some(9.0)))], ["-", "-"]);
    }

    #[test]
    fn the_error_beside_a_wide_interval_holds_every_quotient_of_times_within_the_intervals() {
        let (error, around) = (Quantity::error_by_ends, Interval::around);
        // 90 / 180 and 110 / 20.
        assert_eq!(error(&around(100.0, 80.0), &around(100.0, 10.0)).text(), "-50 to +450");
        // Below zero, the smaller measured time is farther: -20 / 50.
        assert_eq!(error(&around(100.0, 50.0), &around(40.0, 60.0)).text(), "-140 to +100");
        assert_eq!(error(&around(100.0, 150.0), &around(200.0, 50.0)).text(), "≥ -40.0");
    }

    #[test]
    fn an_uneven_interval_is_written_with_its_ends_and_one_that_is_less_so_with_its_longer_side() {
        assert_eq!(Quantity::level(&interval(10.0, 9.0, 30.0), "us").text(), "10 (9 to 30)");
        assert_eq!(Quantity::level(&interval(10.0, 8.0, 13.0), "us").text(), "10.0 ±3.0");
        assert_eq!(Quantity::difference(&interval(-10.0, -13.0, -8.0), "us").text(), "-10.0 ±3.0");
    }
}
