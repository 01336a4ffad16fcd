//! Releasing what is due onto free connections.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;

use super::answers::failure_of;
use super::{InFlight, Worker};
use crate::backlog::Due;
use crate::connection::{ConnectionId, Event, SlotId};
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
        for host in 0..self.hosts.len() {
            while let Some(slot) = self.take_free(host) {
                let until_ns = current.run.start_ns + think.draw_ns(&mut self.random);
                self.thinking.push(Reverse((until_ns, slot)));
            }
        }
    }

    /// Sends what is due onto free connections, and decides what becomes of the rest.
    pub(super) fn release(&mut self, current: &mut Current, now: u64) {
        match current.run.release {
            Release::Open(_) => {
                for _ in 0..RELEASES_AT_ONCE {
                    if !self.release_next(current, now) {
                        break;
                    }
                    self.perform(current, now);
                }
            }
            // A closed loop plans a request for the moment when it finds a connection free.
            Release::Closed if current.next_ns <= now && now < current.run.end_ns => {
                for host in 0..self.hosts.len() {
                    // The last request that was asked for may go out before every connection has one.
                    while current.may_start(now)
                        && let Some(slot) = self.take_free(host)
                    {
                        self.start_any(current, slot, now);
                        self.perform(current, now);
                    }
                }
            }
            Release::Thinking(_) => {
                while let Some(&Reverse((thought_ns, slot))) = self.thinking.peek()
                    && thought_ns <= now
                {
                    self.thinking.pop();
                    if thought_ns < current.run.end_ns {
                        self.start_any(current, slot, thought_ns);
                        self.perform(current, now);
                    } else {
                        self.set_free(slot);
                    }
                }
            }
            Release::Closed => {}
        }
    }

    fn take_free(&mut self, host: usize) -> Option<SlotId> {
        let host = &mut self.hosts[host];
        host.pool.take().map(|number| host.slot(number))
    }

    /// Decides about the next request that is due at `now`; false when there is none.
    fn release_next(&mut self, current: &mut Current, now: u64) -> bool {
        if current.next_ns > now || current.next_ns >= current.run.end_ns {
            return false;
        }
        let due = Due { intended_ns: current.next_ns, offered_ns: now, picked: current.next };
        current.plan_next(self.picker.pick(&self.traffic));
        let number = self.traffic.host_of(due.picked.target);
        let replay = |turn| current.replay(&self.picker, &self.traffic, number, turn);
        let host = &mut self.hosts[number];
        match host.pool.offer(due, replay) {
            Offer::Start(number)
                if self.when_late == WhenLate::Skip && now.saturating_sub(due.intended_ns) > LATE_NS =>
            {
                host.pool.set_free(number);
                current.record_unsent(due.intended_ns, Unsent::Late);
            }
            Offer::Start(number) => {
                let slot = host.slot(number);
                self.start(current, slot, due, false);
            }
            Offer::Waits => current.record_waiting(due.intended_ns, self.waiting()),
            Offer::Refused => current.record_unsent(due.intended_ns, Unsent::Busy),
        }
        true
    }

    /// Gives a slot back at `now`; a request that has waited for it takes it.
    pub(super) fn give_back(&mut self, current: &mut Current, slot: SlotId, now: u64) {
        if now >= current.run.end_ns {
            return self.set_free(slot);
        }
        match current.run.release {
            Release::Closed => self.start_any(current, slot, now),
            Release::Thinking(think) => {
                let until_ns = now + think.draw_ns(&mut self.random);
                self.thinking.push(Reverse((until_ns, slot)));
            }
            Release::Open(_) => {
                // What came due before this is decided before it.
                for _ in 0..RELEASES_AT_ONCE {
                    if !self.release_next(current, now) {
                        break;
                    }
                }
                let number = self.host_of(slot);
                let host = &mut self.hosts[number];
                if let Some(due) = host.pool.give(host.number(slot)) {
                    self.start(current, slot, due, true);
                }
            }
        }
    }

    /// Hands the next request of a closed loop to a slot: one for its host.
    fn start_any(&mut self, current: &mut Current, slot: SlotId, intended_ns: u64) {
        if !current.may_start(intended_ns) {
            return self.set_free(slot);
        }
        let picked = self.picker.pick_for(&self.traffic, self.host_of(slot));
        self.start(current, slot, Due { intended_ns, offered_ns: intended_ns, picked }, false);
    }

    /// Hands a request to a slot. It is written, or its connection opened, when the actions are performed.
    fn start(&mut self, current: &mut Current, slot: SlotId, due: Due, blocked: bool) {
        let started_ns = now_ns();
        let lane = self.connections.layout().lane(slot);
        let in_flight = InFlight {
            intended_ns: due.intended_ns,
            // One that goes out at once was taken note of when it did.
            offered_ns: if blocked { due.offered_ns } else { started_ns },
            picked: due.picked,
            started_ns,
            connected_ns: 0,
            written_ns: 0,
            first_byte_ns: 0,
            message_ns: 0,
            recorded: due.intended_ns >= current.run.record_from_ns,
            blocked,
            connected: self.connections.current(lane).is_none(),
        };
        self.requests[slot.index()] = Some(in_flight);
        self.feed(current, Event::Requested(slot), started_ns);
        if in_flight.recorded {
            current.record_start(&in_flight);
        }
    }

    /// Writes the request in a slot.
    pub(super) fn write(&mut self, connection: ConnectionId, slot: SlotId, written_ns: u64) {
        let request = self.request(slot);
        request.written_ns = written_ns;
        let picked = request.picked;
        let target = &self.traffic.targets[picked.target];
        let transport = &mut self.transports[connection];
        let bytes = if target.places.is_empty() {
            &target.request.bytes
        } else {
            self.filled.clear();
            self.filled.extend_from_slice(&target.request.bytes);
            target.fill(&mut self.filled, picked.counter, picked.random);
            &self.filled
        };
        let stream = self.connections.layout().stream(slot);
        let sent = transport.send(stream, &target.request, bytes, &mut self.scratch);
        if transport.is_corked() {
            self.corked.push(slot);
        }
        if let Err(error) = sent {
            let failure = failure_of(&error);
            self.connections.handle(Event::Failed { connection, failure });
        } else if transport.is_used_up() {
            self.connections.handle(Event::Retired(connection));
        }
    }
}
