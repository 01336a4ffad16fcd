//! The states, events and actions of the connection state machine.

use super::ids::{ConnectionId, LaneId, SlotId, StreamId};
use crate::failure::{Cause, Failure};

/// Reason why an established connection is closed while the load goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closing {
    /// The server closed or reset it, or announced that it will.
    Server,
    /// The request asked for it: `Connection: close`, or an upgrade.
    Request,
    /// The bytes of the server violate the protocol.
    Violation,
    /// The server refused a single request.
    Refused,
    /// The server responded before all of the request was sent.
    EarlyResponse,
    /// A request timed out, and the protocol cannot cancel it without closing the connection.
    TimeOut,
    /// It reached its maximum number of requests or its maximum age, or the server's name now resolves to other addresses.
    Plan,
    /// A resource of this machine was exhausted.
    Generator,
}

impl Closing {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Request => "request",
            Self::Violation => "violation",
            Self::Refused => "refused",
            Self::EarlyResponse => "early-response",
            Self::TimeOut => "timed-out",
            Self::Plan => "plan",
            Self::Generator => "generator",
        }
    }

    /// Returns the reason for closing a connection whose requests fail like this.
    pub(super) fn after(failure: Failure) -> Self {
        match failure {
            Failure::Generator => Self::Generator,
            Failure::Malformed | Failure::Switched | Failure::Tls | Failure::Protocol => Self::Violation,
            _ => Self::Server,
        }
    }
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There is no socket.
    Closed,
    /// The non-blocking connect is pending.
    Connecting,
    /// The TLS or QUIC handshake, the protocol upgrade, or the exchange of settings is in progress.
    Handshaking,
    /// It accepts requests.
    Open {
        /// Requests in flight.
        in_flight: u32,
        /// Further requests that it accepts.
        requests_left: u32,
        /// Concurrent requests that the server allows. More may be in flight from before it lowered this limit.
        streams: u32,
    },
    /// It accepts no further request, and closes when the last request in flight ends.
    Draining {
        /// Requests in flight, at least one.
        in_flight: u32,
    },
}

/// An input of the state machine. The two inputs of every request are methods instead: `Connections::request` and `Connections::answer`.
/// Events of a closed connection are ignored: its requests have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// Open a lane's connection before its first request.
    Preconnect(LaneId),
    /// The socket is connected.
    Connected(ConnectionId),
    /// The connection accepts requests.
    Ready {
        /// The connection.
        connection: ConnectionId,
        /// Maximum number of requests, at least one.
        requests: u32,
        /// Concurrent requests that the server allows.
        streams: u32,
    },
    /// The server changed its limit on concurrent requests.
    Limit {
        /// The connection.
        connection: ConnectionId,
        /// Concurrent requests that the server allows.
        streams: u32,
    },
    /// A request has failed. Its connection continues.
    StreamFailed {
        /// Its connection.
        connection: ConnectionId,
        /// Its stream.
        stream: StreamId,
        /// Kind and reason of the failure.
        cause: Cause,
    },
    /// The server reports that it has not processed a request.
    HandedBack {
        /// Its connection.
        connection: ConnectionId,
        /// Its stream.
        stream: StreamId,
        /// Kind and reason of the failure, if the request has been sent again too often.
        cause: Cause,
    },
    /// A connection must accept no further request.
    Drain {
        /// The connection.
        connection: ConnectionId,
        /// Reason for closing it once it has drained.
        why: Closing,
    },
    /// A connection broke, or could not be opened.
    Failed {
        /// The connection.
        connection: ConnectionId,
        /// Kind and reason of the failure.
        cause: Cause,
    },
    /// A request has timed out.
    TimedOut(SlotId),
    /// Opening a connection has timed out.
    ConnectTimedOut(ConnectionId),
    /// The run has ended. Requests in flight are unfinished; idle connections stay open.
    Stopped,
}

/// An output of the state machine, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Open a socket. A failure is reported as [`Event::Failed`].
    Open(ConnectionId),
    /// Write the request in a slot.
    Write {
        /// Its connection.
        connection: ConnectionId,
        /// Its slot.
        slot: SlotId,
    },
    /// Note that a request waits because its connection has reached the server's limit on concurrent requests.
    Held(SlotId),
    /// Note that a request is sent again: it waits for another connection.
    SendAgain(SlotId),
    /// Cancel a request: the server need not respond to it.
    Cancel {
        /// The connection.
        connection: ConnectionId,
        /// The stream.
        stream: StreamId,
    },
    /// Close the socket.
    Close {
        /// The connection.
        connection: ConnectionId,
        /// True if it was established.
        was_open: bool,
        /// Reason for the closing; None at the end of the run, and if it could not be opened in time.
        why: Option<Closing>,
    },
    /// Record the end of a request.
    End {
        /// The slot, which is idle from now on.
        slot: SlotId,
        /// The outcome of the request.
        end: End,
        /// True if the slot backs off before its next request: its connection could not be opened, or several connections in turn handed
        /// the request back.
        backs_off: bool,
    },
}

/// The outcome of a request, for the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was answered in full.
    Answered,
    /// It failed.
    Failed(Cause),
    /// It timed out.
    TimedOut,
    /// It was in flight when the run ended.
    Unfinished,
}
