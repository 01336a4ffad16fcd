//! Starts requests that are due on free connections.

use std::cmp::Reverse;

use hoptax_host::clock::now_ns;

use super::Worker;
use crate::backlog::Due;
use crate::connection::SlotId;
use crate::current::Current;
use crate::in_flight::InFlight;
use crate::pool::{Offer, SKIP_LAG_NS, WhenLate};
use crate::recording::Unsent;
use crate::run::Release;

/// Maximum number of requests to release before the worker handles events and stop requests again.
const MAX_RELEASES: u32 = 65_536;

impl Worker {
    /// True if any connection is free.
    pub(super) fn has_free_connection(&self) -> bool {
        self.hosts.iter().any(|host| host.pool.has_free())
    }

    /// Gives each connection of a closed loop a think time before its first request. Exponential times spread the first
    /// requests; with a constant time, all connections start at once.
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

    /// Starts the requests that are due on free connections; the rest wait or are skipped.
    pub(super) fn release(&mut self, current: &mut Current, now: u64) {
        match current.run.release {
            Release::Open(_) => {
                for _ in 0..MAX_RELEASES {
                    if !self.release_next(current, now) {
                        break;
                    }
                    self.perform(current, now);
                }
            }
            // In a closed loop, the intended start is the moment a connection becomes free. It takes up to
            // 600 ms to start the first requests on 10,000 connections, and none of them is late.
            Release::Closed if current.next_ns <= now && now < current.run.end_ns => {
                let mut now = now;
                for host in 0..self.hosts.len() {
                    // The limit of requests may be reached before every connection has one.
                    while current.may_start(now)
                        && let Some(slot) = self.take_free(host)
                    {
                        self.start_next(current, slot, now);
                        self.perform(current, now);
                        now = now_ns();
                        current.begin_turn(now);
                    }
                }
            }
            Release::Thinking(_) => {
                while let Some(&Reverse((think_end_ns, slot))) = self.thinking.peek()
                    && think_end_ns <= now
                {
                    self.thinking.pop();
                    if think_end_ns < current.run.end_ns {
                        self.start_next(current, slot, think_end_ns);
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

    /// Handles the next request of the schedule if it is due at `now`; false if none is.
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
                if self.when_late == WhenLate::Skip && now.saturating_sub(due.intended_ns) > SKIP_LAG_NS =>
            {
                host.pool.set_free(number);
                current.record_unsent(due.intended_ns, due.picked, Unsent::Late);
            }
            Offer::Start(number) => {
                let slot = host.slot(number);
                self.start(current, slot, due, false);
            }
            Offer::Queued => current.record_waiting(due.intended_ns, self.waiting()),
            Offer::Skip => current.record_unsent(due.intended_ns, due.picked, Unsent::Busy),
        }
        true
    }

    /// Called when a slot becomes free at `now`: starts a waiting request on it, or returns it to the pool.
    pub(super) fn reuse_slot(&mut self, current: &mut Current, slot: SlotId, now: u64) {
        if now >= current.run.end_ns {
            return self.set_free(slot);
        }
        match current.run.release {
            Release::Closed => self.start_next(current, slot, now),
            Release::Thinking(think) => {
                let until_ns = now + think.draw_ns(&mut self.random);
                self.thinking.push(Reverse((until_ns, slot)));
            }
            Release::Open(_) => {
                // Handle the requests that came due before the slot became free first.
                for _ in 0..MAX_RELEASES {
                    if !self.release_next(current, now) {
                        break;
                    }
                }
                let number = self.host_of(slot);
                let host = &mut self.hosts[number];
                if let Some(due) = host.pool.put_back(host.number(slot)) {
                    self.start(current, slot, due, true);
                }
            }
        }
    }

    /// Starts the next request of a closed loop on a slot, for the slot's host.
    fn start_next(&mut self, current: &mut Current, slot: SlotId, intended_ns: u64) {
        if !current.may_start(intended_ns) {
            return self.set_free(slot);
        }
        let picked = self.picker.pick_for(&self.traffic, self.host_of(slot));
        self.start(current, slot, Due { intended_ns, offered_ns: intended_ns, picked }, false);
    }

    /// Starts a request on a slot. Performing the queued actions writes it, or opens its connection.
    fn start(&mut self, current: &mut Current, slot: SlotId, due: Due, blocked: bool) {
        let started_ns = now_ns();
        let offered_ns = if blocked { due.offered_ns } else { started_ns };
        let is_first = !blocked && self.connections.in_flight() == 0 && self.connections.waiting() == 0;
        current.start_late(offered_ns.saturating_sub(due.intended_ns), is_first);
        let lane = self.connections.layout().lane(slot);
        self.requests[slot.index()] = Some(InFlight {
            intended_ns: due.intended_ns,
            // A request that did not wait was noticed when it started.
            offered_ns,
            picked: due.picked,
            started_ns,
            recorded: due.intended_ns >= current.run.record_from_ns,
            blocked,
            connected: self.connections.current(lane).is_none(),
            ..InFlight::default()
        });
        self.sample(current, started_ns);
        self.connections.request(slot);
        let request = self.request(slot);
        if request.recorded {
            current.record_start(request);
        }
    }
}
