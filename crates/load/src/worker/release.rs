//! Releasing what is due onto free connections.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;

use super::Worker;
use super::answers::failure_of;
use crate::backlog::Due;
use crate::connection::InFlight;
use crate::pool::{LATE_NS, Offer, WhenLate};
use crate::recording::Unsent;
use crate::run::{Current, Release};

/// Requests that are released before events and a request to stop are looked at.
const RELEASES_AT_ONCE: u32 = 65_536;

impl Worker {
    /// Whether some connection is free.
    pub(super) fn may_release(&self) -> bool {
        self.hosts.iter().any(|host| host.pool.has_free())
    }

    /// Every connection of a closed loop with think time begins by thinking, so that they do not set out together.
    pub(super) fn begin_thinking(&mut self, current: &Current) {
        let Release::Thinking(think) = current.run.release else { return };
        self.thinking.clear();
        let first = self.hosts.iter_mut().flat_map(|host| {
            let first = host.first;
            std::iter::from_fn(move || host.pool.take().map(|index| first + index))
        });
        let indices: Vec<usize> = first.collect();
        for index in indices {
            let until_ns = current.run.start_ns + think.draw_ns(&mut self.random);
            self.thinking.push(Reverse((until_ns, index)));
        }
    }

    /// Sends what is due onto free connections, and decides what becomes of the rest.
    pub(super) fn release(&mut self, current: &mut Current, now: u64) {
        match current.run.release {
            Release::Open(_) => self.release_planned(current, now),
            // A closed loop plans a request for the moment when it finds a connection free.
            Release::Closed if current.next_ns <= now && now < current.run.end_ns => {
                for host in 0..self.hosts.len() {
                    while let Some(index) = self.take_free(host) {
                        self.start_any(current, index, now);
                    }
                }
            }
            Release::Thinking(_) => {
                while let Some(&Reverse((thought_ns, index))) = self.thinking.peek()
                    && thought_ns <= now
                {
                    self.thinking.pop();
                    if thought_ns < current.run.end_ns {
                        self.start_any(current, index, thought_ns);
                    } else {
                        self.set_free(index);
                    }
                }
            }
            Release::Closed => {}
        }
    }

    fn take_free(&mut self, host: usize) -> Option<usize> {
        let host = self.hosts.get_mut(host)?;
        host.pool.take().map(|index| host.first + index)
    }

    fn release_planned(&mut self, current: &mut Current, now: u64) {
        for _ in 0..RELEASES_AT_ONCE {
            if current.next_ns > now || current.next_ns >= current.run.end_ns {
                return;
            }
            let due = Due { planned_ns: current.next_ns, offered_ns: now, picked: current.next };
            current.plan_next(self.picker.pick(&self.traffic));
            let number = self.traffic.host_of(due.picked.target);
            let Some(host) = self.hosts.get_mut(number) else { return };
            let replay = |turn| current.replay(&self.picker, &self.traffic, number, turn);
            match host.pool.offer(due, replay) {
                Offer::Start(index)
                    if self.when_late == WhenLate::Skip && now.saturating_sub(due.planned_ns) > LATE_NS =>
                {
                    host.pool.set_free(index);
                    current.record_unsent(due.planned_ns, Unsent::Late);
                }
                Offer::Start(index) => {
                    let index = host.first + index;
                    self.start(current, index, due, false);
                }
                Offer::Waits => current.record_waiting(due.planned_ns, self.waiting()),
                Offer::Refused => current.record_unsent(due.planned_ns, Unsent::Busy),
            }
        }
    }

    /// Gives a stream back at `now`; a request that has waited for it takes it.
    pub(super) fn give_back(&mut self, current: &mut Current, slot: usize, now: u64) {
        if now >= current.run.end_ns {
            return self.set_free(slot);
        }
        match current.run.release {
            Release::Closed => self.set_free(slot),
            Release::Thinking(think) => {
                let until_ns = now + think.draw_ns(&mut self.random);
                self.thinking.push(Reverse((until_ns, slot)));
            }
            Release::Open(_) => {
                // What came due before this is decided before it.
                self.release_planned(current, now);
                let Some(host) = self.host_of(slot) else { return };
                let local = slot - host.first;
                if let Some(due) = host.pool.give(local) {
                    self.start(current, slot, due, true);
                }
            }
        }
    }

    /// Hands the next request of a closed loop to a stream: one for its host.
    pub(super) fn start_any(&mut self, current: &mut Current, slot: usize, planned_ns: u64) {
        if planned_ns >= current.run.end_ns {
            // The last request that was asked for has gone out.
            return self.set_free(slot);
        }
        let connection = self.connections.get(slot / self.streams);
        let Some(host) = connection.map(|connection| connection.host) else { return };
        let picked = self.picker.pick_for(&self.traffic, host);
        self.start(current, slot, Due { planned_ns, offered_ns: planned_ns, picked }, false);
    }

    /// Hands a request to a stream, opening its connection first where it is closed.
    fn start(&mut self, current: &mut Current, slot: usize, due: Due, blocked: bool) {
        let index = slot / self.streams;
        let Some(connection) = self.connections.get(index) else { return };
        let started_ns = now_ns();
        let is_ready = connection.is_ready() && !connection.is_retired;
        let is_closed = connection.is_closed();
        let in_flight = InFlight {
            planned_ns: due.planned_ns,
            // One that goes out at once was taken note of when it did.
            offered_ns: if blocked { due.offered_ns } else { started_ns },
            picked: due.picked,
            started_ns,
            connected_ns: 0,
            written_ns: if is_ready { started_ns } else { 0 },
            first_byte_ns: 0,
            recorded: due.planned_ns >= current.run.record_from_ns,
            blocked,
            connected: !is_ready,
        };
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(in_flight);
        }
        current.look(started_ns, self.in_flight, self.established);
        self.in_flight += 1;
        if in_flight.recorded {
            current.record_start(&in_flight);
        }
        if is_ready {
            self.write(current, slot);
        } else if is_closed && let Err(error) = self.open(index) {
            self.fail_all(current, index, failure_of(&error.into()));
        }
    }

    /// Writes the request on a stream.
    pub(super) fn write(&mut self, current: &mut Current, slot: usize) {
        let (index, stream) = (slot / self.streams, (slot % self.streams) as u32);
        let Some(picked) = self.slots.get(slot).copied().flatten().map(|one| one.picked) else { return };
        let Some(target) = self.traffic.targets.get(picked.target) else { return };
        let Some(connection) = self.connections.get_mut(index) else { return };
        let bytes = if target.places.is_empty() {
            &target.request.bytes
        } else {
            self.filled.clear();
            self.filled.extend_from_slice(&target.request.bytes);
            target.fill(&mut self.filled, picked.counter, picked.random);
            &self.filled
        };
        let sent = connection.send(stream, &target.request, bytes, &mut self.scratch);
        if connection.is_corked() {
            self.corked.push(slot);
        }
        if let Err(trouble) = sent {
            self.fail_all(current, index, failure_of(&trouble));
        }
    }
}
