//! What a connection is made of: a socket, TLS if there is any, and the protocol on it. How far it has come, and which
//! requests are on it, is the business of the state machine in `connection`.

use std::os::fd::OwnedFd;

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::{Handshake, Tls, TlsError};
use hoptax_wire::{Client, Encoded, Event, ProtocolError, Response};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketType, sockopt};
use thiserror::Error;

use crate::connection::{ConnectionId, StreamId};
use crate::dial::{Dial, Way};
use crate::kernel::{self, Stamped};
use crate::traffic::Host;

/// Edge-triggered for everything once: no call per request to change what is waited for.
const INTEREST: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

/// The socket of a connection and what is spoken on it.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(super) socket: OwnedFd,
    pub(super) client: Client,
    tls: Option<Tls>,
    /// What the socket has not taken yet, and how much of it it has.
    pub(super) output: Vec<u8>,
    sent: usize,
    /// What TLS is to encrypt once the connection is uncorked.
    plain: Vec<u8>,
    /// Whether what is sent is held back until all that was read is looked at, so that it leaves with one call of the kernel.
    is_corked: bool,
    /// When the attempt to connect began, nanoseconds.
    pub(crate) attempted_ns: u64,
    /// When the socket was connected.
    pub(super) connected_ns: u64,
    /// When it was ready for requests.
    pub(crate) opened_ns: u64,
    /// Whether the kernel's time stamps are asked for.
    stamped: bool,
    /// Those of the request in flight.
    pub(crate) stamps: Option<Stamped>,
    /// An error of the socket that was found while looking for stamps, and not told yet.
    pending_error: Option<Errno>,
}

/// What is used again for every read and write of a worker.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What TLS has decrypted, and what it is to encrypt.
    decrypted: Vec<u8>,
    plain: Vec<u8>,
    /// What the last read meant.
    pub(crate) events: Vec<Event>,
}

/// Why a connection is of no further use.
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
        "the server did not agree to `{0}` in the negotiation of TLS (ALPN): it does not speak that there"
    )]
    Alpn(String),
}

/// What a read came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    WouldBlock,
    /// Nothing more ever.
    End,
}

impl Transport {
    /// Begins to connect; the outcome comes as an event with the connection's token.
    pub(crate) fn open(
        epoll: &OwnedFd,
        connection: ConnectionId,
        way: Way<'_>,
        client: Client,
        stamped: bool,
        now_ns: u64,
    ) -> Result<Self, Errno> {
        let kind = if has_datagrams(&client) { SocketType::DGRAM } else { SocketType::STREAM };
        let socket = way.socket(kind)?;
        // Without the kernel's stamps there is less to tell, and nothing is wrong.
        let stamped = stamped && kernel::enable(&socket).is_ok();
        way.connect(&socket)?;
        epoll::add(epoll, &socket, epoll::EventData::new_u64(connection.token()), INTEREST)?;
        Ok(Self {
            socket,
            client,
            tls: None,
            output: Vec::new(),
            sent: 0,
            plain: Vec::new(),
            is_corked: false,
            attempted_ns: now_ns,
            connected_ns: 0,
            opened_ns: 0,
            stamped,
            stamps: None,
            pending_error: None,
        })
    }

    /// Has the events come once more that an edge has told already.
    pub(crate) fn look_again(&self, epoll: &OwnedFd, connection: ConnectionId) {
        let data = epoll::EventData::new_u64(connection.token());
        match epoll::modify(epoll, &self.socket, data, INTEREST) {
            // Without that, they are found with the next request.
            Ok(()) | Err(_) => {}
        }
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Whether the server has shown that it speaks the protocol, as far as it does so before it is asked anything.
    pub(crate) fn settings_received(&self) -> bool {
        self.may_send() && self.client.settings_received()
    }

    /// Requests that the server takes at once.
    pub(crate) fn max_streams(&self) -> u32 {
        self.client.max_streams()
    }

    /// Whether the server has been given all requests that the protocol can number.
    pub(crate) fn is_used_up(&self) -> bool {
        self.client.is_used_up()
    }

    /// Goes on when the attempt to connect has ended: to TLS, or to the protocol.
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

    /// Whether a connected socket takes requests.
    pub(crate) fn may_send(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking()) && self.client.may_send()
    }

    /// Has the protocol write, through TLS if there is any.
    fn put(
        &mut self,
        scratch: &mut Scratch,
        write: impl FnOnce(&mut Client, &mut Vec<u8>),
    ) -> Result<(), TlsError> {
        match &mut self.tls {
            None => write(&mut self.client, &mut self.output),
            Some(_) if self.is_corked => write(&mut self.client, &mut self.plain),
            Some(tls) => {
                scratch.plain.clear();
                write(&mut self.client, &mut scratch.plain);
                if !scratch.plain.is_empty() {
                    tls.send(&scratch.plain, &mut self.output)?;
                }
            }
        }
        Ok(())
    }

    /// What an event means for an open connection: a stamped socket reports a stamp as an error, which is none. To look
    /// takes a true error away from the socket, so the next read tells it.
    pub(crate) fn without_stamps(&mut self, flags: epoll::EventFlags) -> epoll::EventFlags {
        if self.stamped && flags.contains(epoll::EventFlags::ERR) {
            match sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => return flags - epoll::EventFlags::ERR,
                Ok(Err(error)) | Err(error) => self.pending_error = Some(error),
            }
        }
        flags
    }

    /// Writes a request on a stream. Ok also when the socket takes no more for now.
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

    /// Whether what is sent is held back.
    pub(crate) fn is_corked(&self) -> bool {
        self.is_corked
    }

    /// Holds back what is sent from now on.
    pub(crate) fn cork(&mut self) {
        self.is_corked = true;
    }

    /// Sends what was held back.
    pub(crate) fn uncork(&mut self) -> Result<(), ConnectionError> {
        self.is_corked = false;
        if let Some(tls) = &mut self.tls
            && !self.plain.is_empty()
        {
            tls.send(&self.plain, &mut self.output)?;
            self.plain.clear();
        }
        self.transmit()
    }

    /// Whether the request on a stream has left in full.
    pub(crate) fn has_sent(&self, stream: StreamId) -> bool {
        self.output.is_empty()
            && self.plain.is_empty()
            && self.tls.as_ref().is_none_or(Tls::is_sent)
            && self.client.is_sent(stream.0)
    }

    /// Gives up the request on a stream.
    pub(crate) fn cancel(&mut self, stream: StreamId, scratch: &mut Scratch) -> Result<(), ConnectionError> {
        self.put(scratch, |client, output| {
            client.cancel(stream.0, output);
        })?;
        if self.is_corked { Ok(()) } else { self.transmit() }
    }

    /// Hands to the socket what it takes.
    pub(crate) fn transmit(&mut self) -> Result<(), ConnectionError> {
        if has_datagrams(&self.client) {
            return Ok(self.transmit_datagrams()?);
        }
        loop {
            while let Some(rest) = self.output.get(self.sent..).filter(|rest| !rest.is_empty()) {
                match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                    Ok(written) => self.sent += written,
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            self.output.clear();
            self.sent = 0;
            // What there was no room for.
            if let Some(tls) = &mut self.tls {
                tls.flush(&mut self.output)?;
            }
            if self.output.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads once and finds out what the bytes mean; that is left in `scratch`. A handshake that they completed comes back.
    /// `is_awaited` says whether the server has anything to say: an answer, or its part of a handshake.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        alpn: Option<&[u8]>,
        is_awaited: bool,
        scratch: &mut Scratch,
    ) -> Result<(Read, Option<(u64, Handshake)>), ConnectionError> {
        scratch.events.clear();
        if has_datagrams(&self.client) {
            return self.read_datagram(buffer, scratch);
        }
        let read = match &mut self.stamps {
            Some(stamps) => stamps.read(&self.socket, buffer),
            None => rustix::io::read(&self.socket, &mut *buffer),
        };
        let count = match (read, self.pending_error) {
            (Ok(0) | Err(Errno::AGAIN), Some(error)) => return Err(error.into()),
            (Ok(0), None) => return Ok((Read::End, None)),
            (Ok(count), _) => count,
            (Err(Errno::AGAIN), None) => return Ok((Read::WouldBlock, None)),
            (Err(Errno::INTR), _) => return Ok((Read::Bytes(buffer.len()), None)),
            (Err(error), _) => return Err(error.into()),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        let is_told = is_awaited || self.client.may_be_told_unasked();
        let Some(tls) = &mut self.tls else {
            check_told(is_told)?;
            self.client.feed(bytes, &mut self.output, &mut scratch.events)?;
            self.transmit()?;
            return Ok((Read::Bytes(count), None));
        };
        let was_handshaking = tls.is_handshaking();
        scratch.decrypted.clear();
        let is_over = match tls.receive(bytes, &mut scratch.decrypted, &mut self.output) {
            Ok(is_over) => is_over,
            Err(error) => {
                // The alert that says why. When it cannot be sent either, this error is still the cause.
                return match self.transmit() {
                    Ok(()) | Err(_) => Err(error.into()),
                };
            }
        };
        let mut handshake = None;
        if was_handshaking && !tls.is_handshaking() {
            let done = tls.handshake();
            let agreed = done.as_ref().and_then(|done| done.alpn.clone());
            if alpn == Some(b"h2") && agreed.as_deref() != alpn {
                return Err(ConnectionError::Alpn("h2".to_owned()));
            }
            handshake = done.map(|done| (now_ns().saturating_sub(self.connected_ns), done));
            self.put(scratch, Client::open)?;
        }
        if !scratch.decrypted.is_empty() {
            check_told(is_told)?;
            let decrypted = std::mem::take(&mut scratch.decrypted);
            let mut events = std::mem::take(&mut scratch.events);
            let mut fed = Ok(());
            let put = self.put(scratch, |client, output| fed = client.feed(&decrypted, output, &mut events));
            (scratch.decrypted, scratch.events) = (decrypted, events);
            fed?;
            put?;
        }
        self.transmit()?;
        Ok((if is_over { Read::End } else { Read::Bytes(count) }, handshake))
    }

    /// The server closed the connection: the answer that this completes on a stream, or nothing when none had begun.
    pub(crate) fn end(&mut self, stream: StreamId) -> Result<Option<Response>, ProtocolError> {
        Ok(self.client.end(stream.0)?)
    }

    /// Closes the socket, which also takes it out of the epoll set. `was_open` says whether requests could be sent on it.
    pub(crate) fn close(mut self, was_open: bool) {
        if was_open && let Some(tls) = &mut self.tls {
            let closed = tls.close(&mut self.output).map_err(ConnectionError::from);
            match closed.and_then(|()| self.transmit()) {
                // Nobody is left to say goodbye to. What this connection carried is answered or given up.
                Ok(()) | Err(_) => {}
            }
        }
        self.say_goodbye();
    }
}

/// Whether the protocol has datagrams of its own in place of bytes.
pub(super) fn has_datagrams(client: &Client) -> bool {
    matches!(client, Client::Http3(_))
}

/// What comes although nothing is awaited: the server has given the connection up, or lost count of it.
fn check_told(is_told: bool) -> Result<(), ProtocolError> {
    if is_told { Ok(()) } else { Err(ProtocolError::Excess) }
}

/// The transports of a worker, by connection.
#[derive(Debug, Default)]
pub(crate) struct Transports {
    places: Vec<Option<(ConnectionId, Transport)>>,
}

impl Transports {
    /// That of a connection, if it is open or being opened.
    pub(crate) fn get_mut(&mut self, connection: ConnectionId) -> Option<&mut Transport> {
        match self.places.get_mut(connection.index()) {
            Some(Some((its, transport))) if *its == connection => Some(transport),
            _ => None,
        }
    }

    /// The same, to look at.
    pub(crate) fn get(&self, connection: ConnectionId) -> Option<&Transport> {
        match self.places.get(connection.index()) {
            Some(Some((its, transport))) if *its == connection => Some(transport),
            _ => None,
        }
    }

    pub(crate) fn insert(&mut self, connection: ConnectionId, transport: Transport) {
        let index = connection.index();
        if self.places.len() <= index {
            self.places.resize_with(index + 1, || None);
        }
        self.places[index] = Some((connection, transport));
    }

    /// Takes that of a connection out; None for one that could not be opened.
    pub(crate) fn remove(&mut self, connection: ConnectionId) -> Option<Transport> {
        let place = self.places.get_mut(connection.index())?;
        place.take_if(|(its, _)| *its == connection).map(|(_, transport)| transport)
    }
}

impl std::ops::Index<ConnectionId> for Transports {
    type Output = Transport;

    fn index(&self, connection: ConnectionId) -> &Transport {
        match self.places.get(connection.index()) {
            Some(Some((its, transport))) if *its == connection => transport,
            _ => panic!("{connection:?} is alive and has no socket"),
        }
    }
}

impl std::ops::IndexMut<ConnectionId> for Transports {
    fn index_mut(&mut self, connection: ConnectionId) -> &mut Transport {
        match self.get_mut(connection) {
            Some(transport) => transport,
            None => panic!("{connection:?} is alive and has no socket"),
        }
    }
}
