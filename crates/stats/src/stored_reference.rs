//! Distance of a new sitting from the earlier sittings of a reference, allowing for variance between sittings.

use hoptax_result::Interval;

use crate::critical::two_sided_t;
use crate::random_effects::{Sitting, combined};

/// The distance of a new sitting from a reference, in the unit of the sittings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FromReference {
    /// The reference: the mean of its sittings.
    pub reference: f64,
    /// The new sitting less the reference, with an interval that allows for the variance between sittings.
    pub difference: Interval,
    /// Standard deviation of the true values of sittings of the reference. Zero when they differ by no more than their standard
    /// errors explain.
    pub between_sittings: f64,
}

/// The distance of the sitting `new`, which has `rounds` rounds, from the sittings `reference`, with the given `confidence`.
///
/// **Method.** The random-effects model of [`random_effects`](crate::random_effects()). Each sitting, the new one too, deviates from the
/// measured level by a draw of its own, with the same variance between sittings. The variance of the distance is therefore the sum of the
/// variance of the mean of the reference, the variance between sittings, and the squared standard error of the new sitting. The new sitting
/// is assumed to be no more precise than the sittings of the reference: with so few, the estimated variance between sittings is often zero,
/// and their own errors then take its place. Without this assumption, the interval covers in 89 to 99 % if the new sitting is three times as
/// precise. The critical value is Student's with one degree of freedom less than the reference has sittings, and the interval is never
/// narrower than one that treats the estimated variance between sittings as known. The new sitting's own variance gets Student's value for
/// its rounds instead, if that is larger, because it may be most of the variance and be known from a few rounds only.
///
/// **Cost.** When two subjects are measured side by side, the variance between sittings cancels. Against a reference of three sittings, `t`
/// is 4.3 and no number of rounds makes the interval narrower than 4.3 times the deviation between sittings, times the root of 4/3.
/// `tests/stored_reference_coverage.rs` simulates 95.5 % and more for two to eight sittings and a nominal 95 %.
///
/// **Degenerate cases.** As for [`random_effects`](crate::random_effects()): `None` with fewer than two sittings of the reference, and
/// when a number is not finite or a standard error is negative.
pub fn from_reference(
    reference: &[Sitting],
    new: Sitting,
    rounds: u32,
    confidence: f64,
) -> Option<FromReference> {
    if !new.estimate.is_finite() || !new.standard_error.is_finite() || new.standard_error < 0.0 {
        return None;
    }
    let found = combined(reference, confidence)?;
    let of_new = new.standard_error.powi(2);
    let of_reference = found.mean_variance + found.between_variance + (found.own_variance - of_new).max(0.0);
    let own_reach = found.reach.max(two_sided_t(f64::from(rounds) - 1.0, confidence)?);
    let half_width = (found.reach.powi(2) * of_reference + own_reach.powi(2) * of_new).sqrt();
    let estimate = new.estimate - found.mean;
    let difference = Interval::around(estimate, half_width);
    (difference.low.is_finite() && difference.high.is_finite()).then_some(FromReference {
        reference: found.mean,
        difference,
        between_sittings: found.between_variance.sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sitting(estimate: f64, standard_error: f64) -> Sitting {
        Sitting { estimate, standard_error }
    }

    #[test]
    fn a_distance_as_worked_by_hand() {
        // As in the tests of random effects: mean 20.266667, total variance of a sitting 0.813333, of which 0.773333 is between
        // sittings. The new sitting is measured exactly, and taken to be as precise as the others: 4.302653 * sqrt(0.813333 * 4 / 3).
        let reference = [sitting(19.4, 0.2), sitting(20.2, 0.2), sitting(21.2, 0.2)];
        let found = from_reference(&reference, sitting(22.0, 0.0), 12, 0.95).unwrap();
        assert!((found.reference - 20.266_667).abs() < 1e-5, "{found:?}");
        assert!((found.difference.estimate - 1.733_333).abs() < 1e-5, "{found:?}");
        assert!((found.difference.half_width() - 4.480_63).abs() < 1e-4, "{found:?}");
        assert!((found.between_sittings - 0.773_333_f64.sqrt()).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn a_run_whose_rounds_agree_by_chance_does_not_decide_the_reference() {
        let with = |error: f64| {
            let reference = [sitting(19.4, error), sitting(20.2, 0.2), sitting(21.2, 0.2)];
            from_reference(&reference, sitting(22.0, 0.3), 12, 0.95).unwrap().reference
        };
        assert!((with(1e-9) - with(0.2)).abs() < 1e-12);
    }

    #[test]
    fn a_less_precise_sitting_has_a_wider_interval() {
        let reference = [sitting(19.4, 0.2), sitting(20.2, 0.2), sitting(21.2, 0.2)];
        let width = |error: f64| {
            from_reference(&reference, sitting(22.0, error), 12, 0.95).unwrap().difference.half_width()
        };
        assert!(width(0.0) < width(0.5) && width(0.5) < width(1.0));
    }

    #[test]
    fn degenerate_input_has_no_result() {
        let reference = [sitting(19.4, 0.2), sitting(20.2, 0.2)];
        let new = sitting(20.0, 0.2);
        assert_eq!(from_reference(&reference[..1], new, 12, 0.95), None);
        assert_eq!(from_reference(&reference, sitting(f64::NAN, 0.2), 12, 0.95), None);
        assert_eq!(from_reference(&reference, sitting(20.0, -0.2), 12, 0.95), None);
        assert_eq!(from_reference(&reference, new, 12, 1.0), None);
        assert_eq!(from_reference(&reference, new, 1, 0.95), None);
        assert_eq!(from_reference(&[sitting(f64::INFINITY, 0.2), reference[0]], new, 12, 0.95), None);
    }
}
