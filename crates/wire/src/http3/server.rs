//! The server side of all connections of a socket, for the origin.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, Event as QuicEvent};
use quinn_proto::{FinishError, ServerConfig, StreamEvent, StreamId, VarInt};

use super::frame::{FrameReader, Piece, kind, opening, put_head, put_headers};
use super::quic::{self, Ended};
use super::{REQUEST_CANCELLED, qpack};
use crate::http2::{Body, Head};
use crate::response::ProtocolError;
use crate::tls;

/// Maximum size of a piece of a body that is queued at once.
const PIECE_BYTES: u64 = 64 * 1024;

/// A complete request. Its body is read and discarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its connection, counted from 0.
    pub connection: usize,
    /// Its stream.
    pub stream: u64,
    /// Its head.
    pub head: Head,
}

/// All connections of a socket.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    peers: BTreeMap<usize, Peer>,
    /// A pending datagram of the endpoint itself.
    reply: Option<(SocketAddr, Vec<u8>)>,
}

#[derive(Debug)]
struct Peer {
    connection: Connection,
    streams: BTreeMap<StreamId, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    frames: FrameReader,
    head: Option<Head>,
    /// The response's unsent bytes, its body, and how much of the body has been encoded.
    response: Option<(Vec<u8>, Body, u64)>,
}

impl Server {
    /// A server with the TLS settings `config`; None if they have no cipher suite for QUIC.
    pub fn new(config: &tls::ServerConfig) -> Option<Self> {
        let mut config = config.clone();
        config.alpn_protocols = vec![super::ALPN.to_vec()];
        let crypto = QuicServerConfig::try_from(config).ok()?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(quic::transport());
        Some(Self { endpoint: quic::endpoint(Some(Arc::new(config))), peers: BTreeMap::new(), reply: None })
    }

    /// Processes a datagram. Requests that it completes are appended to `requests`. Returns whether it began a
    /// connection.
    pub fn feed(&mut self, from: SocketAddr, datagram: &[u8], requests: &mut Vec<Request>) -> bool {
        let (now, mut reply) = (Instant::now(), Vec::new());
        let data = BytesMut::from(datagram);
        match self.endpoint.handle(now, from, None, None, data, &mut reply) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(peer) = self.peers.get_mut(&handle.0) {
                    peer.connection.handle_event(event);
                }
                self.look(handle.0, requests);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut reply, None) {
                    Ok((handle, connection)) => {
                        self.peers.insert(handle.0, Peer { connection, streams: BTreeMap::new() });
                        self.look(handle.0, requests);
                        return true;
                    }
                    Err(error) => self.reply(error.response, reply),
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.reply(Some(transmit), reply),
            None => {}
        }
        false
    }

    fn reply(&mut self, transmit: Option<quinn_proto::Transmit>, mut datagram: Vec<u8>) {
        if let Some(transmit) = transmit {
            datagram.truncate(transmit.size);
            self.reply = Some((transmit.destination, datagram));
        }
    }

    /// When [`Self::tick`] is due next.
    pub fn next_tick(&mut self) -> Option<Instant> {
        self.peers.values_mut().filter_map(|peer| peer.connection.poll_timeout()).min()
    }

    /// Handles timers.
    pub fn tick(&mut self, requests: &mut Vec<Request>) {
        let now = Instant::now();
        let is_due = |peer: &mut Peer| peer.connection.poll_timeout().is_some_and(|due| due <= now);
        let due: Vec<usize> =
            self.peers.iter_mut().filter_map(|(handle, peer)| is_due(peer).then_some(*handle)).collect();
        for handle in due {
            if let Some(peer) = self.peers.get_mut(&handle) {
                peer.connection.handle_timeout(now);
            }
            self.look(handle, requests);
        }
    }

    /// Writes the next datagram to send into `datagram`, which is cleared. Returns its destination; None if there is
    /// none.
    pub fn next_datagram(&mut self, datagram: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some(to) = self.take_reply(datagram) {
            return Some(to);
        }
        self.peers.values_mut().find_map(|peer| quic::next_datagram(&mut peer.connection, datagram))
    }

    /// As [`Self::next_datagram`], for the reply to the last datagram, which belongs to no connection.
    pub fn take_reply(&mut self, datagram: &mut Vec<u8>) -> Option<SocketAddr> {
        let (to, reply) = self.reply.take()?;
        *datagram = reply;
        Some(to)
    }

    /// Responds to a request.
    pub fn respond(&mut self, connection: usize, stream: u64, fields: &[(&str, &str)], body: Body) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Ok(id) = VarInt::from_u64(stream).map(StreamId::from) else { return };
        let Some(one) = peer.streams.get_mut(&id) else { return };
        let mut bytes = Vec::new();
        put_headers(&mut bytes, fields.iter().copied());
        if body.len() > 0 {
            put_head(&mut bytes, kind::DATA, body.len());
        }
        one.response = Some((bytes, body, 0));
        peer.go_on(id);
    }

    /// Resets a request without a response.
    pub fn reset(&mut self, connection: usize, stream: u64) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        let Ok(id) = VarInt::from_u64(stream).map(StreamId::from) else { return };
        // The stream of a closed connection needs no reset.
        let _ = peer.connection.send_stream(id).reset(VarInt::from_u32(REQUEST_CANCELLED));
        peer.streams.remove(&id);
    }

    /// Closes all connections.
    pub fn close(&mut self) {
        for peer in self.peers.values_mut() {
            peer.connection.close(Instant::now(), VarInt::from_u32(0x100), bytes::Bytes::new());
        }
    }

    fn look(&mut self, handle: usize, requests: &mut Vec<Request>) {
        let Some(peer) = self.peers.get_mut(&handle) else { return };
        quic::exchange(&mut self.endpoint, ConnectionHandle(handle), &mut peer.connection);
        let mut readable = Vec::new();
        while let Some(event) = peer.connection.poll() {
            match event {
                QuicEvent::Connected => {
                    if let Some(id) = peer.connection.streams().open(Dir::Uni)
                        && quic::write_opening(&mut peer.connection, id, &opening()).is_err()
                    {
                        // 0x104: H3_CLOSED_CRITICAL_STREAM (RFC 9114, section 8.1).
                        let code = VarInt::from_u32(0x104);
                        peer.connection.close(Instant::now(), code, bytes::Bytes::new());
                    }
                }
                QuicEvent::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = peer.connection.streams().accept(dir) {
                        if dir == Dir::Bi {
                            peer.streams.insert(id, Stream::default());
                        }
                        readable.push(id);
                    }
                }
                QuicEvent::Stream(StreamEvent::Readable { id }) => readable.push(id),
                QuicEvent::Stream(StreamEvent::Writable { id }) => peer.go_on(id),
                QuicEvent::Stream(StreamEvent::Stopped { id, .. }) => {
                    peer.streams.remove(&id);
                }
                _ => {}
            }
        }
        for id in readable {
            match peer.read(id) {
                Ok(Some(head)) => {
                    let stream = VarInt::from(id).into();
                    requests.push(Request { connection: handle, stream, head });
                }
                Ok(None) => {}
                // 0x101: H3_GENERAL_PROTOCOL_ERROR (RFC 9114, section 8.1).
                Err(_) => peer.connection.close(Instant::now(), VarInt::from_u32(0x101), bytes::Bytes::new()),
            }
        }
        quic::exchange(&mut self.endpoint, ConnectionHandle(handle), &mut peer.connection);
        if peer.connection.is_drained() {
            self.peers.remove(&handle);
        }
    }
}

impl Peer {
    /// Reads a stream. Returns the head of its request once complete.
    fn read(&mut self, id: StreamId) -> Result<Option<Head>, ProtocolError> {
        let Some(stream) = self.streams.get_mut(&id) else {
            // Unidirectional streams of clients are read and ignored.
            quic::read(&mut self.connection, id, |_| Ok(()))?;
            return Ok(None);
        };
        let Stream { frames, head, .. } = stream;
        let ended = quic::read(&mut self.connection, id, |bytes| {
            frames.feed(bytes, |piece| match piece {
                Piece::Whole(kind::HEADERS, block) if head.is_none() => {
                    *head = Some(request_head(block)?);
                    Ok(())
                }
                _ => Ok(()),
            })
        })?;
        match ended {
            Ended::No => Ok(None),
            Ended::Whole => Ok(head.take()),
            Ended::Reset(_) => {
                self.streams.remove(&id);
                Ok(None)
            }
        }
    }

    /// Sends as much of a response as flow control allows.
    fn go_on(&mut self, id: StreamId) {
        let Some(Stream { response: Some((bytes, body, taken)), .. }) = self.streams.get_mut(&id) else {
            return;
        };
        let mut stream = self.connection.send_stream(id);
        loop {
            if bytes.is_empty() && *taken < body.len() {
                let piece = body.piece(*taken, PIECE_BYTES);
                *taken += piece.len() as u64;
                bytes.extend_from_slice(piece);
            }
            if bytes.is_empty() {
                match stream.finish() {
                    // The peer stopped reading.
                    Ok(()) | Err(FinishError::ClosedStream | FinishError::Stopped(_)) => break,
                }
            }
            match stream.write(bytes) {
                Ok(written) => drop(bytes.drain(..written)),
                Err(quinn_proto::WriteError::Blocked) => return,
                // The peer stopped reading.
                Err(quinn_proto::WriteError::Stopped(_) | quinn_proto::WriteError::ClosedStream) => break,
            }
        }
        self.streams.remove(&id);
    }
}

fn request_head(block: &[u8]) -> Result<Head, ProtocolError> {
    let mut head = Head::default();
    let each = |name: &[u8], value: &[u8]| head.take(name, value);
    qpack::decode(block, each).map_err(|_| ProtocolError::Http3("a header block that cannot be read"))?;
    if !head.is_whole() {
        return Err(ProtocolError::Http3("a request without a method or a path"));
    }
    Ok(head)
}
