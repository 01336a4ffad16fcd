//! One connection of a worker: its socket, and the request that is on it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use hoptax_wire::http1::{ExpectedHeader, ResponseReader};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

use crate::kernel::{self, Stamped};
use crate::traffic::Picked;

/// A connection slot; the socket in it may come and go.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Option<OwnedFd>,
    /// The host that it goes to, by number.
    pub(crate) host: usize,
    pub(crate) reader: ResponseReader,
    pub(crate) in_flight: Option<InFlight>,
    /// Requests that this socket still carries.
    pub(crate) requests_left: u32,
    /// When this socket was opened, nanoseconds.
    pub(crate) opened_ns: u64,
    /// Whether the kernel's time stamps are asked for.
    stamped: bool,
    /// Those of the request in flight.
    pub(crate) stamps: Option<Stamped>,
    /// Whether the socket is connected; false while it connects.
    established: bool,
}

/// The request on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) planned_ns: u64,
    /// When the generator took note of it.
    pub(crate) offered_ns: u64,
    /// Which request it is.
    pub(crate) picked: Picked,
    /// When the attempt began: the bytes were written, or a connection for them was asked for.
    pub(crate) started_ns: u64,
    /// When the first byte was written; 0 while the connection is being opened.
    pub(crate) written_ns: u64,
    /// When the first byte of the answer was read; 0 before.
    pub(crate) first_byte_ns: u64,
    /// Bytes of the request that are written.
    pub(crate) written_bytes: usize,
    /// Whether it is part of the record.
    pub(crate) recorded: bool,
    /// Whether it had to wait for a connection.
    pub(crate) blocked: bool,
    /// Whether a connection is opened for it.
    pub(crate) connected: bool,
}

impl Connection {
    pub(crate) fn new(host: usize, stamped: bool, expected: &Arc<[ExpectedHeader]>) -> Self {
        Self {
            socket: None,
            host,
            reader: ResponseReader::default().expecting(Arc::clone(expected)),
            in_flight: None,
            requests_left: u32::MAX,
            opened_ns: 0,
            stamped,
            stamps: None,
            established: false,
        }
    }

    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    pub(crate) fn is_established(&self) -> bool {
        self.established
    }

    /// Begins to connect; the outcome comes as an event with `token`.
    pub(crate) fn open(&mut self, epoll: &OwnedFd, token: u64, address: SocketAddr) -> Result<(), Errno> {
        self.established = false;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        // Requests are small and written whole: Nagle's algorithm could only hold them back.
        sockopt::set_tcp_nodelay(&socket, true)?;
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
        Ok(())
    }

    /// Whether the attempt to connect has succeeded, after an event on it.
    pub(crate) fn finish_open(&mut self, now_ns: u64) -> Result<(), Errno> {
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN) };
        sockopt::socket_error(socket)??;
        self.established = true;
        self.opened_ns = now_ns;
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

    /// Prepares for the answer to the request in flight.
    pub(crate) fn begin(&mut self, request_is_head: bool) {
        self.reader.begin(request_is_head);
        if self.stamped {
            self.stamps = self.socket.as_ref().map(Stamped::begin);
        }
    }

    /// Writes what is left of the request. Ok also when the socket takes no more for now.
    pub(crate) fn write(&mut self, request: &[u8]) -> Result<(), Errno> {
        let (Some(socket), Some(in_flight)) = (&self.socket, &mut self.in_flight) else { return Ok(()) };
        while let Some(rest) = request.get(in_flight.written_bytes..).filter(|rest| !rest.is_empty()) {
            match rustix::net::send(socket, rest, SendFlags::NOSIGNAL) {
                Ok(written) => in_flight.written_bytes += written,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has come.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN) };
        match &mut self.stamps {
            Some(stamps) => stamps.read(socket, buffer),
            None => rustix::io::read(socket, buffer),
        }
    }

    /// Closes the socket, which also takes it out of the epoll set.
    pub(crate) fn close(&mut self) {
        self.socket = None;
        self.established = false;
        self.stamps = None;
    }
}
