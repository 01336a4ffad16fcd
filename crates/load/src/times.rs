//! Computes the numbers of a result from histograms of response and service times, for one trial or several merged ones.

use hdrhistogram::Histogram;
use hoptax_result::{
    Book, Drift, Latency, LatencyBounds, LoadBounds, Mode, Percentile, QuantileIntervals, Range, TimeBounds,
};
use hoptax_stats::{Batch, CountedValue, Ranks, modes, quantile_ranks};

use crate::distribution::{quantile_with, with};

/// Times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// Response times of answered requests.
    pub(crate) response: Histogram<u64>,
    /// Their response times without the delays of the generator; None if these are not recorded.
    pub(crate) without_generator: Option<Histogram<u64>>,
    /// Their service times.
    pub(crate) service: Histogram<u64>,
    /// Censored response times of requests whose response is pending.
    pub(crate) pending_response: Option<Histogram<u64>>,
    /// Their censored service times.
    pub(crate) pending_service: Option<Histogram<u64>>,
    /// Response times in equal parts of the record, in their order; empty if they are not known.
    pub(crate) batches: Vec<Histogram<u32>>,
    /// Requests without a response time that may have taken any time, because more failed than the load tolerates.
    pub(crate) failed: u64,
}

impl Times {
    /// These percentiles, ascending and without duplicates.
    pub(crate) fn percentiles(&self, mut percentiles: Vec<f64>) -> Vec<Percentile> {
        percentiles.sort_by(f64::total_cmp);
        percentiles.dedup();
        let of = |percentile: f64| {
            let p = percentile / 100.0;
            let response = quantile_with(&self.response, p, self.pending_response.as_ref());
            let service = quantile_with(&self.service, p, self.pending_service.as_ref());
            Percentile {
                percentile,
                response_us: response.0,
                response_at_least_us: response.1,
                response_interval: self.interval(p),
                response_bounds: self.response_bounds(p),
                without_generator_us: self
                    .without_generator
                    .as_ref()
                    .filter(|times| !times.is_empty())
                    .map(|times| times.value_at_quantile(p) as f64 / 1e3),
                service_us: service.0,
                service_at_least_us: service.1,
                service_bounds: self.service_bounds(p),
            }
        };
        percentiles.into_iter().map(of).collect()
    }

    /// Intervals of the default quantiles.
    pub(crate) fn intervals(&self) -> QuantileIntervals {
        QuantileIntervals {
            p50_us: self.interval(0.5),
            p90_us: self.interval(0.9),
            p99_us: self.interval(0.99),
            p99_9_us: self.interval(0.999),
        }
    }

    /// The interval of a quantile of the response times of answered requests; None unless it has both ends.
    fn interval(&self, p: f64) -> Option<Range> {
        let Ranks { low: Some(low), high: Some(high) } = self.ranks(p)? else { return None };
        let [(low, _), (_, high)] = [low, high].map(|rank| bin_us(&self.response, rank));
        Some(Range { low, high })
    }

    /// Bounds of the distributions with these summaries.
    pub(crate) fn bounds(
        &self,
        response: &Latency,
        without_generator: Option<&Latency>,
        service: &Latency,
    ) -> LoadBounds {
        LoadBounds {
            response: self.bounds_of_response(response, without_generator),
            service: self.bounds_between(service, service, &|p| self.service_bounds(p)),
        }
    }

    /// Bounds of response time, with these summaries.
    pub(crate) fn bounds_of_response(
        &self,
        response: &Latency,
        without_generator: Option<&Latency>,
    ) -> LatencyBounds {
        self.bounds_between(without_generator.unwrap_or(response), response, &|p| self.response_bounds(p))
    }

    fn bounds_between(
        &self,
        low: &Latency,
        high: &Latency,
        quantile: &dyn Fn(f64) -> Option<TimeBounds>,
    ) -> LatencyBounds {
        let between = |of: fn(&Latency) -> Option<f64>| {
            // Without the times of failed requests, nothing is known of the extremes and the mean.
            let bounds = TimeBounds { low_us: of(low), high_us: of(high) };
            (self.failed == 0 && bounds != TimeBounds::default()).then_some(bounds)
        };
        LatencyBounds {
            min_us: between(|one| one.min_us),
            mean_us: between(|one| one.mean_us),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p99_9_us: quantile(0.999),
            max_us: between(|one| one.max_us),
        }
    }

    fn response_bounds(&self, p: f64) -> Option<TimeBounds> {
        let low = self.without_generator.as_ref().unwrap_or(&self.response);
        self.bounds_of(p, low, &self.response, self.pending_response.as_ref())
    }

    fn service_bounds(&self, p: f64) -> Option<TimeBounds> {
        self.bounds_of(p, &self.service, &self.service, self.pending_service.as_ref())
    }

    /// Bounds of a quantile of all requests. `low` and `high` hold times that are at most and at least those of the answered requests. A
    /// pending response takes at least the time so far, and a failed request may take any time. None if the dependence of the times is not
    /// known, and if there is neither bound.
    fn bounds_of(
        &self,
        p: f64,
        low: &Histogram<u64>,
        high: &Histogram<u64>,
        pending: Option<&Histogram<u64>>,
    ) -> Option<TimeBounds> {
        let ranks = self.ranks(p)?;
        let pending = pending.filter(|pending| !pending.is_empty());
        let known = with(low, pending);
        let all = (known.len() + self.failed) as f64;
        let bin = |times: &Histogram<u64>, rank: f64| {
            let share = rank / times.len() as f64;
            (share > 0.0 && share <= 1.0).then(|| bin_us(times, share))
        };
        let low = ranks.low.and_then(|rank| bin(&known, rank * all - self.failed as f64));
        let high = ranks.high.and_then(|rank| bin(high, rank * all));
        let bounds = TimeBounds { low_us: low.map(|(low, _)| low), high_us: high.map(|(_, high)| high) };
        (bounds != TimeBounds::default()).then_some(bounds)
    }

    /// The ranks between which a quantile of the response times of answered requests lies.
    fn ranks(&self, p: f64) -> Option<Ranks> {
        quantile_ranks(p, |p| {
            let quantile_ns = self.response.value_at_quantile(p);
            let batch = |batch: &Histogram<u32>| Batch {
                values: batch.len(),
                at_or_below: batch.count_between(0, quantile_ns).min(batch.len()),
            };
            self.batches.iter().map(batch).collect()
        })
    }

    /// The modes of response time.
    pub(crate) fn modes(&self) -> Vec<Mode> {
        let recorded = self.response.iter_recorded();
        let values = recorded.map(|one| CountedValue {
            value: one.value_iterated_to() as f64 / 1e3,
            count: one.count_at_value(),
        });
        modes(values)
            .into_iter()
            .map(|mode| Mode { low_us: mode.low, peak_us: mode.peak, high_us: mode.high, share: mode.share })
            .collect()
    }

    /// The medians of the first and the last third of the batches.
    pub(crate) fn drift(&self) -> Option<Drift> {
        let third = self.batches.len() / 3;
        let median = |batches: &[Histogram<u32>]| {
            let all = batches.iter().cloned().reduce(|mut all, one| {
                all += one;
                all
            })?;
            median_us(&all)
        };
        Some(Drift {
            first_third_p50_us: median(self.batches.get(..third)?)?,
            last_third_p50_us: median(self.batches.get(self.batches.len() - third..)?)?,
        })
    }
}

/// The lowest and the highest time of the bin that has a rank, as a share of all times, microseconds: no more is known of the time there.
fn bin_us(times: &Histogram<u64>, rank: f64) -> (f64, f64) {
    let highest_ns = times.value_at_quantile(rank);
    (times.lowest_equivalent(highest_ns) as f64 / 1e3, highest_ns as f64 / 1e3)
}

/// The number of failed requests, if the load does not tolerate it. Otherwise 0: its times are then those of the other requests.
pub(crate) fn unexpectedly_failed(book: &Book, max_error_share: f64) -> u64 {
    if book.error_share() > max_error_share { book.failed } else { 0 }
}

/// The median, microseconds; None without times.
pub(crate) fn median_us(times: &Histogram<u32>) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(0.5) as f64 / 1e3)
}
