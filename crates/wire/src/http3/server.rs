//! The server side of all connections of a socket, for the origin.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, Event as QuicEvent, FinishError,
    ServerConfig, StreamEvent, StreamId, VarInt, WriteError,
};

use super::frame::opening;
use super::quic::{self, ReadEnd};
use super::request::{PendingResponse, RequestId, Stream};
use super::{NO_ERROR, REQUEST_CANCELLED};
use crate::response::ProtocolError;
use crate::server::{Body, IsStreaming, ServerEvent};
use crate::tls;

/// All connections of a socket.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    /// Connections by number.
    peers: BTreeMap<u64, Peer>,
    /// Numbers by the handles of QUIC, which are reused.
    numbers: BTreeMap<usize, u64>,
    next_number: u64,
    /// A pending datagram of the endpoint itself.
    reply: Option<(SocketAddr, Vec<u8>)>,
    is_streaming: IsStreaming,
}

#[derive(Debug)]
struct Peer {
    handle: ConnectionHandle,
    connection: Connection,
    streams: BTreeMap<StreamId, Stream>,
    /// Streams with data that is left to QUIC until there is room for it.
    paused: BTreeSet<StreamId>,
}

impl Server {
    /// A server with the TLS settings `config` that reports requests for which `is_streaming` is true while they arrive. None
    /// if the settings have no cipher suite for QUIC.
    pub fn new(config: &tls::ServerConfig, is_streaming: IsStreaming) -> Option<Self> {
        let mut config = config.clone();
        config.alpn_protocols = vec![super::ALPN.to_vec()];
        let crypto = QuicServerConfig::try_from(config).ok()?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(quic::transport());
        let endpoint = quic::endpoint(Some(Arc::new(config)));
        Some(Self {
            endpoint,
            peers: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next_number: 0,
            reply: None,
            is_streaming,
        })
    }

    /// Processes a datagram. Returns true if it began a connection.
    pub fn feed(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        events: &mut Vec<ServerEvent<RequestId>>,
    ) -> bool {
        let (now, mut reply) = (Instant::now(), Vec::new());
        let data = BytesMut::from(datagram);
        match self.endpoint.handle(now, from, None, None, data, &mut reply) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(number) = self.numbers.get(&handle.0).copied()
                    && let Some(peer) = self.peers.get_mut(&number)
                {
                    peer.connection.handle_event(event);
                    self.poll(number, events);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut reply, None) {
                    Ok((handle, connection)) => {
                        let number = self.next_number;
                        self.next_number += 1;
                        self.numbers.insert(handle.0, number);
                        self.peers.insert(number, Peer::new(handle, connection));
                        self.poll(number, events);
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

    /// Returns the time at which [`Self::tick`] is due next.
    pub fn next_tick(&mut self) -> Option<Instant> {
        if self.peers.values().any(|peer| peer.resumable().next().is_some()) {
            return Some(Instant::now());
        }
        self.peers.values_mut().filter_map(|peer| peer.connection.poll_timeout()).min()
    }

    /// Handles timers, and continues to read paused streams that have room again.
    pub fn tick(&mut self, events: &mut Vec<ServerEvent<RequestId>>) {
        let now = Instant::now();
        let is_due = |peer: &mut Peer| peer.connection.poll_timeout().is_some_and(|due| due <= now);
        let due: Vec<u64> =
            self.peers.iter_mut().filter_map(|(number, peer)| is_due(peer).then_some(*number)).collect();
        for number in due {
            if let Some(peer) = self.peers.get_mut(&number) {
                peer.connection.handle_timeout(now);
            }
            self.poll(number, events);
        }
        for (number, peer) in &mut self.peers {
            let resumable: Vec<StreamId> = peer.resumable().collect();
            for id in resumable {
                peer.take(*number, id, self.is_streaming, events);
            }
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
    pub fn respond(
        &mut self,
        request: RequestId,
        fields: &[(&str, &str)],
        body: Body,
        trailers: &[(&str, &str)],
    ) {
        self.with(request, |stream| {
            stream.response = Some(PendingResponse::complete(fields, body, trailers));
        });
    }

    /// Starts the response to a streaming request.
    pub fn begin(&mut self, request: RequestId, fields: &[(&str, &str)]) {
        self.with(request, |stream| {
            stream.response = Some(PendingResponse::begin(fields));
        });
    }

    /// Appends to a streaming response.
    pub fn push(&mut self, request: RequestId, bytes: &[u8]) {
        self.with(request, |stream| {
            if let Some(response) = &mut stream.response {
                response.push(bytes);
            }
        });
    }

    /// Reports that this many bytes of [`ServerEvent::Data`] are processed. [`Self::tick`] then reads on.
    pub fn release(&mut self, request: RequestId, bytes: usize) {
        self.with(request, |stream| stream.unreleased_bytes = stream.unreleased_bytes.saturating_sub(bytes));
    }

    /// Ends a streaming response. If the request has not ended, the rest of it is refused.
    pub fn finish(&mut self, request: RequestId, trailers: &[(&str, &str)]) {
        self.with(request, |stream| {
            if let Some(response) = &mut stream.response {
                response.end(trailers);
            }
        });
    }

    /// Resets a request without a response.
    pub fn reset(&mut self, request: RequestId) {
        let Some(peer) = self.peers.get_mut(&request.connection) else { return };
        let Ok(id) = VarInt::from_u64(request.stream).map(StreamId::from) else { return };
        // The stream of a closed connection needs no reset.
        let _ = peer.connection.send_stream(id).reset(VarInt::from_u32(REQUEST_CANCELLED));
        peer.remove(id, REQUEST_CANCELLED);
    }

    /// Bytes of responses that QUIC has not taken yet, over all streams of a connection.
    pub fn unsent_bytes(&self, connection: u64) -> u64 {
        let streams = self.peers.get(&connection).into_iter().flat_map(|peer| peer.streams.values());
        streams.map(Stream::unsent_bytes).sum()
    }

    /// Changes a stream, and sends the bytes that its response then has.
    fn with(&mut self, request: RequestId, change: impl FnOnce(&mut Stream)) {
        let Some(peer) = self.peers.get_mut(&request.connection) else { return };
        let Ok(id) = VarInt::from_u64(request.stream).map(StreamId::from) else { return };
        if let Some(stream) = peer.streams.get_mut(&id) {
            change(stream);
            peer.send_pending(id);
        }
    }

    /// Closes all connections.
    pub fn close(&mut self) {
        for peer in self.peers.values_mut() {
            peer.connection.close(Instant::now(), VarInt::from_u32(0x100), bytes::Bytes::new());
        }
    }

    fn poll(&mut self, number: u64, events: &mut Vec<ServerEvent<RequestId>>) {
        let Some(peer) = self.peers.get_mut(&number) else { return };
        quic::exchange(&mut self.endpoint, peer.handle, &mut peer.connection);
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
                QuicEvent::Stream(StreamEvent::Writable { id }) => peer.send_pending(id),
                QuicEvent::Stream(StreamEvent::Stopped { id, .. }) if peer.remove(id, REQUEST_CANCELLED) => {
                    events.push(ServerEvent::Cancelled { stream: request(number, id) });
                }
                QuicEvent::ConnectionLost { .. } => peer.cancel_all(number, events),
                _ => {}
            }
        }
        for id in readable {
            peer.take(number, id, self.is_streaming, events);
        }
        quic::exchange(&mut self.endpoint, peer.handle, &mut peer.connection);
        if peer.connection.is_drained() {
            self.numbers.remove(&peer.handle.0);
            self.peers.remove(&number);
        }
    }
}

fn request(connection: u64, stream: StreamId) -> RequestId {
    RequestId { connection, stream: VarInt::from(stream).into() }
}

impl Peer {
    fn new(handle: ConnectionHandle, connection: Connection) -> Self {
        Self { handle, connection, streams: BTreeMap::new(), paused: BTreeSet::new() }
    }

    /// The paused streams that have room again.
    fn resumable(&self) -> impl Iterator<Item = StreamId> {
        let has_room = |id: &&StreamId| self.streams.get(id).is_some_and(|stream| stream.room_bytes() > 0);
        self.paused.iter().filter(has_room).copied()
    }

    /// Reads a stream. A violation of the protocol closes the connection.
    fn take(
        &mut self,
        connection: u64,
        id: StreamId,
        is_streaming: IsStreaming,
        events: &mut Vec<ServerEvent<RequestId>>,
    ) {
        if self.read(connection, id, is_streaming, events).is_err() {
            // 0x101: H3_GENERAL_PROTOCOL_ERROR (RFC 9114, section 8.1).
            self.connection.close(Instant::now(), VarInt::from_u32(0x101), bytes::Bytes::new());
            self.cancel_all(connection, events);
        }
    }

    fn read(
        &mut self,
        connection: u64,
        id: StreamId,
        is_streaming: IsStreaming,
        events: &mut Vec<ServerEvent<RequestId>>,
    ) -> Result<(), ProtocolError> {
        self.paused.remove(&id);
        let number = request(connection, id);
        loop {
            let Some(stream) = self.streams.get_mut(&id) else {
                // Unidirectional streams of clients are read and ignored.
                return quic::read(&mut self.connection, id, |_| Ok(())).map(drop);
            };
            let room_bytes = stream.room_bytes();
            if room_bytes == 0 {
                self.paused.insert(id);
                return Ok(());
            }
            let ended = quic::read_at_most(&mut self.connection, id, room_bytes, |bytes| {
                stream.feed(bytes, number, is_streaming, events)
            })?;
            match ended {
                ReadEnd::Limit => {}
                ReadEnd::Blocked => return Ok(()),
                ReadEnd::Finished => {
                    stream.has_ended = true;
                    if stream.is_reported_in_parts {
                        events.push(ServerEvent::Ended { stream: number });
                    } else if let Some(head) = stream.head.take() {
                        let body = std::mem::take(&mut stream.body);
                        events.push(ServerEvent::Request { stream: number, head, body });
                    }
                    return Ok(());
                }
                ReadEnd::Reset(_) => {
                    self.streams.remove(&id);
                    events.push(ServerEvent::Cancelled { stream: number });
                    return Ok(());
                }
            }
        }
    }

    /// Removes a stream, and refuses the rest of its request with this code. Returns true if there was such a stream.
    fn remove(&mut self, id: StreamId, code: u32) -> bool {
        self.paused.remove(&id);
        let Some(stream) = self.streams.remove(&id) else { return false };
        if !stream.has_ended {
            // The stream of a closed connection needs none.
            let _ = self.connection.recv_stream(id).stop(VarInt::from_u32(code));
        }
        true
    }

    /// Cancels all requests of a connection that is lost.
    fn cancel_all(&mut self, connection: u64, events: &mut Vec<ServerEvent<RequestId>>) {
        self.paused.clear();
        let streams = std::mem::take(&mut self.streams).into_keys();
        events.extend(streams.map(|id| ServerEvent::Cancelled { stream: request(connection, id) }));
    }

    /// Sends as much of a response as flow control allows. If the peer has stopped reading, the stream stays until QUIC reports
    /// that as an event, which cancels the request: a stream may become writable first.
    fn send_pending(&mut self, id: StreamId) {
        let Some(Stream { response: Some(response), .. }) = self.streams.get_mut(&id) else { return };
        let mut stream = self.connection.send_stream(id);
        loop {
            response.encode();
            if response.unsent.is_empty() {
                if response.is_streaming {
                    return;
                }
                match stream.finish() {
                    Ok(()) | Err(FinishError::ClosedStream) => break,
                    Err(FinishError::Stopped(_)) => return,
                }
            }
            match stream.write(&response.unsent) {
                Ok(written) => drop(response.unsent.drain(..written)),
                Err(WriteError::ClosedStream) => break,
                Err(WriteError::Blocked | WriteError::Stopped(_)) => return,
            }
        }
        self.remove(id, NO_ERROR);
    }
}

#[cfg(test)]
mod tests;
