//! ALPN negotiation before a load, on a separate connection.
//!
//! All connections of a load use one protocol, because requests are encoded once and the pool depends on the number of
//! streams. The server therefore chooses the protocol before the first connection of the load is opened.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hoptax_wire::tls::{ClientConfig, Handshake, Tls, TlsError, offering};

use crate::connect_error::ConnectError;
use crate::dial::{self, Dial};
use crate::protocol::Protocol;
use crate::target::Target;

/// The offered protocols in order of preference.
const OFFERED: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Reason why the handshake failed.
#[derive(Debug, thiserror::Error)]
enum NoHandshake {
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the server closed the connection")]
    Closed,
}

/// Offers HTTP/2 and HTTP/1.1 to the server of a request in one TLS handshake (ALPN, RFC 7301), then closes the connection.
/// Returns HTTP/2 if the server chooses it, otherwise HTTP/1.1. The handshake is not recorded, and its session is never
/// resumed.
///
/// # Errors
/// When the handshake is not complete within `timeout`; the errors are those of a connection of the load.
pub fn negotiate(
    target: &Target,
    dial: &Dial,
    security: &Arc<ClientConfig>,
    timeout: Duration,
) -> Result<Protocol, ConnectError> {
    let address = dial.peer(target.address);
    dial.check(target.address, 1)?;
    match handshake(target, dial, &offering(security, &OFFERED), timeout) {
        Ok(handshake) if handshake.alpn.as_deref() == Some(b"h2") => Ok(Protocol::Http2),
        Ok(_) => Ok(Protocol::Http1),
        Err(NoHandshake::Socket(error))
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
        {
            Err(ConnectError::Timeout { address, seconds: timeout.as_secs_f64() })
        }
        Err(NoHandshake::Socket(error)) => Err(ConnectError::from_socket(address, 1, error)),
        Err(NoHandshake::Tls(error)) => Err(ConnectError::from_tls(address, &error)),
        Err(NoHandshake::Closed) => Err(ConnectError::closed(address)),
    }
}

fn handshake(
    target: &Target,
    dial: &Dial,
    security: &Arc<ClientConfig>,
    timeout: Duration,
) -> Result<Handshake, NoHandshake> {
    let Some(name) = &target.server_name else { return Err(NoHandshake::Closed) };
    let deadline = Instant::now() + timeout;
    let mut socket = dial.connected(target.address, timeout)?;
    let mut tls = Tls::client(security, name.clone())?;
    let (mut output, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
    tls.flush(&mut output)?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(ErrorKind::TimedOut).into());
        }
        dial::set_timeout(&socket, left).map_err(io::Error::from)?;
        socket.write_all(&output)?;
        output.clear();
        if let Some(handshake) = tls.handshake().filter(|_| !tls.is_handshaking()) {
            tls.close(&mut output)?;
            // Best effort: the server also notices the close of the socket.
            let _ = socket.write_all(&output);
            return Ok(handshake);
        }
        let read = match socket.read(&mut buffer) {
            Ok(0) => return Err(NoHandshake::Closed),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(error) => return Err(error.into()),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        if let Err(error) = tls.receive(bytes, &mut Vec::new(), &mut output) {
            // The alert with the reason; best effort.
            let _ = socket.write_all(&output);
            return Err(error.into());
        }
    }
}
