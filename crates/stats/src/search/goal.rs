//! Goals of a search: criteria that hold at low loads and fail at high ones, and how long a trial must be to show it.

use std::time::Duration;

/// Late requests that a percentile permits in a trial of sufficient length: ten groups of six.
const LATE: f64 = 60.0;
/// Lost requests that a limit permits in a trial of sufficient length. With fewer, a search at a low load has thousands of trials.
const LOST: f64 = 0.5;
/// Least and largest dispersion of late requests before it is known.
const LEAST: f64 = 5.0;
const MOST: f64 = 100.0;
/// Lengths of the queue's memory in a trial.
const MEMORIES: f64 = 4.0;
/// The shortest trial.
pub(crate) const SHORTEST: Duration = Duration::from_secs(1);

/// A condition that a subject meets at low loads and not at high ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// Limit of the share of requests that are answered too late, or not at all.
    Late {
        /// The share, above 0 and below 1: 0.01 for a p99.
        permitted: f64,
        /// The limit of response time.
        limit: Duration,
    },
    /// Limit of the share of requests that are lost.
    Lost {
        /// The share, above 0 and below 1.
        permitted: f64,
    },
    /// A number of a trial stays within a limit.
    Value,
}

impl Criterion {
    /// The share of requests that it permits; None if it is not about a share.
    pub(crate) fn permitted(&self) -> Option<f64> {
        match *self {
            Self::Late { permitted, .. } | Self::Lost { permitted } => Some(permitted),
            Self::Value => None,
        }
    }

    /// The variance of the number of late or lost requests as a multiple of that of independent ones, before it is known.
    ///
    /// **Method.** Late requests wait in one queue, so they come in groups. Two requests are correlated for as long as the queue remembers.
    /// If the criterion just holds for a server with one queue that is busy most of the time, this time is 8 load (T / ln(1/p))² by the
    /// relations of [`Self::memory`], with the variance of equal service times and random arrivals, load / load². Half of the requests in
    /// that time is the dispersion. Beyond [`MOST`], the share of late requests changes so fast with the load that an error does not
    /// matter.
    pub(crate) fn dispersion(&self, load: f64) -> f64 {
        match *self {
            Self::Late { permitted, limit } => {
                (4.0 * (load * limit.as_secs_f64() / (1.0 / permitted).ln()).powi(2)).clamp(LEAST, MOST)
            }
            Self::Lost { .. } | Self::Value => 1.0,
        }
    }

    /// Returns the time for which a queue remembers that it was empty, at the loads that a search must distinguish: those at least half of
    /// `width` below the capacity, or at which the criterion just holds.
    ///
    /// **Method.** Near saturation, a queue is a reflected Brownian motion: if it empties at `m` units of work per second and its work has
    /// the variance `v` per second, it forgets its start at the rate m² / (2 v) and its response times have a tail of the rate 2 m / v
    /// (J. Abate and W. Whitt, "Transient behavior of regulated Brownian motion", *Advances in Applied Probability* 19, 1987). If the
    /// criterion just holds, that tail has the share `p` beyond the limit `T`: 2 m / v = ln(1/p) / T. So the memory is 2 v / m² = 4 T / (m
    /// ln(1/p)). At half of the width `w` below the capacity, m is w/2. At lower loads m is larger, and the memory shorter; at higher
    /// loads the search need not decide. With the M/M/1 queue, whose memory is known, this is that of C. Odoni and E. Roth
    /// ("An empirical investigation of the transient behavior of stationary queueing systems", *Operations Research* 31, 1983).
    pub(crate) fn memory(&self, width: f64) -> Duration {
        match *self {
            Self::Late { permitted, limit } => limit.mul_f64(8.0 / (width * (1.0 / permitted).ln())),
            Self::Lost { .. } | Self::Value => Duration::ZERO,
        }
    }

    /// Returns the length that a trial at a load should have.
    pub(crate) fn trial(&self, load: f64, width: f64) -> Duration {
        let permitting = |requests: f64, permitted: f64| {
            Duration::try_from_secs_f64(requests / (permitted * load)).unwrap_or(Duration::MAX)
        };
        let needed = match *self {
            Self::Late { permitted, .. } => {
                self.memory(width).mul_f64(MEMORIES).max(permitting(LATE, permitted))
            }
            Self::Lost { permitted } => permitting(LOST, permitted),
            Self::Value => SHORTEST,
        };
        needed.max(SHORTEST)
    }

    /// Describes why the criterion is invalid; none if it is valid.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_share = |share: f64| share > 0.0 && share < 1.0;
        (!self.permitted().is_none_or(is_share)).then_some("its permitted share must be above 0 and below 1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_as_long_as_its_percentile_and_the_memory_of_the_queue_need() {
        let late = |permitted, millis| Criterion::Late { permitted, limit: Duration::from_millis(millis) };
        // 60 of 6,000 requests; four memories of 8 * 20 ms / (0.03 * ln 100) = 1.16 s.
        let seconds = |criterion: Criterion, load| criterion.trial(load, 0.03).as_secs_f64();
        assert!((seconds(late(0.01, 20), 400.0) - 15.0).abs() < 1e-6);
        assert!((seconds(late(0.01, 20), 40_000.0) - 4.632).abs() < 1e-3);
        assert!((seconds(late(0.001, 20), 400.0) - 150.0).abs() < 1e-6);
        assert_eq!(late(0.01, 1).trial(40_000.0, 0.03), SHORTEST);
        // One lost request of 1,000 is permitted.
        assert!((seconds(Criterion::Lost { permitted: 0.001 }, 1.0) - 500.0).abs() < 1e-6);
        assert_eq!(Criterion::Lost { permitted: 0.001 }.trial(500.0, 0.03), SHORTEST);
    }

    #[test]
    fn the_memory_is_that_of_a_queue_at_the_limit_or_near_saturation() {
        // M/M/1 with a service rate of `rate` forgets at the rate (sqrt(rate) - sqrt(load))^2, and its p99 is ln(100) / (rate - load).
        let limit = Duration::from_millis(20);
        for rate in [300.0_f64, 500.0, 1e3, 1e4, 1e5] {
            let load = (rate - 100.0_f64.ln() / limit.as_secs_f64()).min(rate * (1.0 - 0.015));
            let memory_s = 1.0 / (rate.sqrt() - load.sqrt()).powi(2);
            let stated = Criterion::Late { permitted: 0.01, limit }.memory(0.03).as_secs_f64();
            assert!(memory_s <= 1.02 * stated, "{rate}: {memory_s} s, not {stated} s");
        }
    }
}
