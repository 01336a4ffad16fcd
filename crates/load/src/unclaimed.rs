//! The requests of a closed loop that no worker has claimed. Workers differ in speed, if only because one has a connection more. If each
//! had a fixed number of requests, the faster ones would end first, and the rest of the record would be one of fewer connections.
//!
//! The requests of an open loop are dealt out beforehand. Its times are planned, so no worker is faster than another, and each has those
//! requests of the one schedule whose number, modulo that of the workers, is its own ([`crate::share`]). If they took from one pot, a worker
//! that is late would leave its last requests to one that is on time, whose later ones would be sent in their place: the load would not be the
//! first requests of its schedule any more, and would omit those that a slow server delays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A worker takes one in so many of the requests that would be its own: at the end it has few that others could send.
const PARTS: u64 = 8;

/// The requests, shared by the workers of a trial.
#[derive(Clone, Debug)]
pub struct UnclaimedRequests {
    left: Arc<AtomicU64>,
    workers: u64,
}

impl UnclaimedRequests {
    /// So many requests for the workers of a trial.
    pub(crate) fn new(requests: u64, workers: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(requests)), workers: workers.max(1) }
    }

    /// The requests that a worker has at first, of so many that it is expected to send. It has one at least, since it ends with its last.
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
