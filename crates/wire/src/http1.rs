//! HTTP/1.1 (RFC 9112): request encoding, and parsing of responses and chunked bodies.

mod chunked;
mod head;
mod request;
mod response;

pub use chunked::{ChunkedBody, ChunkedProgress};
pub(crate) use head::parse;
pub use head::{MAX_FIELDS, MAX_HEAD_BYTES};
pub use request::{Request, RequestError, expects_body};
pub use response::{Deviation, Progress, ResponseReader};
