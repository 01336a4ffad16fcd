//! HTTP/1.1 as a client speaks it (RFC 9112): a request encoded once, and a reader of answers.

mod chunked;
mod request;
mod response;

pub use request::{Request, RequestError};
pub use response::{Answer, Malformed, Progress, ResponseReader, Truncated};
