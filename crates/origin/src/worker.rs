//! A worker: an epoll loop over a listening socket, its connections and their delays.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::processors;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SocketFlags, sockopt};
use rustix::time::Timespec;

use crate::connection::{Connection, State};
use crate::context::Context;
use crate::{OriginReport, Served, SharedSettings};

/// The epoll token of the listening socket. Connections have their slot index.
const LISTENER: u64 = u64::MAX;
/// Maximum time to finish responses in flight at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after `accept` failed for lack of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(1);
/// Maximum events per `epoll_wait`.
const EVENTS: usize = 256;

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker {
    epoll: OwnedFd,
    listener: TcpListener,
    context: Context,
    /// Connection slots by token, each with its generation: the number of earlier connections in the slot.
    slots: Vec<(u64, Option<Connection>)>,
    /// Indexes of free slots.
    free_slots: Vec<usize>,
    /// Delays: the time of expiry, the slot, its generation, and the stream.
    delays: BinaryHeap<Reverse<(Instant, usize, u64, u64)>>,
    /// Request size for plain TCP, bytes.
    request_bytes: Option<u64>,
}

impl Worker {
    pub(crate) fn new(
        listener: TcpListener,
        settings: &SharedSettings,
        seed: u64,
        records: bool,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            context: Context::new(settings, seed, records),
            request_bytes: settings.request_bytes,
            slots: Vec::new(),
            free_slots: Vec::new(),
            delays: BinaryHeap::new(),
        })
    }

    /// Serves until `stop` is set and responses in flight are finished.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<(OriginReport, Vec<Served>)> {
        processors::set_min_timer_slack()?;
        let mut events = Vec::with_capacity(EVENTS);
        let mut ending_since: Option<Instant> = None;
        loop {
            if ending_since.is_none() && stop.load(Ordering::Relaxed) {
                ending_since = Some(Instant::now());
                self.context.ending = true;
                epoll::delete(&self.epoll, &self.listener)?;
                self.close_idle();
            }
            if let Some(since) = ending_since
                && (since.elapsed() >= SHUTDOWN_TIMEOUT || self.free_slots.len() == self.slots.len())
            {
                return Ok((self.context.report, self.context.served.unwrap_or_default()));
            }
            self.wait(&mut events)?;
            self.context.defaults.refresh();
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    token => self.handle_event(token as usize, event.flags),
                }
            }
            self.expire_delays();
        }
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let next = self.delays.peek().map(|Reverse((due, ..))| *due);
        let wait = self.context.wait(next);
        let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if self.context.is_polling() && events.is_empty() {
            // The generator may busy-poll on the same processor.
            thread::yield_now();
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match rustix::net::accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => self.open(socket)?,
                Err(Errno::AGAIN) => return Ok(()),
                // The peer has closed the connection already, or a signal arrived.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                    thread::sleep(ACCEPT_PAUSE);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open(&mut self, socket: OwnedFd) -> io::Result<()> {
        // Responses are written in one piece, so Nagle's algorithm could only delay them. An error means a closed socket.
        if sockopt::set_tcp_nodelay(&socket, true).is_err() {
            return Ok(());
        }
        let index = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        let interest =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(index as u64), interest)?;
        if let Some(slot) = self.slots.get_mut(index) {
            slot.1 = Some(Connection::new(self.context.report.connections, socket, self.request_bytes));
        }
        self.context.report.connections += 1;
        Ok(())
    }

    fn handle_event(&mut self, index: usize, flags: epoll::EventFlags) {
        let incoming = epoll::EventFlags::IN
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::HUP
            | epoll::EventFlags::ERR;
        if let Some((_, Some(connection))) = self.slots.get_mut(index) {
            connection.transport.readable |= flags.intersects(incoming);
        }
        self.step(index, Connection::advance);
    }

    fn expire_delays(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, index, generation, stream))) = self.delays.peek()
            && due <= now
        {
            self.delays.pop();
            // The connection may have been closed and its slot reused.
            if self.slots.get(index).is_some_and(|(current, _)| *current == generation) {
                self.step(index, |connection, context| connection.delay_expired(stream, context));
            }
        }
    }

    fn step(&mut self, index: usize, step: impl Fn(&mut Connection, &mut Context) -> State) {
        let Some((generation, slot)) = self.slots.get_mut(index) else { return };
        let Some(connection) = slot else { return };
        let state = step(connection, &mut self.context);
        if !self.context.delays.is_empty() {
            let now = Instant::now();
            let started = self.context.delays.drain(..);
            self.delays
                .extend(started.map(|(delay, stream)| Reverse((now + delay, index, *generation, stream))));
        }
        match state {
            State::Wait => {}
            ended @ (State::Done | State::Failed) => {
                self.context.report.broken += u64::from(ended == State::Failed);
                self.context.in_flight -= connection.delayed();
                *slot = None;
                *generation += 1;
                self.free_slots.push(index);
            }
        }
    }

    /// Closes idle connections.
    fn close_idle(&mut self) {
        for index in 0..self.slots.len() {
            let Some((generation, slot)) = self.slots.get_mut(index) else { return };
            if slot.as_ref().is_some_and(Connection::is_idle) {
                *slot = None;
                *generation += 1;
                self.free_slots.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use hoptax_host::accounting::ThreadAccount;

    use super::*;
    use crate::{Origin, OriginOptions};

    /// States of a worker in the 200 ms after one request, as shares of them.
    #[derive(Debug)]
    struct Awake {
        /// It was running.
        running: f64,
        /// It was running, or waited for a processor.
        runnable: f64,
    }

    fn awake(path: &str) -> Awake {
        let origin = Origin::bind(&OriginOptions::default()).unwrap();
        let Origin { mut listeners, address, settings, seed, .. } = origin;
        let worker = Worker::new(listeners.remove(0), &settings, seed, false).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let served = scope.spawn(|| {
                let (report, _) = worker.run(&stop).unwrap();
                (report, ThreadAccount::current().unwrap().read().unwrap())
            });
            let mut client = TcpStream::connect(address).unwrap();
            let began = Instant::now();
            client.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
            assert!(client.read(&mut [0; 1024]).unwrap() > 0);
            thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
            let (report, used) = served.join().unwrap();
            assert_eq!(report.answered, 1);
            let elapsed_ns = began.elapsed().as_nanos() as f64;
            Awake {
                running: used.cpu_ns as f64 / elapsed_ns,
                runnable: (used.cpu_ns + used.run_delay_ns) as f64 / elapsed_ns,
            }
        })
    }

    #[test]
    fn a_worker_sleeps_between_requests_unless_busy_polling_is_requested() {
        // On a busy machine a worker that polls waits for a processor, and so does one that is woken once: only its running time tells the
        // latter.
        let (sleeping, polling) = (awake("/"), awake("/?poll=1h"));
        assert!(polling.runnable > 0.8 && sleeping.running < 0.4, "{polling:?} {sleeping:?}");
        // Busy polling ends after the requested time.
        let ended = awake("/?poll=1ms");
        assert!(ended.running < 0.4, "{ended:?}");
    }
}
