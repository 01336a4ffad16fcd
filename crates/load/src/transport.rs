//! The transport of a connection: a socket, optional TLS, and a protocol client. Its state, and which requests it
//! carries, are managed by the state machine in `connection`.

mod datagrams;

use std::os::fd::OwnedFd;

use hoptax_host::clock::now_ns;
use hoptax_wire::http1::Deviation;
use hoptax_wire::tls::{Handshake, Tls, TlsError};
use hoptax_wire::{Client, Encoded, Event, ProtocolError, Response};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketType, sockopt};

use crate::connection::{ConnectionId, StreamId};
use crate::connection_error::ConnectionError;
use crate::dial::{Dial, DialTarget};
use crate::kernel::{self, Stamped};
use crate::traffic::Host;

/// Edge-triggered, with all interests registered once: no `epoll_ctl` per request.
const INTEREST: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

/// A socket with optional TLS and a protocol client.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(super) socket: OwnedFd,
    pub(super) client: Client,
    tls: Option<Tls>,
    /// Bytes for the socket, and how many of them it has accepted.
    pub(super) output: Vec<u8>,
    sent: usize,
    /// Plaintext to encrypt when the connection is uncorked.
    plaintext: Vec<u8>,
    /// True if output is held back until all responses of a read are handled, to send it with one system call.
    is_corked: bool,
    /// Start of the connect, nanoseconds.
    pub(crate) connect_started_ns: u64,
    /// End of the connect, nanoseconds.
    pub(super) connected_ns: u64,
    /// Time at which the connection became ready for requests, nanoseconds.
    pub(crate) opened_ns: u64,
    /// True if kernel timestamps are enabled.
    stamped: bool,
    /// Reason why the kernel takes no timestamps, although they were requested.
    pub(crate) no_stamps: Option<Errno>,
    /// Timestamps of the request in flight.
    pub(crate) stamps: Option<Stamped>,
    /// A socket error that was met while sending or while checking for timestamps. Bytes that arrived before it are read first: a server
    /// that does not want the rest of a request may respond, close and thereby reset the connection.
    pending_error: Option<Errno>,
    /// True if the server closed the connection below TLS without `close_notify`.
    is_cut: bool,
}

/// Buffers that a worker reuses for every read and write.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Decrypted input, and plaintext output.
    decrypted: Vec<u8>,
    plaintext: Vec<u8>,
    /// Protocol events of the last read.
    pub(crate) events: Vec<Event>,
    /// Time at which the last read returned from the socket, monotonic nanoseconds. It is taken before the bytes are parsed, because
    /// parsing a message of a conversation sends the next one, whose time starts here.
    pub(crate) read_ns: u64,
    /// A handshake that a read completed, with its duration in nanoseconds, until it is recorded.
    pub(crate) handshake: Option<(u64, Handshake)>,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// This many bytes.
    Bytes(usize),
    /// No bytes for now.
    WouldBlock,
    /// End of the stream.
    End,
}

impl Transport {
    /// Starts a non-blocking connect. Its completion is an epoll event with the connection's token.
    pub(crate) fn open(
        epoll: &OwnedFd,
        connection: ConnectionId,
        target: DialTarget<'_>,
        client: Client,
        stamped: bool,
        now_ns: u64,
    ) -> Result<Self, Errno> {
        let kind = if has_datagrams(&client) { SocketType::DGRAM } else { SocketType::STREAM };
        let socket = target.socket(kind)?;
        // The load runs without kernel timestamps too, and its result says so.
        let stamping = if stamped { kernel::enable(&socket).map(|()| true) } else { Ok(false) };
        target.connect(&socket)?;
        epoll::add(epoll, &socket, epoll::EventData::new_u64(connection.token()), INTEREST)?;
        Ok(Self {
            socket,
            client,
            tls: None,
            output: Vec::new(),
            sent: 0,
            plaintext: Vec::new(),
            is_corked: false,
            connect_started_ns: now_ns,
            connected_ns: 0,
            opened_ns: 0,
            stamped: stamping.as_ref().is_ok_and(|stamped| *stamped),
            no_stamps: stamping.err(),
            stamps: None,
            pending_error: None,
            is_cut: false,
        })
    }

    /// Re-arms the edge-triggered events: pending ones are reported again, after those of other sockets.
    pub(crate) fn rearm(&self, epoll: &OwnedFd, connection: ConnectionId) -> Result<(), Errno> {
        epoll::modify(epoll, &self.socket, epoll::EventData::new_u64(connection.token()), INTEREST)
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// True if the server speaks the protocol, and allows no request for now.
    pub(crate) fn allows_no_request(&self) -> bool {
        self.client.is_confirmed() && self.client.max_streams() == 0
    }

    /// Concurrent requests that the server allows.
    pub(crate) fn max_streams(&self) -> u32 {
        self.client.max_streams()
    }

    /// True if the stream identifiers of the connection are exhausted.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.client.stream_ids_exhausted()
    }

    /// Called when the non-blocking connect completes. Starts TLS or the protocol.
    pub(crate) fn finish_connect(
        &mut self,
        now_ns: u64,
        dial: &Dial,
        host: &Host,
        scratch: &mut Scratch,
    ) -> Result<(), ConnectionError> {
        sockopt::socket_error(&self.socket)??;
        self.connected_ns = now_ns;
        self.output.append(&mut dial.preamble(&self.socket));
        if let Some((config, name)) = host.tls.as_ref().filter(|_| !has_datagrams(&self.client)) {
            let mut tls = Tls::client(config, name.clone())?;
            tls.flush(&mut self.output)?;
            self.tls = Some(tls);
        } else {
            self.put(scratch, Client::open)?;
        }
        self.check_datagrams()?;
        self.transmit()?;
        Ok(())
    }

    /// True if a connected socket is ready for requests.
    pub(crate) fn may_send(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking()) && self.client.may_send()
    }

    /// Writes protocol output, through TLS if it is used.
    fn put(
        &mut self,
        scratch: &mut Scratch,
        write: impl FnOnce(&mut Client, &mut Vec<u8>),
    ) -> Result<(), TlsError> {
        match &mut self.tls {
            None => write(&mut self.client, &mut self.output),
            Some(_) if self.is_corked => write(&mut self.client, &mut self.plaintext),
            Some(tls) => {
                scratch.plaintext.clear();
                write(&mut self.client, &mut scratch.plaintext);
                if !scratch.plaintext.is_empty() {
                    tls.send(&scratch.plaintext, &mut self.output)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the error flag that a kernel timestamp sets on an open connection. Checking clears the socket's error, so a
    /// real error is kept for the next read.
    pub(crate) fn without_stamps(&mut self, flags: epoll::EventFlags) -> epoll::EventFlags {
        if self.stamped && flags.contains(epoll::EventFlags::ERR) {
            match sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => return flags - epoll::EventFlags::ERR,
                Ok(Err(error)) | Err(error) => self.pending_error = Some(error),
            }
        }
        flags
    }

    /// Writes a request on a stream. Succeeds also if the socket accepts only part of it for now.
    pub(crate) fn send(
        &mut self,
        stream: StreamId,
        request: &Encoded,
        bytes: &[u8],
        scratch: &mut Scratch,
    ) -> Result<(), ConnectionError> {
        if self.stamped {
            self.stamps = Some(Stamped::begin(&self.socket));
        }
        self.put(scratch, |client, output| client.send(stream.0, request, bytes, output))?;
        if self.is_corked { Ok(()) } else { self.transmit() }
    }

    /// True if output is held back.
    pub(crate) fn is_corked(&self) -> bool {
        self.is_corked
    }

    /// Starts to hold output back.
    pub(crate) fn cork(&mut self) {
        self.is_corked = true;
    }

    /// Sends the output that was held back.
    pub(crate) fn uncork(&mut self) -> Result<(), ConnectionError> {
        self.is_corked = false;
        if let Some(tls) = &mut self.tls
            && !self.plaintext.is_empty()
        {
            tls.send(&self.plaintext, &mut self.output)?;
            self.plaintext.clear();
        }
        self.transmit()
    }

    /// True if the request on a stream has been sent in full.
    pub(crate) fn has_sent(&self, stream: StreamId) -> bool {
        self.output.is_empty()
            && self.plaintext.is_empty()
            && self.tls.as_ref().is_none_or(Tls::is_sent)
            && self.client.is_sent(stream.0)
    }

    /// Cancels the request on a stream.
    pub(crate) fn cancel(&mut self, stream: StreamId, scratch: &mut Scratch) -> Result<(), ConnectionError> {
        self.put(scratch, |client, output| {
            client.cancel(stream.0, output);
        })?;
        if self.is_corked { Ok(()) } else { self.transmit() }
    }

    /// True if the socket has failed. Reading reports it after the bytes that have arrived.
    pub(crate) fn has_failed(&self) -> bool {
        self.pending_error.is_some()
    }

    /// Sends output until the socket blocks or fails, or none is left. After a failure the output stays, so that no request counts as
    /// sent.
    #[inline]
    pub(crate) fn transmit(&mut self) -> Result<(), ConnectionError> {
        // It is called after every read, which rarely leaves output of the protocol itself.
        if self.output.is_empty() && self.tls.is_none() && !has_datagrams(&self.client) {
            return Ok(());
        }
        self.transmit_output()
    }

    fn transmit_output(&mut self) -> Result<(), ConnectionError> {
        if has_datagrams(&self.client) {
            return Ok(self.transmit_datagrams()?);
        }
        if self.has_failed() {
            return Ok(());
        }
        loop {
            while let Some(rest) = self.output.get(self.sent..).filter(|rest| !rest.is_empty()) {
                match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                    Ok(written) => self.sent += written,
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(error) => {
                        self.pending_error = Some(error);
                        return Ok(());
                    }
                }
            }
            self.output.clear();
            self.sent = 0;
            // TLS output that exceeded its buffer.
            if let Some(tls) = &mut self.tls {
                tls.flush(&mut self.output)?;
            }
            if self.output.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads once and parses the bytes. The protocol events are left in `scratch`, and so is a handshake that the read
    /// completed. `is_awaited` is true if a response or a handshake message is expected.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        alpn: Option<&[u8]>,
        is_awaited: bool,
        scratch: &mut Scratch,
    ) -> Result<Read, ConnectionError> {
        scratch.events.clear();
        if has_datagrams(&self.client) {
            return self.read_datagram(buffer, scratch);
        }
        let read = match &mut self.stamps {
            Some(stamps) => stamps.read(&self.socket, buffer),
            None => rustix::io::read(&self.socket, &mut *buffer),
        };
        scratch.read_ns = now_ns();
        let count = match (read, self.pending_error) {
            (Ok(0) | Err(Errno::AGAIN), Some(error)) => return Err(error.into()),
            (Ok(0), None) => {
                self.is_cut = self.tls.is_some();
                return Ok(Read::End);
            }
            (Ok(count), _) => count,
            (Err(Errno::AGAIN), None) => return Ok(Read::WouldBlock),
            (Err(Errno::INTR), _) => return Ok(Read::Bytes(buffer.len())),
            (Err(error), _) => return Err(error.into()),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        let Some(tls) = &mut self.tls else {
            feed(&mut self.client, is_awaited, bytes, &mut self.output, &mut scratch.events)?;
            self.transmit()?;
            return Ok(Read::Bytes(if self.has_failed() { buffer.len() } else { count }));
        };
        let was_handshaking = tls.is_handshaking();
        scratch.decrypted.clear();
        let is_end = match tls.receive(bytes, &mut scratch.decrypted, &mut self.output) {
            Ok(is_end) => is_end,
            Err(error) => {
                // Send the alert. If that fails too, this error is still the cause.
                return match self.transmit() {
                    Ok(()) | Err(_) => Err(error.into()),
                };
            }
        };
        if was_handshaking && !tls.is_handshaking() {
            let done = tls.handshake();
            let agreed = done.as_ref().and_then(|done| done.alpn.clone());
            if alpn == Some(b"h2") && agreed.as_deref() != alpn {
                return Err(ConnectionError::Alpn("h2".to_owned()));
            }
            scratch.handshake = done.map(|done| (now_ns().saturating_sub(self.connected_ns), done));
            self.put(scratch, Client::open)?;
        }
        if !scratch.decrypted.is_empty() {
            let decrypted = std::mem::take(&mut scratch.decrypted);
            let mut events = std::mem::take(&mut scratch.events);
            let mut fed = Ok(());
            let put = self.put(scratch, |client, output| {
                fed = feed(client, is_awaited, &decrypted, output, &mut events);
            });
            (scratch.decrypted, scratch.events) = (decrypted, events);
            fed?;
            put?;
        }
        self.transmit()?;
        Ok(match is_end {
            true => Read::End,
            // Bytes that arrived before the failure are read first.
            false if self.has_failed() => Read::Bytes(buffer.len()),
            false => Read::Bytes(count),
        })
    }

    /// The server closed the connection. Returns the response that this completes on a stream; None if none had started.
    pub(crate) fn end(&mut self, stream: StreamId) -> Result<Option<Response>, ProtocolError> {
        Ok(self.client.end(stream.0)?)
    }

    /// The connection was reset. Returns the response that the server nevertheless gave on a stream.
    pub(crate) fn reset(&mut self, stream: StreamId) -> Option<Response> {
        self.client.reset(stream.0)
    }

    /// Returns the rule that the last response of the connection violates although its end is known; None if it violates none.
    pub(crate) fn deviation(&self) -> Option<Deviation> {
        self.client.deviation().or(self.is_cut.then_some(Deviation::EndOfTls))
    }

    /// Closes the socket, which also removes it from epoll. `was_open` is true if the connection was established.
    pub(crate) fn close(mut self, was_open: bool) {
        if was_open && let Some(tls) = &mut self.tls {
            let closed = tls.close(&mut self.output).map_err(ConnectionError::from);
            match closed.and_then(|()| self.transmit()) {
                // The peer may be gone. Every request on this connection has ended.
                Ok(()) | Err(_) => {}
            }
        }
        self.close_quic();
    }
}

/// True if the protocol uses datagrams instead of a byte stream.
pub(super) fn has_datagrams(client: &Client) -> bool {
    match client {
        Client::Http3(_) => true,
        Client::Http1 { .. } | Client::Http2(_) | Client::Tcp(_) | Client::WebSocket(..) => false,
    }
}

/// Passes bytes to the client. Without a request that awaits them they may be a shutdown notice, or an error of the server.
#[inline]
fn feed(
    client: &mut Client,
    is_awaited: bool,
    bytes: &[u8],
    output: &mut Vec<u8>,
    events: &mut Vec<Event>,
) -> Result<(), ProtocolError> {
    if is_awaited {
        client.feed(bytes, output, events)
    } else {
        client.feed_unsolicited(bytes, output, events)
    }
}

/// The transports of a worker, by connection.
#[derive(Debug, Default)]
pub(crate) struct Transports {
    entries: Vec<Option<(ConnectionId, Transport)>>,
}

impl Transports {
    /// The transport of a connection that is open or being opened.
    pub(crate) fn get_mut(&mut self, connection: ConnectionId) -> Option<&mut Transport> {
        match self.entries.get_mut(connection.index()) {
            Some(Some((its, transport))) if *its == connection => Some(transport),
            _ => None,
        }
    }

    /// The transport of a connection, read-only.
    pub(crate) fn get(&self, connection: ConnectionId) -> Option<&Transport> {
        match self.entries.get(connection.index()) {
            Some(Some((its, transport))) if *its == connection => Some(transport),
            _ => None,
        }
    }

    pub(crate) fn insert(&mut self, connection: ConnectionId, transport: Transport) {
        let index = connection.index();
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some((connection, transport));
    }

    /// Removes the transport of a connection; None if its connect failed at once.
    pub(crate) fn remove(&mut self, connection: ConnectionId) -> Option<Transport> {
        let entry = self.entries.get_mut(connection.index())?;
        entry.take_if(|(its, _)| *its == connection).map(|(_, transport)| transport)
    }
}

impl std::ops::Index<ConnectionId> for Transports {
    type Output = Transport;

    fn index(&self, connection: ConnectionId) -> &Transport {
        match self.entries.get(connection.index()) {
            Some(Some((its, transport))) if *its == connection => transport,
            _ => panic!("{connection:?} is live but has no transport"),
        }
    }
}

impl std::ops::IndexMut<ConnectionId> for Transports {
    fn index_mut(&mut self, connection: ConnectionId) -> &mut Transport {
        match self.get_mut(connection) {
            Some(transport) => transport,
            None => panic!("{connection:?} is live but has no transport"),
        }
    }
}
