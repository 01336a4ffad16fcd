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

impl ExpectedHeader {
    /// Whether a header is this one.
    pub(crate) fn is(&self, name: &[u8], value: &[u8]) -> bool {
        self.name.as_bytes().eq_ignore_ascii_case(name)
            && self.value.as_ref().is_none_or(|expected| expected.trim().as_bytes() == value.trim_ascii())
    }
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

/// Why a connection of QUIC is lost.
#[cfg(feature = "http3")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quic {
    /// No version in common, or no way to secure it.
    Version,
    /// One side ended the handshake of TLS with this alert.
    Alert(u8),
    /// One side closed it with this code.
    Closed(u64),
    /// The server does not know it any more.
    Reset,
    /// Nothing was heard for too long.
    Silent,
}

#[cfg(feature = "http3")]
impl std::fmt::Display for Quic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version => f.write_str("there is no version of QUIC in common, or no cipher suite for it"),
            // The alerts of TLS by number (RFC 8446, section 6).
            Self::Alert(42 | 46) => {
                f.write_str("the certificate is not accepted; name the expected one with --server-name")
            }
            Self::Alert(45) => f.write_str("the certificate has expired"),
            Self::Alert(48 | 51) => f.write_str(
                "the certificate is signed by nobody who is trusted here; name the authority with --ca",
            ),
            Self::Alert(116) => {
                f.write_str("the server wants a client certificate; give one with --cert and --key")
            }
            Self::Alert(120) => {
                f.write_str("the server does not speak HTTP/3 there (it refused it in the negotiation, ALPN)")
            }
            Self::Alert(alert) => write!(f, "the handshake failed with alert {alert} of TLS"),
            Self::Closed(code) => write!(f, "the connection was closed with code {code:#x} of QUIC"),
            Self::Reset => f.write_str("the server does not know the connection any more"),
            Self::Silent => f.write_str("nothing was heard from the server for too long"),
        }
    }
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
    /// A frame that may not be there, or not look so.
    #[cfg(feature = "http3")]
    #[error("the server broke a rule of HTTP/3: {0}")]
    Http3(&'static str),
    /// The connection under HTTP/3.
    #[cfg(feature = "http3")]
    #[error("{0}")]
    Quic(Quic),
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
