//! A distribution of times: a histogram for quantiles, and exact sums for mean and standard deviation.
//!
//! The histogram is an HDR histogram with three digits in nanoseconds: a quantile is at most 0.1 % above the recorded
//! value. Its range ends at one hour; longer times are recorded as one hour and counted as overflow. The sums are
//! integers: they merge exactly and do not suffer the cancellation of large floating-point sums.

use std::borrow::Cow;
use std::ops::AddAssign;

use hdrhistogram::Histogram;
use hoptax_result::{Latency, LowerBounds};

use crate::counts::{self, Counts, MAX_NS};

/// Decimal digits of recorded times.
const DIGITS: u8 = 3;

/// A distribution of times, recorded in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    counts: Counts<u64, DIGITS>,
    /// Times above an hour.
    overflow: u64,
    sum_ns: u128,
    sum_of_squares: u128,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { counts: Counts::new(), overflow: 0, sum_ns: 0, sum_of_squares: 0 }
    }
}

impl Distribution {
    /// Records a time.
    pub fn record(&mut self, ns: u64) {
        self.counts.record(ns);
        self.overflow += u64::from(ns > MAX_NS);
        let ns = u128::from(ns.min(MAX_NS));
        self.sum_ns += ns;
        self.sum_of_squares += ns * ns;
    }

    /// Resets the distribution, keeping its allocations.
    pub fn clear(&mut self) {
        self.counts.clear();
        (self.overflow, self.sum_ns, self.sum_of_squares) = (0, 0, 0);
    }

    /// Number of recorded times.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// True if no time is recorded.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        self.counts.histogram()
    }

    /// The quantile `p`, microseconds; None if empty.
    pub fn quantile_us(&self, p: f64) -> Option<f64> {
        (!self.is_empty()).then(|| self.histogram().value_at_quantile(p) as f64 / 1e3)
    }

    /// The arithmetic mean, microseconds; None if empty.
    pub fn mean_us(&self) -> Option<f64> {
        let count = u128::from(self.count());
        let whole = self.sum_ns.checked_div(count)?;
        Some((whole as f64 + (self.sum_ns - whole * count) as f64 / count as f64) / 1e3)
    }

    /// The standard deviation, microseconds; None with fewer than two times.
    ///
    /// With the mean rounded to `m`, the sum of `(x - m)^2` is `sum(x^2) - 2 m sum(x) + n m^2`, which is exact in integers.
    /// The error from rounding `m` is subtracted at the end.
    pub fn standard_deviation_us(&self) -> Option<f64> {
        let count = u128::from(self.count());
        if count < 2 {
            return None;
        }
        let mean = self.sum_ns / count;
        let squares = (self.sum_of_squares + count * mean * mean).saturating_sub(2 * mean * self.sum_ns);
        let rest = (self.sum_ns - mean * count) as f64;
        let squares = squares as f64 - rest * rest / count as f64;
        Some((squares.max(0.0) / (count - 1) as f64).sqrt() / 1e3)
    }

    /// The summary for a result.
    pub fn summary(&self) -> Latency {
        self.summary_with(None)
    }

    /// The summary for a result, with right-censored times: the requests took at least the times in `censored`.
    /// A quantile below every censored time does not depend on the unknown times and is exact. A quantile above is a lower
    /// bound, computed as if each request had ended at its censored time, and the lowest time of its bin.
    pub fn summary_with(&self, censored: Option<&Histogram<u64>>) -> Latency {
        summary(&self.histogram(), self.moments(), censored)
    }

    /// The statistics that its histogram does not hold.
    pub(crate) fn moments(&self) -> Moments {
        Moments {
            overflow: self.overflow,
            mean_us: self.mean_us(),
            standard_deviation_us: self.standard_deviation_us(),
        }
    }
}

/// Statistics of a distribution that its histogram does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    /// Times above an hour.
    pub(crate) overflow: u64,
    /// The arithmetic mean, microseconds.
    pub(crate) mean_us: Option<f64>,
    /// The standard deviation, microseconds.
    pub(crate) standard_deviation_us: Option<f64>,
}

/// See [`Distribution::summary_with`].
pub(crate) fn summary(
    times: &Histogram<u64>,
    moments: Moments,
    censored: Option<&Histogram<u64>>,
) -> Latency {
    let us = |ns: u64| ns as f64 / 1e3;
    let censored = censored.filter(|censored| !censored.is_empty());
    let all = with(times, censored);
    if all.is_empty() {
        return Latency::default();
    }
    let first_censored_ns = censored.map_or(u64::MAX, Histogram::min);
    let (mut known, mut bounds) = ([None; 5], [None; 5]);
    for ((p, known), bound) in [0.5, 0.9, 0.99, 0.999, 1.0].into_iter().zip(&mut known).zip(&mut bounds) {
        let ns = if p < 1.0 { all.value_at_quantile(p) } else { all.max() };
        let (place, ns) =
            if ns < first_censored_ns { (known, ns) } else { (bound, all.lowest_equivalent(ns)) };
        *place = Some(us(ns));
    }
    let [p50_us, p90_us, p99_us, p99_9_us, max_us] = known;
    let mut at_least = LowerBounds::default();
    [at_least.p50_us, at_least.p90_us, at_least.p99_us, at_least.p99_9_us, at_least.max_us] = bounds;
    Latency {
        count: all.len(),
        overflow: moments.overflow,
        min_us: Some(us(all.min())).filter(|_| all.min() < first_censored_ns),
        mean_us: moments.mean_us.filter(|_| censored.is_none()),
        standard_deviation_us: moments.standard_deviation_us.filter(|_| censored.is_none()),
        p50_us,
        p90_us,
        p99_us,
        p99_9_us,
        max_us,
        at_least,
    }
}

/// The quantile `p`, or its lower bound if censored times reach it, microseconds; see [`Distribution::summary_with`].
pub(crate) fn quantile_with(
    times: &Histogram<u64>,
    p: f64,
    censored: Option<&Histogram<u64>>,
) -> (Option<f64>, Option<f64>) {
    let censored = censored.filter(|censored| !censored.is_empty());
    let all = with(times, censored);
    if all.is_empty() {
        return (None, None);
    }
    let ns = all.value_at_quantile(p);
    let us = |ns: u64| Some(ns as f64 / 1e3);
    if ns < censored.map_or(u64::MAX, Histogram::min) {
        (us(ns), None)
    } else {
        (None, us(all.lowest_equivalent(ns)))
    }
}

/// The times, with each censored one at its censoring time.
pub(crate) fn with<'a>(
    times: &'a Histogram<u64>,
    censored: Option<&Histogram<u64>>,
) -> Cow<'a, Histogram<u64>> {
    let Some(censored) = censored else { return Cow::Borrowed(times) };
    let mut all = times.clone();
    all += censored;
    Cow::Owned(all)
}

impl AddAssign<&Self> for Distribution {
    fn add_assign(&mut self, other: &Self) {
        self.counts += &other.counts;
        self.overflow += other.overflow;
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
    }
}

/// An empty histogram with the bounds and precision of [`Distribution`].
pub fn histogram() -> Histogram<u64> {
    counts::histogram(DIGITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recorded(times_ns: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        for ns in times_ns {
            distribution.record(*ns);
        }
        distribution
    }

    #[test]
    fn quantiles_exceed_recorded_values_by_at_most_a_thousandth() {
        let mut histogram = histogram();
        for value in (1_u64..60_000_000_000).step_by(97_000_003) {
            histogram.reset();
            histogram.record(value).unwrap();
            let read = histogram.value_at_quantile(1.0);
            assert!(read >= value && (read - value) as f64 <= 0.001 * value as f64, "{value} read as {read}");
        }
    }

    #[test]
    fn a_small_spread_around_a_large_mean_does_not_cancel() {
        // One hour plus or minus a nanosecond: sums of squares in 64-bit floating point would lose the difference.
        let base = MAX_NS - 10;
        let spread = recorded(&[base - 1, base, base + 1]).standard_deviation_us().unwrap();
        assert!((spread - 0.001).abs() < 1e-9, "{spread}");
    }

    #[test]
    fn times_above_an_hour_are_counted_as_overflow() {
        let long = recorded(&[5, MAX_NS, MAX_NS + 1, u64::MAX]).summary();
        assert_eq!((long.count, long.overflow), (4, 2));
    }

    #[test]
    fn a_quantile_is_a_lower_bound_where_censored_times_reach_it() {
        let answered = recorded(&vec![1_000_000; 980]);
        let mut censored = histogram();
        censored.record_n(5_000_000_000, 20).unwrap();
        let latency = answered.summary_with(Some(&censored));
        assert_eq!(latency.count, 1_000);
        assert!((latency.p90_us.unwrap() - 1_000.0).abs() < 1.0 && latency.at_least.p90_us.is_none());
        assert_eq!((latency.p99_us, latency.max_us, latency.mean_us), (None, None, None));
        // The bin of 5 s is 4.2 ms wide: a bound above its lowest time could exceed the time that was waited.
        for bound in [latency.at_least.p99_us, latency.at_least.p99_9_us, latency.at_least.max_us] {
            assert!((4_995_800.0..=5_000_000.0).contains(&bound.unwrap()), "{bound:?}");
        }
        let quantile = |p| quantile_with(&answered.histogram(), p, Some(&censored));
        assert_eq!(quantile(0.9), (latency.p90_us, None));
        assert_eq!(quantile(0.99), (None, latency.at_least.p99_us));
        // A short censored time makes even the median a bound.
        let mut censored = histogram();
        censored.record_n(10, 1).unwrap();
        let latency = answered.summary_with(Some(&censored));
        assert_eq!((latency.p50_us, latency.min_us), (None, None));
        assert!(latency.at_least.p50_us.is_some());
    }

    proptest! {
        #[test]
        fn merging_equals_recording_together(
            one in prop::collection::vec(0..MAX_NS * 2, 0..50),
            two in prop::collection::vec(0..MAX_NS * 2, 0..50),
        ) {
            let mut merged = recorded(&one);
            merged += &recorded(&two);
            prop_assert_eq!(&merged, &recorded(&[one, two].concat()));
        }

        #[test]
        fn mean_and_standard_deviation_match_their_definitions(times in prop::collection::vec(0_u64..1_000_000_000, 2..50)) {
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
            let squares: f64 = times.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
            let deviation = (squares / (times.len() - 1) as f64).sqrt();
            let distribution = recorded(&times);
            prop_assert!((distribution.mean_us().unwrap() * 1e3 - mean).abs() <= 1e-6 * mean.max(1.0));
            prop_assert!(
                (distribution.standard_deviation_us().unwrap() * 1e3 - deviation).abs() <= 1e-6 * deviation.max(1.0)
            );
        }
    }
}
