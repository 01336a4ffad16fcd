//! Ends all workers of a trial early, at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hoptax_result::EndedBy;

/// How far ahead an early end is scheduled, nanoseconds: twice the maximum sleep of a worker, so that every worker sees it in time.
const NOTICE_NS: u64 = 100_000_000;

/// An early end, shared by the workers of a trial: its time and reason. The first request for it sets both. Workers that
/// have sent all their requests end individually.
#[derive(Clone, Debug)]
pub struct EarlyEnd {
    shared: Arc<Shared>,
    workers: u64,
    notice_ns: u64,
}

#[derive(Debug)]
struct Shared {
    at_ns: AtomicU64,
    is_backlog: AtomicBool,
    /// Workers that have sent all their requests, and the latest time at which one had.
    done: AtomicU64,
    done_ns: AtomicU64,
}

impl EarlyEnd {
    /// An early end for this many workers.
    pub fn new(workers: usize) -> Self {
        let notice_ns = if workers > 1 { NOTICE_NS } else { 0 };
        let shared = Shared {
            at_ns: AtomicU64::new(u64::MAX),
            is_backlog: AtomicBool::new(false),
            done: AtomicU64::new(0),
            done_ns: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), workers: workers as u64, notice_ns }
    }

    /// Time and reason of the early end; None if there is none.
    pub fn get(&self) -> Option<(u64, EndedBy)> {
        if self.shared.done.load(Ordering::Acquire) == self.workers {
            return Some((self.shared.done_ns.load(Ordering::Acquire), EndedBy::Requests));
        }
        let at_ns = self.at_ns();
        let by = if self.shared.is_backlog.load(Ordering::Acquire) {
            EndedBy::Backlog
        } else {
            EndedBy::Interrupt
        };
        (at_ns < u64::MAX).then_some((at_ns, by))
    }

    pub(crate) fn at_ns(&self) -> u64 {
        self.shared.at_ns.load(Ordering::Acquire)
    }

    /// Called by a worker that has sent all its requests.
    pub(crate) fn set_done(&self, at_ns: u64) {
        self.shared.done_ns.fetch_max(at_ns, Ordering::AcqRel);
        self.shared.done.fetch_add(1, Ordering::AcqRel);
    }

    /// Schedules an early end of all workers, unless one is scheduled already.
    pub(crate) fn set(&self, now_ns: u64, by: EndedBy) {
        let at_ns = now_ns.saturating_add(self.notice_ns);
        let is_first =
            self.shared.at_ns.compare_exchange(u64::MAX, at_ns, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_first && by == EndedBy::Backlog {
            self.shared.is_backlog.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_early_end_determines_time_and_reason() {
        let early_end = EarlyEnd::new(2);
        assert_eq!(early_end.get(), None);
        early_end.clone().set(5, EndedBy::Backlog);
        early_end.set(6, EndedBy::Interrupt);
        assert_eq!(early_end.get(), Some((5 + NOTICE_NS, EndedBy::Backlog)));
    }

    #[test]
    fn a_trial_with_a_request_limit_ends_with_its_last_worker() {
        let early_end = EarlyEnd::new(2);
        early_end.set_done(9);
        assert_eq!(early_end.get(), None);
        early_end.set_done(7);
        early_end.set(8, EndedBy::Interrupt);
        assert_eq!(early_end.get(), Some((9, EndedBy::Requests)));
    }
}
