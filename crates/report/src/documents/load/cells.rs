//! Cells of the tables of a load.

use hoptax_result::Known;

use crate::numbers::{grouped, us};

/// A number, its bounds if only they are known, or the reason why there are none.
pub(super) fn cell(known: Known, count: u64) -> String {
    match (known.ends(), known) {
        (_, Known::Measured(value)) => us(value),
        ((Some(low), Some(high)), _) => format!("{} to {}", end(low, f64::floor), end(high, f64::ceil)),
        ((Some(low), None), _) => format!("≥ {}", end(low, f64::floor)),
        ((None, Some(high)), _) => format!("≤ {}", end(high, f64::ceil)),
        // Without requests, there is no value. Otherwise, a missing value was withheld.
        ((None, None), _) => if count == 0 { "-" } else { "withheld" }.to_owned(),
    }
}

/// A bound, rounded outward as in the table of the answer.
fn end(end: f64, round: fn(f64) -> f64) -> String {
    let scale = if end.abs() < 1000.0 { 10.0 } else { 1.0 };
    let scaled = end * scale;
    // Undo floating-point noise of a product that is a whole number.
    let is_whole = (scaled - scaled.round()).abs() < 1e-6;
    us(if is_whole { end } else { round(scaled) / scale })
}

pub(super) fn rate(rate: f64) -> String {
    grouped(rate, 0)
}

#[cfg(test)]
mod tests {
    use hoptax_result::TimeBounds;

    use super::*;
    use crate::quantity::{Form, Quantity};

    #[test]
    fn a_bound_is_printed_as_in_the_table_of_the_answer() {
        for (low_us, high_us) in [
            (Some(62_750.7), Some(80_478.2)),
            (Some(20_938.6), Some(23_740.4)),
            (Some(1_999.9), Some(2_400.000_000_1)),
            (Some(2_000.4), None),
            (None, Some(80_478.2)),
        ] {
            let quantity = Quantity::bounded(low_us, high_us, "us", Form::Level);
            assert_eq!(cell(Known::Bounded(TimeBounds { low_us, high_us }), 1), quantity.text());
        }
        let above = TimeBounds { low_us: Some(99.97), high_us: None };
        assert_eq!(cell(Known::Bounded(above), 1), "≥ 99.9");
    }
}
