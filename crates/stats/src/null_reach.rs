//! How far a disturbance may move the number of an arm, estimated from identical arms, whose differences should be zero.

use crate::critical::two_sided_t;

/// Returns the distance by which a number may be off with the probability `confidence`, given numbers that should be zero, in
/// their unit. `nulls` holds one such number for each identical arm.
///
/// **Method.** A disturbance moves the number of each arm by its own amount, which is normal around zero. The standard deviation is the
/// root of the mean square of `nulls`, with one degree of freedom for each, since their mean is known. The result is this times the
/// critical value of Student's distribution: 12.7 times the number of a single identical arm at 95 %, 2.1 times with twenty.
///
/// **Degenerate cases.** `None` without numbers, when one is not finite, and when `confidence` is not strictly between 0 and 1.
pub fn null_reach(nulls: &[f64], confidence: f64) -> Option<f64> {
    let count = nulls.len() as f64;
    let deviation = (nulls.iter().map(|null| null.powi(2)).sum::<f64>() / count).sqrt();
    Some(two_sided_t(count, confidence)? * deviation).filter(|reach| reach.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_is_that_of_students_distribution() {
        assert!((null_reach(&[-2.0], 0.95).unwrap() - 2.0 * 12.706_205).abs() < 1e-5);
        // The root of the mean square of 3 and 4 is sqrt(12.5).
        assert!((null_reach(&[3.0, -4.0], 0.95).unwrap() - 12.5_f64.sqrt() * 4.302_653).abs() < 1e-5);
    }

    #[test]
    fn degenerate_input_reaches_nowhere() {
        for (nulls, confidence) in [
            (&[][..], 0.95),
            (&[1.0], 1.0),
            (&[1.0], f64::NAN),
            (&[f64::NAN], 0.95),
            (&[f64::INFINITY, 1.0], 0.95),
        ] {
            assert_eq!(null_reach(nulls, confidence), None, "{nulls:?}");
        }
    }
}
