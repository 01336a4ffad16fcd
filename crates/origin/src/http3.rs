//! HTTP/3, with gRPC: one thread with one UDP socket, on the same port as the TCP workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use hoptax_host::processors;
use hoptax_wire::http3::{RequestId, Server};
use hoptax_wire::tls::ServerConfig;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::call::{Reply, is_streaming};
use crate::context::Context;
use crate::grpc::{self, Status};
use crate::respond::pairs;
use crate::response::Response;
use crate::streams::{StreamSender, Streams};
use crate::{OriginReport, Served, SharedSettings};

/// A bound socket and its connections.
#[derive(Debug)]
pub(crate) struct Http3 {
    socket: UdpSocket,
    server: Server,
}

impl Http3 {
    /// Binds the address; the inner value is None if the TLS configuration has no cipher suite for QUIC.
    pub(crate) fn bind(address: SocketAddr, tls: &ServerConfig) -> io::Result<Option<Self>> {
        let Some(server) = Server::new(tls, is_streaming) else { return Ok(None) };
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Some(Self { socket, server }))
    }
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    socket: UdpSocket,
    server: Server,
    context: Context,
    /// Connections with unanswered requests, by number.
    connections: BTreeMap<u64, Streams>,
    /// Delays: the time of expiry, the connection, and the stream.
    delays: BinaryHeap<Reverse<(Instant, u64, u64)>>,
    /// Datagrams that the socket has not accepted yet.
    unsent: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl Worker {
    /// A worker on a bound socket.
    pub(crate) fn new(endpoint: Http3, settings: &SharedSettings, seed: u64, records: bool) -> Self {
        let Http3 { socket, server } = endpoint;
        Self {
            socket,
            server,
            context: Context::new(settings, seed, records),
            connections: BTreeMap::new(),
            delays: BinaryHeap::new(),
            unsent: VecDeque::new(),
        }
    }

    /// Serves until `stop` is set.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<(OriginReport, Vec<Served>)> {
        processors::set_min_timer_slack()?;
        let mut events = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            self.wait()?;
            self.context.defaults.refresh();
            // While the socket accepts no datagrams, none are read: they would need responses.
            while self.send()? {
                match self.socket.recv_from(&mut self.context.buffer) {
                    Ok((length, from)) => {
                        let datagram = self.context.buffer.get(..length).unwrap_or_default();
                        let is_new = self.server.feed(from, datagram, &mut events);
                        self.context.report.connections += u64::from(is_new);
                        self.flush(true)?;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // A client has closed its socket.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error),
                }
            }
            self.server.tick(&mut events);
            for event in std::mem::take(&mut events) {
                let RequestId { connection, stream } = event.stream();
                self.step(connection, |streams, sender, context| {
                    streams.handle(stream, event, sender, context);
                });
            }
            self.expire_delays();
            self.flush(false)?;
        }
        self.server.close();
        self.flush(false)?;
        Ok((self.context.report, self.context.served.unwrap_or_default()))
    }

    fn wait(&mut self) -> io::Result<()> {
        let delay = self.delays.peek().map(|Reverse((due, ..))| *due);
        let next = self.server.next_tick().into_iter().chain(delay).min();
        let wait = self.context.wait(next);
        let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let room = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN | room)], Some(&timeout)) {
            Ok(0) if self.context.is_polling() => thread::yield_now(),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sends pending datagrams. With `replies_only`, sends only replies that belong to no connection, before the next
    /// datagram overwrites them.
    fn flush(&mut self, replies_only: bool) -> io::Result<()> {
        let mut datagram = Vec::new();
        while self.send()? {
            let to = if replies_only {
                self.server.take_reply(&mut datagram)
            } else {
                self.server.next_datagram(&mut datagram)
            };
            let Some(to) = to else { return Ok(()) };
            self.unsent.push_back((to, std::mem::take(&mut datagram)));
        }
        Ok(())
    }

    /// Sends queued datagrams; false if the socket would block.
    fn send(&mut self) -> io::Result<bool> {
        while let Some((to, datagram)) = self.unsent.front() {
            match self.socket.send_to(datagram, *to) {
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(false),
                    ErrorKind::Interrupted => continue,
                    // The client is unreachable; QUIC times the connection out.
                    ErrorKind::ConnectionRefused
                    | ErrorKind::HostUnreachable
                    | ErrorKind::NetworkUnreachable => {}
                    _ => return Err(error),
                },
            }
            self.unsent.pop_front();
        }
        Ok(true)
    }

    /// Steps the streams of a connection, and starts the delays that follow.
    fn step(&mut self, connection: u64, step: impl FnOnce(&mut Streams, &mut Sender<'_>, &mut Context)) {
        let streams = self.connections.entry(connection).or_insert_with(|| Streams::new(connection));
        step(streams, &mut Sender { server: &mut self.server, connection }, &mut self.context);
        if streams.is_idle() {
            self.connections.remove(&connection);
        }
        if !self.context.delays.is_empty() {
            let now = Instant::now();
            let started = self.context.delays.drain(..);
            self.delays.extend(started.map(|(delay, stream)| Reverse((now + delay, connection, stream))));
        }
    }

    fn expire_delays(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, connection, stream))) = self.delays.peek()
            && due <= now
        {
            self.delays.pop();
            // All requests of the connection may have been cancelled.
            if self.connections.contains_key(&connection) {
                self.step(connection, |streams, sender, context| {
                    streams.delay_expired(stream, sender, context);
                });
            }
        }
    }
}

/// Sends on the streams of a connection.
struct Sender<'a> {
    server: &'a mut Server,
    connection: u64,
}

impl Sender<'_> {
    fn id(&self, stream: u64) -> RequestId {
        RequestId { connection: self.connection, stream }
    }
}

impl StreamSender for Sender<'_> {
    fn respond(&mut self, stream: u64, response: Response) {
        let Response { fields, body, trailers } = response;
        self.server.respond(self.id(stream), &pairs(&fields), body, &pairs(&trailers));
    }

    fn begin(&mut self, stream: u64) {
        self.server.begin(self.id(stream), &pairs(&grpc::fields()));
    }

    fn reply(&mut self, stream: u64, reply: &Reply) {
        if !reply.bytes.is_empty() {
            self.server.push(self.id(stream), &reply.bytes);
        }
        self.server.release(self.id(stream), reply.request_bytes);
    }

    fn finish(&mut self, stream: u64, status: Status) {
        self.server.finish(self.id(stream), &pairs(&status.trailers()));
    }

    fn reset(&mut self, stream: u64) {
        self.server.reset(self.id(stream));
    }

    /// Resets the stream, because others still use the connection.
    fn close(&mut self, stream: u64) -> bool {
        self.reset(stream);
        false
    }

    fn unsent_bytes(&self) -> u64 {
        self.server.unsent_bytes(self.connection)
    }
}
