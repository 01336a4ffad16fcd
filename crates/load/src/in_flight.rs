//! The state of a request between its assignment to a connection and its end.

use hoptax_wire::Response;

use crate::traffic::Picked;

/// A request in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    pub(crate) intended_ns: u64,
    /// Time at which the worker saw that the request was due.
    pub(crate) offered_ns: u64,
    /// The request of the traffic that was picked.
    pub(crate) picked: Picked,
    /// Time at which it was assigned to a connection: its bytes were written, or a connect was started for it.
    pub(crate) started_ns: u64,
    /// Time at which the connection that was opened for it was established; 0 before, and for requests that share the connection.
    pub(crate) connected_ns: u64,
    /// Time at which its first byte was written; 0 before. A request that is sent again keeps the time of the first attempt.
    pub(crate) written_ns: u64,
    /// Time at which the first byte of its response was read; 0 before.
    pub(crate) first_byte_ns: u64,
    /// Time at which the last message of its response was read; 0 before, and if messages are not timed.
    pub(crate) message_ns: u64,
    /// True if it is recorded: its intended start is after the warm-up.
    pub(crate) recorded: bool,
    /// True if it waited for a connection, or for other requests on its connection.
    pub(crate) blocked: bool,
    /// Start of its wait for other requests on its connection; 0 if it does not wait.
    pub(crate) held_ns: u64,
    /// True if the connection was opened for this request, not for an earlier one.
    pub(crate) connected: bool,
    /// Its response, once that is complete.
    pub(crate) response: Option<Response>,
}
