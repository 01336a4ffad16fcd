//! HTTP/3: one thread with one UDP socket, on the same port as the TCP workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::processors;
use hoptax_wire::http3::{Request, Server};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::context::Context;
use crate::protocol::http2::{Response, behaviour, pairs, response, text};
use crate::queue::Queue;
use crate::{OriginReport, Served, SharedSettings};

/// Maximum time in `poll`: bounds how late a stop request is noticed.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Maximum datagram size, bytes.
const MAX_DATAGRAM_BYTES: usize = 64 * 1024;

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    socket: UdpSocket,
    server: Server,
    settings: SharedSettings,
    random: SmallRng,
    queue: Queue,
    /// Delayed responses, by ticket.
    delayed: BTreeMap<u32, (Request, Served, Response)>,
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

impl Worker {
    /// Binds the address; None without TLS, which HTTP/3 requires.
    pub(crate) fn new(
        address: SocketAddr,
        settings: &SharedSettings,
        seed: u64,
        records: bool,
    ) -> io::Result<Option<Self>> {
        let Some(server) = settings.tls.as_ref().and_then(|config| Server::new(config)) else {
            return Ok(None);
        };
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Some(Self {
            socket,
            server,
            settings: settings.clone(),
            random: SmallRng::seed_from_u64(seed),
            queue: Queue::default(),
            delayed: BTreeMap::new(),
            delays: BinaryHeap::new(),
            next_ticket: 0,
            report: OriginReport::default(),
            polling_until: None,
            served: records.then(Vec::new),
            unsent: VecDeque::new(),
        }))
    }

    /// Serves until `stop` is set.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<(OriginReport, Vec<Served>)> {
        processors::set_min_timer_slack()?;
        let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
        let mut requests = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            self.wait()?;
            // While the socket accepts no datagrams, none are read: they would need responses.
            while self.send()? {
                match self.socket.recv_from(&mut buffer) {
                    Ok((length, from)) => {
                        let datagram = buffer.get(..length).unwrap_or_default();
                        let is_new = self.server.feed(from, datagram, &mut requests);
                        self.report.connections += u64::from(is_new);
                        self.flush(true)?;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // A client has closed its socket.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error),
                }
            }
            self.server.tick(&mut requests);
            for request in std::mem::take(&mut requests) {
                self.handle(request);
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

    fn handle(&mut self, request: Request) {
        let (mut delays, mut in_flight) = (Vec::new(), self.delayed.len() as u64);
        let ticket = self.next_ticket;
        let mut context = self.context(&mut delays, &mut in_flight);
        let behaviour = match behaviour(&request.head, &context) {
            Ok(behaviour) => behaviour,
            Err(error) => {
                *context.answered += 1;
                return self.send_response(&request, text(400, &format!("{error}\n")));
            }
        };
        let drawn = behaviour.draw(context.tables, context.random);
        let plan = context.plan(request.connection as u64, &drawn);
        let response = response(&drawn, request.head.method == "HEAD", behaviour.headers());
        if context.delay(&plan, ticket) {
            self.next_ticket = ticket.wrapping_add(1);
            self.delayed.insert(ticket, (request, plan, response));
            let now = Instant::now();
            self.delays.extend(delays.drain(..).map(|(delay, ticket)| Reverse((now + delay, ticket))));
            return;
        }
        context.count_response(plan);
        if drawn.close {
            return self.server.reset(request.connection, request.stream);
        }
        self.send_response(&request, response);
    }

    fn expire_delays(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, ticket))) = self.delays.peek()
            && due <= now
        {
            self.delays.pop();
            if let Some((request, plan, response)) = self.delayed.remove(&ticket) {
                let (mut delays, mut in_flight) = (Vec::new(), 0);
                self.context(&mut delays, &mut in_flight).count_response(plan);
                self.send_response(&request, response);
            }
        }
    }

    fn send_response(&mut self, request: &Request, response: Response) {
        self.server.respond(request.connection, request.stream, &pairs(&response.fields), response.body);
    }
}
