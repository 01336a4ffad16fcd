//! Ends a run early: on a stop request, because its backlog cannot be sent, or with its last request.

use hoptax_result::EndedBy;

use super::Current;
use crate::expected_length::of_closed_loop;
use crate::run::Release;

/// A backlog below this number of requests never ends a run.
const MIN_ABORT_BACKLOG: u64 = 1_000_000;
/// Lower bound of the rate at which a backlog is assumed to drain, requests per second.
const MIN_DRAIN_RATE: f64 = 100_000.0;
/// The backlog is assumed to drain at this multiple of the rate so far.
const DRAIN_RATE_FACTOR: f64 = 10.0;

impl Current<'_> {
    /// Begins the record. If it ends with its requests, it is divided by the time that these are expected to take, not by its time limit.
    pub(crate) fn begin_record(&mut self) {
        let Some(requests) = self.run.requests else { return };
        let from_ns = self.run.record_from_ns;
        let own_ns = match &self.run.release {
            Release::Open(schedule) => schedule.expected_ns(requests),
            Release::Closed | Release::Thinking(_) => {
                let warmup_ns = from_ns.saturating_sub(self.run.start_ns);
                of_closed_loop(requests, self.first.warmup_responses, warmup_ns)
            }
        };
        let most_ns = self.run.end_ns.saturating_sub(from_ns);
        if let Some(length_ns) = self.run.expected_length.ns(own_ns, most_ns) {
            self.first.expect_end(from_ns.saturating_add(length_ns));
        }
    }

    /// Ends the run early if a stop was requested, in any worker, or if the backlog cannot be sent.
    pub(crate) fn end_early(&mut self, now_ns: u64, is_stop_requested: bool, waiting: u64) {
        if is_stop_requested {
            self.run.early_end.set(now_ns, EndedBy::Interrupt);
        } else if self.is_backlog_unsendable(now_ns, waiting) {
            self.run.early_end.set(now_ns, EndedBy::Backlog);
        }
        let at_ns = self.run.early_end.at_ns();
        if at_ns < self.run.end_ns {
            self.end_at(at_ns);
        }
    }

    fn end_at(&mut self, at_ns: u64) {
        self.run.end_ns = at_ns;
        for course in self.recordings().filter_map(|recording| recording.course.as_mut()) {
            course.truncate(at_ns);
        }
        self.intervals.iter_mut().for_each(|interval| interval.truncate(at_ns));
    }

    /// Counts a recorded request against the limit, if there is one. Returns true if it was the last.
    pub(super) fn count_down(&mut self) -> bool {
        let Some(left) = self.requests_left.as_mut().filter(|left| **left > 0) else { return false };
        *left -= 1;
        if *left == 0
            && let Some(unclaimed) = &self.run.unclaimed
        {
            *left = unclaimed.claim();
        }
        *left == 0
    }

    /// Ends the run because all its requests are sent, unless it ends earlier.
    pub(super) fn end_with_requests(&mut self, end_ns: u64) {
        if end_ns <= self.run.end_ns {
            self.end_at(end_ns);
            self.run.early_end.set_done(end_ns);
        }
    }

    /// Ends an open loop once all its requests are planned and none waits for a connection. The end is the intended start of the next
    /// request, so that the record includes the gap after the last one, or `now_ns` if that is later.
    pub(crate) fn end_when_sent(&mut self, now_ns: u64, waiting: impl FnOnce() -> u64) {
        if let Some(planned_ns) = self.planned_until_ns
            && waiting() == 0
        {
            self.planned_until_ns = None;
            self.end_with_requests(planned_ns.max(now_ns));
        }
    }

    /// True if a closed loop may start a request at `intended_ns`: before the end, and within the limit of requests.
    pub(crate) fn may_start(&self, intended_ns: u64) -> bool {
        intended_ns < self.run.end_ns && self.requests_left != Some(0)
    }

    /// True if the backlog exceeds the number of requests that the whole run could send at ten times the rate so far.
    fn is_backlog_unsendable(&self, now_ns: u64, waiting: u64) -> bool {
        if waiting < MIN_ABORT_BACKLOG || now_ns >= self.run.end_ns {
            return false;
        }
        let seconds = |until_ns: u64| until_ns.saturating_sub(self.run.start_ns).max(1) as f64 / 1e9;
        let rate = self.planned.saturating_sub(waiting) as f64 / seconds(now_ns);
        waiting as f64 > (DRAIN_RATE_FACTOR * rate).max(MIN_DRAIN_RATE) * seconds(self.run.end_ns)
    }
}
