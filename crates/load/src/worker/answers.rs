//! Taking what comes back, and doing what the state machine of connections decides.

use hoptax_host::clock::now_ns;
#[cfg(feature = "http3")]
use hoptax_wire::Quic;
use hoptax_wire::{Event as ProtocolEvent, Loss, ProtocolError, Response};
use rustix::event::epoll;
use rustix::io::Errno;

use super::Worker;
use super::connect::READ_BYTES;
use crate::connection::{Action, ConnectionId, End, Event, SlotId, State, StreamId};
use crate::log::Outcome;
use crate::recording::Failure;
use crate::run::Current;
use crate::transport::{ConnectionError, Read};

/// How long a connection that could not be opened rests before the next attempt, nanoseconds.
const REST_NS: u64 = 10_000_000;

impl Worker {
    pub(super) fn take_events(&mut self, current: &mut Current, events: &[epoll::Event]) {
        for event in events {
            self.take_event(current, ConnectionId::from_token(event.data.u64()), event.flags);
            // With many events at once the next release may come due before the last is handled.
            if current.is_open() {
                let now = now_ns();
                if current.next_ns <= now && now < current.run.end_ns {
                    self.release(current, now);
                }
            }
        }
    }

    pub(super) fn take_event(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        mut flags: epoll::EventFlags,
    ) {
        match self.connections.state(connection) {
            // Its socket was closed by an event before this one.
            State::Closed => return,
            State::Connecting { .. } => {
                let now = now_ns();
                if let Err(error) = self.finish_connect(connection, now) {
                    return self.fail(current, connection, &error);
                }
                for slot in self.connections.waiting(connection) {
                    if let Some(request) = &mut self.requests[slot.index()]
                        && request.connected
                    {
                        request.connected_ns = now;
                    }
                }
                self.on_ready(current, connection);
                // The socket had no error, so this is a stamp. A later error is an event of its own.
                flags.remove(epoll::EventFlags::ERR);
            }
            State::Handshaking { .. } | State::Open { .. } | State::Draining { .. } => {
                let transport = &mut self.transports[connection];
                flags = transport.without_stamps(flags);
                if flags.contains(epoll::EventFlags::OUT)
                    && let Err(error) = transport.transmit()
                {
                    return self.fail(current, connection, &error);
                }
            }
        }
        let closing = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if flags.intersects(epoll::EventFlags::IN | closing) {
            self.read(current, connection, flags.intersects(closing));
        }
    }

    /// Has what waited for a connection written once it is ready.
    fn on_ready(&mut self, current: &mut Current, connection: ConnectionId) {
        if matches!(self.connections.state(connection), State::Handshaking { .. })
            && self.transports[connection].may_send()
        {
            self.set_ready(connection);
            self.perform(current, now_ns());
        }
    }

    /// Reads what has come. The socket is edge-triggered: a short read has emptied it, unless its end has come.
    fn read(&mut self, current: &mut Current, connection: ConnectionId, closing: bool) {
        let has_streams = self.connections.layout().streams > 1;
        loop {
            let is_awaited = match self.connections.state(connection) {
                State::Closed => return,
                State::Open { in_flight, .. } | State::Draining { in_flight } => in_flight > 0,
                State::Connecting { .. } | State::Handshaking { .. } => true,
            };
            let alpn = self.traffic.protocol.alpn();
            let transport = &mut self.transports[connection];
            let read = transport.read(&mut self.buffer, alpn, is_awaited, &mut self.scratch);
            let now = now_ns();
            let (read, error) = match read {
                Ok((read, handshake)) => {
                    self.record_handshake(handshake);
                    (read, None)
                }
                Err(error) => (Read::End, Some(error)),
            };
            if !self.scratch.events.is_empty() {
                let events = std::mem::take(&mut self.scratch.events);
                self.take_retirement(current, connection, &events, now);
                // With several answers at once the next requests leave together.
                if has_streams && let Some(transport) = self.transports.get_mut(connection) {
                    transport.cork();
                }
                for event in &events {
                    self.handle_event(current, connection, *event, closing, now);
                    self.perform(current, now);
                }
                self.scratch.events = events;
                self.perform(current, now);
                if has_streams && !self.uncork(current, connection) {
                    return;
                }
            }
            if let Some(error) = error {
                return self.fail(current, connection, &error);
            }
            self.on_ready(current, connection);
            match read {
                Read::WouldBlock => return,
                Read::End => return self.end(current, connection, now),
                Read::Bytes(count) if count < READ_BYTES && !closing => return,
                Read::Bytes(_) => {}
            }
        }
    }

    /// Takes note that a server wants no further request on a connection, before an answer beside that sets one off.
    fn take_retirement(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        events: &[ProtocolEvent],
        now: u64,
    ) {
        for event in events {
            if let ProtocolEvent::Retired { code } = event {
                current.record_retirement(now, *code);
                self.connections.handle(Event::Retired(connection));
            }
        }
    }

    /// Sends what was held back on a connection; false when it is of no further use. Only then are its requests written.
    fn uncork(&mut self, current: &mut Current, connection: ConnectionId) -> bool {
        let Some(transport) = self.transports.get_mut(connection) else {
            self.corked.clear();
            return false;
        };
        let sent = transport.uncork();
        let now = now_ns();
        for slot in self.corked.drain(..) {
            if let Some(request) = &mut self.requests[slot.index()] {
                request.written_ns = now;
            }
        }
        if let Err(error) = sent {
            self.fail(current, connection, &error);
            return false;
        }
        true
    }

    /// Tells the state machine what the bytes of a read mean.
    pub(super) fn handle_event(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        event: ProtocolEvent,
        closing: bool,
        now: u64,
    ) {
        match event {
            ProtocolEvent::Begun { stream } => {
                let stream = StreamId(stream);
                if self.connections.is_in_flight(connection, stream) {
                    let slot = self.connections.layout().slot(self.connections.lane(connection), stream);
                    self.request(slot).first_byte_ns = now;
                }
            }
            ProtocolEvent::Message { stream } => {
                let stream = StreamId(stream);
                if self.connections.is_in_flight(connection, stream) {
                    let slot = self.connections.layout().slot(self.connections.lane(connection), stream);
                    let request = self.request(slot);
                    let before_ns =
                        if request.message_ns > 0 { request.message_ns } else { request.written_ns };
                    request.message_ns = now;
                    if request.recorded {
                        current.recording(request.intended_ns).record_message(now.saturating_sub(before_ns));
                    }
                }
            }
            ProtocolEvent::Answered { stream, answer } => {
                self.answered(current, connection, StreamId(stream), answer, closing, now);
            }
            ProtocolEvent::Lost { stream, loss } => {
                let failure = match loss {
                    Loss::Reset(code) => Failure::StreamReset(code.min(u32::from(u8::MAX)) as u8),
                    Loss::Unprocessed => Failure::Unprocessed,
                    Loss::Malformed => Failure::Malformed,
                };
                self.feed(current, Event::Lost { connection, stream: StreamId(stream), failure }, now);
            }
            // Seen before the answers beside it.
            ProtocolEvent::Retired { .. } => {}
        }
    }

    fn answered(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        stream: StreamId,
        answer: Response,
        closing: bool,
        now: u64,
    ) {
        if !self.connections.is_in_flight(connection, stream) {
            // The state machine knows what to do with an answer to nothing.
            return self.connections.handle(Event::Answered { connection, stream, answer });
        }
        let layout = self.connections.layout();
        let slot = layout.slot(self.connections.lane(connection), stream);
        let request = *self.request(slot);
        let transport = &mut self.transports[connection];
        if request.recorded
            && let Some(stamped) = transport.stamps.take()
        {
            let stamps = current.recording(request.intended_ns).stamps.get_or_insert_default();
            stamped.finish(transport.socket(), stamps);
        }
        let is_old = self
            .lifetime
            .age
            .is_some_and(|age| u128::from(now.saturating_sub(transport.opened_ns)) >= age.as_nanos());
        // An answer that came before its request was written whole leaves a connection of unknown state.
        let is_spoilt = layout.streams == 1 && !transport.has_sent(stream);
        if closing || !answer.keep_alive || is_old || is_spoilt {
            self.connections.handle(Event::Retired(connection));
        }
        self.feed(current, Event::Answered { connection, stream, answer }, now);
    }

    /// The server has closed a connection, which ends each of its answers in one way or another.
    fn end(&mut self, current: &mut Current, connection: ConnectionId, now: u64) {
        if matches!(self.connections.state(connection), State::Handshaking { .. }) {
            return self.fail(current, connection, &ConnectionError::Closed);
        }
        self.connections.handle(Event::Retired(connection));
        for stream in (0..self.connections.layout().streams).map(StreamId) {
            if !self.connections.is_in_flight(connection, stream) {
                continue;
            }
            match self.transports[connection].end(stream) {
                Ok(Some(answer)) => self.answered(current, connection, stream, answer, true, now),
                Ok(None) => {
                    self.feed(current, Event::Lost { connection, stream, failure: Failure::Closed }, now);
                }
                Err(_) => {
                    self.feed(current, Event::Lost { connection, stream, failure: Failure::Truncated }, now);
                }
            }
        }
        self.perform(current, now);
    }

    /// Tells the state machine that a connection is of no further use.
    fn fail(&mut self, current: &mut Current, connection: ConnectionId, error: &ConnectionError) {
        let now = now_ns();
        self.feed(current, Event::Failed { connection, failure: failure_of(error) }, now);
        self.perform(current, now);
    }

    /// Tells the state machine of an event that may change what is in flight.
    pub(super) fn feed(&mut self, current: &mut Current, event: Event, now: u64) {
        current.look(now, self.connections.in_flight(), self.connections.established());
        self.connections.handle(event);
    }

    /// Does what the state machine has decided, until nothing is left to do.
    pub(super) fn perform(&mut self, current: &mut Current, now: u64) {
        let mut has_written = false;
        while let Some(action) = self.connections.next_action() {
            match action {
                Action::Open(connection) => {
                    // A request that has waited for an earlier attempt is not the one that this is opened for.
                    for slot in self.connections.waiting(connection) {
                        if let Some(request) = &mut self.requests[slot.index()] {
                            request.connected &= request.started_ns >= now;
                        }
                    }
                    if let Err(error) = self.open(connection, now) {
                        let failure = failure_of(&error.into());
                        self.connections.handle(Event::Failed { connection, failure });
                    }
                }
                Action::Write { connection, slot } => {
                    // A request that has just started and goes out first needs no second look at the clock.
                    let started_ns = self.request(slot).started_ns;
                    let written_ns = if started_ns >= now && !has_written { started_ns } else { now_ns() };
                    has_written = true;
                    self.write(connection, slot, written_ns);
                }
                Action::Cancel { connection, stream } => {
                    if let Err(error) = self.transports[connection].cancel(stream, &mut self.scratch) {
                        let failure = failure_of(&error);
                        self.connections.handle(Event::Failed { connection, failure });
                    }
                }
                Action::Close { connection, was_open } => {
                    // There is none if it could not be opened.
                    if let Some(transport) = self.transports.remove(connection) {
                        transport.close(was_open);
                    }
                }
                Action::End { slot, end, rests } => self.book(current, slot, end, rests, now),
            }
        }
    }

    /// Books the end of a request, and gives its slot back or lets it rest.
    fn book(&mut self, current: &mut Current, slot: SlotId, end: End, rests: bool, now: u64) {
        let Some(request) = self.requests[slot.index()].take() else {
            panic!("{slot:?} is taken and has no request")
        };
        let lane = self.connections.layout().lane(slot).index();
        let (outcome, ended_ns) = match end {
            End::Answered(answer) => {
                if request.recorded {
                    let failure = self.traffic.expectation.failure(&answer);
                    current.record_answer(&request, lane, answer, failure, now);
                } else {
                    current.first().early_answers += 1;
                }
                return self.give_back(current, slot, now);
            }
            End::Failed(failure) => (Outcome::Failed(failure), now_ns()),
            End::TimedOut => (Outcome::TimedOut, now),
            End::Unfinished => (Outcome::Unfinished, now),
        };
        if request.recorded {
            current.record_end(&request, lane, outcome, ended_ns);
        }
        if rests {
            self.resting.push_back((ended_ns + REST_NS, slot));
        } else {
            self.give_back(current, slot, ended_ns);
        }
    }

    pub(super) fn wake_resting(&mut self, current: &mut Current, now: u64) {
        while let Some(&(rest_ns, slot)) = self.resting.front()
            && rest_ns <= now
        {
            self.resting.pop_front();
            self.give_back(current, slot, now);
        }
    }

    /// Does on all connections what is due by the clock.
    #[cfg(feature = "http3")]
    pub(super) fn tick(&mut self, current: &mut Current, now: u64) {
        for connection in self.connections.live().collect::<Vec<_>>() {
            let Some(transport) = self.transports.get_mut(connection) else { continue };
            let mut events = Vec::new();
            let ticked = transport.tick(&mut events);
            self.take_retirement(current, connection, &events, now);
            for event in events {
                self.handle_event(current, connection, event, false, now);
            }
            self.perform(current, now);
            if let Err(error) = ticked {
                self.fail(current, connection, &error);
            }
        }
    }
}

/// How requests fail when their connection does.
pub(super) fn failure_of(error: &ConnectionError) -> Failure {
    match error {
        ConnectionError::Socket(error) => failure_of_socket(*error),
        ConnectionError::Tls(_) => Failure::Tls,
        ConnectionError::Alpn(_)
        | ConnectionError::Protocol(
            ProtocolError::NotHttp2 | ProtocolError::NotUpgraded(_) | ProtocolError::BadUpgrade,
        ) => Failure::Protocol,
        #[cfg(feature = "http3")]
        ConnectionError::Protocol(ProtocolError::Quic(Quic::Alert(_))) => Failure::Tls,
        #[cfg(feature = "http3")]
        ConnectionError::Protocol(ProtocolError::Quic(_)) => Failure::Closed,
        ConnectionError::Protocol(_) => Failure::Malformed,
        ConnectionError::Closed => Failure::Closed,
    }
}

fn failure_of_socket(error: Errno) -> Failure {
    match error {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT => Failure::Refused,
        // What this machine does not have, whatever the server does: ports, files, memory, permission.
        Errno::ADDRNOTAVAIL
        | Errno::ADDRINUSE
        | Errno::AFNOSUPPORT
        | Errno::MFILE
        | Errno::NFILE
        | Errno::NOBUFS
        | Errno::NOMEM
        | Errno::NOSPC
        | Errno::ACCESS
        | Errno::PERM => Failure::Generator,
        _ => Failure::Reset,
    }
}

#[cfg(test)]
mod tests;
