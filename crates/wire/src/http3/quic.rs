//! QUIC helpers for both sides: one connection of an endpoint, and its datagrams.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::{Connection, ConnectionError, ConnectionHandle, Endpoint, EndpointConfig, TransportConfig};
use quinn_proto::{ReadError, StreamId, VarInt, congestion};

use crate::response::{ProtocolError, QuicError};

/// Flow-control window of a stream.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;
/// Limit on concurrent streams of the peer.
const STREAMS: u32 = 4096;

/// QUIC transport settings of both sides.
pub(super) fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(4 * STREAM_WINDOW_BYTES))
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        // Idle connections are kept open: the load decides when to close them.
        .max_idle_timeout(None)
        .congestion_controller_factory(Arc::new(congestion::CubicConfig::default()));
    Arc::new(config)
}

/// An endpoint that opens connections, and accepts them too if it has a server configuration.
pub(super) fn endpoint(server: Option<Arc<quinn_proto::ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(EndpointConfig::default()), server, false, None)
}

/// Exchanges pending events between a connection and its endpoint.
pub(super) fn exchange(endpoint: &mut Endpoint, handle: ConnectionHandle, connection: &mut Connection) {
    while let Some(event) = connection.poll_endpoint_events() {
        if let Some(event) = endpoint.handle_event(handle, event) {
            connection.handle_event(event);
        }
    }
}

/// Writes the next datagram of a connection into `datagram`, which is cleared. Returns its destination; None if there
/// is none.
pub(super) fn next_datagram(connection: &mut Connection, datagram: &mut Vec<u8>) -> Option<SocketAddr> {
    datagram.clear();
    let transmit = connection.poll_transmit(Instant::now(), 1, datagram)?;
    datagram.truncate(transmit.size);
    Some(transmit.destination)
}

/// Writes the opening of a unidirectional stream.
///
/// # Errors
/// When the peer does not leave enough flow control for it, which RFC 9114 requires (section 6.2).
pub(super) fn write_opening(
    connection: &mut Connection,
    id: StreamId,
    opening: &[u8],
) -> Result<(), ProtocolError> {
    match connection.send_stream(id).write(opening) {
        Ok(written) if written == opening.len() => Ok(()),
        Ok(_) | Err(_) => Err(ProtocolError::Http3("no flow-control window for the control stream")),
    }
}

/// Reason why reading a stream has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadEnd {
    /// More data may arrive.
    Blocked,
    /// The stream is complete.
    Finished,
    /// The peer reset it, with this code.
    Reset(u64),
    /// The limit was reached; more data may have arrived.
    Limit,
}

/// Calls `each` with the data that arrived on a stream.
///
/// # Errors
/// An error of `each`.
pub(super) fn read(
    connection: &mut Connection,
    id: StreamId,
    each: impl FnMut(&[u8]) -> Result<(), ProtocolError>,
) -> Result<ReadEnd, ProtocolError> {
    read_at_most(connection, id, usize::MAX, each)
}

/// Like [`read`], with a limit on the number of bytes. The rest stays with QUIC, whose flow control then limits the peer.
///
/// # Errors
/// An error of `each`.
pub(super) fn read_at_most(
    connection: &mut Connection,
    id: StreamId,
    max_bytes: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), ProtocolError>,
) -> Result<ReadEnd, ProtocolError> {
    let mut unread_bytes = max_bytes;
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return Ok(ReadEnd::Blocked) };
    let mut fed = Ok(());
    let ended = loop {
        if unread_bytes == 0 {
            break ReadEnd::Limit;
        }
        match chunks.next(unread_bytes) {
            Ok(Some(chunk)) => {
                unread_bytes -= chunk.bytes.len();
                if fed.is_ok() {
                    fed = each(&chunk.bytes);
                }
            }
            Ok(None) => break ReadEnd::Finished,
            Err(ReadError::Blocked) => break ReadEnd::Blocked,
            Err(ReadError::Reset(code)) => break ReadEnd::Reset(code.into_inner()),
        }
    };
    // Pending transmissions go out with the next datagram.
    let _ = chunks.finalize();
    fed.map(|()| ended)
}

/// Returns the reason why a connection is lost, as reported in results.
pub(super) fn broken(error: &ConnectionError) -> ProtocolError {
    let of_transport = |code: quinn_proto::TransportErrorCode| {
        let code = u64::from(code);
        // A TLS alert is in the lower byte (RFC 9001, section 4.8).
        if code >> 8 == 1 { QuicError::Alert(code as u8) } else { QuicError::Closed(code) }
    };
    ProtocolError::Quic(match error {
        ConnectionError::VersionMismatch => QuicError::Version,
        // The client sends these alerts about the certificate of the server, which sends them about that of the client.
        ConnectionError::TransportError(error) => match of_transport(error.code) {
            QuicError::Alert(48 | 51) => QuicError::Untrusted,
            other => other,
        },
        ConnectionError::ConnectionClosed(close) => of_transport(close.error_code),
        ConnectionError::ApplicationClosed(close) => QuicError::Closed(close.error_code.into_inner()),
        ConnectionError::Reset => QuicError::Reset,
        ConnectionError::TimedOut => QuicError::IdleTimeout,
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => QuicError::Closed(0),
    })
}
