//! The ratio of two numbers that were measured side by side in several rounds.

use hoptax_result::Interval;

use crate::mean_over_rounds;

/// Two numbers of a round, both positive and in one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioRound {
    /// The number that is divided by.
    pub reference: f64,
    /// The number that is divided.
    pub value: f64,
}

/// The ratio of the value of each round to its reference, with its `confidence` interval.
///
/// **Method.** [`mean_over_rounds`] of the logarithm of the ratio in each round, and its exponential: the geometric mean of the
/// ratios. A factor that changes both numbers of a round alike, such as the speed of the machine, cancels in it, and
/// the ratio of the reciprocals is the reciprocal.
///
/// **Source.** The interval is that of [`mean_over_rounds`]. Ratios are averaged as logarithms by P. J. Fleming and J. J. Wallace,
/// "How not to lie with statistics: the correct way to summarize benchmark results", *Communications of the ACM* 29(3),
/// 1986.
///
/// **Degenerate cases.** `None` with fewer than two rounds, when a number is not positive and finite, when `confidence` is not
/// strictly between 0 and 1, and when an end of the interval would not be finite.
pub fn ratio_over_rounds(rounds: &[RatioRound], confidence: f64) -> Option<Interval> {
    // The logarithm of a number that is not positive is not finite.
    let logarithms: Vec<f64> = rounds.iter().map(|round| round.value.ln() - round.reference.ln()).collect();
    let mean = mean_over_rounds(&logarithms, confidence)?;
    let interval = Interval::new(mean.estimate.exp(), mean.low.exp(), mean.high.exp());
    interval.high.is_finite().then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds<const N: usize>(rounds: [(f64, f64); N]) -> [RatioRound; N] {
        rounds.map(|(reference, value)| RatioRound { reference, value })
    }

    #[test]
    fn the_ratio_is_the_geometric_mean_and_a_common_factor_cancels() {
        let ratio = ratio_over_rounds(&rounds([(100.0, 100.0), (70.0, 280.0)]), 0.95).unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-12, "{ratio:?}");
        let slow = ratio_over_rounds(&rounds([(10.0, 10.0), (7.0, 28.0)]), 0.95).unwrap();
        assert!((slow.low - ratio.low).abs() < 1e-9 * ratio.low && slow.low < 1.0, "{slow:?}");
    }

    #[test]
    fn the_interval_is_the_one_worked_by_hand() {
        // Logarithms 0.1, 0.2 and 0.3: s = 0.1, t = 4.302652730, half-width 0.248413771.
        let pairs = [0.1_f64, 0.2, 0.3].map(|logarithm| (5.0, 5.0 * logarithm.exp()));
        let ratio = ratio_over_rounds(&rounds(pairs), 0.95).unwrap();
        assert!((ratio.low.ln() - (0.2 - 0.248_413_771)).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.high.ln() - (0.2 + 0.248_413_771)).abs() < 1e-6, "{ratio:?}");
    }

    #[test]
    fn the_ratio_of_the_exchanged_numbers_is_the_reciprocal() {
        let pairs = [(3.0, 4.0), (5.0, 7.0), (6.0, 7.5)];
        let ratio = ratio_over_rounds(&rounds(pairs), 0.9).unwrap();
        let exchanged = pairs.map(|(first, second)| (second, first));
        let exchanged = ratio_over_rounds(&rounds(exchanged), 0.9).unwrap();
        assert!((ratio.low * exchanged.high - 1.0).abs() < 1e-12);
        assert!((ratio.estimate * exchanged.estimate - 1.0).abs() < 1e-12);
    }

    #[test]
    fn degenerate_input_has_no_ratio() {
        assert_eq!(ratio_over_rounds(&rounds([(1.0, 2.0)]), 0.95), None);
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ratio_over_rounds(&rounds([(1.0, 2.0), (wrong, 2.0)]), 0.95), None, "{wrong}");
            assert_eq!(ratio_over_rounds(&rounds([(1.0, 2.0), (1.0, wrong)]), 0.95), None, "{wrong}");
        }
        assert_eq!(ratio_over_rounds(&rounds([(1.0, 2.0); 2]), 1.0), None);
        let far = rounds([(1.0, 1e-300), (1.0, 1e300)]);
        assert_eq!(ratio_over_rounds(&far, 0.95), None, "its end is not finite");
    }
}
