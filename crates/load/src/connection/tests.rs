//! Tests the state machine against a model with random sequences of events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::failure::Failure;
use crate::failure::MAX_SENT_AGAIN;

/// One step of a sequence. Numbers select among the candidates.
#[derive(Clone, Debug)]
enum Step {
    /// A request is due.
    Offer,
    /// A lane is opened before its first request.
    Preconnect(usize),
    /// A connect completes.
    Connect(usize),
    /// A handshake completes. The connection accepts this many requests, and this many at once.
    Ready(usize, u32, u32),
    /// The server allows this many requests at once from now on.
    Limit(usize, u32),
    /// The server states that it has not processed a request.
    HandBack(usize),
    Response(usize),
    /// The server resets a stream.
    Reset(usize),
    /// GOAWAY, or maximum age.
    Drain(usize),
    /// The server closes or resets a connection.
    Fail(usize),
    TimeOut(usize),
    /// Opening a connection times out.
    ConnectTimeout(usize),
    /// The next writes fail and break their connections.
    BreakWrites(usize),
    /// The next opens fail.
    BreakOpens(usize),
    /// A response on a stream without a request.
    UnexpectedResponse(usize),
    /// Events of a closed connection.
    StaleEvents(usize),
    Stop,
}

fn steps() -> impl Strategy<Value = Vec<(Step, bool)>> {
    let pick = 0..64_usize;
    let step = prop_oneof![
        8 => Just(Step::Offer),
        1 => pick.clone().prop_map(Step::Preconnect),
        6 => pick.clone().prop_map(Step::Connect),
        6 => (pick.clone(), 1..5_u32, 1..4_u32)
            .prop_map(|(pick, requests, streams)| Step::Ready(pick, requests, streams)),
        4 => (pick.clone(), 0..4_u32).prop_map(|(pick, streams)| Step::Limit(pick, streams)),
        3 => pick.clone().prop_map(Step::HandBack),
        6 => pick.clone().prop_map(Step::Response),
        2 => pick.clone().prop_map(Step::Reset),
        2 => pick.clone().prop_map(Step::Drain),
        2 => pick.clone().prop_map(Step::Fail),
        2 => pick.clone().prop_map(Step::TimeOut),
        1 => pick.clone().prop_map(Step::ConnectTimeout),
        1 => (1..3_usize).prop_map(Step::BreakWrites),
        1 => (1..3_usize).prop_map(Step::BreakOpens),
        1 => pick.clone().prop_map(Step::UnexpectedResponse),
        1 => pick.prop_map(Step::StaleEvents),
        1 => Just(Step::Stop),
    ];
    // True performs the actions before the next step; false lets several events arrive together.
    prop::collection::vec((step, prop::bool::weighted(0.7)), 0..150)
}

/// A socket of the model.
#[derive(Debug, Default)]
struct Socket {
    is_connected: bool,
    is_ready: bool,
    /// Concurrent requests that the server allows.
    streams: u32,
    /// Requests written and not answered, by stream.
    written: BTreeMap<StreamId, u32>,
}

/// Requests, a pool of slots in front of the state machine, and a network behind it.
struct World {
    machine: Connections,
    /// Requests are numbers. Requests without a slot wait in a queue.
    offered: u32,
    queue: VecDeque<u32>,
    abandoned: u32,
    idle: Vec<SlotId>,
    backing_off: Vec<SlotId>,
    on_slot: BTreeMap<SlotId, u32>,
    /// Number of times that each request was sent again.
    sent_again: BTreeMap<u32, u8>,
    ended: BTreeSet<u32>,
    sockets: BTreeMap<ConnectionId, Socket>,
    closed: Vec<ConnectionId>,
    broken_writes: usize,
    broken_opens: usize,
    cancels: bool,
}

impl World {
    fn new(lanes: u32, streams: u32, cancels: bool) -> Self {
        let layout = Layout { lanes, streams };
        Self {
            // Without cancellation, a timeout closes the connection: possible only with a single stream.
            machine: Connections::new(layout, cancels || streams > 1),
            offered: 0,
            queue: VecDeque::new(),
            abandoned: 0,
            idle: layout.slots().collect(),
            backing_off: Vec::new(),
            on_slot: BTreeMap::new(),
            sent_again: BTreeMap::new(),
            ended: BTreeSet::new(),
            sockets: BTreeMap::new(),
            closed: Vec::new(),
            broken_writes: 0,
            broken_opens: 0,
            cancels: cancels || streams > 1,
        }
    }

    fn start(&mut self, slot: SlotId, request: u32) {
        assert_eq!(self.on_slot.insert(slot, request), None);
        self.machine.request(slot);
    }

    fn reuse_slot(&mut self, slot: SlotId) {
        match self.queue.pop_front() {
            Some(request) => self.start(slot, request),
            None => self.idle.push(slot),
        }
    }

    /// Ends all backoffs: the slots take waiting requests or become idle.
    fn end_backoffs(&mut self) {
        for slot in std::mem::take(&mut self.backing_off) {
            self.reuse_slot(slot);
        }
    }

    fn pick(&self, pick: usize, fits: impl Fn(&Socket) -> bool) -> Option<ConnectionId> {
        let fitting: Vec<_> = self.sockets.iter().filter(|(_, one)| fits(one)).map(|(id, _)| *id).collect();
        (!fitting.is_empty()).then(|| fitting[pick % fitting.len()])
    }

    /// A written request: its connection and stream.
    fn pick_written(&self, pick: usize) -> Option<(ConnectionId, StreamId)> {
        let written: Vec<_> = self
            .sockets
            .iter()
            .flat_map(|(id, socket)| socket.written.keys().map(|stream| (*id, *stream)))
            .collect();
        (!written.is_empty()).then(|| written[pick % written.len()])
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Offer => {
                self.offered += 1;
                self.end_backoffs();
                match self.idle.pop() {
                    Some(slot) => self.start(slot, self.offered),
                    None => self.queue.push_back(self.offered),
                }
            }
            Step::Preconnect(pick) => {
                let lanes = self.machine.layout().lanes as usize;
                self.machine.handle(Event::Preconnect(LaneId((pick % lanes) as u32)));
            }
            Step::Connect(pick) => {
                if let Some(id) = self.pick(pick, |socket| !socket.is_connected) {
                    self.sockets.get_mut(&id).unwrap().is_connected = true;
                    self.machine.handle(Event::Connected(id));
                }
            }
            Step::Ready(pick, requests, streams) => {
                if let Some(id) = self.pick(pick, |socket| socket.is_connected && !socket.is_ready) {
                    // The connection may be closed in the machine with its close action still pending.
                    let socket = self.sockets.get_mut(&id).unwrap();
                    (socket.is_ready, socket.streams) = (self.machine.state(id) != State::Closed, streams);
                    self.machine.handle(Event::Ready { connection: id, requests, streams });
                }
            }
            Step::Limit(pick, streams) => {
                // A worker reads, and so acknowledges another limit, only when all actions are performed.
                self.perform();
                if let Some(id) = self.pick(pick, |socket| socket.is_ready) {
                    self.sockets.get_mut(&id).unwrap().streams = streams;
                    self.machine.handle(Event::Limit { connection: id, streams });
                }
            }
            Step::HandBack(pick) => {
                if let Some((connection, stream)) = self.pick_written(pick) {
                    self.sockets.get_mut(&connection).unwrap().written.remove(&stream);
                    self.machine.handle(Event::HandedBack {
                        connection,
                        stream,
                        cause: Failure::Unprocessed.into(),
                    });
                }
            }
            Step::Response(pick) => {
                if let Some((connection, stream)) = self.pick_written(pick) {
                    self.sockets.get_mut(&connection).unwrap().written.remove(&stream);
                    self.machine.answer(connection, stream);
                }
            }
            Step::Reset(pick) => {
                if let Some((connection, stream)) = self.pick_written(pick) {
                    self.sockets.get_mut(&connection).unwrap().written.remove(&stream);
                    let cause = Failure::StreamReset(2).into();
                    self.machine.handle(Event::StreamFailed { connection, stream, cause });
                }
            }
            Step::Drain(pick) => {
                if let Some(id) = self.pick(pick, |socket| socket.is_connected) {
                    self.machine.handle(Event::Drain { connection: id, why: Closing::Server });
                }
            }
            Step::Fail(pick) => {
                if let Some(connection) = self.pick(pick, |_| true) {
                    self.machine.handle(Event::Failed { connection, cause: Failure::Reset.into() });
                }
            }
            Step::TimeOut(pick) => {
                let slots = self.machine.layout().slots().count();
                self.machine.handle(Event::TimedOut(SlotId((pick % slots) as u32)));
            }
            Step::ConnectTimeout(pick) => {
                if let Some(id) = self.pick(pick, |_| true) {
                    self.machine.handle(Event::ConnectTimedOut(id));
                }
            }
            Step::BreakWrites(count) => self.broken_writes = count,
            Step::BreakOpens(count) => self.broken_opens = count,
            Step::UnexpectedResponse(pick) => {
                if let Some(connection) = self.pick(pick, |socket| socket.is_ready) {
                    let streams = (0..self.machine.layout().streams).map(StreamId);
                    let free =
                        streams.into_iter().find(|one| self.machine.in_flight_on(connection, *one).is_none());
                    if let Some(stream) = free {
                        self.machine.answer(connection, stream);
                    }
                }
            }
            Step::StaleEvents(pick) => self.check_stale_events(pick),
            Step::Stop => {
                self.abandoned += self.queue.len() as u32;
                self.queue.clear();
                self.machine.handle(Event::Stopped);
            }
        }
    }

    /// Events of a closed connection must not change the machine.
    fn check_stale_events(&mut self, pick: usize) {
        self.perform();
        let Some(&connection) = self.closed.get(pick % self.closed.len().max(1)) else { return };
        let before = format!("{:?}", self.machine);
        let stream = StreamId(0);
        for event in [
            Event::Connected(connection),
            Event::Ready { connection, requests: 1, streams: 1 },
            Event::Limit { connection, streams: 1 },
            Event::HandedBack { connection, stream, cause: Failure::Unprocessed.into() },
            Event::StreamFailed { connection, stream, cause: Failure::Unprocessed.into() },
            Event::Drain { connection, why: Closing::Server },
            Event::Failed { connection, cause: Failure::Closed.into() },
            Event::ConnectTimedOut(connection),
        ] {
            self.machine.handle(event);
            assert_eq!(before, format!("{:?}", self.machine), "{event:?}");
        }
        self.machine.answer(connection, stream);
        assert_eq!(before, format!("{:?}", self.machine), "answered");
        assert_eq!(ConnectionId::from_token(connection.token()), connection);
    }

    /// Performs the actions as a worker would, and checks each against the model.
    fn perform(&mut self) {
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::Open(connection) => {
                    assert_eq!(self.machine.state(connection), State::Connecting);
                    if self.broken_opens > 0 {
                        self.broken_opens -= 1;
                        self.machine.handle(Event::Failed { connection, cause: Failure::Generator.into() });
                    } else {
                        assert!(self.sockets.insert(connection, Socket::default()).is_none());
                    }
                }
                Action::Write { connection, slot } => {
                    let socket = self.sockets.get_mut(&connection).unwrap();
                    assert!(socket.is_ready, "a request was written before the connection was ready");
                    if self.broken_writes > 0 {
                        self.broken_writes -= 1;
                        self.machine.handle(Event::Failed { connection, cause: Failure::Reset.into() });
                        continue;
                    }
                    let stream = self.machine.layout().stream(slot);
                    assert!(
                        (socket.written.len() as u32) < socket.streams,
                        "more requests than the server allows"
                    );
                    let before = socket.written.insert(stream, self.on_slot[&slot]);
                    assert_eq!(before, None, "a stream carries one request at a time");
                }
                Action::Held(slot) => assert!(self.on_slot.contains_key(&slot)),
                Action::SendAgain(slot) => {
                    let times = self.sent_again.entry(self.on_slot[&slot]).or_default();
                    *times += 1;
                    assert!(*times <= MAX_SENT_AGAIN);
                }
                Action::Cancel { connection, stream } => {
                    assert!(self.cancels);
                    let socket = self.sockets.get_mut(&connection).unwrap();
                    assert!(socket.written.remove(&stream).is_some(), "nothing to cancel");
                }
                Action::Close { connection, was_open, .. } => {
                    if let Some(socket) = self.sockets.remove(&connection) {
                        assert_eq!(socket.is_ready, was_open);
                    }
                    self.closed.push(connection);
                }
                Action::End { slot, backs_off, .. } => {
                    let request = self.on_slot.remove(&slot).expect("a busy slot");
                    assert!(self.ended.insert(request), "request {request} ended twice");
                    if backs_off {
                        self.backing_off.push(slot);
                    } else {
                        self.reuse_slot(slot);
                    }
                }
            }
        }
    }

    /// Checks the invariants. No action may be pending.
    fn check(&self) {
        let machine = &self.machine;
        let all = self.queue.len() + self.on_slot.len() + self.ended.len();
        assert_eq!(all as u32 + self.abandoned, self.offered, "a request is lost");
        assert_eq!(machine.in_flight(), self.on_slot.len());
        assert!(self.queue.is_empty() || self.idle.is_empty(), "a request waits although a slot is idle");
        let live: Vec<_> = machine.live().collect();
        assert_eq!(live, self.sockets.keys().copied().collect::<Vec<_>>());
        let (mut established, mut opening, mut in_line) = (0, 0, 0);
        let mut on_connections = BTreeMap::new();
        for connection in live {
            let lane = machine.lane(connection);
            let is_current = machine.current(lane) == Some(connection);
            let socket = &self.sockets[&connection];
            let waiting: Vec<_> = machine.waiting_for(connection).collect();
            assert!(waiting.is_sorted_by_key(|slot| self.on_slot[slot]), "a younger request comes first");
            in_line += waiting.len();
            for slot in &waiting {
                on_connections.insert(*slot, self.on_slot[slot]);
            }
            for (stream, request) in &socket.written {
                assert_eq!(
                    machine.in_flight_on(connection, *stream),
                    Some(machine.layout().slot(lane, *stream))
                );
                on_connections.insert(machine.layout().slot(lane, *stream), *request);
            }
            let written = socket.written.len() as u32;
            let counted = match machine.state(connection) {
                State::Closed => unreachable!("it is live"),
                State::Connecting => {
                    opening += 1;
                    assert!(is_current && !socket.is_connected);
                    0
                }
                State::Handshaking => {
                    opening += 1;
                    assert!(is_current && socket.is_connected && !socket.is_ready);
                    0
                }
                State::Open { in_flight, requests_left, streams } => {
                    established += 1;
                    assert!(is_current && socket.is_ready && requests_left > 0 && streams == socket.streams);
                    // A request waits for an open connection only if the server allows no more.
                    assert!(waiting.is_empty() || in_flight >= streams);
                    in_flight
                }
                State::Draining { in_flight } => {
                    established += 1;
                    assert!(!is_current && socket.is_ready && in_flight > 0);
                    in_flight
                }
            };
            assert_eq!(counted, written);
        }
        assert_eq!(on_connections, self.on_slot, "each request is on one connection");
        assert_eq!((established, opening), (machine.established(), machine.opening));
        assert_eq!(in_line, machine.waiting());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_request_is_lost_counted_twice_or_kept_waiting(
        lanes in 1..4_u32,
        streams in 1..4_u32,
        cancels: bool,
        steps in steps(),
    ) {
        let mut world = World::new(lanes, streams, cancels);
        for (step, performs) in &steps {
            world.apply(step);
            if *performs {
                world.perform();
                world.check();
            }
        }
        // From here on the network works, so every remaining request must end.
        (world.broken_writes, world.broken_opens) = (0, 0);
        world.perform();
        world.check();
        let ready: Vec<_> = world.sockets.iter_mut().filter(|(_, socket)| socket.is_ready).collect();
        for (id, socket) in ready {
            socket.streams = 1;
            world.machine.handle(Event::Limit { connection: *id, streams: 1 });
        }
        world.perform();
        world.check();
        let mut rounds = 0;
        while !world.on_slot.is_empty() || !world.queue.is_empty() {
            for step in [Step::Connect(0), Step::Ready(0, 3, 1), Step::Response(0)] {
                world.apply(&step);
                world.perform();
                world.check();
            }
            world.end_backoffs();
            world.perform();
            rounds += 1;
            prop_assert!(rounds < 10_000, "{:?}", world.machine);
        }
        prop_assert_eq!(world.ended.len() as u32 + world.abandoned, world.offered);
    }
}

impl Connections {
    /// At least as many actions as were ever queued at once, as a queue never shrinks.
    pub(crate) fn longest_queue(&self) -> usize {
        self.actions.capacity()
    }
}
