//! One connection of a worker: its socket, and the request that is on it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use hoptax_wire::http1::ResponseReader;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

/// A connection slot; the socket in it may come and go.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Option<OwnedFd>,
    pub(crate) reader: ResponseReader,
    pub(crate) in_flight: Option<InFlight>,
    /// Requests answered on this socket.
    pub(crate) answered: u32,
    /// Whether the socket is connected; false while it connects.
    established: bool,
}

/// The request on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) planned_ns: u64,
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
}

impl Connection {
    pub(crate) fn new(request_is_head: bool) -> Self {
        Self {
            socket: None,
            reader: ResponseReader::new(request_is_head),
            in_flight: None,
            answered: 0,
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
    pub(crate) fn finish_open(&mut self) -> Result<(), Errno> {
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN) };
        sockopt::socket_error(socket)??;
        self.established = true;
        Ok(())
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

    /// Closes the socket, which also takes it out of the epoll set.
    pub(crate) fn close(&mut self, request_is_head: bool) {
        self.socket = None;
        self.established = false;
        self.answered = 0;
        self.reader = ResponseReader::new(request_is_head);
    }
}
