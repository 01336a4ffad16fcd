//! Violations in responses of HTTP/1.1 and in the fields of all versions of HTTP, and truncated responses.

use thiserror::Error;

/// A violation that makes bytes an invalid response. The texts name the rule, and never quote the response, which may hold secrets.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// The first bytes are not those of HTTP.
    #[error("bytes that are not HTTP/1.1")]
    NotHttp,
    /// The first bytes are a TLS record.
    #[error("TLS instead of HTTP/1.1 without TLS: the URL may have to begin with https://")]
    Tls,
    /// The first bytes are those of an HTTP/2 frame, or other binary data.
    #[error("HTTP/2 instead of HTTP/1.1: it may have to be chosen with --protocol http2")]
    Http2,
    /// The version is neither HTTP/1.0 nor HTTP/1.1.
    #[error("an HTTP version that is neither 1.0 nor 1.1")]
    Version,
    /// The rest of the first line is invalid.
    #[error("an invalid status line")]
    StatusLine,
    /// A carriage return without a line feed (RFC 9112, section 2.2).
    #[error("a bare CR")]
    BareCr,
    /// A line of the head without a colon.
    #[error("a header without a colon")]
    NoColon,
    /// A blank between the name of a field and its colon (RFC 9112, section 5.1).
    #[error("space before the colon")]
    SpaceBeforeColon,
    /// The name of a field is not a token.
    #[error("a header name with an invalid character")]
    FieldName,
    /// The value of a field contains a control character.
    #[error("a header value with a control character")]
    FieldValue,
    /// The name of a field of HTTP/2 or HTTP/3 has upper-case letters (RFC 9113, section 8.2).
    #[error("a header name in upper case")]
    UpperCase,
    /// A field of HTTP/2 or HTTP/3 that concerns the connection alone (RFC 9113, section 8.2.2).
    #[error("a header that only a connection of HTTP/1.1 has, such as Connection or Transfer-Encoding")]
    OfConnection,
    /// A pseudo-header of HTTP/2 or HTTP/3 that is not `:status`, is repeated, or follows other fields (RFC 9113, section 8.3).
    #[error("a pseudo-header that is not one :status before all headers")]
    Pseudo,
    /// The head is larger than [`crate::http1::MAX_HEAD_BYTES`].
    #[error("a head larger than 300 KiB")]
    HeadTooLarge,
    /// The head has more fields than [`crate::http1::MAX_FIELDS`].
    #[error("a head of more than 5,000 headers")]
    TooManyFields,
    /// `Content-Length` is not a number.
    #[error("a Content-Length that is not a number")]
    Length,
    /// `Content-Length` is a number that exceeds 64 bits.
    #[error("a Content-Length above 64 bits")]
    LengthTooLarge,
    /// `Content-Length` is given more than once, with different values.
    #[error("two different lengths")]
    TwoLengths,
    /// `Content-Length` beside a `Transfer-Encoding` that is `identity`, which RFC 7230 removed.
    #[error("Transfer-Encoding: identity beside a Content-Length")]
    Identity,
    /// `Content-Length` beside a `Transfer-Encoding` that does not end with `chunked`: the response would end both with the connection and
    /// at its length.
    #[error("a Transfer-Encoding that does not end with chunked beside a Content-Length")]
    NotChunked,
    /// The size of a chunk is not a hexadecimal number.
    #[error("a chunk size that is not hexadecimal")]
    ChunkSize,
    /// The size of a chunk exceeds 64 bits.
    #[error("a chunk size above 64 bits")]
    ChunkTooLarge,
    /// The data of a chunk is not followed by the end of a line.
    #[error("a chunk that does not end where its size says")]
    ChunkEnd,
    /// A line of a chunked body ends without a carriage return, or with one alone.
    #[error("a line of the chunked body that does not end with CRLF")]
    ChunkLine,
    /// A size line of a chunk, or the trailers, are longer than 16 KiB.
    #[error("a chunk-size line, or trailers, longer than 16 KiB")]
    ChunkLineTooLong,
    /// The server switched to another protocol, unsolicited (RFC 9110, section 7.8).
    #[error("101 Switching Protocols, which the request did not ask for")]
    Switched,
    /// Another response followed a complete one.
    #[error("a second, unsolicited response")]
    SecondResponse,
    /// A response without a body, such as one to `HEAD`, is followed by one.
    #[error("a body after a response that has none")]
    BodyOfNone,
    /// Other bytes followed a complete response.
    #[error("bytes after the end of the response")]
    Excess,
}

/// The peer closed the connection within a response, at this place.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Truncated {
    /// After an interim response.
    #[error("closed after an interim response, before the final one")]
    Interim,
    /// In its head.
    #[error("closed within the head of the response")]
    Head,
    /// Before the body reached its length.
    #[error("closed before the end of the Content-Length")]
    Length,
    /// Before the last chunk.
    #[error("closed before the last chunk")]
    Chunks,
    /// In a response whose end the protocol marks otherwise.
    #[error("closed within the response")]
    Message,
}
