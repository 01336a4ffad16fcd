//! Opens the connections of a worker before its first run: immediately, or evenly over a ramp-up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_wire::{Event as ProtocolEvent, ProtocolError};
use rustix::io::Errno;

use super::{MAX_EVENTS, SCAN_NS, Worker};
use crate::connect_error::ConnectError;
use crate::connection::{Action, Closing, ConnectionId, Event, LaneId, State};
use crate::connection_error::ConnectionError;
use crate::transport::Read;

/// Time between two attempts to connect to a Unix socket whose backlog is full, nanoseconds.
const QUEUE_FULL_NS: u64 = 1_000_000;

/// Progress of the opening of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It waits for the server, or has already ended.
    Waits,
    /// The connection has just become ready.
    Ready,
    /// The same, but the server has already announced that it accepts no request.
    Refuses,
}

impl Worker {
    /// Opens a connection for every lane, evenly over `ramp_up`, and waits until all are ready for requests. Returns early when
    /// `stop` is set.
    pub(super) fn open_all(&mut self, ramp_up: Duration, stop: &AtomicBool) -> Result<(), ConnectError> {
        let start_ns = now_ns();
        let count = self.connections.layout().lanes;
        let due_ns = |number: u32| {
            let share = ramp_up.as_nanos() * u128::from(number) / u128::from(count.max(1));
            start_ns.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
        };
        let mut next = 0;
        // The connections being opened, oldest first, each with its start; and the one that waits for a full backlog.
        let mut under_way: VecDeque<(u64, ConnectionId)> = VecDeque::new();
        let mut deferred: Option<(u64, ConnectionId)> = None;
        let mut events = Vec::with_capacity(MAX_EVENTS);
        while !stop.load(Ordering::Relaxed) {
            let now = now_ns();
            while next < count && due_ns(next) <= now {
                let lane = LaneId(next);
                let (since_ns, connection) =
                    deferred.take().unwrap_or_else(|| (now, self.connection_for(lane)));
                match self.open(connection, now) {
                    Ok(()) => {
                        under_way.push_back((since_ns, connection));
                        next += 1;
                    }
                    Err(Errno::AGAIN) => {
                        deferred = Some((since_ns, connection));
                        break;
                    }
                    Err(error) => return Err(self.connect_error(lane, &error.into())),
                }
            }
            while let Some(&(_, connection)) = under_way.front()
                && !self.is_opening(connection)
            {
                under_way.pop_front();
            }
            // The gap after the last connection belongs to the ramp-up: the next worker continues after it.
            if next == count && under_way.is_empty() && due_ns(count) <= now {
                break;
            }
            let wait_ns = match due_ns(next).saturating_sub(now) {
                _ if deferred.is_some() => QUEUE_FULL_NS,
                0 => SCAN_NS,
                left_ns => left_ns.min(SCAN_NS),
            };
            self.wait(&mut events, wait_ns).map_err(|error| self.connect_error(LaneId(0), &error.into()))?;
            if self.traffic.protocol.has_datagrams() {
                self.tick_all()?;
            }
            for event in &events {
                let connection = ConnectionId::from_token(event.data.u64());
                let lane = self.connections.lane(connection);
                let progress = self.continue_handshake(connection);
                let progress = progress.map_err(|error| self.connect_error(lane, &error))?;
                if progress != Progress::Waits {
                    self.set_ready(connection);
                }
                if progress == Progress::Refuses {
                    self.close_early(connection);
                }
            }
            // A full batch may have left events of connections that are ready. The time that the generator itself took to get
            // here must not count against the server, so connections time out only when all events are handled.
            if events.len() < MAX_EVENTS {
                let oldest = under_way.iter().find(|(_, connection)| self.is_opening(*connection));
                for &(since_ns, connection) in oldest.into_iter().chain(&deferred) {
                    self.check_time(since_ns, connection, now)?;
                }
            }
        }
        self.rearm();
        Ok(())
    }

    /// The connection to open for a lane.
    fn connection_for(&mut self, lane: LaneId) -> ConnectionId {
        self.connections.handle(Event::Preconnect(lane));
        match self.connections.next_action() {
            Some(Action::Open(connection)) => connection,
            action => unreachable!("without requests, opening is the only action: {action:?}"),
        }
    }

    fn is_opening(&self, connection: ConnectionId) -> bool {
        matches!(self.connections.state(connection), State::Connecting | State::Handshaking)
    }

    /// Fails when a connection has taken longer than the timeout.
    fn check_time(&self, since_ns: u64, connection: ConnectionId, now: u64) -> Result<(), ConnectError> {
        if now.saturating_sub(since_ns) < self.timeout_ns {
            return Ok(());
        }
        let address = self.address(self.connections.lane(connection));
        let seconds = self.timeout_ns as f64 / 1e9;
        Err(match self.transports.get(connection) {
            Some(transport) if transport.allows_no_request() => ConnectError::NoStreams { address, seconds },
            _ => ConnectError::Timeout { address, seconds },
        })
    }

    /// Re-arms the events of all connections. Events of connections that were ready while others opened were dropped, and a server may have
    /// closed such a connection meanwhile.
    fn rearm(&self) {
        for connection in self.connections.live() {
            if let Some(transport) = self.transports.get(connection) {
                match transport.rearm(&self.epoll, connection) {
                    // The next request finds failures.
                    Ok(()) | Err(_) => {}
                }
            }
        }
    }

    /// Runs the QUIC timers of all connections.
    fn tick_all(&mut self) -> Result<(), ConnectError> {
        for connection in self.connections.live().collect::<Vec<_>>() {
            // A connection whose opening is held up has no transport yet.
            let Some(transport) = self.transports.get_mut(connection) else { continue };
            let mut events = Vec::new();
            let ticked = transport.tick(&mut events);
            for event in &events {
                if let ProtocolEvent::Limit { streams } = *event {
                    self.change_limit(connection, streams);
                }
            }
            let accepts = ticked.and_then(|()| Ok(accepts_requests(&events)?));
            if !accepts.map_err(|error| self.connect_error(self.connections.lane(connection), &error))? {
                self.close_early(connection);
            }
        }
        Ok(())
    }

    /// Closes a connection on which the server accepts no request. The first request of its lane opens another one, as if the
    /// server had closed it a moment later.
    fn close_early(&mut self, connection: ConnectionId) {
        self.connections.handle(Event::Drain { connection, why: Closing::Server });
        while let Some(action) = self.connections.next_action() {
            match action {
                Action::Close { connection, was_open, .. } => self.close(connection, was_open),
                action => unreachable!("without requests, a drained connection only closes: {action:?}"),
            }
        }
    }

    /// Advances the handshake of a connection as far as possible.
    fn continue_handshake(&mut self, connection: ConnectionId) -> Result<Progress, ConnectionError> {
        match self.connections.state(connection) {
            State::Connecting => self.finish_connect(connection, now_ns())?,
            State::Handshaking => {}
            State::Open { .. } | State::Draining { .. } | State::Closed => {
                return Ok(Progress::Waits);
            }
        }
        let mut accepts = true;
        loop {
            let transport = &mut self.transports[connection];
            if transport.may_send() {
                return Ok(if accepts { Progress::Ready } else { Progress::Refuses });
            }
            if !accepts {
                return Err(ConnectionError::Closed);
            }
            transport.transmit()?;
            let alpn = self.traffic.protocol.alpn();
            // Messages of the handshake are awaited, but no response is.
            let read = transport.read(&mut self.buffer, alpn, false, &mut self.scratch)?;
            self.record_handshake();
            if read == Read::WouldBlock {
                return Ok(Progress::Waits);
            }
            // TLS reports the end together with the last bytes.
            accepts = accepts_requests(&self.scratch.events)? && read != Read::End;
        }
    }
}

/// True if the server still accepts requests, given the events of a read before the first one.
///
/// # Errors
/// When it has sent part of a response.
fn accepts_requests(events: &[ProtocolEvent]) -> Result<bool, ProtocolError> {
    let mut accepts = true;
    for event in events {
        match event {
            ProtocolEvent::Draining { .. } => accepts = false,
            ProtocolEvent::Limit { .. } => {}
            ProtocolEvent::FirstByte { .. }
            | ProtocolEvent::Message { .. }
            | ProtocolEvent::Answered { .. }
            | ProtocolEvent::Lost { .. } => return Err(ProtocolError::Excess),
        }
    }
    Ok(accepts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_request_a_server_may_refuse_requests_and_not_respond() {
        let draining = ProtocolEvent::Draining { code: 0 };
        assert_eq!(accepts_requests(&[]), Ok(true));
        assert_eq!(accepts_requests(&[draining]), Ok(false));
        let begun = ProtocolEvent::FirstByte { stream: 0 };
        assert_eq!(accepts_requests(&[draining, begun]), Err(ProtocolError::Excess));
    }
}
