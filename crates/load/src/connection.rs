//! The connections of a worker as one state machine: events in, actions out, without sockets or clocks.
//!
//! A request takes a slot, which is a stream of a lane. Each lane has at most one connection that accepts new requests.
//! A connection that must accept no more of them (GOAWAY, its maximum number of requests, its maximum age) leaves its
//! lane at once and drains: its requests in flight continue, the lane's next request opens another connection, and no
//! request waits for the slowest stream. The connection closes when its last request ends, also by a timeout, so the
//! number of draining connections is bounded by the number of slots.
//!
//! | state | event | next state |
//! |---|---|---|
//! | closed | the first request of its lane | connecting |
//! | connecting | the socket is connected | handshaking |
//! | handshaking | the protocol is ready: waiting requests are written | open |
//! | connecting, handshaking | failure: waiting requests fail with it, and their slots back off | closed |
//! | connecting, handshaking | connect timeout: waiting requests go to the next attempt | closed |
//! | open | GOAWAY, maximum number of requests, maximum age | draining, or closed if no request is in flight |
//! | draining | its last request ends | closed |
//! | open, draining | failure: requests fail with it; those not yet written move to the lane's next connection | closed |
//!
//! Each request ends with exactly one [`Action::End`]. The model in `connection/tests.rs` verifies this with random
//! sequences of events.

mod events;
mod ids;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub(crate) use events::{Action, End, Event, State};
pub(crate) use ids::{ConnectionId, LaneId, Layout, SlotId, StreamId};

use crate::failure::{Cause, Failure};

/// State of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Idle,
    /// A request waits for this connection to open.
    Waiting(ConnectionId),
    /// A request is in flight on this connection.
    InFlight(ConnectionId),
}

/// A connection, or the free entry of a closed one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: u32,
    lane: LaneId,
    state: State,
}

/// The connections of a worker.
#[derive(Debug)]
pub(crate) struct Connections {
    layout: Layout,
    /// Whether the protocol can cancel a request without closing its connection.
    cancels: bool,
    /// By lane: the connection that accepts the next request.
    current: Vec<Option<ConnectionId>>,
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    /// Indices of free entries.
    free_entries: Vec<u32>,
    actions: VecDeque<Action>,
    in_flight: usize,
    established: usize,
    opening: usize,
}

impl Connections {
    /// Lanes without connections. `cancels`: whether the protocol can cancel a request without closing its connection.
    pub(crate) fn new(layout: Layout, cancels: bool) -> Self {
        Self {
            layout,
            cancels,
            current: vec![None; layout.lanes as usize],
            slots: vec![Slot::Idle; (layout.lanes * layout.streams) as usize],
            entries: Vec::with_capacity(layout.lanes as usize),
            free_entries: Vec::new(),
            actions: VecDeque::new(),
            in_flight: 0,
            established: 0,
            opening: 0,
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The state of a connection.
    pub(crate) fn state(&self, connection: ConnectionId) -> State {
        match self.entries.get(connection.index()) {
            Some(entry) if entry.generation == connection.generation() => entry.state,
            _ => State::Closed,
        }
    }

    /// The lane of a connection, or of a closed one whose entry is not yet reused.
    pub(crate) fn lane(&self, connection: ConnectionId) -> LaneId {
        self.entries[connection.index()].lane
    }

    /// The connection that accepts the next request of a lane, if there is one.
    pub(crate) fn current(&self, lane: LaneId) -> Option<ConnectionId> {
        self.current[lane.index()]
    }

    /// The connections that are not closed.
    pub(crate) fn live(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        let alive = self.entries.iter().zip(0..).filter(|(entry, _)| entry.state != State::Closed);
        alive.map(|(entry, index)| ConnectionId::new(index, entry.generation))
    }

    /// The slots whose requests wait for a connection to open.
    pub(crate) fn waiting(&self, connection: ConnectionId) -> impl Iterator<Item = SlotId> + '_ {
        let slots = self.layout.slots_of(self.lane(connection));
        slots.filter(move |slot| self.slots[slot.index()] == Slot::Waiting(connection))
    }

    /// The slot of the request in flight on a stream of a connection; None if there is none, as on a closed connection.
    #[inline]
    pub(crate) fn in_flight_on(&self, connection: ConnectionId, stream: StreamId) -> Option<SlotId> {
        let slot = self.layout.slot(self.lane(connection), stream);
        (self.slots.get(slot.index()) == Some(&Slot::InFlight(connection))).then_some(slot)
    }

    /// Number of requests without an end, including those that wait for a connection to open.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Number of open and draining connections.
    pub(crate) fn established(&self) -> usize {
        self.established
    }

    /// Whether any connection is being opened.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening > 0
    }

    /// Whether an action is queued.
    pub(crate) fn has_action(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Removes and returns the next action.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// A request takes an idle slot. Queues actions for [`Self::next_action`], as every change does.
    #[inline]
    pub(crate) fn request(&mut self, slot: SlotId) {
        assert_eq!(self.slots[slot.index()], Slot::Idle, "a slot carries one request at a time");
        self.in_flight += 1;
        self.assign(slot);
    }

    /// A request is answered in full. Nothing changes if its connection is closed: the request has ended.
    #[inline]
    pub(crate) fn answer(&mut self, connection: ConnectionId, stream: StreamId) {
        self.end_stream(connection, stream, End::Answered);
    }

    /// Handles any other event.
    pub(crate) fn handle(&mut self, event: Event) {
        match event {
            Event::Preconnect(lane) => {
                if self.current(lane).is_none() {
                    self.open(lane);
                }
            }
            Event::Connected(connection) => {
                if let State::Connecting { waiting } = self.state(connection) {
                    self.set_state(connection, State::Handshaking { waiting });
                }
            }
            Event::Ready { connection, requests } => self.ready(connection, requests),
            Event::StreamFailed { connection, stream, cause } => {
                self.end_stream(connection, stream, End::Failed(cause));
            }
            Event::Drain(connection) => self.start_drain(connection),
            Event::Failed { connection, cause } => self.fail(connection, cause),
            Event::TimedOut(slot) => self.time_out(slot),
            Event::ConnectTimedOut(connection) => self.time_out_connect(connection),
            Event::Stopped => self.stop(),
        }
    }

    /// Assigns a request to the current connection of its lane.
    fn assign(&mut self, slot: SlotId) {
        let lane = self.layout.lane(slot);
        let connection = match self.current(lane) {
            Some(connection) => connection,
            None => self.open(lane),
        };
        match self.state_mut(connection) {
            State::Connecting { waiting } | State::Handshaking { waiting } => {
                *waiting += 1;
                self.slots[slot.index()] = Slot::Waiting(connection);
            }
            State::Open { in_flight, requests_left } => {
                *in_flight += 1;
                *requests_left = requests_left.saturating_sub(1);
                let is_last = *requests_left == 0;
                self.slots[slot.index()] = Slot::InFlight(connection);
                self.actions.push_back(Action::Write { connection, slot });
                if is_last {
                    self.start_drain(connection);
                }
            }
            state @ (State::Draining { .. } | State::Closed) => {
                unreachable!("{state:?} is not a state of a lane's current connection")
            }
        }
    }

    /// Opens a new connection for a lane.
    fn open(&mut self, lane: LaneId) -> ConnectionId {
        let state = State::Connecting { waiting: 0 };
        let connection = if let Some(index) = self.free_entries.pop() {
            let entry = &mut self.entries[index as usize];
            *entry = Entry { generation: entry.generation.wrapping_add(1), lane, state };
            ConnectionId::new(index, entry.generation)
        } else {
            self.entries.push(Entry { generation: 0, lane, state });
            ConnectionId::new(self.entries.len() as u32 - 1, 0)
        };
        self.current[lane.index()] = Some(connection);
        self.opening += 1;
        self.actions.push_back(Action::Open(connection));
        connection
    }

    fn ready(&mut self, connection: ConnectionId, requests: u32) {
        let State::Handshaking { .. } = self.state(connection) else { return };
        let waiting: Vec<SlotId> = self.waiting(connection).collect();
        self.opening -= 1;
        self.established += 1;
        self.set_state(connection, State::Open { in_flight: 0, requests_left: requests.max(1) });
        // Requests beyond its limit open another connection.
        for slot in waiting {
            self.assign(slot);
        }
    }

    fn end_stream(&mut self, connection: ConnectionId, stream: StreamId, end: End) {
        let Some(slot) = self.in_flight_on(connection, stream) else {
            // An unexpected response: the rest of the stream cannot be trusted.
            return self.fail(connection, Cause::UNASKED);
        };
        self.decrement_in_flight(connection);
        self.end(slot, end, false);
    }

    /// Decrements the in-flight count. A draining connection closes at zero.
    fn decrement_in_flight(&mut self, connection: ConnectionId) {
        match self.state_mut(connection) {
            State::Draining { in_flight: 1 } => {
                self.close(connection);
            }
            State::Open { in_flight, .. } | State::Draining { in_flight } => *in_flight -= 1,
            state @ (State::Connecting { .. } | State::Handshaking { .. } | State::Closed) => {
                unreachable!("a connection that is not open has no request in flight: {state:?}")
            }
        }
    }

    fn start_drain(&mut self, connection: ConnectionId) {
        match self.state(connection) {
            // It ended before it accepted a request, so opening it failed.
            State::Connecting { .. } | State::Handshaking { .. } => {
                self.fail(connection, Failure::Unprocessed.into());
            }
            State::Open { in_flight: 0, .. } => {
                self.close(connection);
            }
            State::Open { in_flight, .. } => {
                self.detach(connection);
                self.set_state(connection, State::Draining { in_flight });
            }
            State::Draining { .. } | State::Closed => {}
        }
    }

    fn fail(&mut self, connection: ConnectionId, cause: Cause) {
        let lane = self.lane(connection);
        match self.state(connection) {
            State::Closed => {}
            State::Connecting { .. } | State::Handshaking { .. } => {
                let waiting: Vec<SlotId> = self.waiting(connection).collect();
                self.close(connection);
                for slot in waiting {
                    self.end(slot, End::Failed(cause), true);
                }
            }
            State::Open { .. } | State::Draining { .. } => {
                let unsent = self.close(connection);
                for slot in self.layout.slots_of(lane) {
                    if self.slots[slot.index()] == Slot::InFlight(connection) && !unsent.contains(&slot) {
                        self.end(slot, End::Failed(cause), false);
                    }
                }
                for slot in unsent {
                    self.assign(slot);
                }
            }
        }
    }

    fn time_out(&mut self, slot: SlotId) {
        match self.slots[slot.index()] {
            Slot::Idle => {}
            Slot::Waiting(connection) => {
                match self.state_mut(connection) {
                    State::Connecting { waiting } | State::Handshaking { waiting } => *waiting -= 1,
                    state => unreachable!("a request waits for a connection that is {state:?}"),
                }
                self.end(slot, End::TimedOut, false);
            }
            Slot::InFlight(connection) => {
                let write = Action::Write { connection, slot };
                let stream = self.layout.stream(slot);
                if let Some(position) = self.actions.iter().position(|action| *action == write) {
                    self.actions.remove(position);
                } else if self.cancels {
                    self.actions.push_back(Action::Cancel { connection, stream });
                } else {
                    // The response may still arrive; only closing the connection discards it.
                    self.start_drain(connection);
                }
                self.decrement_in_flight(connection);
                self.end(slot, End::TimedOut, false);
            }
        }
    }

    fn time_out_connect(&mut self, connection: ConnectionId) {
        let (State::Connecting { .. } | State::Handshaking { .. }) = self.state(connection) else {
            // It has opened in the meantime.
            return;
        };
        let waiting: Vec<SlotId> = self.waiting(connection).collect();
        self.close(connection);
        for slot in waiting {
            self.assign(slot);
        }
    }

    fn stop(&mut self) {
        let is_idle = |state| matches!(state, State::Open { in_flight: 0, .. });
        let busy: Vec<ConnectionId> = self.live().filter(|one| !is_idle(self.state(*one))).collect();
        for connection in busy {
            // A response may still arrive on it, so it cannot be reused.
            self.close(connection);
        }
        for slot in self.layout.slots() {
            if self.slots[slot.index()] != Slot::Idle {
                self.end(slot, End::Unfinished, false);
            }
        }
    }

    /// Ends a request and frees its slot.
    fn end(&mut self, slot: SlotId, end: End, backs_off: bool) {
        self.slots[slot.index()] = Slot::Idle;
        self.in_flight -= 1;
        self.actions.push_back(Action::End { slot, end, backs_off });
    }

    /// Closes a connection. Returns the slots on it whose requests were not yet written. The caller ends or moves the
    /// connection's requests.
    fn close(&mut self, connection: ConnectionId) -> Vec<SlotId> {
        let was_open = matches!(self.state(connection), State::Open { .. } | State::Draining { .. });
        if was_open {
            self.established -= 1;
        } else {
            self.opening -= 1;
        }
        self.detach(connection);
        self.set_state(connection, State::Closed);
        self.free_entries.push(connection.index() as u32);
        let (mut unsent, mut was_started) = (Vec::new(), true);
        self.actions.retain(|action| match action {
            Action::Open(its) if *its == connection => {
                was_started = false;
                false
            }
            Action::Write { connection: its, slot } if *its == connection => {
                unsent.push(*slot);
                false
            }
            Action::Cancel { connection: its, .. } => *its != connection,
            _ => true,
        });
        if was_started {
            self.actions.push_back(Action::Close { connection, was_open });
        }
        unsent
    }

    /// Removes a connection from its lane, so that the next request opens another one.
    fn detach(&mut self, connection: ConnectionId) {
        let current = &mut self.current[self.entries[connection.index()].lane.index()];
        if *current == Some(connection) {
            *current = None;
        }
    }

    fn set_state(&mut self, connection: ConnectionId, state: State) {
        *self.state_mut(connection) = state;
    }

    /// The state of a connection that is not closed.
    fn state_mut(&mut self, connection: ConnectionId) -> &mut State {
        let entry = &mut self.entries[connection.index()];
        debug_assert_eq!(entry.generation, connection.generation(), "its entry is reused");
        &mut entry.state
    }
}
