//! Responses and connection events, common to all protocols.

use thiserror::Error;

use crate::error_codes::REFUSED_STREAM;
use crate::malformed::{Malformed, Truncated};
use crate::tls::{REQUIRES_CLIENT_CERTIFICATE, UNTRUSTED};

/// A complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status code; 0 if the protocol has none.
    pub status: u16,
    /// gRPC status, if any.
    pub grpc_status: Option<u16>,
    /// Bytes of the body after transfer decoding.
    pub body_bytes: u64,
    /// True if the connection may carry another request.
    pub keep_alive: bool,
    /// True if all expected headers were present and the body was as expected.
    pub is_as_expected: bool,
}

impl Response {
    /// A response of a protocol that has neither status nor headers.
    pub(crate) fn with_body_bytes(body_bytes: u64) -> Self {
        Self { status: 0, grpc_status: None, body_bytes, keep_alive: true, is_as_expected: true }
    }
}

/// A header that a response must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedHeader {
    /// Its name, case-insensitive.
    pub name: String,
    /// Its value; None for any value.
    pub value: Option<String>,
}

impl ExpectedHeader {
    /// True if a header matches.
    pub(crate) fn is(&self, name: &[u8], value: &[u8]) -> bool {
        self.name.as_bytes().eq_ignore_ascii_case(name)
            && self.value.as_ref().is_none_or(|expected| expected.trim().as_bytes() == value.trim_ascii())
    }
}

/// An event on one of the streams of a connection, or on all of it. Streams are counted from 0; a protocol without
/// streams has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first byte of a response has arrived. Left out if the same read completes the response. It is reported again if the first report
    /// belongs to an interim response of HTTP/1.1 whose head arrived in pieces.
    FirstByte {
        /// Its stream.
        stream: u32,
    },
    /// A message of a gRPC response is complete. Reported only if messages are timed.
    Message {
        /// Its stream.
        stream: u32,
    },
    /// A response is complete, and its stream is free.
    Answered {
        /// Its stream.
        stream: u32,
        /// The response.
        response: Response,
    },
    /// No response will arrive. The stream is free, and the connection stays usable.
    Lost {
        /// Its stream.
        stream: u32,
        /// The reason.
        loss: Loss,
    },
    /// The server accepts no further request on this connection. Requests in flight are still answered.
    Draining {
        /// The server's reason: an HTTP/2 error code, or 0.
        code: u32,
    },
    /// The server's limit on concurrent requests has changed, and the client has acknowledged it.
    Limit {
        /// Concurrent requests that it allows.
        streams: u32,
    },
}

impl Loss {
    /// True if the server states that it has not processed the request, so that it is safe to send it again on another connection (RFC
    /// 9113, section 8.7; RFC 9114, section 4.1.1).
    pub fn is_unprocessed(self) -> bool {
        matches!(self, Self::Unprocessed(_) | Self::Reset { code: REFUSED_STREAM, .. })
    }
}

impl Event {
    /// Appends the end of a response to the events of a read. If the response also began in it, the beginning is left out.
    pub(crate) fn push_answered(events: &mut Vec<Self>, stream: u32, response: Response) {
        if matches!(events.last(), Some(Self::FirstByte { stream: begun }) if *begun == stream) {
            events.pop();
        }
        events.push(Self::Answered { stream, response });
    }
}

/// Reason why no response will arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server reset the stream.
    Reset {
        /// The HTTP/2 error code that it counts as.
        code: u32,
        /// The code that the server stated, of its version of HTTP.
        stated: u64,
    },
    /// The server went away without processing the request, with this HTTP/2 error code; 0 with HTTP/3, whose GOAWAY has none.
    Unprocessed(u32),
    /// The response is inconsistent, in this way.
    Malformed(&'static str),
    /// The head or the trailers of the response are invalid.
    Fields(Malformed),
    /// The server switched to another protocol.
    Switched,
}

/// Reason why a QUIC connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicError {
    /// No common version, or no cipher suite for it.
    Version,
    /// No trusted authority signed the server's certificate.
    Untrusted,
    /// One side aborted the TLS handshake with this other alert.
    Alert(u8),
    /// One side closed it with this code.
    Closed(u64),
    /// The server no longer knows the connection.
    Reset,
    /// Idle timeout.
    IdleTimeout,
}

impl std::fmt::Display for QuicError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version => f.write_str("no common QUIC version, or no cipher suite for it"),
            // TLS alerts by number (RFC 8446, section 6).
            Self::Alert(42 | 46) => {
                f.write_str("the certificate is not accepted; --server-name sets the expected name")
            }
            Self::Alert(45) => f.write_str("the certificate has expired"),
            Self::Untrusted => f.write_str(UNTRUSTED),
            Self::Alert(48 | 51 | 116) => f.write_str(REQUIRES_CLIENT_CERTIFICATE),
            Self::Alert(120) => f.write_str("the server does not speak HTTP/3 (ALPN refused)"),
            Self::Alert(alert) => write!(f, "the handshake failed with TLS alert {alert}"),
            Self::Closed(code) => write!(f, "the connection was closed with QUIC error code {code:#x}"),
            Self::Reset => f.write_str("stateless reset: the server no longer knows the connection"),
            Self::IdleTimeout => f.write_str("idle timeout of the connection"),
        }
    }
}

/// Bytes that violate the protocol; the connection is unusable.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ProtocolError {
    /// Invalid HTTP/1.1.
    #[error(transparent)]
    Http1(#[from] Malformed),
    /// The connection ended too early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// The server does not speak HTTP/2.
    #[error("the server does not speak HTTP/2: its first frame is not SETTINGS")]
    NotHttp2,
    /// An unexpected or invalid frame.
    #[error("HTTP/2 protocol violation by the server: {0}")]
    Http2(&'static str),
    /// An unexpected or invalid frame.
    #[error("HTTP/3 protocol violation by the server: {0}")]
    Http3(&'static str),
    /// An error of the QUIC connection.
    #[error("{0}")]
    Quic(QuicError),
    /// The server refused the upgrade to WebSocket.
    #[error("the server refused the WebSocket upgrade with status {0}")]
    NotUpgraded(u16),
    /// The response to the upgrade to WebSocket cannot be read.
    #[error("the response to the WebSocket upgrade cannot be read: {0}")]
    UpgradeHead(Malformed),
    /// The upgrade's accept key is wrong.
    #[error("the accept key of the WebSocket upgrade response is missing or wrong")]
    BadUpgrade,
    /// An invalid frame.
    #[error("WebSocket protocol violation by the server: {0}")]
    WebSocket(&'static str),
    /// More bytes than requested, or unsolicited bytes.
    #[error("more bytes than requested, or unsolicited bytes")]
    Excess,
}
