//! Handles epoll events: reads responses, and passes them as events to the connection state machine.

use hoptax_host::clock::now_ns;
use hoptax_wire::http1::Deviation;
use hoptax_wire::{Event as ProtocolEvent, Response};
use rustix::event::epoll;

use super::Worker;
use crate::connection::{Closing, ConnectionId, Event, State, StreamId};
use crate::connection_error::ConnectionError;
use crate::current::Current;
use crate::failure::{Cause, Failure};
use crate::in_flight::InFlight;
use crate::transport::Read;

/// Maximum number of reads of a connection in one turn, so that an endless response does not keep the worker from its other
/// connections, its schedule and its timeouts: 1 MiB of a byte stream.
const MAX_READS: u32 = 16;
/// The same for QUIC, which reads one datagram at a time.
const MAX_DATAGRAMS: u32 = 256;

impl Worker {
    pub(super) fn handle_epoll_events(&mut self, current: &mut Current, events: &[epoll::Event]) {
        for event in events {
            self.handle_epoll_event(current, ConnectionId::from_token(event.data.u64()), event.flags);
            // A batch of events may take longer than the time to the next request.
            if current.is_open() {
                let now = now_ns();
                if current.next_ns <= now && now < current.run.end_ns {
                    self.release(current, now);
                }
            }
        }
    }

    pub(super) fn handle_epoll_event(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        mut flags: epoll::EventFlags,
    ) {
        match self.connections.state(connection) {
            // An earlier event of the batch closed its socket.
            State::Closed => return,
            State::Connecting => {
                let now = now_ns();
                if let Err(error) = self.finish_connect(connection, now) {
                    return self.fail(current, connection, &error);
                }
                for slot in self.connections.waiting_for(connection) {
                    if let Some(request) = &mut self.requests[slot.index()]
                        && request.connected
                    {
                        request.connected_ns = now;
                    }
                }
                self.on_ready(current, connection);
                // The socket had no error, so the event is a timestamp. A later error has its own event.
                flags.remove(epoll::EventFlags::ERR);
            }
            State::Handshaking | State::Open { .. } | State::Draining { .. } => {
                let transport = &mut self.transports[connection];
                flags = transport.without_stamps(flags);
                if flags.contains(epoll::EventFlags::OUT) {
                    if let Err(error) = transport.transmit() {
                        return self.fail(current, connection, &error);
                    }
                    if transport.has_failed() {
                        flags.insert(epoll::EventFlags::ERR);
                    }
                }
            }
        }
        let closing = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if flags.intersects(epoll::EventFlags::IN | closing) {
            self.read(current, connection, flags.intersects(closing));
        }
    }

    /// Writes the requests that wait for a connection, once it is ready.
    #[inline]
    fn on_ready(&mut self, current: &mut Current, connection: ConnectionId) {
        if matches!(self.connections.state(connection), State::Handshaking)
            && self.transports[connection].may_send()
        {
            self.set_ready(connection);
            self.perform(current, now_ns());
        }
    }

    /// Reads until the socket is empty, at most as often as one turn may. The socket is edge-triggered: a short read has emptied it
    /// unless the peer closed.
    fn read(&mut self, current: &mut Current, connection: ConnectionId, closing: bool) {
        let has_streams = self.connections.layout().streams > 1;
        let full_bytes = self.buffer.len();
        let reads = if self.traffic.protocol.has_datagrams() { MAX_DATAGRAMS } else { MAX_READS };
        for _ in 0..reads {
            let (is_awaited, was_opening) = match self.connections.state(connection) {
                State::Closed => return,
                State::Open { in_flight, .. } | State::Draining { in_flight } => (in_flight > 0, false),
                State::Connecting | State::Handshaking => (true, true),
            };
            let alpn = self.traffic.protocol.alpn();
            let transport = &mut self.transports[connection];
            let read = transport.read(&mut self.buffer, alpn, is_awaited, &mut self.scratch);
            let now = self.scratch.read_ns;
            if was_opening && let Some(took_ns) = self.record_handshake() {
                current.record_handshake(now, took_ns);
            }
            let (read, error) = match read {
                Ok(read) => (read, None),
                Err(error) => (Read::End, Some(error)),
            };
            // TLS reports the end together with the last bytes: the next request needs another connection.
            let closing = closing || (read == Read::End && error.is_none());
            if !self.scratch.events.is_empty() {
                let events = std::mem::take(&mut self.scratch.events);
                self.handle_connection_events(current, connection, &events, now);
                // Several responses in one read free several slots: the next requests are sent together.
                if has_streams && let Some(transport) = self.transports.get_mut(connection) {
                    transport.cork();
                }
                for event in &events {
                    self.handle_protocol_event(current, connection, *event, closing, now);
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
            if was_opening {
                self.on_ready(current, connection);
            }
            match read {
                Read::WouldBlock => return,
                Read::End => return self.end(current, connection, now),
                Read::Bytes(count) if count < full_bytes && !closing => return,
                Read::Bytes(_) => {}
            }
        }
        self.read_later(current, connection);
    }

    /// Makes epoll report a connection whose socket has failed: reading reports the failure, after the bytes that have arrived.
    pub(super) fn read_after_failure(&mut self, connection: ConnectionId) {
        if let Err(error) = self.transports[connection].rearm(&self.epoll, connection) {
            let cause = self.reasons.cause(&error.into());
            self.connections.handle(Event::Failed { connection, cause });
        }
    }

    /// Makes epoll report the unread bytes in the socket of a connection again.
    fn read_later(&mut self, current: &mut Current, connection: ConnectionId) {
        let Some(transport) = self.transports.get_mut(connection) else { return };
        // QUIC has not sent its acknowledgements yet.
        let sent = transport.transmit();
        let rearmed = sent.and_then(|()| Ok(transport.rearm(&self.epoll, connection)?));
        if let Err(error) = rearmed {
            self.fail(current, connection, &error);
        }
    }

    /// Handles events of the whole connection before the responses of the same read. A response starts the next request, to which a GOAWAY
    /// or a new limit already applies.
    #[inline]
    fn handle_connection_events(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        events: &[ProtocolEvent],
        now: u64,
    ) {
        let mut limit = None;
        for event in events {
            match *event {
                ProtocolEvent::Draining { code } => {
                    // A server that ends gracefully sends two. The first closes an idle connection.
                    if !matches!(self.connections.state(connection), State::Draining { .. } | State::Closed) {
                        current.record_goaway(now, code);
                    }
                    self.connections.handle(Event::Drain { connection, why: Closing::Server });
                }
                // The last limit applies, because all of them were acknowledged before.
                ProtocolEvent::Limit { streams } => limit = Some(streams),
                ProtocolEvent::FirstByte { .. }
                | ProtocolEvent::Message { .. }
                | ProtocolEvent::Answered { .. }
                | ProtocolEvent::Lost { .. } => {}
            }
        }
        if let Some(streams) = limit {
            self.change_limit(connection, streams);
        }
    }

    /// Sends the corked bytes of a connection. The requests count as written just before. Returns false if the connection failed.
    fn uncork(&mut self, current: &mut Current, connection: ConnectionId) -> bool {
        let Some(transport) = self.transports.get_mut(connection) else {
            self.corked.clear();
            return false;
        };
        let now = now_ns();
        let sent = transport.uncork();
        let has_failed = transport.has_failed();
        for slot in self.corked.drain(..) {
            if let Some(request) = &mut self.requests[slot.index()] {
                request.written_ns = now;
            }
        }
        if let Err(error) = sent {
            self.fail(current, connection, &error);
            return false;
        }
        if has_failed {
            self.read_after_failure(connection);
        }
        true
    }

    /// Passes a protocol event to the state machine.
    pub(super) fn handle_protocol_event(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        event: ProtocolEvent,
        closing: bool,
        now: u64,
    ) {
        match event {
            ProtocolEvent::FirstByte { stream } => {
                if let Some(slot) = self.connections.in_flight_on(connection, StreamId(stream)) {
                    self.request(slot).first_byte_ns = now;
                }
            }
            ProtocolEvent::Message { stream } => {
                if let Some(slot) = self.connections.in_flight_on(connection, StreamId(stream)) {
                    let request = self.request(slot);
                    let before_ns =
                        if request.message_ns > 0 { request.message_ns } else { request.written_ns };
                    request.message_ns = now;
                    if request.recorded {
                        current.recording(request.intended_ns).record_message(now.saturating_sub(before_ns));
                    }
                }
            }
            ProtocolEvent::Answered { stream, response } => {
                self.answered(current, connection, StreamId(stream), response, closing, now);
            }
            ProtocolEvent::Lost { stream, loss } => {
                let stream = StreamId(stream);
                let slot = self.connections.in_flight_on(connection, stream);
                // A server that has responded has processed the request, whatever it says.
                let has_begun = slot.is_some_and(|slot| self.request(slot).first_byte_ns > 0);
                let is_handed_back = loss.is_unprocessed() && !has_begun;
                let cause = self.reasons.of_loss(loss, is_handed_back);
                let event = if is_handed_back {
                    Event::HandedBack { connection, stream, cause }
                } else {
                    Event::StreamFailed { connection, stream, cause }
                };
                self.feed(current, event, now);
            }
            // Handled before the responses of the same read.
            ProtocolEvent::Draining { .. } | ProtocolEvent::Limit { .. } => {}
        }
    }

    fn answered(
        &mut self,
        current: &mut Current,
        connection: ConnectionId,
        stream: StreamId,
        response: Response,
        closing: bool,
        now: u64,
    ) {
        let Some(slot) = self.connections.in_flight_on(connection, stream) else {
            // The state machine treats an unexpected response as a protocol error.
            self.note_unsolicited(current, connection, Cause::UNSOLICITED, now);
            return self.connections.answer(connection, stream);
        };
        let request = self.request(slot);
        if request.first_byte_ns == 0 {
            // All of it arrived in one read.
            request.first_byte_ns = now;
        }
        request.response = Some(response);
        let InFlight { recorded, intended_ns, picked, .. } = *request;
        let transport = &mut self.transports[connection];
        if recorded && let Some(stamped) = transport.stamps.take() {
            let stamps = current.recording(intended_ns).stamps.get_or_insert_default();
            stamped.finish(transport.socket(), stamps);
        }
        let is_expired = self
            .lifetime
            .age
            .is_some_and(|age| u128::from(now.saturating_sub(transport.opened_ns)) >= age.as_nanos());
        // After a response to a partly written request, the state of the connection is unknown.
        let is_desynchronized = self.connections.layout().streams == 1 && !transport.has_sent(stream);
        if closing || !response.keep_alive || is_expired || is_desynchronized {
            let deviation = transport.deviation();
            if recorded && let Some(deviation) = deviation {
                let deviations = &mut current.recording(intended_ns).deviations;
                *deviations.entry(deviation.as_str().to_owned()).or_default() += 1;
            }
            let flags = self.traffic.targets[picked.target].request.flags;
            let why = if flags.is_last() || response.status == 101 {
                Closing::Request
            } else if deviation.is_some_and(|deviation| deviation != Deviation::EndOfTls) {
                Closing::Violation
            } else if closing || !response.keep_alive {
                Closing::Server
            } else if is_expired {
                Closing::Plan
            } else {
                Closing::EarlyResponse
            };
            self.connections.handle(Event::Drain { connection, why });
        }
        self.sample(current, now);
        self.connections.answer(connection, stream);
    }

    /// The server closed a connection: ends each request on it.
    fn end(&mut self, current: &mut Current, connection: ConnectionId, now: u64) {
        if matches!(self.connections.state(connection), State::Handshaking) {
            return self.fail(current, connection, &ConnectionError::Closed);
        }
        self.closed_by_server(connection);
        for stream in (0..self.connections.layout().streams).map(StreamId) {
            if self.connections.in_flight_on(connection, stream).is_none() {
                continue;
            }
            let cause = match self.transports[connection].end(stream) {
                Ok(Some(response)) => {
                    self.answered(current, connection, stream, response, true, now);
                    continue;
                }
                Ok(None) => self.reasons.with(Failure::Closed, "before the first byte of the response"),
                Err(error) => self.reasons.with(Failure::Truncated, &error.to_string()),
            };
            self.feed(current, Event::StreamFailed { connection, stream, cause }, now);
        }
        self.perform(current, now);
    }

    /// The server closed a connection. If a request on it asked for that, the request is the reason.
    fn closed_by_server(&mut self, connection: ConnectionId) {
        let slot = self.connections.in_flight_on(connection, StreamId(0));
        let asked = slot.map(|slot| self.request(slot).picked.target);
        let is_asked = asked.is_some_and(|target| self.traffic.targets[target].request.flags.is_last());
        let why = if is_asked { Closing::Request } else { Closing::Server };
        self.connections.handle(Event::Drain { connection, why });
    }

    /// Records a violation of the protocol if no request is in flight that fails with it.
    fn note_unsolicited(&self, current: &mut Current, connection: ConnectionId, cause: Cause, now: u64) {
        if cause.failure == Failure::Malformed
            && matches!(self.connections.state(connection), State::Open { in_flight: 0, .. })
            && let Some(what) = self.reasons.text(cause.reason)
        {
            current.record_unsolicited(now, what);
        }
    }

    /// Passes a connection failure to the state machine.
    fn fail(&mut self, current: &mut Current, connection: ConnectionId, error: &ConnectionError) {
        let now = now_ns();
        if matches!(error, ConnectionError::Socket(_)) {
            self.answer_before_reset(current, connection, now);
        }
        let cause = self.reasons.cause(error);
        self.note_unsolicited(current, connection, cause, now);
        self.feed(current, Event::Failed { connection, cause }, now);
        self.perform(current, now);
    }

    /// Ends the requests that the server of a connection refused before it reset the connection.
    fn answer_before_reset(&mut self, current: &mut Current, connection: ConnectionId, now: u64) {
        for stream in (0..self.connections.layout().streams).map(StreamId) {
            if self.connections.in_flight_on(connection, stream).is_some()
                && let Some(response) = self.transports[connection].reset(stream)
            {
                self.answered(current, connection, stream, response, true, now);
            }
        }
    }

    /// Passes an event to the state machine that may change the number of requests in flight.
    pub(super) fn feed(&mut self, current: &mut Current, event: Event, now: u64) {
        self.sample(current, now);
        self.connections.handle(event);
    }

    /// Samples the connections for the course of the trial, before their number of requests in flight changes.
    #[inline]
    pub(super) fn sample(&self, current: &mut Current, now: u64) {
        current.sample(now, self.connections.in_flight(), self.connections.established());
    }

    /// Runs the QUIC timers of all connections.
    pub(super) fn tick(&mut self, current: &mut Current, now: u64) {
        for connection in self.connections.live().collect::<Vec<_>>() {
            let Some(transport) = self.transports.get_mut(connection) else { continue };
            let mut events = Vec::new();
            let ticked = transport.tick(&mut events);
            self.handle_connection_events(current, connection, &events, now);
            for event in events {
                self.handle_protocol_event(current, connection, event, false, now);
            }
            self.perform(current, now);
            if let Err(error) = ticked {
                self.fail(current, connection, &error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
