//! Timeouts, and the end of a run.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;

use super::Worker;
use crate::connection::{ConnectionId, Event, State};
use crate::current::Current;
use crate::recording::Unsent;

impl Worker {
    /// Times out requests without a response and connections that are not established in time.
    pub(super) fn scan_timeouts(&mut self, current: &mut Current, now: u64) {
        if self.connections.in_flight() == 0 && !self.connections.is_opening() {
            return;
        }
        for slot in self.connections.layout().slots() {
            let is_late =
                |request: &super::InFlight| now.saturating_sub(request.started_ns) >= self.timeout_ns;
            if self.requests[slot.index()].as_ref().is_some_and(is_late) {
                self.feed(current, Event::TimedOut(slot), now);
            }
        }
        if self.connections.is_opening() {
            let is_opening = |one: &ConnectionId| {
                matches!(self.connections.state(*one), State::Connecting { .. } | State::Handshaking { .. })
            };
            let opening: Vec<ConnectionId> = self.connections.live().filter(is_opening).collect();
            for connection in opening {
                if now.saturating_sub(self.transports[connection].connect_started_ns) >= self.timeout_ns {
                    self.feed(current, Event::ConnectTimedOut(connection), now);
                }
            }
        }
        self.perform(current, now);
    }

    /// Records unfinished and unsent requests, and leaves the connections ready for another run.
    pub(super) fn finish(&mut self, current: &mut Current) {
        let now = now_ns();
        self.feed(current, Event::Stopped, now);
        self.perform(current, now);
        current.first().handshakes.merge(&std::mem::take(&mut self.handshakes));
        while let Some((_, slot)) = self.backing_off.pop_front() {
            self.set_free(slot);
        }
        while let Some(Reverse((_, slot))) = self.thinking.pop() {
            self.set_free(slot);
        }
        for due in self.hosts.iter_mut().flat_map(|host| host.pool.drain_waiting()) {
            current.record_unsent(due.intended_ns, Unsent::End);
        }
        while current.is_open() && current.next_ns < current.run.end_ns {
            current.record_unsent(current.next_ns, Unsent::End);
            current.plan_next(self.picker.pick(&self.traffic));
        }
        current.send_live();
        current.finish_intervals(now);
        current.recordings().for_each(crate::recording::Recording::flush_recent_status);
    }
}
