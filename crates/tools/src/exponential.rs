//! Exponential histograms: those of OpenTelemetry, and Prometheus native histograms.
//!
//! The bounds of buckets are powers of `2^(2^-scale)`. The scale is the highest that needs at most 160 buckets, as in the OpenTelemetry
//! SDKs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use hoptax_load::hdr::Bucket;
use hoptax_result::{CountRange, ImportedRange, Latency};

use crate::reported::Reported;

/// Highest scale and maximum number of buckets of a written histogram.
const MAX_SCALE: i32 = 8;
const MAX_BUCKETS: i64 = 160;
/// Maximum number of buckets of a histogram to read.
pub(crate) const MOST_BUCKETS: usize = 100_000;
/// Values of a result that an exponential histogram does not contain.
pub(crate) const NOT_REPORTED: [&str; 3] = [
    "values within a bucket: a quantile is the end of its bucket",
    "the moment from which its times count",
    "the requested rate",
];

/// Times by powers of a base: the first of `counts` has times above `base^offset` and up to `base^(offset + 1)`.
#[derive(Debug)]
pub(crate) struct Exponential {
    pub(crate) scale: i32,
    pub(crate) offset: i64,
    pub(crate) counts: Vec<u64>,
    /// Number of zero times.
    pub(crate) zeros: u64,
    /// Number of all times.
    pub(crate) count: u64,
    pub(crate) sum_s: f64,
}

impl Exponential {
    /// None without times. Each time counts as the middle of its bucket, which differs from it by at most 0.05 %.
    pub(crate) fn new(buckets: &[Bucket]) -> Option<Self> {
        let middle_s =
            |times: &RangeInclusive<u64>| f64::midpoint(*times.start() as f64, *times.end() as f64) / 1e9;
        let count: u64 = buckets.iter().map(|(_, count)| count).sum();
        let sum_s: f64 = buckets.iter().map(|(times, count)| middle_s(times) * *count as f64).sum();
        let positive =
            || buckets.iter().map(|(times, count)| (middle_s(times), *count)).filter(|(s, _)| *s > 0.0);
        let at = |scale: i32| {
            let mut by_index: BTreeMap<i64, u64> = BTreeMap::new();
            for (seconds, count) in positive() {
                // The upper bound of a bucket is inclusive.
                let index = (seconds.log2() * 2_f64.powi(scale)).ceil() as i64 - 1;
                *by_index.entry(index).or_default() += count;
            }
            by_index
        };
        let span = |by_index: &BTreeMap<i64, u64>| {
            let first = by_index.first_key_value().map_or(0, |(index, _)| *index);
            (first, by_index.last_key_value().map_or(0, |(index, _)| index - first + 1))
        };
        let (scale, by_index) = (-MAX_SCALE..=MAX_SCALE)
            .rev()
            .map(|scale| (scale, at(scale)))
            .find(|(_, by_index)| span(by_index).1 <= MAX_BUCKETS)?;
        let (offset, length) = span(&by_index);
        let counts = (offset..offset + length)
            .map(|index| by_index.get(&index).copied().unwrap_or_default())
            .collect();
        let zeros = count - positive().map(|(_, count)| count).sum::<u64>();
        (count > 0).then_some(Self { scale, offset, counts, zeros, count, sum_s })
    }

    /// Returns the report of a run of this length. Quantiles are the ranges of their buckets.
    pub(crate) fn reported(&self, seconds: Option<f64>) -> Reported {
        let bound_us = |index: i64| (index as f64 / 2_f64.powi(self.scale)).exp2() * 1e6;
        let bucket = |percentile: f64| {
            let rank = (percentile / 100.0 * self.count as f64).ceil() as u64;
            let mut below = self.zeros;
            if rank <= below {
                return Some(ImportedRange { percentile, low_us: 0.0, high_us: 0.0 });
            }
            let (index, _) = (self.offset..).zip(&self.counts).find(|(_, count)| {
                below = below.saturating_add(**count);
                below >= rank
            })?;
            Some(ImportedRange { percentile, low_us: bound_us(index), high_us: bound_us(index + 1) })
        };
        let of_buckets = Reported::from_buckets(|percentile| bucket(percentile).filter(|_| self.count > 0));
        let mean_us = Some(self.sum_s / self.count as f64 * 1e6).filter(|mean| mean.is_finite());
        Reported {
            answered: Some(CountRange::exactly(self.count)),
            rated: Some(CountRange::exactly(self.count)),
            rate: seconds.filter(|seconds| *seconds > 0.0).map(|seconds| self.count as f64 / seconds),
            seconds,
            latency: Latency { mean_us, ..of_buckets.latency },
            ..of_buckets
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_result::{LoadResult, Verdict, sample};
    use proptest::prelude::*;

    use super::*;

    /// Buckets of one nanosecond.
    pub(crate) fn buckets(times_ns: &[u64]) -> Vec<Bucket> {
        times_ns.iter().map(|ns| (*ns..=*ns, 1)).collect()
    }

    /// Asserts that an imported result has as many times as these, and their p50 and p99 within the ranges that it states for them.
    pub(crate) fn holds(read: &LoadResult, mut times_ns: Vec<u64>) -> Result<(), TestCaseError> {
        times_ns.sort_unstable();
        prop_assert_eq!(read.book.answered, times_ns.len() as u64);
        let service = &read.latency.service;
        let mean_us = times_ns.iter().map(|ns| *ns as f64 / 1e3).sum::<f64>() / times_ns.len() as f64;
        prop_assert!((service.mean_us.unwrap() / mean_us - 1.0).abs() < 1e-9);
        let ranges = read.imported.iter().flat_map(|imported| &imported.ranges);
        for (percentile, us) in [(50.0, service.p50_us), (99.0, service.p99_us)] {
            let rank = (percentile / 100.0 * times_ns.len() as f64).ceil() as usize;
            let true_us = times_ns[rank - 1] as f64 / 1e3;
            let mut stated = ranges.clone().filter(|range| (range.percentile - percentile).abs() < 1e-9);
            // A quantile without a range lies in a bucket that is not wide.
            let (low_us, high_us) = match (us, stated.next()) {
                (Some(us), None) => (us / 1.12, us),
                (None, Some(range)) => (range.low_us, range.high_us),
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            let is_in = low_us * (1.0 - 1e-9) <= true_us && true_us <= high_us * (1.0 + 1e-9);
            prop_assert!(is_in, "p{}: {} {} {}", percentile, low_us, true_us, high_us);
        }
        Ok(())
    }

    /// Asserts that what a result does not state is not imported from the histograms with these names, of response and service time.
    pub(crate) fn keeps_unstated(
        [response, service]: [&str; 2],
        text: fn(&LoadResult, &[Bucket], &[Bucket]) -> String,
        import: fn(&str, Option<&str>) -> Result<LoadResult, String>,
    ) {
        let mut result = sample::load();
        // A URL that looks like labels of OpenMetrics.
        result.plan.url = "http://h/\\\",verdict=\"void\",of=\"".to_owned();
        (result.latency.response.p99_us, result.latency.service.p99_9_us) = (None, None);
        result.latency.response.at_least.p99_us = Some(1.0);
        let times = buckets(&[1_000, 2_000]);
        let both = text(&result, &times, &times);
        let response = import(&both, Some(response)).unwrap();
        assert_eq!(response.verdict, Verdict::Caution);
        let response = response.latency.service;
        assert!(response.p50_us.is_some() && response.p99_9_us.is_some(), "{response:?}");
        assert_eq!((response.p99_us, response.mean_us), (None, None));
        let service = import(&both, Some(service)).unwrap().latency.service;
        assert!(service.p99_us.is_some() && service.mean_us.is_some(), "{service:?}");
        assert_eq!(service.p99_9_us, None);
        result.verdict = Verdict::Void;
        let void = import(&text(&result, &times, &[]), None).unwrap();
        assert_eq!((void.verdict, void.latency.service.p50_us), (Verdict::Void, None));
    }

    proptest! {
        #[test]
        fn every_time_is_in_its_exponential_bucket(mut times_ns in prop::collection::vec(0..3_600_000_000_000_u64, 1..200)) {
            let histogram = Exponential::new(&buckets(&times_ns)).unwrap();
            times_ns.sort_unstable();
            prop_assert!(histogram.counts.len() <= MAX_BUCKETS as usize);
            prop_assert_eq!(histogram.zeros + histogram.counts.iter().sum::<u64>(), times_ns.len() as u64);
            let sum_s: f64 = times_ns.iter().map(|ns| *ns as f64 / 1e9).sum();
            prop_assert!((histogram.sum_s - sum_s).abs() <= 1e-9 * sum_s);
            let bound = |index: i64| (index as f64 / 2_f64.powi(histogram.scale)).exp2();
            let mut rest = times_ns.iter().skip(histogram.zeros as usize);
            for (index, count) in (histogram.offset..).zip(&histogram.counts) {
                for ns in rest.by_ref().take(*count as usize) {
                    let seconds = *ns as f64 / 1e9;
                    let is_in = bound(index) * (1.0 - 1e-9) <= seconds && seconds <= bound(index + 1) * (1.0 + 1e-9);
                    prop_assert!(is_in, "{} {}", index, seconds);
                }
            }
            prop_assert!(rest.next().is_none());
        }
    }

    #[test]
    fn bounds_belong_to_the_bucket_below_and_the_scale_is_the_finest_that_fits() {
        let second = Exponential::new(&buckets(&[1_000_000_000])).unwrap();
        assert_eq!((second.scale, second.offset, second.counts.as_slice()), (MAX_SCALE, -1, [1].as_slice()));
        let wide = Exponential::new(&buckets(&[1_000, 1_000_000_000])).unwrap();
        // 20 octaves of 8 buckets are 160, and of 16 are twice as many.
        assert_eq!((wide.scale, wide.counts.len()), (3, 160));
        assert!(Exponential::new(&[]).is_none());
        assert_eq!(Exponential::new(&buckets(&[0])).unwrap().zeros, 1);
    }
}
