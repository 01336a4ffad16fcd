//! HTTP/3: one thread with one UDP socket beside the workers of TCP, on the same port. Built with the feature `http3`.

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
use crate::protocol::http2::{Response, answer, behaviour, pairs, text};
use crate::queue::Queue;
use crate::{OriginReport, Served, Serves};

/// Longest wait, so that a request to stop is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// Bytes of the largest datagram.
const DATAGRAM_BYTES: usize = 64 * 1024;

/// The thread's state.
#[derive(Debug)]
pub(crate) struct Worker {
    socket: UdpSocket,
    server: Server,
    serves: Serves,
    random: SmallRng,
    queue: Queue,
    /// Answers whose delay is not over, by ticket, and when each is over.
    waiting: BTreeMap<u32, (Request, Served, Response)>,
    delays: BinaryHeap<Reverse<(Instant, u32)>>,
    next_ticket: u32,
    report: OriginReport,
    /// Until when it looks for requests all the time.
    polls_until: Option<Instant>,
    served: Option<Vec<Served>>,
    /// Datagrams that the socket has not taken yet.
    unsent: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl Worker {
    /// Listens on an address; None when connections are not secured, which HTTP/3 always is.
    pub(crate) fn new(
        address: SocketAddr,
        serves: &Serves,
        seed: u64,
        keeps_served: bool,
    ) -> io::Result<Option<Self>> {
        let Some(server) = serves.tls.as_ref().and_then(|config| Server::new(config)) else {
            return Ok(None);
        };
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Some(Self {
            socket,
            server,
            serves: serves.clone(),
            random: SmallRng::seed_from_u64(seed),
            queue: Queue::default(),
            waiting: BTreeMap::new(),
            delays: BinaryHeap::new(),
            next_ticket: 0,
            report: OriginReport::default(),
            polls_until: None,
            served: keeps_served.then(Vec::new),
            unsent: VecDeque::new(),
        }))
    }

    /// Serves until `stop` is set.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<(OriginReport, Vec<Served>)> {
        processors::set_min_timer_slack()?;
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let mut requests = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            self.wait()?;
            // While the socket takes nothing, nothing is read that would have to be answered.
            while self.send()? {
                match self.socket.recv_from(&mut buffer) {
                    Ok((length, from)) => {
                        let datagram = buffer.get(..length).unwrap_or_default();
                        let is_new = self.server.feed(from, datagram, &mut requests);
                        self.report.connections += u64::from(is_new);
                        self.flush(true)?;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // A client that has gone.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error),
                }
            }
            self.server.tick(&mut requests);
            for request in std::mem::take(&mut requests) {
                self.take(request);
            }
            self.take_delays();
            self.flush(false)?;
        }
        self.server.close();
        self.flush(false)?;
        Ok((self.report, self.served.unwrap_or_default()))
    }

    fn wait(&mut self) -> io::Result<()> {
        let delay = self.delays.peek().map(|Reverse((due, _))| *due);
        let next = self.server.next_tick().into_iter().chain(delay).min();
        let wait = next.map_or(LONGEST_WAIT, |next| next.saturating_duration_since(Instant::now()));
        self.polls_until = self.polls_until.filter(|until| Instant::now() < *until);
        let polls = self.polls_until.is_some();
        let wait = if polls { Duration::ZERO } else { wait.min(LONGEST_WAIT) };
        let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let room = if self.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN | room)], Some(&timeout)) {
            Ok(0) if polls => thread::yield_now(),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sends what is to be sent; of replies that no connection keeps, only those, so that none is overwritten.
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

    /// Sends the datagrams that wait; false when the socket takes no more for now.
    fn send(&mut self) -> io::Result<bool> {
        while let Some((to, datagram)) = self.unsent.front() {
            match self.socket.send_to(datagram, *to) {
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(false),
                    ErrorKind::Interrupted => continue,
                    // A client that has gone: QUIC gives it up in time.
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
        under_way: &'a mut u64,
    ) -> Context<'a> {
        Context {
            defaults: &self.serves.defaults,
            tables: &self.serves.tables,
            tls: None,
            delays,
            random: &mut self.random,
            buffer: &mut [],
            answered: &mut self.report.answered,
            queue: &mut self.queue,
            under_way,
            polls_until: &mut self.polls_until,
            companion: &mut self.serves.companion,
            served: self.served.as_mut(),
            ending: false,
        }
    }

    fn take(&mut self, request: Request) {
        let (mut delays, mut under_way) = (Vec::new(), self.waiting.len() as u64);
        let ticket = self.next_ticket;
        let mut context = self.context(&mut delays, &mut under_way);
        let behaviour = match behaviour(&request.head, &context) {
            Ok(behaviour) => behaviour,
            Err(error) => {
                *context.answered += 1;
                return self.put(&request, text(400, &format!("{error}\n")));
            }
        };
        let drawn = behaviour.draw(context.tables, context.random);
        let plan = context.plan(request.connection as u64, &drawn);
        let answer = answer(&drawn, request.head.method == "HEAD", behaviour.headers());
        if context.delay(&plan, ticket) {
            self.next_ticket = ticket.wrapping_add(1);
            self.waiting.insert(ticket, (request, plan, answer));
            let now = Instant::now();
            self.delays.extend(delays.drain(..).map(|(delay, ticket)| Reverse((now + delay, ticket))));
            return;
        }
        context.serve(plan);
        if drawn.close {
            return self.server.reset(request.connection, request.stream);
        }
        self.put(&request, answer);
    }

    fn take_delays(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, ticket))) = self.delays.peek()
            && due <= now
        {
            self.delays.pop();
            if let Some((request, plan, answer)) = self.waiting.remove(&ticket) {
                let (mut delays, mut under_way) = (Vec::new(), 0);
                self.context(&mut delays, &mut under_way).serve(plan);
                self.put(&request, answer);
            }
        }
    }

    fn put(&mut self, request: &Request, answer: Response) {
        self.server.answer(request.connection, request.stream, &pairs(&answer.fields), answer.body);
    }
}
