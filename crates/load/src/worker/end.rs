//! Timeouts, and the end of a run.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;
use rustix::event::epoll;
use rustix::io::Errno;

use super::Worker;
use crate::connection::{ConnectionId, Event, SlotId, State};
use crate::current::Current;
use crate::recording::Unsent;
use crate::transport::Transport;

/// Time after the last response in which all acknowledgements are sent and received: the longest delay of one, 25 ms (RFC
/// 9000, section 18.2), and time for the peer.
const ACKNOWLEDGED_NS: u64 = 30_000_000;

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
                self.note_if_unwritten(slot);
                self.feed(current, Event::TimedOut(slot), now);
                // Perform the actions at once: otherwise each search of the queue would pass all earlier ones.
                self.perform(current, now);
            }
        }
        if self.connections.is_opening() {
            let is_opening = |one: &ConnectionId| {
                matches!(self.connections.state(*one), State::Connecting | State::Handshaking)
            };
            let opening: Vec<ConnectionId> = self.connections.live().filter(is_opening).collect();
            for connection in opening {
                // A connection whose opening was held up when the load was interrupted has no transport.
                let is_late = |transport: &Transport| {
                    now.saturating_sub(transport.connect_started_ns) >= self.timeout_ns
                };
                if self.transports.get(connection).is_some_and(is_late) {
                    self.feed(current, Event::ConnectTimedOut(connection), now);
                }
            }
        }
        self.perform(current, now);
    }

    /// Notes the event that a request waits for, if it ends before its first byte is written.
    fn note_if_unwritten(&mut self, slot: SlotId) {
        if self.requests[slot.index()].as_ref().is_none_or(|request| request.written_ns > 0) {
            return;
        }
        let lane = self.connections.layout().lane(slot);
        let Some(connection) = self.connections.current(lane) else { return };
        let waits_for = match self.connections.state(connection) {
            State::Connecting => "never sent: the connection was not established",
            State::Handshaking
                if self.transports.get(connection).is_some_and(Transport::allows_no_request) =>
            {
                "never sent: the server allowed no request on the connection (its limit on concurrent streams was 0)"
            }
            State::Handshaking => "never sent: the handshake of the connection was not complete",
            State::Open { .. } | State::Draining { .. } => {
                "never sent: the server allowed no further request at once on the connection"
            }
            State::Closed => return,
        };
        self.unwritten.insert(slot, waits_for);
    }

    /// Sends the acknowledgements that QUIC delays. A server that is frozen after a slice takes their absence for a broken
    /// path, and closes the connection when it is thawed.
    pub(super) fn acknowledge(
        &mut self,
        current: &mut Current,
        events: &mut Vec<epoll::Event>,
    ) -> Result<(), Errno> {
        let end_ns = now_ns() + ACKNOWLEDGED_NS;
        loop {
            let now = now_ns();
            self.tick(current, now);
            if now >= end_ns {
                return Ok(());
            }
            self.wait(events, (end_ns - now).min(super::SCAN_NS))?;
            self.handle_epoll_events(current, events);
        }
    }

    /// Records unfinished and unsent requests, and leaves the connections ready for another run.
    pub(super) fn finish(&mut self, current: &mut Current) {
        let now = now_ns();
        for slot in self.connections.layout().slots() {
            self.note_if_unwritten(slot);
        }
        self.feed(current, Event::Stopped, now);
        self.perform(current, now);
        current.first().handshakes.merge(&std::mem::take(&mut self.handshakes));
        current.first().stream_limit = self.lowest_limit;
        current.first().no_stamps = self.no_stamps;
        while let Some((_, slot)) = self.backing_off.pop_front() {
            self.set_free(slot);
        }
        while let Some(Reverse((_, slot))) = self.thinking.pop() {
            self.set_free(slot);
        }
        for due in self.hosts.iter_mut().flat_map(|host| host.pool.drain_waiting()) {
            current.record_unsent(due.intended_ns, due.picked, Unsent::End);
        }
        while current.is_open() && current.next_ns < current.run.end_ns {
            current.record_unsent(current.next_ns, current.next, Unsent::End);
            current.plan_next(self.picker.pick(&self.traffic));
        }
        current.send_live(now, self.connections.established());
        current.finish_intervals(now);
        current.recordings().for_each(crate::recording::Recording::flush_recent_status);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::WorkerSpec;
    use crate::recording::Recording;
    use crate::run::{Release, Run};
    use crate::target::Target;

    #[test]
    fn of_many_requests_that_time_out_together_none_searches_the_actions_of_the_others() {
        const REQUESTS: usize = 100;
        // The kernel accepts the connections, and nobody responds.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let target = Target::get(&url).unwrap();
        let spec = WorkerSpec::single(target, REQUESTS, Duration::from_mins(1), 1);
        let mut worker = Worker::connect(&spec).unwrap();
        let mut recording = Recording::default();
        let now = now_ns();
        let run = Run {
            requests: Some(REQUESTS as u64),
            ..Run::new(Release::Closed, now, now + 3_600_000_000_000, 0)
        };
        let mut current = Current::new(run, &mut recording, &mut []);
        worker.release(&mut current, now_ns());
        assert_eq!(worker.connections.in_flight(), REQUESTS);
        worker.scan_timeouts(&mut current, now_ns() + worker.timeout_ns);
        assert_eq!(current.first().book.timed_out, REQUESTS as u64);
        // Each time-out searches the queue of actions, to which it adds two.
        assert!(worker.connections.longest_queue() < REQUESTS, "{}", worker.connections.longest_queue());
    }
}
