//! What ends the workers of a trial before its time, all at the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hoptax_result::EndedBy;

/// How long before an early end the workers of a trial are told of it, nanoseconds: twice what one sleeps at most, so
/// that all of them end at the same moment.
const NOTICE_NS: u64 = 100_000_000;

/// The moment at which the workers of a trial end before their time, and why: the first that knows of it says it, and all
/// end then. Workers that have had all their requests end one by one.
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
    /// Workers that have had all their requests, and when the last of them had.
    done: AtomicU64,
    done_ns: AtomicU64,
}

impl EarlyEnd {
    /// That of so many workers.
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

    /// When it is, and why; None where nothing ends early.
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

    /// A worker has had all its requests.
    pub(crate) fn set_done(&self, at_ns: u64) {
        self.shared.done_ns.fetch_max(at_ns, Ordering::AcqRel);
        self.shared.done.fetch_add(1, Ordering::AcqRel);
    }

    /// Ends all workers soon, unless that was said before.
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
    fn the_first_reason_for_an_early_end_holds_and_all_workers_end_then() {
        let early_end = EarlyEnd::new(2);
        assert_eq!(early_end.get(), None);
        early_end.clone().set(5, EndedBy::Backlog);
        early_end.set(6, EndedBy::Interrupt);
        assert_eq!(early_end.get(), Some((5 + NOTICE_NS, EndedBy::Backlog)));
    }

    #[test]
    fn workers_that_have_had_their_requests_end_with_the_last_of_them() {
        let early_end = EarlyEnd::new(2);
        early_end.set_done(9);
        assert_eq!(early_end.get(), None);
        early_end.set_done(7);
        early_end.set(8, EndedBy::Interrupt);
        assert_eq!(early_end.get(), Some((9, EndedBy::Requests)));
    }
}
