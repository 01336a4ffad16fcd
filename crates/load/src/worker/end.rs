//! What becomes of requests that are not answered: in time, or before the end.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;

use super::Worker;
use crate::connection::InFlight;
use crate::log::Outcome;
use crate::recording::{Failure, Unsent};
use crate::run::Current;

impl Worker {
    pub(super) fn scan_timeouts(&mut self, current: &mut Current, now: u64) {
        if self.in_flight == 0 {
            return;
        }
        let timeout_ns = self.timeout_ns;
        let is_late = |one: &mut InFlight| now.saturating_sub(one.started_ns) >= timeout_ns;
        for slot in 0..self.slots.len() {
            let Some(in_flight) = self.slots.get_mut(slot).and_then(|one| one.take_if(is_late)) else {
                continue;
            };
            self.give_up(current, slot, &in_flight);
            current.look(now, self.in_flight, self.established);
            self.in_flight -= 1;
            if in_flight.recorded {
                current.record_end(&in_flight, slot / self.streams, Outcome::TimedOut, now);
            }
            self.give_back(current, slot, now);
        }
    }

    /// Frees a stream whose answer may still come: by a message of the protocol, or by closing its connection.
    fn give_up(&mut self, current: &mut Current, slot: usize, in_flight: &InFlight) {
        let (index, stream) = (slot / self.streams, (slot % self.streams) as u32);
        if in_flight.written_ns == 0 {
            // The others that wait for this connection go on waiting.
            if self.streams == 1 {
                self.close(index);
            }
            return;
        }
        self.end_stream(slot);
        let is_of_use = self
            .connections
            .get_mut(index)
            .is_some_and(|connection| connection.cancel(stream, &mut self.scratch));
        if !is_of_use {
            self.fail_all(current, index, Failure::Reset);
        }
    }

    /// Counts what is unfinished and unsent, and leaves the connections ready for another run.
    pub(super) fn finish(&mut self, current: &mut Current) {
        let now = now_ns();
        for slot in 0..self.slots.len() {
            let Some(in_flight) = self.slots.get_mut(slot).and_then(Option::take) else { continue };
            // Its answer may still come: the connection cannot be used again.
            self.close(slot / self.streams);
            self.in_flight -= 1;
            if in_flight.recorded {
                current.record_end(&in_flight, slot / self.streams, Outcome::Unfinished, now);
            }
            self.set_free(slot);
        }
        current.first().handshakes.merge(&std::mem::take(&mut self.handshakes));
        while let Some((_, slot)) = self.resting.pop_front() {
            self.set_free(slot);
        }
        while let Some(Reverse((_, slot))) = self.thinking.pop() {
            self.set_free(slot);
        }
        for due in self.hosts.iter_mut().flat_map(|host| host.pool.give_up()) {
            current.record_unsent(due.planned_ns, Unsent::End);
        }
        while current.is_open() && current.next_ns < current.run.end_ns {
            current.record_unsent(current.next_ns, Unsent::End);
            current.plan_next(self.picker.pick(&self.traffic));
        }
        current.send_live();
        current.recordings().for_each(crate::recording::Recording::keep_recent_status);
    }
}
