//! One worker: a listening socket, its connections, their delays, and an epoll loop over all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::processors;
use hoptax_wire::tls::ServerConfig;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SocketFlags, sockopt};
use rustix::time::Timespec;

use crate::behaviour::Behaviour;
use crate::connection::{Connection, State};
use crate::context::Context;
use crate::queue::Queue;
use crate::services::Companion;
use crate::table::Tables;
use crate::{OriginReport, Served, Serves};

/// The token of the listening socket; connections are counted from 0.
const LISTENER: u64 = u64::MAX;
/// Longest wait, so that a request to stop is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// How long answers under way may take at the end.
const GRACE: Duration = Duration::from_secs(1);
/// How long no connection is accepted when there are no more sockets to be had.
const REST: Duration = Duration::from_millis(1);
/// Events taken at once.
const EVENTS: usize = 256;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker {
    epoll: OwnedFd,
    listener: TcpListener,
    defaults: Behaviour,
    tables: Arc<Tables>,
    random: SmallRng,
    /// Connections by token, each with the number of those that had the place before it.
    places: Vec<(u64, Option<Connection>)>,
    vacant: Vec<usize>,
    /// When each delay is over, and of which place, connection and stream it is.
    delays: BinaryHeap<Reverse<(Instant, usize, u64, u32)>>,
    /// The delays that one step began.
    begun: Vec<(Duration, u32)>,
    tls: Option<Arc<ServerConfig>>,
    /// Bytes of a request of plain TCP, if that is spoken.
    request_bytes: Option<u64>,
    buffer: Vec<u8>,
    report: OriginReport,
    queue: Queue,
    companion: Companion,
    /// Answers that wait for their delay.
    under_way: u64,
    /// Until when it looks for requests all the time, in place of sleeping until they come.
    polls_until: Option<Instant>,
    /// Every answer, if they are kept.
    served: Option<Vec<Served>>,
}

impl Worker {
    pub(crate) fn new(
        listener: TcpListener,
        serves: &Serves,
        seed: u64,
        keeps_served: bool,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            defaults: serves.defaults.clone(),
            tables: Arc::clone(&serves.tables),
            tls: serves.tls.clone(),
            request_bytes: serves.request_bytes,
            begun: Vec::new(),
            random: SmallRng::seed_from_u64(seed),
            places: Vec::new(),
            vacant: Vec::new(),
            delays: BinaryHeap::new(),
            buffer: vec![0; READ_BYTES],
            report: OriginReport::default(),
            queue: Queue::default(),
            companion: serves.companion.clone(),
            under_way: 0,
            polls_until: None,
            served: keeps_served.then(Vec::new),
        })
    }

    /// Serves until `stop` is set and what was under way is done.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<(OriginReport, Vec<Served>)> {
        processors::set_min_timer_slack()?;
        let mut events = Vec::with_capacity(EVENTS);
        let mut ending_since: Option<Instant> = None;
        loop {
            if ending_since.is_none() && stop.load(Ordering::Relaxed) {
                ending_since = Some(Instant::now());
                epoll::delete(&self.epoll, &self.listener)?;
                self.end_idle();
            }
            if let Some(since) = ending_since
                && (since.elapsed() >= GRACE || self.vacant.len() == self.places.len())
            {
                return Ok((self.report, self.served.unwrap_or_default()));
            }
            self.wait(&mut events)?;
            let ending = ending_since.is_some();
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    token => self.take_event(token as usize, event.flags, ending),
                }
            }
            self.take_delays(ending);
        }
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let next = self.delays.peek().map(|Reverse((due, ..))| due.saturating_duration_since(Instant::now()));
        self.polls_until = self.polls_until.filter(|until| Instant::now() < *until);
        let polls = self.polls_until.is_some();
        let wait = if polls { Duration::ZERO } else { next.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT) };
        let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if polls && events.is_empty() {
            // The generator may have the same processor, and does not sleep either.
            thread::yield_now();
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match rustix::net::accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => self.open(socket)?,
                Err(Errno::AGAIN) => return Ok(()),
                // The peer has gone again, or a signal came.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                    thread::sleep(REST);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open(&mut self, socket: OwnedFd) -> io::Result<()> {
        // Answers are written whole: Nagle's algorithm could only hold them back. A socket that refuses is gone.
        if sockopt::set_tcp_nodelay(&socket, true).is_err() {
            return Ok(());
        }
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() - 1
        });
        let interest =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(index as u64), interest)?;
        if let Some(place) = self.places.get_mut(index) {
            place.1 = Some(Connection::new(self.report.connections, socket, self.request_bytes));
        }
        self.report.connections += 1;
        Ok(())
    }

    fn take_event(&mut self, index: usize, flags: epoll::EventFlags, ending: bool) {
        let incoming = epoll::EventFlags::IN
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::HUP
            | epoll::EventFlags::ERR;
        if let Some((_, Some(connection))) = self.places.get_mut(index) {
            connection.transport.readable |= flags.intersects(incoming);
        }
        self.step(index, ending, Connection::go_on);
    }

    fn take_delays(&mut self, ending: bool) {
        let now = Instant::now();
        while let Some(&Reverse((due, index, number, stream))) = self.delays.peek()
            && due <= now
        {
            self.delays.pop();
            // The connection that waited may be gone, and another in its place.
            if self.places.get(index).is_some_and(|(current, _)| *current == number) {
                self.step(index, ending, |connection, context| connection.delay_over(stream, context));
            }
        }
    }

    fn step(
        &mut self,
        index: usize,
        ending: bool,
        step: impl Fn(&mut Connection, &mut Context<'_>) -> State,
    ) {
        let Some((number, place)) = self.places.get_mut(index) else { return };
        let Some(connection) = place else { return };
        let mut context = Context {
            defaults: &self.defaults,
            tables: &self.tables,
            tls: self.tls.as_ref(),
            delays: &mut self.begun,
            random: &mut self.random,
            buffer: &mut self.buffer,
            answered: &mut self.report.answered,
            queue: &mut self.queue,
            under_way: &mut self.under_way,
            polls_until: &mut self.polls_until,
            companion: &mut self.companion,
            served: self.served.as_mut(),
            ending,
        };
        let state = step(connection, &mut context);
        if !self.begun.is_empty() {
            let now = Instant::now();
            let begun = self.begun.drain(..);
            self.delays.extend(begun.map(|(delay, stream)| Reverse((now + delay, index, *number, stream))));
        }
        match state {
            State::Wait => {}
            ended @ (State::Done | State::Failed) => {
                self.report.broken += u64::from(ended == State::Failed);
                self.under_way -= connection.waiting();
                *place = None;
                *number += 1;
                self.vacant.push(index);
            }
        }
    }

    /// Ends the connections that have nothing under way.
    fn end_idle(&mut self) {
        for index in 0..self.places.len() {
            let Some((number, place)) = self.places.get_mut(index) else { return };
            if place.as_ref().is_some_and(Connection::is_idle) {
                *place = None;
                *number += 1;
                self.vacant.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use hoptax_host::accounting::thread_use;

    use super::*;
    use crate::{Origin, OriginOptions};

    /// The share of 200 ms after one request in which its worker wanted a processor.
    fn awake_share(path: &str) -> f64 {
        let origin = Origin::bind(&OriginOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            workers: 1,
            default_query: String::new(),
            tables: Vec::new(),
            seed: 1,
            tls: None,
            tcp_request_bytes: None,
        })
        .unwrap();
        let Origin { mut listeners, address, serves, seed } = origin;
        let worker = Worker::new(listeners.remove(0), &serves, seed, false).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let served = scope.spawn(|| {
                let (report, _) = worker.run(&stop).unwrap();
                (report, thread_use().unwrap())
            });
            let mut client = TcpStream::connect(address).unwrap();
            let began = Instant::now();
            client.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
            assert!(client.read(&mut [0; 1024]).unwrap() > 0);
            thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
            let (report, used) = served.join().unwrap();
            assert_eq!(report.answered, 1);
            // On a busy machine it may have to wait for the processor that it wants.
            (used.cpu_ns + used.run_delay_ns) as f64 / began.elapsed().as_nanos() as f64
        })
    }

    #[test]
    fn a_worker_sleeps_between_requests_unless_one_asks_it_to_poll() {
        let (sleeping, polling) = (awake_share("/"), awake_share("/?poll=1h"));
        assert!(polling > 0.8 && sleeping < polling / 2.0, "{polling} {sleeping}");
        // What was asked for is over after a moment.
        let ended = awake_share("/?poll=1ms");
        assert!(ended < polling / 2.0, "{ended}");
    }
}
