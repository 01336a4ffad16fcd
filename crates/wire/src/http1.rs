//! HTTP/1.1 (RFC 9112): request encoding, and parsing of responses and chunked bodies.

mod asked;
mod chunked;
mod head;
mod malformed;
mod request;
mod response;

pub use asked::Asked;
pub use chunked::{ChunkedBody, ChunkedProgress};
pub(crate) use head::parse;
pub use head::{MAX_FIELDS, MAX_HEAD_BYTES};
pub use malformed::{Malformed, Truncated};
pub use request::{Request, RequestError, expects_body};
pub(crate) use response::same_length;
pub use response::{Deviation, Progress, ResponseReader};
