//! The client side of a connection: requests are sent on streams, and responses arrive in any order.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, Event as QuicEvent,
};
use quinn_proto::{FinishError, StreamEvent, StreamId, VarInt};

use super::frame::{UniStream, kind, opening, put_head, put_with_cookies};
use super::quic::{self, ReadEnd};
use super::response::ResponseReader;
use super::{REQUEST_CANCELLED, code_of_http2};
use crate::body::ExpectedBody;
use crate::cookies::Cookies;
use crate::encoded::Encoded;
use crate::grpc::{Call, Messages};
use crate::response::{Event, ExpectedHeader, Loss, ProtocolError, QuicError};
use crate::tls::{self, Handshake, ServerName};

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Concurrent requests.
    pub streams: u32,
    /// The server.
    pub address: SocketAddr,
    /// TLS settings, and the expected name in the server's certificate.
    pub security: Option<(Arc<tls::ClientConfig>, ServerName<'static>)>,
}

impl PartialEq for Setup {
    fn eq(&self, other: &Self) -> bool {
        (self.streams, self.address) == (other.streams, other.address)
    }
}

impl Eq for Setup {}

/// An HTTP/3 connection.
#[derive(Debug)]
pub struct Http3 {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    address: SocketAddr,
    is_open: bool,
    handshake: Option<Handshake>,
    expected: Option<Arc<[ExpectedHeader]>>,
    expected_body: Option<Arc<ExpectedBody>>,
    /// Present if cookies are sent back.
    cookies: Option<Box<Cookies>>,
    /// Present if messages are timed.
    messages: Option<Messages>,
    streams: Box<[Stream]>,
    /// Streams for the next requests, opened and not used yet. QUIC limits how many streams may ever be opened, and the server raises
    /// that limit, usually as streams end.
    spare: VecDeque<StreamId>,
    /// The server's limit on concurrent requests, at most one for each element of `streams`.
    max_streams: u32,
    uni_streams: Vec<(StreamId, UniStream)>,
    /// A pending datagram of the endpoint itself.
    reply: Vec<u8>,
    /// Buffer of the streams that one datagram made readable.
    readable: Vec<StreamId>,
}

/// A request in flight.
#[derive(Debug, Default)]
struct Stream {
    /// None without a request, or if it was sent beyond the server's limit and waits for a stream.
    id: Option<StreamId>,
    /// The rest of the request; all of it while there is no stream.
    unsent: Vec<u8>,
    is_head: bool,
    response: ResponseReader,
    /// Its messages, if they are timed.
    call: Option<Box<Call>>,
}

impl Http3 {
    /// A new connection that has sent nothing yet.
    pub fn new(setup: &Setup, expected: Option<Arc<[ExpectedHeader]>>) -> Self {
        let mut endpoint = quic::endpoint(None);
        Self {
            connection: connect(&mut endpoint, setup),
            endpoint,
            address: setup.address,
            is_open: false,
            handshake: None,
            expected,
            expected_body: None,
            cookies: None,
            messages: None,
            streams: (0..setup.streams).map(|_| Stream::default()).collect(),
            spare: VecDeque::new(),
            max_streams: 0,
            uni_streams: Vec::new(),
            reply: Vec::new(),
            readable: Vec::new(),
        }
    }

    /// Checks that the handshake can begin.
    ///
    /// # Errors
    /// When QUIC does not support the TLS settings.
    pub fn check(&self) -> Result<(), ProtocolError> {
        if self.connection.is_some() { Ok(()) } else { Err(ProtocolError::Quic(QuicError::Version)) }
    }

    /// Checks the bodies of the following responses. Bodies are buffered only for these checks.
    pub fn check_bodies(&mut self, expected: Option<Arc<ExpectedBody>>) {
        self.expected_body = expected;
    }

    /// Stores cookies that responses set, and sends them with the following requests.
    pub fn keep_cookies(&mut self) {
        self.cookies.get_or_insert_default();
    }

    /// Sets how calls send their messages, and reports the messages of responses.
    pub fn time_messages(&mut self, messages: Messages) {
        self.messages = Some(messages);
    }

    /// True if the handshake is complete.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The server's limit on concurrent requests: those in flight, and the streams that may still be opened, at most one for each place.
    pub fn max_streams(&self) -> u32 {
        self.max_streams
    }

    /// Returns the handshake once, after it is complete.
    pub fn take_handshake(&mut self) -> Option<Handshake> {
        self.handshake.take()
    }

    /// Sends a request on a free stream, as far as flow control allows; `bytes` are those of the request, with its variables
    /// filled in.
    pub fn send(&mut self, stream: u32, request: &Encoded, bytes: &[u8]) {
        if let Some(one) = self.streams.get_mut(stream as usize) {
            let response = ResponseReader::checking(self.expected_body.clone());
            let mut unsent = Vec::with_capacity(bytes.len());
            match self.cookies.as_ref().and_then(|cookies| cookies.header()) {
                Some(cookies) => put_with_cookies(bytes, cookies, &mut unsent),
                None => unsent.extend_from_slice(bytes),
            }
            let body = bytes.get(request.body_from..).unwrap_or_default();
            let call = self.messages.map(|messages| Box::new(Call::new(messages, body)));
            *one = Stream {
                unsent,
                is_head: request.flags.is_head(),
                response,
                call,
                id: self.spare.pop_front(),
            };
            if let Some((_, connection)) = &mut self.connection {
                one.send_pending(connection);
            }
            self.open_streams();
        }
    }

    /// Opens a stream for each place without one, as far as the server's limit allows. A waiting request gets the first one.
    fn open_streams(&mut self) {
        let Some((_, connection)) = self.connection.as_mut().filter(|_| self.is_open) else { return };
        for stream in self.streams.iter_mut().filter(|stream| stream.is_waiting()) {
            stream.id = self.spare.pop_front().or_else(|| connection.streams().open(Dir::Bi));
            stream.send_pending(connection);
        }
        let in_use = self.streams.iter().filter(|stream| stream.id.is_some()).count();
        while in_use + self.spare.len() < self.streams.len()
            && let Some(id) = connection.streams().open(Dir::Bi)
        {
            self.spare.push_back(id);
        }
    }

    /// Reports the limit on concurrent requests if it has changed.
    fn report_limit(&mut self, events: &mut Vec<Event>) {
        self.open_streams();
        let in_use = self.streams.iter().filter(|stream| stream.id.is_some()).count();
        let streams = (in_use + self.spare.len()) as u32;
        if streams != self.max_streams {
            self.max_streams = streams;
            events.push(Event::Limit { streams });
        }
    }

    /// True if the whole request on a stream has been sent.
    pub fn is_sent(&self, stream: u32) -> bool {
        self.streams.get(stream as usize).is_none_or(|stream| stream.unsent.is_empty())
    }

    /// True if the response on a stream has begun.
    pub fn has_begun(&self, stream: u32) -> bool {
        self.streams.get(stream as usize).is_some_and(|stream| stream.response.has_begun())
    }

    /// True if an interim response on a stream has arrived.
    pub(crate) fn has_interim(&self, stream: u32) -> bool {
        self.streams.get(stream as usize).is_some_and(|stream| stream.response.has_interim())
    }

    /// Cancels a request; its stream is free.
    pub fn cancel(&mut self, stream: u32) {
        let Some(one) = self.streams.get_mut(stream as usize) else { return };
        if let (Some(id), Some((_, connection))) = (one.id, &mut self.connection) {
            // Errors of closed streams are irrelevant.
            let _ = connection.send_stream(id).reset(VarInt::from_u32(REQUEST_CANCELLED));
            let _ = connection.recv_stream(id).stop(VarInt::from_u32(REQUEST_CANCELLED));
        }
        *one = Stream::default();
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        if let Some((_, connection)) = &mut self.connection {
            // 0x100: H3_NO_ERROR (RFC 9114, section 8.1).
            connection.close(Instant::now(), VarInt::from_u32(0x100), bytes::Bytes::new());
        }
    }

    /// Writes the next datagram to send into `datagram`, which is cleared; false if there is none.
    pub fn next_datagram(&mut self, datagram: &mut Vec<u8>) -> bool {
        if !self.reply.is_empty() {
            std::mem::swap(&mut self.reply, datagram);
            self.reply.clear();
            return true;
        }
        let connection = self.connection.as_mut();
        connection.is_some_and(|(_, connection)| quic::next_datagram(connection, datagram).is_some())
    }

    /// Processes a datagram.
    ///
    /// # Errors
    /// When the connection is unusable.
    pub fn feed(&mut self, datagram: &[u8], events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        let now = Instant::now();
        let data = BytesMut::from(datagram);
        let event = self.endpoint.handle(now, self.address, None, None, data, &mut self.reply);
        match (event, &mut self.connection) {
            (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) => {
                self.reply.clear();
                connection.handle_event(event);
            }
            (Some(DatagramEvent::Response(transmit)), _) => self.reply.truncate(transmit.size),
            _ => self.reply.clear(),
        }
        self.poll(events)
    }

    /// Handles timers: QUIC retransmits lost packets and sends delayed acknowledgements.
    ///
    /// # Errors
    /// When the connection is unusable.
    pub fn tick(&mut self, events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        let now = Instant::now();
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|due| due <= now)
        {
            connection.handle_timeout(now);
            return self.poll(events);
        }
        Ok(())
    }

    /// Polls for events.
    fn poll(&mut self, events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        let Self { connection, endpoint, streams, uni_streams, .. } = self;
        let Some((handle, connection)) = connection else {
            return Err(ProtocolError::Quic(QuicError::Version));
        };
        quic::exchange(endpoint, *handle, connection);
        self.readable.clear();
        while let Some(event) = connection.poll() {
            match event {
                QuicEvent::Connected => {
                    self.is_open = true;
                    self.handshake = Some(Handshake {
                        version: "1.3",
                        // QUIC does not expose it.
                        cipher: "not reported".to_owned(),
                        key_exchange_group: None,
                        alpn: Some(super::ALPN.to_vec()),
                        is_resumed: false,
                        is_retried: false,
                    });
                    if let Some(id) = connection.streams().open(Dir::Uni) {
                        quic::write_opening(connection, id, &opening())?;
                    }
                }
                QuicEvent::ConnectionLost { reason } => return Err(quic::broken(&reason)),
                QuicEvent::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        uni_streams.push((id, UniStream::default()));
                        self.readable.push(id);
                    }
                }
                QuicEvent::Stream(StreamEvent::Readable { id }) => self.readable.push(id),
                QuicEvent::Stream(StreamEvent::Writable { .. }) => {
                    for stream in streams.iter_mut().filter(|stream| !stream.unsent.is_empty()) {
                        stream.send_pending(connection);
                    }
                }
                _ => {}
            }
        }
        let readable = std::mem::take(&mut self.readable);
        for &id in &readable {
            if id.dir() == Dir::Uni { self.read_uni_stream(id, events)? } else { self.read(id, events)? }
        }
        self.readable = readable;
        // Streams that ended, and new limits of the server, change the number of concurrent requests.
        self.report_limit(events);
        if let Some((handle, connection)) = &mut self.connection {
            quic::exchange(&mut self.endpoint, *handle, connection);
        }
        Ok(())
    }

    fn read_uni_stream(&mut self, id: StreamId, events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        let (Some((_, connection)), Some((_, stream))) =
            (&mut self.connection, self.uni_streams.iter_mut().find(|(one, _)| *one == id))
        else {
            return Ok(());
        };
        let mut last = None;
        quic::read(connection, id, |bytes| {
            last = stream.feed(bytes)?.or(last);
            Ok(())
        })?;
        let Some(last) = last else { return Ok(()) };
        events.push(Event::Draining { code: 0 });
        for (slot, stream) in (0..).zip(&mut self.streams) {
            // The server processes neither this request nor later ones (RFC 9114, section 5.2). One without a stream would be later.
            if stream.is_waiting() || stream.id.is_some_and(|id| u64::from(VarInt::from(id)) >= last) {
                *stream = Stream::default();
                events.push(Event::Lost { stream: slot, loss: Loss::Unprocessed(0) });
            }
        }
        Ok(())
    }

    fn read(&mut self, id: StreamId, events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        let Some(slot) = self.streams.iter().position(|stream| stream.id == Some(id)) else { return Ok(()) };
        let (Some(stream), Some((_, connection))) = (self.streams.get_mut(slot), &mut self.connection) else {
            return Ok(());
        };
        let expected = self.expected.as_deref().unwrap_or_default();
        let slot = slot as u32;
        let had_begun = stream.response.has_begun();
        let Stream { response, call, .. } = stream;
        let (cookies, mut messages) = (&mut self.cookies, 0);
        let ended = quic::read(connection, id, |bytes| {
            response.feed_with(bytes, expected, cookies.as_deref_mut(), |data| {
                messages += call.as_mut().map_or(0, |call| call.receive(data));
            })
        })?;
        if let Some(loss) = stream.response.loss(stream.is_head) {
            events.push(Event::Lost { stream: slot, loss });
            self.cancel(slot);
            return Ok(());
        }
        if !had_begun && stream.response.has_begun() {
            events.push(Event::FirstByte { stream: slot });
        }
        events.extend((0..messages).map(|_| Event::Message { stream: slot }));
        stream.answer(messages);
        match ended {
            ReadEnd::Blocked | ReadEnd::Limit => {
                if !stream.unsent.is_empty() {
                    stream.send_pending(connection);
                }
                return Ok(());
            }
            ReadEnd::Reset(code) => {
                let loss = Loss::Reset { code: code_of_http2(code), stated: code };
                events.push(Event::Lost { stream: slot, loss });
            }
            ReadEnd::Finished => match stream.response.end(stream.is_head, expected) {
                Ok(mut response) => {
                    response.is_as_expected &= stream.call.as_ref().is_none_or(|call| call.is_answered());
                    Event::push_answered(events, slot, response);
                }
                Err(loss) => events.push(Event::Lost { stream: slot, loss }),
            },
        }
        if !stream.unsent.is_empty() || stream.is_conversation_open() {
            // The server answered without the rest of the request. Errors of closed streams are irrelevant.
            let _ = connection.send_stream(id).reset(VarInt::from_u32(REQUEST_CANCELLED));
        }
        *stream = Stream::default();
        Ok(())
    }
}

fn connect(endpoint: &mut Endpoint, setup: &Setup) -> Option<(ConnectionHandle, Connection)> {
    let (config, name) = setup.security.as_ref()?;
    let crypto = QuicClientConfig::try_from(Arc::clone(config)).ok()?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(quic::transport());
    endpoint.connect(Instant::now(), config, setup.address, &name.to_str()).ok()
}

impl Stream {
    /// True if messages follow in turn, so that the request has not ended.
    fn is_conversation_open(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.is_open())
    }

    /// Appends the messages that follow this number of received ones.
    fn answer(&mut self, received: u32) {
        let Some(call) = &mut self.call else { return };
        for _ in 0..received {
            let Some(message) = call.next() else { return };
            put_head(&mut self.unsent, kind::DATA, message.len() as u64);
            self.unsent.extend_from_slice(message);
        }
    }

    /// True if there is a request that has no stream.
    fn is_waiting(&self) -> bool {
        self.id.is_none() && !self.unsent.is_empty()
    }

    /// Sends as much of the request as flow control allows, once it has a stream.
    fn send_pending(&mut self, connection: &mut Connection) {
        let Some(id) = self.id else { return };
        let mut stream = connection.send_stream(id);
        // Only a stream whose write was blocked is reported as writable.
        while !self.unsent.is_empty() {
            match stream.write(&self.unsent) {
                Ok(written) => drop(self.unsent.drain(..written)),
                // The peer stopped reading.
                Err(quinn_proto::WriteError::Stopped(_) | quinn_proto::WriteError::ClosedStream) => {
                    self.unsent.clear();
                }
                Err(quinn_proto::WriteError::Blocked) => return,
            }
        }
        if self.is_conversation_open() {
            return;
        }
        match stream.finish() {
            // The stream is finished, or the peer stopped reading.
            Ok(()) | Err(FinishError::ClosedStream | FinishError::Stopped(_)) => {}
        }
    }
}
