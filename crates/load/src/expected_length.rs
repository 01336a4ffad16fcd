//! The expected length of a record that ends with its requests, which `--duration` only limits. The warm-up predicts that of a closed loop,
//! and the schedule has that of an open loop ([`crate::schedule::Schedule::expected_ns`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The expected length of a closed loop in percent of the time that the warm-up predicts. If a record takes less than this length, its
/// parts are complete up to its end; if it takes more, only up to this length.
const LENGTH_PERCENT: u128 = 140;
/// Minimum length, nanoseconds. The parts of a shorter record have too few responses.
const SHORTEST_NS: u64 = 100_000_000;
/// No worker has asked yet.
const UNDECIDED: u64 = 0;
/// The record has no expected length.
const NONE: u64 = u64::MAX;

/// A length that all workers of a trial share, so that their parts cover the same times. The first worker that asks decides it.
#[derive(Clone, Debug, Default)]
pub struct ExpectedLength(Arc<AtomicU64>);

impl ExpectedLength {
    /// The length in nanoseconds, if the worker that asks expects `own_ns`. None if the worker that decides expects none, or one that is
    /// below a tenth of a second or not below `most_ns`.
    pub(crate) fn ns(&self, own_ns: Option<u64>, most_ns: u64) -> Option<u64> {
        let own = own_ns.filter(|length_ns| (SHORTEST_NS..most_ns).contains(length_ns)).unwrap_or(NONE);
        let decided = self.0.compare_exchange(UNDECIDED, own, Ordering::AcqRel, Ordering::Acquire);
        Some(decided.err().unwrap_or(own)).filter(|length_ns| *length_ns != NONE)
    }
}

/// The length that a worker of a closed loop expects in nanoseconds. It is to record `requests` and received `responses` in its warm-up;
/// None if the warm-up does not predict it.
pub(crate) fn of_closed_loop(requests: u64, responses: u64, warmup_ns: u64) -> Option<u64> {
    let of_all = u128::from(requests) * u128::from(warmup_ns);
    let length_ns = (of_all.saturating_mul(LENGTH_PERCENT) / 100).checked_div(u128::from(responses))?;
    u64::try_from(length_ns).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const HOUR_NS: u64 = 3_600 * SECOND_NS;

    /// The length for the first worker that asks.
    fn first(requests: u64, responses: u64, warmup_ns: u64) -> Option<u64> {
        ExpectedLength::default().ns(of_closed_loop(requests, responses, warmup_ns), HOUR_NS)
    }

    #[test]
    fn the_rate_of_the_warm_up_tells_the_length() {
        assert_eq!(first(5_000, 1_000, SECOND_NS), Some(7 * SECOND_NS));
        assert_eq!(first(100, 1_400, SECOND_NS), Some(SHORTEST_NS));
        assert_eq!(first(99, 1_400, SECOND_NS), None, "too short");
        assert_eq!(first(5_000, 1, SECOND_NS), None, "beyond the limit");
        assert_eq!(first(5_000, 0, SECOND_NS), None, "no response");
        assert_eq!(first(5_000, 0, 0), None, "no warm-up");
        assert_eq!(first(u64::MAX, 1, u64::MAX), None);
    }

    #[test]
    fn the_first_worker_decides_for_all() {
        for (responses, expected) in [(1_000, Some(7 * SECOND_NS)), (0, None)] {
            let length = ExpectedLength::default();
            assert_eq!(length.ns(of_closed_loop(5_000, responses, SECOND_NS), HOUR_NS), expected);
            assert_eq!(length.clone().ns(of_closed_loop(5_000, 700, SECOND_NS), HOUR_NS), expected);
        }
    }
}
