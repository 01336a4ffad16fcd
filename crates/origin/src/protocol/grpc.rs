//! gRPC: an echo service with calls of all four kinds.
//!
//! ```proto
//! syntax = "proto3";
//! package hoptax.echo.v1;
//! message Payload { bytes payload = 1; }
//! service Echo {
//!   rpc Unary(Payload) returns (Payload);
//!   rpc ClientStream(stream Payload) returns (Payload);   // the last one
//!   rpc ServerStream(Payload) returns (stream Payload);   // three times
//!   rpc Bidirectional(stream Payload) returns (stream Payload);  // every one
//! }
//! ```
//!
//! Health checks (`grpc.health.v1.Health/Check`) are answered too: it serves.
//!
//! The services that proxies ask (`crate::services`) are there as well.
//!
//! Messages come back byte by byte as they are: nothing in them is decoded. Every other path is unimplemented.

use hoptax_wire::grpc::{framed, messages};
use hoptax_wire::http2::Body;

use super::http2::Response;
use crate::behaviour::Drawn;
use crate::services::{self, Companion};

/// How often a message comes back from `ServerStream`.
const TIMES: usize = 3;
/// The health check, and its answer: the first field of the message is `SERVING`.
const HEALTH: &str = "/grpc.health.v1.Health/Check";
const SERVING: [u8; 2] = [8, 1];
/// Statuses of gRPC.
pub(super) const INVALID_ARGUMENT: u16 = 3;
const UNIMPLEMENTED: u16 = 12;
const UNAVAILABLE: u16 = 14;

/// The answer to a call.
pub(super) fn answer(path: &str, body: &[u8], drawn: &Drawn, companion: &mut Companion) -> Response {
    if drawn.status != 200 {
        // A status of gRPC as it is; one of HTTP is that of a service that is not there.
        let status = if drawn.status <= 16 { drawn.status } else { UNAVAILABLE };
        return failed(status, "as asked");
    }
    let Some(messages) = messages(body) else {
        return failed(INVALID_ARGUMENT, "the messages are not framed as gRPC frames them");
    };
    let path = path.split('?').next().unwrap_or_default();
    if path == HEALTH {
        return succeeded(framed(&SERVING));
    }
    if let [message] = messages.as_slice()
        && let Some(said) = services::answer(path, message, companion)
    {
        return succeeded(framed(&said));
    }
    let back: Vec<&[u8]> = match path.strip_prefix("/hoptax.echo.v1.Echo/") {
        Some("Unary") if messages.len() == 1 => messages,
        Some("ServerStream") if messages.len() == 1 => messages.repeat(TIMES),
        Some("Unary" | "ServerStream") => {
            return failed(INVALID_ARGUMENT, "the call takes one message");
        }
        Some("ClientStream") => messages.last().into_iter().copied().collect(),
        Some("Bidirectional") => messages,
        _ => return failed(UNIMPLEMENTED, "there is only /hoptax.echo.v1.Echo"),
    };
    succeeded(back.into_iter().flat_map(framed).collect())
}

fn succeeded(body: Vec<u8>) -> Response {
    let trailers = vec![("grpc-status".to_owned(), "0".to_owned())];
    Response { fields: fields(), body: Body::Bytes(body), trailers }
}

/// The answer to a call that fails.
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
