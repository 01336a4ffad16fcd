//! What becomes of requests that are not answered: in time, or before the end.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;

use super::Worker;
use crate::connection::InFlight;
use crate::log::Outcome;
use crate::recording::Unsent;
use crate::run::Current;

impl Worker {
    pub(super) fn scan_timeouts(&mut self, current: &mut Current, now: u64) {
        if self.in_flight == 0 {
            return;
        }
        let timeout_ns = self.timeout_ns;
        let is_late = |one: &mut InFlight| now.saturating_sub(one.started_ns) >= timeout_ns;
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(index) else { return };
            if let Some(in_flight) = connection.in_flight.take_if(is_late) {
                self.close(index);
                current.look(now, self.in_flight, self.established);
                self.in_flight -= 1;
                if in_flight.recorded {
                    current.record_end(&in_flight, index, Outcome::TimedOut, now);
                }
                self.give_back(current, index, now);
            }
        }
    }

    /// Counts what is unfinished and unsent, and leaves the connections ready for another run.
    pub(super) fn finish(&mut self, current: &mut Current) {
        let now = now_ns();
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(index) else { continue };
            if let Some(in_flight) = connection.in_flight.take() {
                // Its answer may still come: the connection cannot be used again.
                self.close(index);
                self.in_flight -= 1;
                if in_flight.recorded {
                    current.record_end(&in_flight, index, Outcome::Unfinished, now);
                }
                self.set_free(index);
            }
        }
        while let Some((_, index)) = self.resting.pop_front() {
            self.set_free(index);
        }
        while let Some(Reverse((_, index))) = self.thinking.pop() {
            self.set_free(index);
        }
        let waiting: Vec<u64> =
            self.hosts.iter_mut().flat_map(|host| host.pool.give_up()).map(|due| due.planned_ns).collect();
        for planned_ns in waiting {
            current.record_unsent(planned_ns, Unsent::End);
        }
        while current.is_open() && current.next_ns < current.run.end_ns {
            current.record_unsent(current.next_ns, Unsent::End);
            current.plan_next(self.picker.pick(&self.traffic));
        }
        current.send_live();
        current.recordings().for_each(crate::recording::Recording::keep_recent_status);
    }
}
