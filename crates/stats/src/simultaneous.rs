//! Intervals that hold for several comparisons together.

use hoptax_result::Interval;

use crate::chance::standard_error;
use crate::critical::two_sided_t;

/// Widens the interval of one comparison so that the intervals of all `comparisons` contain their true values together with
/// the confidence that `interval` has alone. `rounds` is the number of rounds, `confidence` that of the interval.
///
/// **Method.** Each of *m* intervals gets the confidence `1 - (1 - confidence) / m`, so the errors add up to at most
/// `1 - confidence`, however the comparisons depend on each other.
///
/// **Source.** O. J. Dunn, "Multiple Comparisons among Means", *Journal of the American Statistical Association* 56(293), 1961.
///
/// **Degenerate cases.** `None` with fewer than two rounds, without a comparison, for an interval without a width, and for a
/// confidence that is not between zero and one.
pub fn simultaneous(
    interval: &Interval,
    rounds: u32,
    confidence: f64,
    comparisons: usize,
) -> Option<Interval> {
    if comparisons == 0 {
        return None;
    }
    let error = standard_error(interval, rounds, confidence)?;
    let of_each = 1.0 - (1.0 - confidence) / comparisons as f64;
    let half_width = error * two_sided_t(f64::from(rounds) - 1.0, of_each)?;
    let Interval { estimate, .. } = *interval;
    Some(Interval { estimate, low: estimate - half_width, high: estimate + half_width })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(estimate: f64, half_width: f64) -> Interval {
        Interval { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    #[test]
    fn three_comparisons_share_the_error() {
        // R: qt(0.975, 11) = 2.200985, qt(1 - 0.05 / 6, 11) = 2.820006.
        let wider = simultaneous(&interval(1.0, 2.200_985), 12, 0.95, 3).unwrap();
        assert!((wider.high - 3.820_006).abs() < 1e-4, "{wider:?}");
        assert_eq!(simultaneous(&interval(1.0, 2.0), 12, 0.95, 0), None);
        assert_eq!(simultaneous(&interval(1.0, 0.0), 12, 0.95, 3), None);
        assert_eq!(simultaneous(&interval(1.0, 2.0), 1, 0.95, 3), None);
    }

    proptest! {
        #[test]
        fn one_comparison_keeps_its_interval_and_more_widen_it(
            estimate in -10.0..10.0_f64, half_width in 0.01..10.0_f64, rounds in 2_u32..100, comparisons in 1_usize..50,
        ) {
            let given = interval(estimate, half_width);
            let one = simultaneous(&given, rounds, 0.95, 1).unwrap();
            prop_assert!((one.half_width() - half_width).abs() < 1e-6 * half_width);
            let few = simultaneous(&given, rounds, 0.95, comparisons).unwrap();
            let more = simultaneous(&given, rounds, 0.95, comparisons + 1).unwrap();
            prop_assert!(few.half_width() < more.half_width());
        }
    }
}
