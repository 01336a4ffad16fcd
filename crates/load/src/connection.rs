//! The connections of a worker as one state machine: events in, actions out, without sockets or clocks.
//!
//! A request takes a slot, which is a stream of a lane. Each lane has at most one connection that takes new requests.
//! A connection that is to take no more of them (GOAWAY, its number of requests, its age) leaves its lane at once and
//! drains: its requests go on, the next one opens another connection, and nothing waits for the slowest stream. It closes
//! with its last request, also when that times out, so no more connections drain than there are slots.
//!
//! | state | on | becomes |
//! |---|---|---|
//! | closed | the first request of its lane | connecting |
//! | connecting | the socket is connected | handshaking |
//! | handshaking | the protocol is ready: waiting requests are written | open |
//! | connecting, handshaking | failure: waiting requests fail with it, and their slots rest | closed |
//! | connecting, handshaking | too long: waiting requests go to the next attempt | closed |
//! | open | GOAWAY, the last of its requests, its age | draining, or closed without a request |
//! | draining | its last request ends | closed |
//! | open, draining | failure: requests fail with it; those not yet written go to the lane's next connection | closed |
//!
//! Each request ends with exactly one [`Action::End`]. The model in `connection/tests.rs` holds this against random
//! sequences of events.

mod events;
mod ids;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub(crate) use events::{Action, End, Event, State};
pub(crate) use ids::{ConnectionId, LaneId, Layout, SlotId, StreamId};

use crate::recording::Failure;

/// The request of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Idle,
    /// It is written when this connection is open.
    Waiting(ConnectionId),
    /// It is on this connection.
    InFlight(ConnectionId),
}

/// A connection, or the place of one that was closed.
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
    /// Whether a request can be given up without its connection.
    cancels: bool,
    /// The connection of each lane that takes its next request.
    current: Vec<Option<ConnectionId>>,
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    /// Entries of closed connections.
    unused: Vec<u32>,
    actions: VecDeque<Action>,
    in_flight: usize,
    established: usize,
    opening: usize,
}

impl Connections {
    /// Lanes without connections. `cancels` says whether the protocol can give up a request without its connection.
    pub(crate) fn new(layout: Layout, cancels: bool) -> Self {
        Self {
            layout,
            cancels,
            current: vec![None; layout.lanes as usize],
            slots: vec![Slot::Idle; (layout.lanes * layout.streams) as usize],
            entries: Vec::with_capacity(layout.lanes as usize),
            unused: Vec::new(),
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

    /// The lane of a connection, also of one that was just closed.
    pub(crate) fn lane(&self, connection: ConnectionId) -> LaneId {
        self.entries[connection.index()].lane
    }

    /// The connection that takes the next request of a lane, if there is one already.
    pub(crate) fn current(&self, lane: LaneId) -> Option<ConnectionId> {
        self.current[lane.index()]
    }

    /// The connections that are not closed.
    pub(crate) fn live(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        let alive = self.entries.iter().zip(0..).filter(|(entry, _)| entry.state != State::Closed);
        alive.map(|(entry, index)| ConnectionId::new(index, entry.generation))
    }

    /// The requests that wait for a connection to open.
    pub(crate) fn waiting(&self, connection: ConnectionId) -> impl Iterator<Item = SlotId> + '_ {
        let slots = self.layout.slots_of(self.lane(connection));
        slots.filter(move |slot| self.slots[slot.index()] == Slot::Waiting(connection))
    }

    /// Whether a request is in flight on a stream of a connection.
    pub(crate) fn is_in_flight(&self, connection: ConnectionId, stream: StreamId) -> bool {
        let slot = self.layout.slot(self.lane(connection), stream);
        self.slots.get(slot.index()) == Some(&Slot::InFlight(connection))
    }

    /// Requests without an end yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Connections on which requests can be sent, or are in flight.
    pub(crate) fn established(&self) -> usize {
        self.established
    }

    /// Whether some connection is being opened.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening > 0
    }

    /// Takes the next action.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Goes from one state to the next, and leaves what is to be done for [`Self::next_action`].
    pub(crate) fn handle(&mut self, event: Event) {
        match event {
            Event::Requested(slot) => {
                assert_eq!(self.slots[slot.index()], Slot::Idle, "a slot takes one request at a time");
                self.in_flight += 1;
                self.place(slot);
            }
            Event::Wanted(lane) => {
                if self.current(lane).is_none() {
                    self.open(lane);
                }
            }
            Event::Connected(connection) => {
                if let State::Connecting { waiting } = self.state(connection) {
                    self.set(connection, State::Handshaking { waiting });
                }
            }
            Event::Ready { connection, requests } => self.ready(connection, requests),
            Event::Answered { connection, stream, answer } => {
                self.end_stream(connection, stream, End::Answered(answer));
            }
            Event::Lost { connection, stream, failure } => {
                self.end_stream(connection, stream, End::Failed(failure));
            }
            Event::Retired(connection) => self.retire(connection),
            Event::Failed { connection, failure } => self.fail(connection, failure),
            Event::TimedOut(slot) => self.time_out(slot),
            Event::Expired(connection) => self.expire(connection),
            Event::Stopped => self.stop(),
        }
    }

    /// Puts a request on its lane's connection.
    fn place(&mut self, slot: SlotId) {
        let lane = self.layout.lane(slot);
        let connection = match self.current(lane) {
            Some(connection) => connection,
            None => self.open(lane),
        };
        match self.state(connection) {
            State::Connecting { waiting } => {
                self.set(connection, State::Connecting { waiting: waiting + 1 });
                self.slots[slot.index()] = Slot::Waiting(connection);
            }
            State::Handshaking { waiting } => {
                self.set(connection, State::Handshaking { waiting: waiting + 1 });
                self.slots[slot.index()] = Slot::Waiting(connection);
            }
            State::Open { in_flight, requests_left } => {
                let (in_flight, requests_left) = (in_flight + 1, requests_left.saturating_sub(1));
                self.set(connection, State::Open { in_flight, requests_left });
                self.slots[slot.index()] = Slot::InFlight(connection);
                self.actions.push_back(Action::Write { connection, slot });
                if requests_left == 0 {
                    self.retire(connection);
                }
            }
            state @ (State::Draining { .. } | State::Closed) => {
                unreachable!("{state:?} is the state of no lane's current connection")
            }
        }
    }

    /// Begins another connection of a lane.
    fn open(&mut self, lane: LaneId) -> ConnectionId {
        let state = State::Connecting { waiting: 0 };
        let connection = if let Some(index) = self.unused.pop() {
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
        self.set(connection, State::Open { in_flight: 0, requests_left: requests.max(1) });
        // Those that it does not take any more open another connection.
        for slot in waiting {
            self.place(slot);
        }
    }

    fn end_stream(&mut self, connection: ConnectionId, stream: StreamId, end: End) {
        let state = self.state(connection);
        if state == State::Closed {
            return;
        }
        if !self.is_in_flight(connection, stream) {
            // An answer to nothing: what the server says next cannot be trusted.
            return self.fail(connection, Failure::Malformed);
        }
        self.take_off(connection, state);
        self.end(self.layout.slot(self.lane(connection), stream), end, false);
    }

    /// One request less is in flight on a connection, which closes with its last one when it drains.
    fn take_off(&mut self, connection: ConnectionId, state: State) {
        match state {
            State::Open { in_flight, requests_left } => {
                self.set(connection, State::Open { in_flight: in_flight - 1, requests_left });
            }
            State::Draining { in_flight: 1 } => {
                self.close(connection);
            }
            State::Draining { in_flight } => {
                self.set(connection, State::Draining { in_flight: in_flight - 1 });
            }
            State::Connecting { .. } | State::Handshaking { .. } | State::Closed => {
                unreachable!("no request is in flight on a connection that is not open: {state:?}")
            }
        }
    }

    fn retire(&mut self, connection: ConnectionId) {
        match self.state(connection) {
            // It was given up before it carried anything, so it could not be opened.
            State::Connecting { .. } | State::Handshaking { .. } => {
                self.fail(connection, Failure::Unprocessed);
            }
            State::Open { in_flight: 0, .. } => {
                self.close(connection);
            }
            State::Open { in_flight, .. } => {
                self.leave_lane(connection);
                self.set(connection, State::Draining { in_flight });
            }
            State::Draining { .. } | State::Closed => {}
        }
    }

    fn fail(&mut self, connection: ConnectionId, failure: Failure) {
        let lane = self.lane(connection);
        match self.state(connection) {
            State::Closed => {}
            State::Connecting { .. } | State::Handshaking { .. } => {
                let waiting: Vec<SlotId> = self.waiting(connection).collect();
                self.close(connection);
                for slot in waiting {
                    self.end(slot, End::Failed(failure), true);
                }
            }
            State::Open { .. } | State::Draining { .. } => {
                let unsent = self.close(connection);
                for slot in self.layout.slots_of(lane) {
                    if self.slots[slot.index()] == Slot::InFlight(connection) && !unsent.contains(&slot) {
                        self.end(slot, End::Failed(failure), false);
                    }
                }
                for slot in unsent {
                    self.place(slot);
                }
            }
        }
    }

    fn time_out(&mut self, slot: SlotId) {
        match self.slots[slot.index()] {
            Slot::Idle => {}
            Slot::Waiting(connection) => {
                match self.state(connection) {
                    State::Connecting { waiting } => {
                        self.set(connection, State::Connecting { waiting: waiting - 1 });
                    }
                    State::Handshaking { waiting } => {
                        self.set(connection, State::Handshaking { waiting: waiting - 1 });
                    }
                    state => unreachable!("a request waits for a connection that is {state:?}"),
                }
                self.end(slot, End::TimedOut, false);
            }
            Slot::InFlight(connection) => {
                let write = Action::Write { connection, slot };
                let stream = self.layout.stream(slot);
                if let Some(place) = self.actions.iter().position(|action| *action == write) {
                    self.actions.remove(place);
                } else if self.cancels {
                    self.actions.push_back(Action::Cancel { connection, stream });
                } else {
                    // The answer may still come, and only closing says that it is not wanted.
                    self.retire(connection);
                }
                self.take_off(connection, self.state(connection));
                self.end(slot, End::TimedOut, false);
            }
        }
    }

    fn expire(&mut self, connection: ConnectionId) {
        let (State::Connecting { .. } | State::Handshaking { .. }) = self.state(connection) else {
            // It has opened meanwhile.
            return;
        };
        let waiting: Vec<SlotId> = self.waiting(connection).collect();
        self.close(connection);
        for slot in waiting {
            self.place(slot);
        }
    }

    fn stop(&mut self) {
        let is_idle = |state| matches!(state, State::Open { in_flight: 0, .. });
        let busy: Vec<ConnectionId> = self.live().filter(|one| !is_idle(self.state(*one))).collect();
        for connection in busy {
            // An answer may still come on it, so it cannot be used again.
            self.close(connection);
        }
        for slot in self.layout.slots() {
            if self.slots[slot.index()] != Slot::Idle {
                self.end(slot, End::Unfinished, false);
            }
        }
    }

    /// Ends a request.
    fn end(&mut self, slot: SlotId, end: End, rests: bool) {
        self.slots[slot.index()] = Slot::Idle;
        self.in_flight -= 1;
        self.actions.push_back(Action::End { slot, end, rests });
    }

    /// Closes a connection, and gives the requests on it whose writing was not begun. What becomes of its requests is the
    /// caller's.
    fn close(&mut self, connection: ConnectionId) -> Vec<SlotId> {
        let was_open = matches!(self.state(connection), State::Open { .. } | State::Draining { .. });
        if was_open {
            self.established -= 1;
        } else {
            self.opening -= 1;
        }
        self.leave_lane(connection);
        self.set(connection, State::Closed);
        self.unused.push(connection.index() as u32);
        let (mut unsent, mut is_begun) = (Vec::new(), true);
        self.actions.retain(|action| match action {
            Action::Open(its) if *its == connection => {
                is_begun = false;
                false
            }
            Action::Write { connection: its, slot } if *its == connection => {
                unsent.push(*slot);
                false
            }
            Action::Cancel { connection: its, .. } => *its != connection,
            _ => true,
        });
        if is_begun {
            self.actions.push_back(Action::Close { connection, was_open });
        }
        unsent
    }

    /// The next request of its lane does not go to this connection.
    fn leave_lane(&mut self, connection: ConnectionId) {
        let current = &mut self.current[self.entries[connection.index()].lane.index()];
        if *current == Some(connection) {
            *current = None;
        }
    }

    fn set(&mut self, connection: ConnectionId, state: State) {
        self.entries[connection.index()].state = state;
    }
}
