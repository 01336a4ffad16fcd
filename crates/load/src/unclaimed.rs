//! The requests of a closed loop that no worker has claimed yet. Workers differ in speed, if only because one has one connection more. If
//! each had a fixed number of requests, the faster ones would end first, and the rest of the record would be one of fewer connections.
//!
//! The requests of an open loop are dealt out beforehand ([`crate::share`]). Its times are planned, so no worker is faster than another:
//! each sends the requests whose number in the schedule, modulo the number of workers, is its own. If workers took requests from a common
//! pool, a late worker would leave its last requests to a punctual one, which would send later requests of its own instead. The load would
//! no longer be the first requests of its schedule, and would omit those that a slow server delays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Inverse of the share of its remaining requests that a worker claims at once. At the end it holds few requests that others could send.
const PARTS: u64 = 8;

/// The requests, shared by the workers of a trial.
#[derive(Clone, Debug)]
pub struct UnclaimedRequests {
    left: Arc<AtomicU64>,
    workers: u64,
}

impl UnclaimedRequests {
    /// The `requests` of a trial with this number of workers.
    pub(crate) fn new(requests: u64, workers: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(requests)), workers: workers.max(1) }
    }

    /// The requests that a worker has at first, if it is expected to send `expected`. At least one of them, since a worker ends with its
    /// last request.
    pub(crate) fn first_of(expected: u64) -> u64 {
        (expected / PARTS).max(expected.min(1))
    }

    /// Claims some requests; 0 if none is left.
    pub(crate) fn claim(&self) -> u64 {
        let mut left = self.left.load(Ordering::Acquire);
        while left > 0 {
            let part = (left / (self.workers * PARTS)).max(1);
            match self.left.compare_exchange_weak(left, left - part, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return part,
                Err(now) => left = now,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_a_request_at_first_unless_there_is_none() {
        assert_eq!([0, 1, 7, 8, 1_000].map(UnclaimedRequests::first_of), [0, 1, 1, 1, 125]);
    }

    #[test]
    fn workers_of_unequal_speed_take_all_requests_and_end_together() {
        const SPEEDS: [u64; 3] = [1, 2, 4];
        let unclaimed = UnclaimedRequests::new(10_000, 3);
        let (mut own, mut sent) = ([1_u64; 3], [0_u64; 3]);
        let mut ended = [None; 3];
        for turn in 0.. {
            for (worker, speed) in SPEEDS.into_iter().enumerate() {
                for _ in 0..speed {
                    if own[worker] > 0 {
                        (own[worker], sent[worker]) = (own[worker] - 1, sent[worker] + 1);
                    }
                    if own[worker] == 0 {
                        own[worker] = unclaimed.claim();
                    }
                }
                if own[worker] == 0 {
                    ended[worker].get_or_insert(turn);
                }
            }
            if ended.iter().all(Option::is_some) {
                break;
            }
        }
        assert_eq!(sent.iter().sum::<u64>(), 10_003);
        let ends: Vec<u64> = ended.into_iter().flatten().collect();
        let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
        assert!(last - first <= 2, "{ends:?}");
        assert!(sent[2] > 3 * sent[0], "{sent:?}");
    }
}
