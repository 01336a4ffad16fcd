//! HTTP/1.1 (RFC 9112): request encoding, and parsing of answers and chunked bodies.

mod chunked;
mod request;
mod response;

pub use chunked::{ChunkedBody, ChunkedProgress};
pub use request::{Request, RequestError, expects_body};
pub use response::{Malformed, Progress, ResponseReader, Truncated};
