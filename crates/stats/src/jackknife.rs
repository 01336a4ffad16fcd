//! The delete-one jackknife over rounds, for numbers that are not a mean over rounds.

use hoptax_result::Interval;

use crate::mean_over_rounds;

/// A number that is computed from all rounds together, with its `confidence` interval. `estimate` computes it from all rounds, or
/// with one left out, by its index.
///
/// **Method.** Each round has a pseudo-value, `n` times the number from all rounds minus `n - 1` times the number without that round.
/// Student's `t` with `n - 1` degrees of freedom turns their standard error into an interval around the number from all rounds. The mean of
/// the pseudo-values, the number with its bias corrected, is not used: the correction is mostly noise.
///
/// **Source.** J. W. Tukey, "Bias and Confidence in Not-quite Large Samples" (abstract), *Annals of Mathematical Statistics* 29,
/// 1958.
///
/// **Degenerate cases.** For a mean over rounds, the interval is that of [`mean_over_rounds`], and `None` is returned in the same cases.
/// Also `None` if a number is not finite.
pub fn jackknife(
    rounds: usize,
    estimate: impl Fn(Option<usize>) -> f64,
    confidence: f64,
) -> Option<Interval> {
    let count = rounds as f64;
    let of_all = estimate(None);
    let pseudo_value = |round| count * of_all - (count - 1.0) * estimate(Some(round));
    let pseudo_values: Vec<f64> = (0..rounds).map(pseudo_value).collect();
    let half_width = mean_over_rounds(&pseudo_values, confidence)?.half_width();
    Some(Interval::around(of_all, half_width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_over_rounds_has_the_interval_of_the_mean() {
        let rounds = [3.0, 5.0, 4.0, 8.0];
        let mean = |left_out: Option<usize>| {
            let kept = rounds.iter().enumerate().filter(|(index, _)| Some(*index) != left_out);
            let kept: Vec<f64> = kept.map(|(_, value)| *value).collect();
            kept.iter().sum::<f64>() / kept.len() as f64
        };
        let (found, expected) = (jackknife(4, mean, 0.95).unwrap(), mean_over_rounds(&rounds, 0.95).unwrap());
        for (found, expected) in
            [(found.estimate, expected.estimate), (found.low, expected.low), (found.high, expected.high)]
        {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn one_round_and_a_number_that_is_not_finite_have_no_interval() {
        assert_eq!(jackknife(1, |_| 1.0, 0.95), None);
        assert_eq!(jackknife(3, |left_out| if left_out == Some(1) { f64::NAN } else { 1.0 }, 0.95), None);
    }
}
