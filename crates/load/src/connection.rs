//! One connection of a worker: a socket, TLS if there is any, and the protocol on it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::{Handshake, Tls, TlsError};
use hoptax_wire::{Answer, Broken, Client, Encoded, Event};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use thiserror::Error;

use crate::kernel::{self, Stamped};
use crate::traffic::{Host, Picked};

/// A connection slot; the socket in it may come and go.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own; together they are no state machine"
)]
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) socket: Option<OwnedFd>,
    stage: Stage,
    /// Which of the sockets that this slot had it is.
    pub(crate) generation: u32,
    /// The host that it goes to, by number.
    pub(crate) host: usize,
    pub(super) client: Client,
    tls: Option<Tls>,
    /// What the socket has not taken yet, and how much of it it has.
    pub(super) output: Vec<u8>,
    sent: usize,
    /// Whether what is sent is held back until all that was read is looked at, so that it leaves with one call of the kernel.
    is_corked: bool,
    /// What TLS is to encrypt then.
    plain: Vec<u8>,
    /// Whether the worker has counted it as open.
    pub(crate) is_counted: bool,
    /// Requests that this socket still carries.
    pub(crate) requests_left: u32,
    /// Whether it is to carry no further request.
    pub(crate) is_retired: bool,
    /// Requests that are written and not answered.
    pub(crate) under_way: u32,
    /// When this socket was ready for requests, nanoseconds.
    pub(crate) opened_ns: u64,
    /// When it was connected.
    pub(super) connected_ns: u64,
    /// Whether the kernel's time stamps are asked for.
    stamped: bool,
    /// Those of the request in flight.
    pub(crate) stamps: Option<Stamped>,
}

/// How far a socket has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    Connecting,
    /// TLS, or the upgrade of the protocol.
    Opening,
    Ready,
}

/// The request on a stream of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) planned_ns: u64,
    /// When the generator took note of it.
    pub(crate) offered_ns: u64,
    /// Which request it is.
    pub(crate) picked: Picked,
    /// When the attempt began: the bytes were written, or a connection for them was asked for.
    pub(crate) started_ns: u64,
    /// When the connection that was opened for it was connected; 0 before.
    pub(crate) connected_ns: u64,
    /// When the first byte was written; 0 while the connection is being opened.
    pub(crate) written_ns: u64,
    /// When the first byte of the answer was read; 0 before.
    pub(crate) first_byte_ns: u64,
    /// Whether it is part of the record.
    pub(crate) recorded: bool,
    /// Whether it had to wait for a connection.
    pub(crate) blocked: bool,
    /// Whether a connection is opened for it.
    pub(crate) connected: bool,
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

/// A connection that is of no further use.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Socket(#[from] Errno),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Broken(#[from] Broken),
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
    Later,
    /// Nothing more ever.
    End,
}

impl Connection {
    pub(crate) fn new(host: usize, stamped: bool, client: Client) -> Self {
        Self {
            socket: None,
            stage: Stage::Closed,
            generation: 0,
            host,
            client,
            tls: None,
            output: Vec::new(),
            sent: 0,
            is_corked: false,
            plain: Vec::new(),
            is_counted: false,
            requests_left: u32::MAX,
            is_retired: false,
            under_way: 0,
            opened_ns: 0,
            connected_ns: 0,
            stamped,
            stamps: None,
        }
    }

    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }

    pub(crate) fn is_connecting(&self) -> bool {
        self.stage == Stage::Connecting
    }

    /// Whether the protocol has datagrams of its own in place of bytes.
    #[cfg(not(feature = "http3"))]
    #[expect(clippy::unused_self, reason = "with the feature `http3` it is asked")]
    fn has_datagrams(&self) -> bool {
        false
    }

    /// Whether it can carry requests.
    pub(crate) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// Whether it is ready, and the server has shown that it speaks the protocol.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_ready() && self.client.is_settled()
    }

    /// Requests that the server takes at once.
    pub(crate) fn max_streams(&self) -> u32 {
        self.client.max_streams()
    }

    /// Begins to connect; the outcome comes as an event with `token`.
    pub(crate) fn open(
        &mut self,
        epoll: &OwnedFd,
        token: u64,
        address: SocketAddr,
        fresh: Client,
    ) -> Result<(), Errno> {
        self.close();
        self.client = fresh;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let kind = if self.has_datagrams() { SocketType::DGRAM } else { SocketType::STREAM };
        let socket = rustix::net::socket_with(family, kind, flags, None)?;
        if kind == SocketType::STREAM {
            // Requests are small and written whole: Nagle's algorithm could only hold them back.
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        if self.stamped {
            // Without the kernel's stamps there is less to tell, and nothing is wrong.
            self.stamped = kernel::enable(&socket).is_ok();
        }
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        // Edge-triggered for everything once: no call per request to change what is waited for.
        let interest =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(epoll, &socket, epoll::EventData::new_u64(token), interest)?;
        self.socket = Some(socket);
        self.stage = Stage::Connecting;
        Ok(())
    }

    /// Goes on when the attempt to connect has come to something: to TLS, or to the protocol.
    pub(crate) fn finish_connect(
        &mut self,
        now_ns: u64,
        host: &Host,
        scratch: &mut Scratch,
    ) -> Result<(), Trouble> {
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN.into()) };
        sockopt::socket_error(socket)??;
        self.connected_ns = now_ns;
        self.stage = Stage::Opening;
        if let Some((config, name)) = host.tls.as_ref().filter(|_| !self.has_datagrams()) {
            let mut tls = Tls::client(config, name.clone())?;
            tls.flush(&mut self.output)?;
            self.tls = Some(tls);
        } else {
            self.begin_protocol(scratch)?;
        }
        #[cfg(feature = "http3")]
        self.check_datagrams()?;
        self.transmit()?;
        Ok(())
    }

    fn begin_protocol(&mut self, scratch: &mut Scratch) -> Result<(), Trouble> {
        self.put(scratch, Client::open)?;
        self.look_ready();
        Ok(())
    }

    pub(super) fn look_ready(&mut self) {
        if self.stage == Stage::Opening && self.client.may_send() {
            self.stage = Stage::Ready;
            self.opened_ns = now_ns();
        }
    }

    /// Has the protocol write, through TLS if there is any.
    fn put(
        &mut self,
        scratch: &mut Scratch,
        write: impl FnOnce(&mut Client, &mut Vec<u8>),
    ) -> Result<(), Trouble> {
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

    /// What an event means for this connection: a stamped socket reports a stamp as an error, which is none.
    pub(crate) fn meaning(&self, flags: epoll::EventFlags) -> epoll::EventFlags {
        if self.stamped && flags.contains(epoll::EventFlags::ERR) {
            let error = self.socket.as_ref().map(sockopt::socket_error);
            if matches!(error, Some(Ok(Ok(())))) {
                return flags - epoll::EventFlags::ERR;
            }
        }
        flags
    }

    /// Writes a request on a stream. Ok also when the socket takes no more for now.
    pub(crate) fn send(
        &mut self,
        stream: u32,
        request: &Encoded,
        bytes: &[u8],
        scratch: &mut Scratch,
    ) -> Result<(), Trouble> {
        if self.stamped {
            self.stamps = self.socket.as_ref().map(Stamped::begin);
        }
        self.under_way += 1;
        self.put(scratch, |client, output| client.send(stream, request, bytes, output))?;
        self.is_retired |= self.client.is_used_up();
        if !self.is_corked {
            self.transmit()?;
        }
        Ok(())
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
    pub(crate) fn uncork(&mut self) -> Result<(), Trouble> {
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
    pub(crate) fn has_sent(&self, stream: u32) -> bool {
        self.output.is_empty()
            && self.plain.is_empty()
            && self.tls.as_ref().is_none_or(Tls::is_sent)
            && self.client.is_sent(stream)
    }

    /// Gives up the request on a stream; whether the connection is still of use.
    pub(crate) fn cancel(&mut self, stream: u32, scratch: &mut Scratch) -> bool {
        let mut is_of_use = false;
        let put = self.put(scratch, |client, output| is_of_use = client.cancel(stream, output));
        is_of_use && put.and_then(|()| self.transmit()).is_ok()
    }

    /// Hands to the socket what it takes.
    pub(crate) fn transmit(&mut self) -> Result<(), Trouble> {
        #[cfg(feature = "http3")]
        if self.has_datagrams() {
            return Ok(self.transmit_datagrams()?);
        }
        let Some(socket) = &self.socket else { return Ok(()) };
        loop {
            while let Some(rest) = self.output.get(self.sent..).filter(|rest| !rest.is_empty()) {
                match rustix::net::send(socket, rest, SendFlags::NOSIGNAL) {
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
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        alpn: Option<&[u8]>,
        scratch: &mut Scratch,
    ) -> Result<(Read, Option<(u64, Handshake)>), Trouble> {
        scratch.events.clear();
        #[cfg(feature = "http3")]
        if self.has_datagrams() {
            return self.read_datagram(buffer, scratch);
        }
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN.into()) };
        let read = match &mut self.stamps {
            Some(stamps) => stamps.read(socket, buffer),
            None => rustix::io::read(socket, &mut *buffer),
        };
        let count = match read {
            Ok(0) => return Ok((Read::End, None)),
            Ok(count) => count,
            Err(Errno::AGAIN) => return Ok((Read::Later, None)),
            Err(Errno::INTR) => return Ok((Read::Bytes(buffer.len()), None)),
            Err(error) => return Err(error.into()),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        let Some(tls) = &mut self.tls else {
            check_asked(&self.client, self.stage, self.under_way)?;
            self.client.feed(bytes, &mut self.output, &mut scratch.events)?;
            self.look_ready();
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
                return Err(Trouble::Alpn("h2".to_owned()));
            }
            handshake = done.map(|done| (now_ns().saturating_sub(self.connected_ns), done));
            self.begin_protocol(scratch)?;
        }
        if !scratch.decrypted.is_empty() {
            check_asked(&self.client, self.stage, self.under_way)?;
            let decrypted = std::mem::take(&mut scratch.decrypted);
            let mut events = std::mem::take(&mut scratch.events);
            let mut fed = Ok(());
            let put = self.put(scratch, |client, output| fed = client.feed(&decrypted, output, &mut events));
            (scratch.decrypted, scratch.events) = (decrypted, events);
            fed?;
            put?;
            self.look_ready();
        }
        self.transmit()?;
        Ok((if is_over { Read::End } else { Read::Bytes(count) }, handshake))
    }

    /// The server closed the connection: the answer that this completes on a stream, or nothing when none had begun.
    pub(crate) fn end(&mut self, stream: u32) -> Result<Option<Answer>, Broken> {
        Ok(self.client.end(stream)?)
    }

    /// Closes the socket, which also takes it out of the epoll set.
    pub(crate) fn close(&mut self) {
        if self.stage == Stage::Ready
            && let Some(tls) = &mut self.tls
        {
            let closed = tls.close(&mut self.output).map_err(Trouble::from);
            match closed.and_then(|()| self.transmit()) {
                // Nobody is left to say goodbye to. What this connection carried is answered or given up.
                Ok(()) | Err(_) => {}
            }
        }
        #[cfg(feature = "http3")]
        self.say_goodbye();
        self.socket = None;
        self.tls = None;
        self.stage = Stage::Closed;
        self.generation = self.generation.wrapping_add(1);
        self.output.clear();
        self.plain.clear();
        self.is_corked = false;
        self.sent = 0;
        self.is_retired = false;
        self.under_way = 0;
        self.stamps = None;
    }
}

/// What comes although nothing is under way: the server has given the connection up, or lost count of it.
fn check_asked(client: &Client, stage: Stage, under_way: u32) -> Result<(), Broken> {
    let is_asked = under_way > 0 || stage != Stage::Ready || client.may_be_told_unasked();
    if is_asked { Ok(()) } else { Err(Broken::Excess) }
}
