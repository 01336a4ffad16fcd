//! Numbers of a result that are read from histograms of response and service time, of one trial or of several merged ones.

use hdrhistogram::Histogram;
use hoptax_result::{Drift, Mode, Percentile, QuantileIntervals, Range};
use hoptax_stats::{modes, quantile_ranks};

use crate::distribution::quantile_with;

/// Times in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// Response times of answered requests.
    pub(crate) response: Histogram<u64>,
    /// Their service times.
    pub(crate) service: Histogram<u64>,
    /// Censored response times of requests whose response is pending.
    pub(crate) pending_response: Option<Histogram<u64>>,
    /// Their censored service times.
    pub(crate) pending_service: Option<Histogram<u64>>,
    /// Response times in equal parts of the record, in their order; empty if they are not known.
    pub(crate) batches: Vec<Histogram<u32>>,
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
                service_us: service.0,
                service_at_least_us: service.1,
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

    /// The interval of a quantile of the response times of answered requests.
    fn interval(&self, p: f64) -> Option<Range> {
        let quantile_ns = self.response.value_at_quantile(p);
        let share = |batch: &Histogram<u32>| {
            (!batch.is_empty()).then(|| batch.count_between(0, quantile_ns) as f64 / batch.len() as f64)
        };
        let shares: Vec<f64> = self.batches.iter().filter_map(share).map(|share| share.min(1.0)).collect();
        // If a batch is empty, the batches do not represent equal parts of the trial.
        let (low, high) = quantile_ranks(&shares, p).filter(|_| shares.len() == self.batches.len())?;
        let us = |rank: f64| self.response.value_at_quantile(rank) as f64 / 1e3;
        Some(Range { low: us(low), high: us(high) })
    }

    /// The modes of response time.
    pub(crate) fn modes(&self) -> Vec<Mode> {
        let recorded = self.response.iter_recorded();
        let values = recorded.map(|value| (value.value_iterated_to() as f64 / 1e3, value.count_at_value()));
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

/// The median, microseconds; None without times.
pub(crate) fn median_us(times: &Histogram<u32>) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(0.5) as f64 / 1e3)
}
