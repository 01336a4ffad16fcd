//! The error of the HTTP/1.1 parsers. The response parser and the chunked-body parser below it return the same type.

use thiserror::Error;

/// Why bytes are not a valid answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// The head is not HTTP/1.
    #[error("the head of the answer is not HTTP/1.1")]
    Head,
    /// The head is larger than 64 KiB or has more than 128 fields.
    #[error("the head of the answer is larger than 64 KiB or has more than 128 fields")]
    HeadTooLarge,
    /// `Content-Length` is not a number, is given twice with different values, or is beside `Transfer-Encoding`.
    #[error("the answer states its length in a way that cannot be trusted")]
    Length,
    /// A chunk's size line or end is invalid.
    #[error("the chunked body of the answer is broken")]
    Chunk,
    /// Bytes followed a complete answer.
    #[error("bytes followed the answer that no request asked for")]
    Excess,
}
