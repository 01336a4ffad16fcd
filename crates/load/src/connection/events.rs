//! The states of a connection, what happens to it, and what is to be done about that.

use hoptax_wire::Response;

use super::ids::{ConnectionId, LaneId, SlotId, StreamId};
use crate::recording::Failure;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There is no socket, or none any more.
    Closed,
    /// The socket is not connected yet.
    Connecting {
        /// Requests that are written once it is open.
        waiting: u32,
    },
    /// TLS, QUIC or the upgrade of the protocol is not over yet.
    Handshaking {
        /// Requests that are written once it is open.
        waiting: u32,
    },
    /// It takes requests.
    Open {
        /// Requests without an end yet.
        in_flight: u32,
        /// Requests that it still takes.
        requests_left: u32,
    },
    /// It takes no further request, and closes with the last of those in flight.
    Draining {
        /// Requests without an end yet, at least one.
        in_flight: u32,
    },
}

/// What happens to connections. An event of a closed connection does nothing: its requests have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A request takes a slot, which is idle.
    Requested(SlotId),
    /// A lane is to be opened before its first request.
    Wanted(LaneId),
    /// The socket is connected.
    Connected(ConnectionId),
    /// The protocol takes requests.
    Ready {
        /// The connection.
        connection: ConnectionId,
        /// How many it takes, at least one.
        requests: u32,
    },
    /// A request is answered in full.
    Answered {
        /// Its connection.
        connection: ConnectionId,
        /// Its stream.
        stream: StreamId,
        /// Its answer.
        answer: Response,
    },
    /// A request has failed, and its connection goes on.
    Lost {
        /// Its connection.
        connection: ConnectionId,
        /// Its stream.
        stream: StreamId,
        /// Why.
        failure: Failure,
    },
    /// A connection is to take no further request.
    Retired(ConnectionId),
    /// A connection is of no further use, or was never opened.
    Failed {
        /// The connection.
        connection: ConnectionId,
        /// Why.
        failure: Failure,
    },
    /// A request has waited too long for its answer.
    TimedOut(SlotId),
    /// A connection has taken too long to open.
    Expired(ConnectionId),
    /// Nothing is waited for any more. Connections without requests stay open.
    Stopped,
}

/// What is to be done, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Open a socket. When that fails, it is [`Event::Failed`].
    Open(ConnectionId),
    /// Write the request in a slot.
    Write {
        /// Where to.
        connection: ConnectionId,
        /// The request.
        slot: SlotId,
    },
    /// Tell the server that no answer is wanted any more.
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
        /// Whether requests could be sent on it.
        was_open: bool,
    },
    /// Book the end of a request.
    End {
        /// The slot, which is idle from now on.
        slot: SlotId,
        /// What became of the request.
        end: End,
        /// Whether the slot rests before its next request, as its connection could not be opened.
        rests: bool,
    },
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was answered in full.
    Answered(Response),
    /// It failed.
    Failed(Failure),
    /// It was not answered in time.
    TimedOut,
    /// It was not answered before the stop.
    Unfinished,
}
