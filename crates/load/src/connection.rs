//! The connections of a worker as one state machine: events in, actions out, without sockets or clocks.
//!
//! A request takes a slot, which is a stream of a lane. Each lane has at most one connection that accepts new requests.
//! A connection that must accept no more of them (GOAWAY, its maximum number of requests, its maximum age) leaves its
//! lane at once and drains: its requests in flight continue, the lane's next request opens another connection, and no
//! request waits for the slowest stream. The connection closes when its last request ends, also by a timeout, so the
//! number of draining connections is bounded by the number of slots.
//!
//! A request waits in its lane while the lane's connection opens, and while as many requests are in flight on that connection as the
//! server allows. Those that wait are written in the order of their age, and none overtakes an older one. A request that the
//! server hands back unprocessed waits again, so it keeps its place before younger ones.
//!
//! | state | event | next state |
//! |---|---|---|
//! | closed | the first request of its lane | connecting |
//! | connecting | the socket is connected | handshaking |
//! | handshaking | the protocol is ready: waiting requests are written | open |
//! | connecting, handshaking | failure: waiting requests fail with it, and their slots back off | closed |
//! | connecting, handshaking | GOAWAY: waiting requests are handed back | closed |
//! | connecting, handshaking | connect timeout: waiting requests go to the next attempt | closed |
//! | open | another limit on concurrent requests: waiting requests are written up to it | open |
//! | open | GOAWAY, maximum number of requests, maximum age, a request handed back | draining, or closed if no request is in flight |
//! | draining | its last request ends | closed |
//! | open, draining | failure: requests fail with it; those not yet written move to the lane's next connection | closed |
//!
//! Each request ends with exactly one [`Action::End`]. The model in `connection/tests.rs` verifies this with random
//! sequences of events.

mod events;
#[cfg(test)]
mod examples;
mod ids;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::VecDeque;

pub use events::Closing;
pub(crate) use events::{Action, End, Event, State};
pub(crate) use ids::{ConnectionId, LaneId, Layout, SlotId, StreamId};

use crate::failure::Cause;

/// State of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Idle,
    /// A request waits in its lane. `is_held`: it has been reported that it waits for others on an open connection.
    Waiting {
        is_held: bool,
    },
    /// A request is in flight on this connection.
    InFlight(ConnectionId),
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    place: Place,
    /// Age of its request: the number of requests before it.
    number: u64,
    /// Number of times that its request was sent again.
    sent_again: u8,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    /// The connection that accepts the next request.
    current: Option<ConnectionId>,
    /// The slots whose requests wait, the oldest first.
    waiting: VecDeque<SlotId>,
}

/// A connection, or the free entry of a closed one.
#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: u32,
    lane: LaneId,
    state: State,
    /// Reason for its closing, once known.
    why: Option<Closing>,
}

/// The connections of a worker.
#[derive(Debug)]
pub(crate) struct Connections {
    layout: Layout,
    /// True if the protocol can cancel a request without closing its connection.
    cancels: bool,
    lanes: Vec<Lane>,
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    /// Indices of free entries.
    free_entries: Vec<u32>,
    actions: VecDeque<Action>,
    /// Number of requests so far.
    requests: u64,
    in_flight: usize,
    established: usize,
    opening: usize,
    waiting: usize,
}

impl Connections {
    /// Lanes without connections. `cancels` is true if the protocol can cancel a request without closing its connection.
    pub(crate) fn new(layout: Layout, cancels: bool) -> Self {
        let slot = Slot { place: Place::Idle, number: 0, sent_again: 0 };
        Self {
            layout,
            cancels,
            lanes: vec![Lane::default(); layout.lanes as usize],
            slots: vec![slot; (layout.lanes * layout.streams) as usize],
            entries: Vec::with_capacity(layout.lanes as usize),
            free_entries: Vec::new(),
            actions: VecDeque::new(),
            requests: 0,
            in_flight: 0,
            established: 0,
            opening: 0,
            waiting: 0,
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
        self.lanes[lane.index()].current
    }

    /// The connections that are not closed.
    pub(crate) fn live(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        let alive = self.entries.iter().zip(0..).filter(|(entry, _)| entry.state != State::Closed);
        alive.map(|(entry, index)| ConnectionId::new(index, entry.generation))
    }

    /// The slots whose requests wait for a connection: for it to open, or for other requests on it to end. The oldest comes first.
    pub(crate) fn waiting_for(&self, connection: ConnectionId) -> impl Iterator<Item = SlotId> + '_ {
        let lane = &self.lanes[self.lane(connection).index()];
        let is_current = lane.current == Some(connection);
        lane.waiting.iter().copied().filter(move |_| is_current)
    }

    /// The slot of the request in flight on a stream of a connection; None if there is none, as on a closed connection.
    #[inline]
    pub(crate) fn in_flight_on(&self, connection: ConnectionId, stream: StreamId) -> Option<SlotId> {
        let slot = self.layout.slot(self.lane(connection), stream);
        let place = self.slots.get(slot.index()).map(|slot| slot.place);
        (place == Some(Place::InFlight(connection))).then_some(slot)
    }

    /// Number of requests without an end, including those that wait for a connection to open.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Number of requests that wait in their lanes.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Number of open and draining connections.
    pub(crate) fn established(&self) -> usize {
        self.established
    }

    /// True if any connection is being opened.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening > 0
    }

    /// True if an action is queued.
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
        let entry = &mut self.slots[slot.index()];
        assert_eq!(entry.place, Place::Idle, "a slot carries one request at a time");
        (entry.number, entry.sent_again) = (self.requests, 0);
        self.requests += 1;
        self.in_flight += 1;
        let lane = self.layout.lane(slot);
        // The usual case, without a way through the queue.
        if self.lanes[lane.index()].waiting.is_empty()
            && let Some(connection) = self.current(lane)
            && self.write(connection, slot)
        {
            return;
        }
        self.put_in_line(slot);
        self.serve(lane);
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
                if self.state(connection) == State::Connecting {
                    self.set_state(connection, State::Handshaking);
                }
            }
            Event::Ready { connection, requests, streams } => self.ready(connection, requests, streams),
            Event::Limit { connection, streams } => self.limit(connection, streams),
            Event::StreamFailed { connection, stream, cause } => {
                self.end_stream(connection, stream, End::Failed(cause));
            }
            Event::HandedBack { connection, stream, cause } => self.hand_back(connection, stream, cause),
            Event::Drain { connection, why } => {
                self.start_drain(connection, why);
                self.serve(self.lane(connection));
            }
            Event::Failed { connection, cause } => self.fail(connection, cause),
            Event::TimedOut(slot) => self.time_out(slot),
            Event::ConnectTimedOut(connection) => self.time_out_connect(connection),
            Event::Stopped => self.stop(),
        }
    }

    /// Opens a new connection for a lane.
    fn open(&mut self, lane: LaneId) -> ConnectionId {
        let state = State::Connecting;
        let connection = if let Some(index) = self.free_entries.pop() {
            let entry = &mut self.entries[index as usize];
            *entry = Entry { generation: entry.generation.wrapping_add(1), lane, state, why: None };
            ConnectionId::new(index, entry.generation)
        } else {
            self.entries.push(Entry { generation: 0, lane, state, why: None });
            ConnectionId::new(self.entries.len() as u32 - 1, 0)
        };
        self.lanes[lane.index()].current = Some(connection);
        self.opening += 1;
        self.actions.push_back(Action::Open(connection));
        connection
    }

    fn ready(&mut self, connection: ConnectionId, requests: u32, streams: u32) {
        if self.state(connection) != State::Handshaking {
            return;
        }
        self.opening -= 1;
        self.established += 1;
        let requests_left = requests.max(1);
        self.set_state(connection, State::Open { in_flight: 0, requests_left, streams });
        self.serve(self.lane(connection));
    }

    /// Applies a new limit of the server on concurrent requests.
    fn limit(&mut self, connection: ConnectionId, allowed: u32) {
        // A connection that drains gets no further request, and one that opens states its limit when it is ready.
        if !matches!(self.state(connection), State::Open { .. }) {
            return;
        }
        if let State::Open { streams, .. } = self.state_mut(connection) {
            *streams = allowed;
        }
        self.serve(self.lane(connection));
    }

    fn end_stream(&mut self, connection: ConnectionId, stream: StreamId, end: End) {
        let Some(slot) = self.in_flight_on(connection, stream) else {
            // An unexpected response: the rest of the stream cannot be trusted.
            return self.fail(connection, Cause::UNSOLICITED);
        };
        self.decrement_in_flight(connection);
        self.end(slot, end, false);
        self.serve(self.layout.lane(slot));
    }

    /// The server has not processed a request: another connection gets it, and this one gets no further request.
    fn hand_back(&mut self, connection: ConnectionId, stream: StreamId, cause: Cause) {
        let Some(slot) = self.in_flight_on(connection, stream) else {
            return self.fail(connection, Cause::UNSOLICITED);
        };
        self.start_drain(connection, Closing::Refused);
        self.decrement_in_flight(connection);
        self.send_again(slot, cause);
        self.serve(self.layout.lane(slot));
    }

    /// Decrements the in-flight count. A draining connection closes at zero.
    fn decrement_in_flight(&mut self, connection: ConnectionId) {
        match self.state_mut(connection) {
            State::Draining { in_flight: 1 } => {
                self.close(connection);
            }
            State::Open { in_flight, .. } | State::Draining { in_flight } => *in_flight -= 1,
            state @ (State::Connecting | State::Handshaking | State::Closed) => {
                unreachable!("a connection that is not open has no request in flight: {state:?}")
            }
        }
    }

    /// The caller lets the lane's waiting requests go to the next connection.
    fn start_drain(&mut self, connection: ConnectionId, why: Closing) {
        self.closes_for(connection, why);
        match self.state(connection) {
            // It ended before it accepted a request.
            State::Connecting | State::Handshaking => {
                let waiting = self.close_opening(connection);
                for slot in waiting {
                    self.send_again(slot, Cause::NEVER_READY);
                }
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

    /// Closes a connection that is being opened. Returns the slots whose requests waited for it, which the caller ends or moves.
    fn close_opening(&mut self, connection: ConnectionId) -> VecDeque<SlotId> {
        self.close(connection);
        let lane = self.lane(connection);
        let waiting = std::mem::take(&mut self.lanes[lane.index()].waiting);
        self.waiting -= waiting.len();
        waiting
    }

    fn fail(&mut self, connection: ConnectionId, cause: Cause) {
        self.closes_for(connection, Closing::after(cause.failure));
        let lane = self.lane(connection);
        match self.state(connection) {
            State::Closed => {}
            State::Connecting | State::Handshaking => {
                for slot in self.close_opening(connection) {
                    self.end(slot, End::Failed(cause), true);
                }
            }
            State::Open { .. } | State::Draining { .. } => {
                let unsent = self.close(connection);
                for slot in self.layout.slots_of(lane) {
                    if self.slots[slot.index()].place == Place::InFlight(connection)
                        && !unsent.contains(&slot)
                    {
                        self.end(slot, End::Failed(cause), false);
                    }
                }
                for slot in unsent {
                    self.put_in_line(slot);
                }
                self.serve(lane);
            }
        }
    }

    fn time_out(&mut self, slot: SlotId) {
        match self.slots[slot.index()].place {
            Place::Idle => {}
            Place::Waiting { .. } => {
                self.take_from_line(slot);
                self.end(slot, End::TimedOut, false);
            }
            Place::InFlight(connection) => {
                let write = Action::Write { connection, slot };
                let stream = self.layout.stream(slot);
                if let Some(position) = self.actions.iter().position(|action| *action == write) {
                    self.actions.remove(position);
                } else if self.cancels {
                    self.actions.push_back(Action::Cancel { connection, stream });
                } else {
                    // The response may still arrive; only closing the connection discards it.
                    self.start_drain(connection, Closing::TimeOut);
                }
                self.decrement_in_flight(connection);
                self.end(slot, End::TimedOut, false);
                self.serve(self.layout.lane(slot));
            }
        }
    }

    fn time_out_connect(&mut self, connection: ConnectionId) {
        let (State::Connecting | State::Handshaking) = self.state(connection) else {
            // It has opened in the meantime.
            return;
        };
        self.close(connection);
        self.serve(self.lane(connection));
    }

    fn stop(&mut self) {
        let is_idle = |state| matches!(state, State::Open { in_flight: 0, .. });
        let busy: Vec<ConnectionId> = self.live().filter(|one| !is_idle(self.state(*one))).collect();
        for connection in busy {
            // A response may still arrive on it, so it cannot be reused.
            self.close(connection);
        }
        self.lanes.iter_mut().for_each(|lane| lane.waiting.clear());
        self.waiting = 0;
        for slot in self.layout.slots() {
            if self.slots[slot.index()].place != Place::Idle {
                self.end(slot, End::Unfinished, false);
            }
        }
    }

    /// Ends a request and frees its slot.
    fn end(&mut self, slot: SlotId, end: End, backs_off: bool) {
        self.slots[slot.index()].place = Place::Idle;
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
        let why = self.entries[connection.index()].why;
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
            self.actions.push_back(Action::Close { connection, was_open, why });
        }
        unsent
    }

    /// Records the reason why a connection closes. Only the first reason counts: later ones are its consequences.
    fn closes_for(&mut self, connection: ConnectionId, why: Closing) {
        let entry = &mut self.entries[connection.index()];
        if entry.generation == connection.generation() && entry.state != State::Closed {
            entry.why.get_or_insert(why);
        }
    }

    /// Removes a connection from its lane, so that the next request opens another one.
    fn detach(&mut self, connection: ConnectionId) {
        let current = &mut self.lanes[self.entries[connection.index()].lane.index()].current;
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
