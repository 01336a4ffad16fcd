//! Cells of the tables of a load.

use hoptax_result::Known;

use crate::numbers::{grouped, us};

/// A number, its bounds if only they are known, or why there are none.
pub(super) fn cell(known: Known, count: u64) -> String {
    match (known.ends(), known) {
        (_, Known::Measured(value)) => us(value),
        ((Some(low), Some(high)), _) => format!("{} to {}", us(low), us(high)),
        ((Some(low), None), _) => format!(">= {}", us(low)),
        ((None, Some(high)), _) => format!("<= {}", us(high)),
        // Without requests there is no value; otherwise a missing value was withheld.
        ((None, None), _) => if count == 0 { "-" } else { "withheld" }.to_owned(),
    }
}

pub(super) fn rate(rate: f64) -> String {
    grouped(rate, 0)
}
