//! Intervals that hold for several comparisons together, and the width at which they find a change beyond a limit.

use hoptax_result::Interval;

use crate::chance::standard_error;
use crate::critical::two_sided_t;
use crate::sequential::{FIRST_LOOK, LOOK_CONFIDENCE};

/// Half-width of a simultaneous interval, as a share of the limit that it is judged by, at which a study stops: a change of five thirds of
/// the limit then lies two half-widths beyond it, and a change of zero lies three half-widths within it.
const OF_LIMIT: f64 = 1.0 / 3.0;

/// Widens the interval of one comparison so that the intervals of all `comparisons` contain their true values simultaneously, with the
/// confidence that `interval` has alone. The interval has `freedom` degrees of freedom and `confidence`.
///
/// **Method.** Each of *m* intervals gets the confidence `1 - (1 - confidence) / m`, so the errors add up to at most
/// `1 - confidence`, however the comparisons depend on each other.
///
/// **Source.** O. J. Dunn, "Multiple Comparisons among Means", *Journal of the American Statistical Association* 56(293), 1961.
///
/// **Degenerate cases.** `None` without degrees of freedom, without a comparison, for an interval without a width, and for a
/// confidence that is not between zero and one.
pub fn simultaneous(
    interval: &Interval,
    freedom: f64,
    confidence: f64,
    comparisons: usize,
) -> Option<Interval> {
    if comparisons == 0 {
        return None;
    }
    let error = standard_error(interval, freedom, confidence)?;
    let of_each = 1.0 - (1.0 - confidence) / comparisons as f64;
    let half_width = error * two_sided_t(freedom, of_each)?;
    let Interval { estimate, .. } = *interval;
    Some(Interval::around(estimate, half_width))
}

/// The half-width of the interval of a single comparison, with [`LOOK_CONFIDENCE`], at which a study that judges `comparisons`
/// changes by `limit` may stop: the simultaneous intervals are then at most a third of `limit` to each side. In the unit of
/// `limit`.
///
/// **Why a third.** A change of five thirds of the limit, 5 % for a limit of 3 %, is found in over 95 of 100 studies, and a change of zero
/// is found to be within the limit in nearly all (`tests/limit_errors.rs`). A change near the limit is not decided at any width.
///
/// **Degenerate cases.** `None` without a comparison, and for a limit that is not positive and finite.
pub fn half_width_for_limit(limit: f64, comparisons: usize) -> Option<f64> {
    let unit = Interval::new(0.0, -1.0, 1.0);
    // The ratio decreases with the number of rounds, so that of the first look suffices for all.
    let widened = simultaneous(&unit, f64::from(FIRST_LOOK) - 1.0, LOOK_CONFIDENCE, comparisons)?;
    Some(OF_LIMIT * limit / widened.half_width()).filter(|target| *target > 0.0 && target.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_comparisons_share_the_error() {
        // R: qt(0.975, 11) = 2.200985, qt(1 - 0.05 / 6, 11) = 2.820006.
        let wider = simultaneous(&Interval::around(1.0, 2.200_985), 11.0, 0.95, 3).unwrap();
        assert!((wider.high - 3.820_006).abs() < 1e-4, "{wider:?}");
        assert_eq!(simultaneous(&Interval::around(1.0, 2.0), 11.0, 0.95, 0), None);
        assert_eq!(simultaneous(&Interval::around(1.0, 0.0), 11.0, 0.95, 3), None);
        assert_eq!(simultaneous(&Interval::around(1.0, 2.0), 0.0, 0.95, 3), None);
    }

    #[test]
    fn a_study_stops_at_a_third_of_the_limit_and_narrower_for_more_comparisons() {
        // Student's t with 7 degrees of freedom, by numerical integration: 2.516752 at 0.98, 3.288321 at 1 - 0.04 / 6.
        let expected = 0.01 * 2.516_752 / 3.288_321;
        assert!((half_width_for_limit(0.03, 3).unwrap() - expected).abs() < 1e-6);
        assert!((half_width_for_limit(0.03, 1).unwrap() - 0.01).abs() < 1e-9);
        for (limit, comparisons) in [(0.0, 1), (-0.03, 1), (f64::INFINITY, 1), (f64::NAN, 1), (0.03, 0)] {
            assert_eq!(half_width_for_limit(limit, comparisons), None, "{limit} {comparisons}");
        }
    }

    proptest! {
        #[test]
        fn one_comparison_keeps_its_interval_and_more_widen_it(
            estimate in -10.0..10.0_f64, half_width in 0.01..10.0_f64, freedom in 1.0..100.0_f64, comparisons in 1_usize..50,
        ) {
            let given = Interval::around(estimate, half_width);
            let one = simultaneous(&given, freedom, 0.95, 1).unwrap();
            prop_assert!((one.half_width() - half_width).abs() < 1e-6 * half_width);
            let few = simultaneous(&given, freedom, 0.95, comparisons).unwrap();
            let more = simultaneous(&given, freedom, 0.95, comparisons + 1).unwrap();
            prop_assert!(few.half_width() < more.half_width());
        }
    }
}
