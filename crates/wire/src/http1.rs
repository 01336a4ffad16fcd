//! HTTP/1.1 (RFC 9112): request encoding, and parsing of responses and chunked bodies.

mod chunked;
mod malformed;
mod request;
mod response;

pub use chunked::{ChunkedBody, ChunkedProgress};
pub use malformed::Malformed;
pub use request::{Request, RequestError, expects_body};
pub use response::{Progress, ResponseReader, Truncated};
