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
//!   rpc Bidirectional(stream Payload) returns (stream Payload);  // every message
//! }
//! ```
//!
//! Messages are returned unchanged and are not decoded. Health checks (`grpc.health.v1.Health/Check`) return `SERVING`. Any
//! other path returns the status `UNIMPLEMENTED`.

use hoptax_wire::grpc::{framed, messages};
use hoptax_wire::http2::Body;

use super::http2::Response;
use crate::behaviour::Drawn;
use crate::services::{self, ServiceState};

/// Number of messages that `ServerStream` returns.
const SERVER_STREAM_MESSAGES: usize = 3;
/// The path of the health check.
const HEALTH: &str = "/grpc.health.v1.Health/Check";
/// The response message of the health check: field 1, `status`, is `SERVING`.
const SERVING: [u8; 2] = [8, 1];
// Status codes of gRPC.
pub(super) const INVALID_ARGUMENT: u16 = 3;
const UNIMPLEMENTED: u16 = 12;
const UNAVAILABLE: u16 = 14;

/// The response to a call.
pub(super) fn response(path: &str, body: &[u8], drawn: &Drawn, services: &mut ServiceState) -> Response {
    if drawn.status != 200 {
        // A gRPC status is sent unchanged; an HTTP status becomes UNAVAILABLE.
        let status = if drawn.status <= 16 { drawn.status } else { UNAVAILABLE };
        return failed(status, "status set by a parameter");
    }
    let Some(messages) = messages(body) else {
        return failed(INVALID_ARGUMENT, "invalid gRPC message framing");
    };
    let path = path.split('?').next().unwrap_or_default();
    if path == HEALTH {
        return succeeded(framed(&SERVING));
    }
    if let [message] = messages.as_slice()
        && let Some(reply) = services::reply(path, message, services)
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
        Some("Bidirectional") => messages,
        _ => return failed(UNIMPLEMENTED, "unknown path; the echo service is /hoptax.echo.v1.Echo"),
    };
    succeeded(echoed.into_iter().flat_map(framed).collect())
}

fn succeeded(body: Vec<u8>) -> Response {
    let trailers = vec![("grpc-status".to_owned(), "0".to_owned())];
    Response { fields: fields(), body: Body::Bytes(body), trailers }
}

/// The response to a call that fails.
pub(super) fn failed(status: u16, message: &str) -> Response {
    let mut fields = fields();
    fields.push(("grpc-status".to_owned(), status.to_string()));
    fields.push(("grpc-message".to_owned(), message.replace('%', "%25")));
    Response { fields, body: Body::Bytes(Vec::new()), trailers: Vec::new() }
}

pub(super) fn fields() -> Vec<(String, String)> {
    [(":status", "200"), ("content-type", "application/grpc")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}
