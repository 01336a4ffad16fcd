//! The part of a quantile of response time that may come from late sends of the load generator.

use hoptax_result::CountedTime;

use crate::mixture::Mixture;
use crate::quantile_ends;

/// Values of `s` in [`lateness`], as shares of the smaller side of the quantile.
const PARTS: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4];

/// Returns how much lower the `p` quantile of response time might be if the generator were never late, in nanoseconds; at most the quantile
/// itself. `responses` and `lags` hold the response times and the send lags of each round, as in [`crate::RoundTimes`].
///
/// **Method.** A late send adds at most its lag to the response time: a request that leaves earlier is answered earlier, or waits for the
/// same thing. The same thread reads responses and is as late to read as to send, which nothing records. So each response time is too long
/// by at most the sum of two lags. It is also unknown which responses have long lags. If a share `s` of lags exceeds `l`, the sum of two
/// lags exceeds `2 l` for at most a share `2 s` of the responses, however the two distributions combine. So the quantile `p` without lags
/// is at least the quantile `p - 2 s` with lags, minus `2 l`. The largest such value over several `s` is used. For `l`, the upper end of
/// [`quantile_ends`] is taken.
///
/// **Source.** M. J. Frank, R. B. Nelsen and B. Schweizer, "Best-possible bounds for the distribution of a sum - a problem of
/// Kolmogorov", *Probability Theory and Related Fields* 74, 1987, for sums of which only the distributions of the parts are known.
///
/// **Coverage.** `tests/bound_coverage.rs` simulates generators that are late at the worst moments.
///
/// **Degenerate cases.** The whole quantile if the lags are unknown: without any, or with too few for the upper ends. `None` without
/// responses, when `p` or `confidence` is not strictly between 0 and 1, and when values are not in ascending order.
pub fn lateness(
    responses: &[&[CountedTime]],
    lags: &[&[CountedTime]],
    p: f64,
    confidence: f64,
) -> Option<f64> {
    let is_inside = |share: f64| share > 0.0 && share < 1.0;
    let with_responses = responses.iter().filter(|times| times.iter().any(|time| time.count > 0));
    let mixture = Mixture::new(with_responses.copied())
        .filter(|mixture| mixture.rounds() > 0 && is_inside(p) && is_inside(confidence))?;
    let quantile = mixture.quantile(p, None);
    let without = |part: f64| {
        let later = part * p.min(1.0 - p);
        let lag = quantile_ends(lags, 1.0 - later, confidence).high?;
        Some(mixture.quantile(p - 2.0 * later, None) - 2.0 * lag)
    };
    let least = PARTS.into_iter().filter_map(without).fold(0.0, f64::max);
    Some(quantile - least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(values: std::ops::Range<u64>) -> Vec<CountedTime> {
        values.map(|ns| CountedTime { ns, count: 1 }).collect()
    }

    #[test]
    fn a_generator_that_is_always_as_late_takes_twice_its_lag() {
        let responses = [CountedTime::new(100_000, 10_000)];
        let lags = [CountedTime::new(7_000, 10_000)];
        for p in [0.5, 0.9, 0.99] {
            assert_eq!(
                lateness(&[responses.as_slice(); 3], &[lags.as_slice(); 3], p, 0.95),
                Some(14_000.0),
                "{p}"
            );
        }
    }

    #[test]
    fn a_few_long_lags_take_little_of_the_median_and_much_of_the_tail() {
        let responses = even(100_000..110_000);
        let lags = [CountedTime::new(1_000, 9_850), CountedTime::new(500_000, 150)];
        let less = |p: f64| lateness(&[responses.as_slice(); 4], &[lags.as_slice(); 4], p, 0.95).unwrap();
        assert!(less(0.5) < 3_000.0 && less(0.99) > 100_000.0, "{} {}", less(0.5), less(0.99));
    }

    #[test]
    fn unknown_lags_may_be_all_of_the_response_time() {
        let responses = even(100_000..110_000);
        let quantile = lateness(&[responses.as_slice(); 3], &[], 0.5, 0.95).unwrap();
        assert!((quantile - 104_999.0).abs() < 1.0, "{quantile}");
        assert_eq!(
            lateness(&[responses.as_slice(); 3], &[[CountedTime::new(5, 3)].as_slice(); 3], 0.99, 0.95)
                .map(|less| less > 100_000.0),
            Some(true)
        );
    }

    #[test]
    fn degenerate_input_has_no_result() {
        let responses = even(0..1000);
        let falling: Vec<CountedTime> = responses.iter().rev().copied().collect();
        assert_eq!(lateness(&[], &[], 0.5, 0.95), None);
        assert_eq!(lateness(&[&falling], &[], 0.5, 0.95), None);
        for (p, confidence) in [(0.0, 0.95), (1.0, 0.95), (f64::NAN, 0.95), (0.5, 0.0), (0.5, 1.0)] {
            assert_eq!(lateness(&[&responses], &[&responses], p, confidence), None);
        }
    }
}
