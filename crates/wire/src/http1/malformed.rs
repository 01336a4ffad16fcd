//! The error of the HTTP/1.1 parsers. The response parser and the chunked-body parser below it return the same type.

use thiserror::Error;

/// Why bytes are not a valid response.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// The head is not HTTP/1.
    #[error("the head of the response is not HTTP/1.1")]
    Head,
    /// The head is larger than 64 KiB or has more than 128 fields.
    #[error("the head of the response is larger than 64 KiB or has more than 128 fields")]
    HeadTooLarge,
    /// `Content-Length` is not a number, is given twice with different values, or is beside `Transfer-Encoding`.
    #[error("the response has an invalid or ambiguous length")]
    Length,
    /// A chunk's size line or end is invalid.
    #[error("the chunked body of the response is invalid")]
    Chunk,
    /// Bytes followed a complete response.
    #[error("the server sent bytes after the end of the response")]
    Excess,
}
