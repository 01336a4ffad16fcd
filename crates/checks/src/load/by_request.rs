//! The requests of each name: their response times are held to the rules of all requests together, by their own numbers. What a finding
//! leaves only bounds of, or withholds, is no better in a part of the load.

use hoptax_result::{LoadResult, NamedRequests};

use super::limits::{QUANTILES, Quantile, added_by_generator, clear_others};
use super::samples::{half_width, is_too_few};
use crate::thresholds::{self, Limits};

/// Leaves bounds of the quantiles that the requests of a name do not support.
pub(crate) fn bound_rows(result: &mut LoadResult, limits: &Limits) {
    let tolerated = result.plan.max_error_share;
    for row in &mut result.body.by_request {
        // The failed ones may have taken any time.
        let has_errors = row.book.error_share() > tolerated;
        let mut is_only_bounded = has_errors;
        for quantile in &QUANTILES {
            let is_late = is_lengthened(row, quantile, limits);
            if has_errors || is_late || is_unsupported(row, quantile, limits) {
                *(quantile.of)(&mut row.response) = None;
            }
            // Pending requests leave a quantile of the sample as a bound: that of too few requests is chance.
            if is_too_few(row.response.count, quantile.p, limits) {
                *(quantile.at_least)(&mut row.response.at_least) = None;
            }
            is_only_bounded |= is_late && quantile.name == "p50";
        }
        // Requests without a median have no mean and no extremes either.
        if is_too_few(row.response.count, 0.5, limits) {
            is_only_bounded = true;
            (row.bounds.min_us, row.bounds.mean_us, row.bounds.max_us) = (None, None, None);
            row.response.at_least.max_us = None;
        }
        if is_only_bounded {
            clear_others(&mut row.response);
        }
    }
}

/// True if the generator may have lengthened the quantile, as `send-lag` judges it.
fn is_lengthened(row: &NamedRequests, quantile: &Quantile, limits: &Limits) -> bool {
    let (mut response, mut without) = (row.response, row.without_generator.unwrap_or_default());
    let times = (quantile.of)(&mut response).zip(*(quantile.of)(&mut without));
    times.is_some_and(|(value, without)| added_by_generator(value, without, limits).is_some())
}

/// True if its requests are too few, or too dependent on each other, as `too-few-samples` and `vague-quantile` judge it.
fn is_unsupported(row: &NamedRequests, quantile: &Quantile, limits: &Limits) -> bool {
    let half = half_width(&row.response, &row.bounds, &row.intervals, quantile);
    is_too_few(row.response.count, quantile.p, limits)
        || half.is_some_and(|half| half > limits.value(&thresholds::INTERVAL_FAIL_SHARE))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        Known, Latency, LatencyBounds, LoadResult, LowerBounds, NamedRequests, QuantileIntervals, Range,
        TimeBounds, TimeOf,
    };

    use crate::load::tests::{fired, sound};
    use crate::thresholds::Limits;
    use crate::{judge_load, judge_merged};

    const P50: TimeOf = TimeOf::Percentile(50.0);
    const P99: TimeOf = TimeOf::Percentile(99.0);

    /// Gives a result two rows with the times of all its requests, of which the second is changed.
    fn with_rows(result: &mut LoadResult, change: impl FnOnce(&mut NamedRequests)) {
        let mut half = result.book;
        for count in [&mut half.planned, &mut half.sent, &mut half.answered] {
            *count /= 2;
        }
        let row = |name: &str| NamedRequests {
            name: name.to_owned(),
            book: half,
            response: result.latency.response,
            without_generator: result.without_generator,
            bounds: result.bounds.response,
            intervals: result.response_intervals,
            ..NamedRequests::default()
        };
        result.body.by_request = vec![row("GET /a"), row("GET /b")];
        change(&mut result.body.by_request[1]);
    }

    /// The rows of a sound result after a change of the second one.
    fn judged(change: impl FnOnce(&mut NamedRequests)) -> [NamedRequests; 2] {
        let mut result = sound();
        with_rows(&mut result, change);
        judge_load(&mut result, &Limits::default());
        assert_eq!(result.latency, sound().latency, "the load is not judged by a row");
        result.body.by_request.try_into().unwrap()
    }

    fn ends(row: &NamedRequests, of: TimeOf) -> (Option<f64>, Option<f64>) {
        row.response.known(&row.bounds, of).ends()
    }

    #[test]
    fn rows_of_a_sound_load_are_stated() {
        let mut before = sound();
        with_rows(&mut before, |_| ());
        assert_eq!(judged(|_| ()).to_vec(), before.body.by_request);
    }

    #[test]
    fn too_few_requests_of_a_name_leave_bounds() {
        let [other, few] = judged(|row| row.response.count = 999);
        assert_eq!((few.response.p90_us, few.response.p99_us), (None, None));
        assert!(few.response.p50_us.is_some() && other.response.p99_us.is_some());
        assert_eq!(ends(&few, P99), (Some(192.0), Some(204.0)));
    }

    #[test]
    fn pending_requests_of_a_name_bound_a_quantile_only_if_they_are_enough() {
        let of = |count: u64| {
            let [_, row] = judged(|row| {
                let at_least = Some(104_136.0);
                let at_least = LowerBounds {
                    p50_us: at_least,
                    p90_us: at_least,
                    p99_us: at_least,
                    p99_9_us: at_least,
                    max_us: at_least,
                };
                row.response = Latency { count, at_least, ..Latency::default() };
                (row.bounds, row.intervals) = (LatencyBounds::default(), QuantileIntervals::default());
            });
            [50.0, 90.0, 99.0, 99.9].map(|p| ends(&row, TimeOf::Percentile(p)).0)
        };
        assert_eq!(of(1), [None; 4]);
        assert_eq!(of(199), [None; 4]);
        assert_eq!(of(200), [Some(104_136.0), None, None, None]);
        assert_eq!(of(1_000), [Some(104_136.0), Some(104_136.0), None, None]);
    }

    #[test]
    fn a_name_whose_requests_are_too_few_for_a_median_has_no_mean_and_no_extremes() {
        let of = |count: u64| {
            let [_, row] = judged(|row| row.response.count = count);
            [TimeOf::Min, TimeOf::Mean, TimeOf::Max].map(|of| row.response.known(&row.bounds, of))
        };
        assert_eq!(of(199), [Known::Unknown; 3]);
        assert!(of(200).iter().all(|known| known.value().is_some()));
    }

    #[test]
    fn a_wide_interval_of_a_name_is_a_bound() {
        let range = |us: f64, half: f64| Some(Range { low: us * (1.0 - half), high: us * (1.0 + half) });
        let of_p99 = |half: f64| {
            judged(|row| {
                let p99_us = row.response.p99_us.unwrap();
                row.intervals = QuantileIntervals { p99_us: range(p99_us, half), ..row.intervals };
            })
        };
        assert!(of_p99(0.4)[1].response.p99_us.is_some());
        let [other, vague] = of_p99(0.6);
        assert!(vague.response.p99_us.is_none() && other.response.p99_us.is_some());
        let [_, open] = judged(|row| {
            row.intervals.p99_9_us = None;
            row.bounds.p99_9_us = Some(TimeBounds::at_least(250.0));
        });
        assert_eq!(ends(&open, TimeOf::Percentile(99.9)), (Some(250.0), None));
    }

    #[test]
    fn times_of_a_name_that_the_generator_lengthened_are_bounds() {
        let late = |us: f64| {
            judged(|row| {
                let without = row.without_generator.as_mut().unwrap();
                (without.p50_us, without.p99_us) = (Some(us), Some(149.0));
            })
        };
        // p50 is 100 us, p99 200 us, and the limit 50 us.
        let [other, row] = late(51.0);
        assert!(
            row.response.p99_us.is_none() && row.response.p50_us.is_some() && row.response.mean_us.is_some()
        );
        assert!(other.response.p99_us.is_some());
        let [_, row] = late(49.0);
        assert_eq!((row.response.p50_us, row.response.mean_us), (None, None));
        assert_eq!(ends(&row, P50), (Some(96.0), Some(102.0)));
    }

    #[test]
    fn errors_of_one_name_leave_bounds_of_its_times_alone() {
        let [other, failing] = judged(|row| {
            row.book.answered -= 200;
            row.book.failed += 200;
        });
        let left = Latency { count: failing.response.count, ..Latency::default() };
        assert_eq!(failing.response, left);
        assert!(other.response.p50_us.is_some());
    }

    #[test]
    fn what_is_only_bounded_in_the_whole_is_so_in_every_row() {
        let (_, result) = fired("send-lag", |result| {
            with_rows(result, |_| ());
            result.without_generator.as_mut().unwrap().p99_us = Some(120.0);
        });
        for row in &result.by_request {
            assert!(row.response.p99_us.is_none() && row.response.p50_us.is_some(), "{row:?}");
            assert_eq!(ends(row, P99), (Some(192.0), Some(204.0)));
        }
        let (_, result) = fired("steal", |result| {
            with_rows(result, |_| ());
            result.generator.steal_share = 0.5;
        });
        for row in &result.by_request {
            assert_eq!((ends(row, P50), row.response.mean_us), ((None, Some(102.0)), None), "{row:?}");
        }
    }

    #[test]
    fn a_void_load_withholds_the_times_of_every_row_and_keeps_its_counts() {
        let (_, result) = fired("book", |result| {
            with_rows(result, |_| ());
            result.book.answered -= 1;
        });
        for row in &result.by_request {
            let (response, bounds) = (row.response, row.bounds);
            assert_eq!(response, Latency { count: 200_000, ..Latency::default() });
            assert_eq!((bounds.p50_us, row.intervals, row.without_generator), Default::default());
            assert_eq!(row.book.answered, 100_000);
        }
    }

    #[test]
    fn bounds_of_a_row_are_no_lower_than_those_below_and_rows_of_merged_runs_are_judged() {
        let mut result = sound();
        with_rows(&mut result, |row| {
            row.response.count = 150;
            row.intervals = QuantileIntervals::default();
            let bounds = |low_us, high_us| Some(TimeBounds { low_us, high_us });
            row.bounds.p50_us = bounds(Some(120.0), Some(130.0));
            row.bounds.p90_us = bounds(Some(110.0), None);
            row.bounds.p99_us = bounds(None, Some(900.0));
        });
        judge_merged(&mut result);
        let row = &result.by_request[1];
        assert_eq!(ends(row, P50), (Some(120.0), Some(130.0)));
        assert_eq!(ends(row, TimeOf::Percentile(90.0)).0, Some(120.0));
        assert_eq!(ends(row, P99).0, Some(120.0));
    }
}
