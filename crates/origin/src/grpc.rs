//! gRPC: an echo service with all four kinds of calls, health checks, and the services of `crate::services`.
//!
//! ```proto
//! syntax = "proto3";
//! package hoptax.echo.v1;
//! message Payload { bytes payload = 1; }
//! service Echo {
//!   rpc Unary(Payload) returns (Payload);
//!   rpc ClientStream(stream Payload) returns (Payload);   // the last message
//!   rpc ServerStream(Payload) returns (stream Payload);   // the message, three times
//!   rpc Bidirectional(stream Payload) returns (stream Payload);  // every message, as it arrives (`crate::call`)
//! }
//! ```
//!
//! Messages are returned unchanged and are not decoded. Health checks (`grpc.health.v1.Health/Check`) return `SERVING`. Any
//! other path returns the status `UNIMPLEMENTED`.

use hoptax_wire::grpc::{framed, messages};
use hoptax_wire::http2::{Body, Head};

use crate::behaviour::Drawn;
use crate::response::Response;
use crate::services::{self, ServiceState};

/// Number of messages that `ServerStream` returns.
const SERVER_STREAM_MESSAGES: usize = 3;
/// The path of the health check.
const HEALTH: &str = "/grpc.health.v1.Health/Check";
/// The response message of the health check: field 1, `status`, is `SERVING`.
const SERVING: [u8; 2] = [8, 1];
// Status codes of gRPC.
pub(crate) const INVALID_ARGUMENT: u16 = 3;
pub(crate) const RESOURCE_EXHAUSTED: u16 = 8;
pub(crate) const UNIMPLEMENTED: u16 = 12;
const UNAVAILABLE: u16 = 14;

/// Status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u16,
    /// The reason of a failure.
    pub(crate) message: &'static str,
}

impl Status {
    pub(crate) const OK: Self = Self { code: 0, message: "" };

    /// The trailers that state it.
    pub(crate) fn trailers(self) -> Vec<(String, String)> {
        let mut trailers = vec![("grpc-status".to_owned(), self.code.to_string())];
        if !self.message.is_empty() {
            trailers.push(("grpc-message".to_owned(), self.message.to_owned()));
        }
        trailers
    }
}

/// The response to a call that fails because of its parameters; none if they let it succeed.
pub(crate) fn failure(drawn: &Drawn) -> Option<Response> {
    // A gRPC status is sent unchanged; an HTTP status becomes UNAVAILABLE.
    let status = if drawn.status <= 16 { drawn.status } else { UNAVAILABLE };
    (drawn.status != 200).then(|| failed(status, "status set by a parameter"))
}

/// The response to a call whose messages are read as a whole.
pub(crate) fn response(head: &Head, body: &[u8], drawn: &Drawn, services: &mut ServiceState) -> Response {
    if let Some(failure) = failure(drawn) {
        return failure;
    }
    let Some(messages) = messages(body) else {
        return failed(INVALID_ARGUMENT, "invalid gRPC message framing");
    };
    let path = head.path.split('?').next().unwrap_or_default();
    if path == HEALTH {
        return succeeded(framed(&SERVING));
    }
    if let [message] = messages.as_slice()
        && let Some(reply) = services::reply(head, message, services)
    {
        return succeeded(framed(&reply));
    }
    let echoed: Vec<&[u8]> = match path.strip_prefix("/hoptax.echo.v1.Echo/") {
        Some("Unary") if messages.len() == 1 => messages,
        Some("ServerStream") if messages.len() == 1 => messages.repeat(SERVER_STREAM_MESSAGES),
        Some("Unary" | "ServerStream") => {
            return failed(INVALID_ARGUMENT, "the call expects one message");
        }
        Some("ClientStream") => messages.last().into_iter().copied().collect(),
        _ => return unknown_path(),
    };
    succeeded(echoed.into_iter().flat_map(framed).collect())
}

fn succeeded(body: Vec<u8>) -> Response {
    Response { fields: fields(), body: Body::Bytes(body), trailers: Status::OK.trailers() }
}

/// The response to a call of a path that does not exist.
pub(crate) fn unknown_path() -> Response {
    failed(UNIMPLEMENTED, "unknown path; the echo service is /hoptax.echo.v1.Echo")
}

/// The response to a call that fails.
pub(crate) fn failed(status: u16, message: &str) -> Response {
    let mut fields = fields();
    fields.push(("grpc-status".to_owned(), status.to_string()));
    fields.push(("grpc-message".to_owned(), message.replace('%', "%25")));
    Response { fields, body: Body::Bytes(Vec::new()), trailers: Vec::new() }
}

pub(crate) fn fields() -> Vec<(String, String)> {
    [(":status", "200"), ("content-type", "application/grpc")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}
