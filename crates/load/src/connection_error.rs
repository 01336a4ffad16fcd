//! Errors of a connection.

use hoptax_wire::ProtocolError;
use hoptax_wire::tls::TlsError;
use rustix::io::Errno;
use thiserror::Error;

/// An error of a connection.
#[derive(Debug, Error)]
pub(crate) enum ConnectionError {
    #[error("{0}")]
    Socket(#[from] Errno),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("the server closed the connection before it was ready")]
    Closed,
    #[error(
        "the server did not select `{0}` in the TLS handshake (ALPN); it does not support it on this port"
    )]
    Alpn(String),
}
