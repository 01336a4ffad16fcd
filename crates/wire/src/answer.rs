//! What comes back: an answer, whatever the protocol, and what happens to a connection meanwhile.

use thiserror::Error;

use crate::http1::{Malformed, Truncated};

/// A complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status code; 0 where the protocol has none.
    pub status: u16,
    /// Status of gRPC, where there is one.
    pub grpc_status: Option<u16>,
    /// Bytes of the body after transfer decoding.
    pub body_bytes: u64,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Whether it had every header that was expected.
    pub has_headers: bool,
}

impl Answer {
    /// So many bytes of a protocol that has neither status nor headers.
    pub(crate) fn of_bytes(body_bytes: u64) -> Self {
        Self { status: 0, grpc_status: None, body_bytes, keep_alive: true, has_headers: true }
    }
}

/// A header that an answer is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedHeader {
    /// Its name, in any case.
    pub name: String,
    /// Its value; None for any.
    pub value: Option<String>,
}

/// What bytes meant for one of the streams of a connection, or for all of it. Streams are counted from 0; where the
/// protocol has none there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first byte of an answer has come.
    Begun {
        /// Its stream.
        stream: u32,
    },
    /// An answer is complete, and its stream is free.
    Answered {
        /// Its stream.
        stream: u32,
        /// What it was.
        answer: Answer,
    },
    /// No answer will come, and the stream is free; the connection goes on.
    Lost {
        /// Its stream.
        stream: u32,
        /// Why.
        loss: Loss,
    },
    /// The server wants no further request on this connection. What is under way is still answered.
    Retired {
        /// The reason that it gave: an error code of HTTP/2, or 0.
        code: u32,
    },
}

/// Why no answer will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server reset the stream, with this error code of HTTP/2.
    Reset(u32),
    /// The server went away and has not looked at the request.
    Unseen,
    /// The answer contradicts itself.
    Malformed,
}

/// Bytes that no answer can begin or go on with; the connection is of no further use.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Broken {
    /// Not HTTP/1.1.
    #[error(transparent)]
    Http1(#[from] Malformed),
    /// Ended too early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Not HTTP/2 at all.
    #[error("the server does not speak HTTP/2 here: its first bytes are no settings")]
    NotHttp2,
    /// A frame that may not be there, or not look so.
    #[error("the server broke a rule of HTTP/2: {0}")]
    Http2(&'static str),
    /// Not WebSocket.
    #[error("the server refused to upgrade to WebSocket: it answered with status {0}")]
    NotUpgraded(u16),
    /// Upgraded, with a wrong proof.
    #[error("the server's answer to the upgrade to WebSocket does not prove that it understood it")]
    BadUpgrade,
    /// A frame that may not look so.
    #[error("the server broke a rule of WebSocket: {0}")]
    WebSocket(&'static str),
    /// More than was asked for, or anything where nothing was.
    #[error("the server sent more bytes than the answer was to have")]
    Excess,
}
