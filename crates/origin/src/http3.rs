//! HTTP/3, with gRPC: one thread with one UDP socket, on the same port as the TCP workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::processors;
use hoptax_wire::http2::{Head, ServerEvent};
use hoptax_wire::http3::{RequestId, Server};
use hoptax_wire::tls::ServerConfig;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::call::{self, Call, MAX_HELD_BYTES, Reply, Step};
use crate::context::Context;
use crate::grpc;
use crate::queue::Queue;
use crate::respond::{Planned, Response, pairs, respond};
use crate::{OriginReport, Served, SharedSettings};

/// Maximum time in `poll`: bounds how late a stop request is noticed.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Maximum datagram size, bytes.
const MAX_DATAGRAM_BYTES: usize = 64 * 1024;

/// A bound socket and its connections.
#[derive(Debug)]
pub(crate) struct Http3 {
    socket: UdpSocket,
    server: Server,
}

impl Http3 {
    /// Binds the address; the inner value is None if the TLS configuration has no cipher suite for QUIC.
    pub(crate) fn bind(address: SocketAddr, tls: &ServerConfig) -> io::Result<Option<Self>> {
        let Some(server) = Server::new(tls, call::is_streaming) else { return Ok(None) };
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
    settings: SharedSettings,
    random: SmallRng,
    queue: Queue,
    /// What is delayed, by ticket.
    delayed: BTreeMap<u32, (RequestId, Delayed)>,
    /// Open streaming calls.
    calls: BTreeMap<RequestId, Call>,
    /// The time of expiry of each delay, and its ticket.
    delays: BinaryHeap<Reverse<(Instant, u32)>>,
    next_ticket: u32,
    report: OriginReport,
    /// End of busy polling.
    polling_until: Option<Instant>,
    served: Option<Vec<Served>>,
    /// Datagrams that the socket has not accepted yet.
    unsent: VecDeque<(SocketAddr, Vec<u8>)>,
}

/// What waits for its delay.
#[derive(Debug)]
enum Delayed {
    /// A response. It is boxed because a call needs no room.
    Response(Box<Planned>),
    /// The reply that a call holds.
    Reply,
}

impl Worker {
    /// A worker on a bound socket.
    pub(crate) fn new(endpoint: Http3, settings: &SharedSettings, seed: u64, records: bool) -> Self {
        let Http3 { socket, server } = endpoint;
        Self {
            socket,
            server,
            settings: settings.clone(),
            random: SmallRng::seed_from_u64(seed),
            queue: Queue::default(),
            delayed: BTreeMap::new(),
            calls: BTreeMap::new(),
            delays: BinaryHeap::new(),
            next_ticket: 0,
            report: OriginReport::default(),
            polling_until: None,
            served: records.then(Vec::new),
            unsent: VecDeque::new(),
        }
    }

    /// Serves until `stop` is set.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<(OriginReport, Vec<Served>)> {
        processors::set_min_timer_slack()?;
        let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
        let mut events = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            self.wait()?;
            // While the socket accepts no datagrams, none are read: they would need responses.
            while self.send()? {
                match self.socket.recv_from(&mut buffer) {
                    Ok((length, from)) => {
                        let datagram = buffer.get(..length).unwrap_or_default();
                        let is_new = self.server.feed(from, datagram, &mut events);
                        self.report.connections += u64::from(is_new);
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
                self.handle_event(event);
            }
            self.expire_delays();
            self.flush(false)?;
        }
        self.server.close();
        self.flush(false)?;
        Ok((self.report, self.served.unwrap_or_default()))
    }

    fn wait(&mut self) -> io::Result<()> {
        let delay = self.delays.peek().map(|Reverse((due, _))| *due);
        let next = self.server.next_tick().into_iter().chain(delay).min();
        let wait = next.map_or(MAX_WAIT, |next| next.saturating_duration_since(Instant::now()));
        self.polling_until = self.polling_until.filter(|until| Instant::now() < *until);
        let is_polling = self.polling_until.is_some();
        let wait = if is_polling { Duration::ZERO } else { wait.min(MAX_WAIT) };
        let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let room = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN | room)], Some(&timeout)) {
            Ok(0) if is_polling => thread::yield_now(),
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

    fn context<'a>(
        &'a mut self,
        delays: &'a mut Vec<(Duration, u32)>,
        in_flight: &'a mut u64,
    ) -> Context<'a> {
        Context {
            defaults: &self.settings.defaults,
            tables: &self.settings.tables,
            tls: None,
            delays,
            random: &mut self.random,
            buffer: &mut [],
            answered: &mut self.report.answered,
            queue: &mut self.queue,
            in_flight,
            polling_until: &mut self.polling_until,
            services: &mut self.settings.services,
            served: self.served.as_mut(),
            ending: false,
        }
    }

    fn handle_event(&mut self, event: ServerEvent<RequestId>) {
        match event {
            ServerEvent::Request { stream, head, body } => self.handle(stream, &head, &body),
            ServerEvent::Opened { stream, head } => self.open_call(stream, &head),
            ServerEvent::Data { stream, data } => {
                if let Some(call) = self.calls.get_mut(&stream) {
                    call.receive(&data);
                    self.advance_call(stream);
                }
            }
            ServerEvent::Ended { stream } => {
                if let Some(call) = self.calls.get_mut(&stream) {
                    call.end();
                    self.advance_call(stream);
                }
            }
            ServerEvent::Cancelled { stream } => self.cancel(stream),
        }
    }

    fn handle(&mut self, request: RequestId, head: &Head, body: &[u8]) {
        let (mut delays, mut in_flight) = (Vec::new(), self.delayed.len() as u64);
        let ticket = self.next_ticket;
        let mut context = self.context(&mut delays, &mut in_flight);
        let planned = respond(head, body, request.connection as u64, &mut context);
        match planned.plan {
            Some(plan) if context.delay(&plan, ticket) => {
                return self.start_delay(delays, request, Delayed::Response(Box::new(planned)));
            }
            Some(plan) => context.count_response(plan),
            None => *context.answered += 1,
        }
        self.send_response(request, planned);
    }

    /// Opens a call whose messages are answered one by one.
    fn open_call(&mut self, request: RequestId, head: &Head) {
        let (mut delays, mut in_flight) = (Vec::new(), self.delayed.len() as u64);
        let mut context = self.context(&mut delays, &mut in_flight);
        match Call::open(head, &mut context) {
            (_, true) => {
                *context.answered += 1;
                self.server.reset(request);
            }
            (Ok(call), false) => {
                self.calls.insert(request, call);
                self.server.begin(request, &pairs(&grpc::fields()));
            }
            (Err(response), false) => {
                *context.answered += 1;
                self.answer(request, response);
            }
        }
    }

    /// Answers the messages of a call that have arrived, up to one that is delayed.
    fn advance_call(&mut self, request: RequestId) {
        let Some(mut call) = self.calls.remove(&request) else { return };
        loop {
            let (mut delays, mut in_flight) = (Vec::new(), self.delayed.len() as u64);
            let ticket = self.next_ticket;
            let mut context = self.context(&mut delays, &mut in_flight);
            match call.next(request.connection as u64, ticket, &mut context) {
                Some(Step::Reply(reply)) => self.send_reply(request, &reply),
                Some(Step::End(status)) => {
                    *context.answered += 1;
                    return self.server.finish(request, &pairs(&status.trailers()));
                }
                None => {
                    if call.is_delayed() && !delays.is_empty() {
                        self.start_delay(delays, request, Delayed::Reply);
                    }
                    break;
                }
            }
        }
        self.calls.insert(request, call);
        let all = |stream| RequestId { connection: request.connection, stream };
        let calls = self.calls.range(all(0)..=all(u64::MAX));
        let held_bytes = calls.map(|(_, call)| call.held_bytes()).sum::<usize>() as u64;
        if held_bytes + self.server.unsent_bytes(request.connection) > MAX_HELD_BYTES {
            self.server.reset(request);
            self.cancel(request);
        }
    }

    /// Forgets a request that is cancelled.
    fn cancel(&mut self, request: RequestId) {
        self.calls.remove(&request);
        self.delayed.retain(|_, (delayed, _)| *delayed != request);
    }

    /// Starts the delay of the next ticket.
    fn start_delay(&mut self, delays: Vec<(Duration, u32)>, request: RequestId, delayed: Delayed) {
        self.delayed.insert(self.next_ticket, (request, delayed));
        self.next_ticket = self.next_ticket.wrapping_add(1);
        let now = Instant::now();
        self.delays.extend(delays.into_iter().map(|(delay, ticket)| Reverse((now + delay, ticket))));
    }

    fn expire_delays(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, ticket))) = self.delays.peek()
            && due <= now
        {
            self.delays.pop();
            match self.delayed.remove(&ticket) {
                Some((request, Delayed::Response(planned))) => {
                    let (mut delays, mut in_flight) = (Vec::new(), 0);
                    if let Some(plan) = planned.plan {
                        self.context(&mut delays, &mut in_flight).count_response(plan);
                    }
                    self.send_response(request, *planned);
                }
                Some((request, Delayed::Reply)) => {
                    if let Some(reply) = self.calls.get_mut(&request).and_then(Call::delay_expired) {
                        self.send_reply(request, &reply);
                    }
                    self.advance_call(request);
                }
                // The request was cancelled.
                None => {}
            }
        }
    }

    fn send_reply(&mut self, request: RequestId, reply: &Reply) {
        if !reply.bytes.is_empty() {
            self.server.push(request, &reply.bytes);
        }
        self.server.release(request, reply.request_bytes);
    }

    /// Sends a response, or resets its stream if the parameters ask for a close: others still use the connection.
    fn send_response(&mut self, request: RequestId, planned: Planned) {
        if planned.closes {
            return self.server.reset(request);
        }
        self.answer(request, planned.response);
    }

    fn answer(&mut self, request: RequestId, response: Response) {
        let Response { fields, body, trailers } = response;
        self.server.respond(request, &pairs(&fields), body, &pairs(&trailers));
    }
}
