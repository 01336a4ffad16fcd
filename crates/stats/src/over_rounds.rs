//! The confidence interval over rounds, the only kind that includes the variance between restarts.

use hoptax_result::Interval;

use crate::critical::two_sided_t;

/// The mean over rounds with its `confidence` interval. `rounds` holds one number per round, in any unit.
///
/// **Method.** Mean plus and minus `t * s / sqrt(n)`, with `s` the sample standard deviation of the `n` rounds and
/// `t` the critical value of Student's distribution with `n - 1` degrees of freedom.
///
/// **Source.** T. Kalibera and R. Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013: among nested
/// repetitions, the topmost one, here the restart of every process, is the one to repeat, and the interval is
/// taken over its means. The variance between these means includes the noise of all levels below, so those need no
/// model.
///
/// **Degenerate cases.** `None` with fewer than two rounds, since one round carries no information on the variance
/// between restarts; `None` when `confidence` is not strictly between 0 and 1, when a round is not finite, and
/// when an end of the interval would not be finite. Rounds that agree to the last digit give an interval of zero
/// width. The interval of two rounds is valid but rarely useful: `t` is 12.7 at 95 %, against 2.26 with ten.
pub fn mean_over_rounds(rounds: &[f64], confidence: f64) -> Option<Interval> {
    let count = rounds.len() as f64;
    let t = two_sided_t(count - 1.0, confidence)?;
    let estimate = rounds.iter().sum::<f64>() / count;
    let variance = rounds.iter().map(|round| (round - estimate).powi(2)).sum::<f64>() / (count - 1.0);
    let half_width = t * (variance / count).sqrt();
    let interval = Interval::around(estimate, half_width);
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_one_worked_by_hand() {
        // Mean 3, sample variance 2.5, n = 5: 2.776445105 * sqrt(0.5) = 1.963243161.
        let interval = mean_over_rounds(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((interval.estimate - 3.0).abs() < 1e-12);
        assert!((interval.low - 1.036_756_839).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 4.963_243_161).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn fewer_than_two_rounds_have_no_interval() {
        assert_eq!(mean_over_rounds(&[], 0.95), None);
        assert_eq!(mean_over_rounds(&[4.2], 0.95), None);
        assert!(mean_over_rounds(&[4.2, 4.3], 0.95).is_some());
    }

    #[test]
    fn rounds_that_agree_have_an_interval_without_width() {
        let interval = mean_over_rounds(&[2.5, 2.5, 2.5], 0.95).unwrap();
        assert_eq!(interval, Interval::new(2.5, 2.5, 2.5));
    }

    #[test]
    fn degenerate_input_has_no_result() {
        for confidence in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            assert_eq!(mean_over_rounds(&[1.0, 2.0], confidence), None, "{confidence}");
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            assert_eq!(mean_over_rounds(&[1.0, value, value], 0.95), None, "{value}");
        }
    }
}
