//! One thread's share of a load: an epoll loop over connections of its own.
//!
//! The loop is the same for both kinds of load: release what is due onto free connections, wait for events no
//! longer than until the next release, take the answers. `epoll_pwait2` waits to the nanosecond, so there is
//! no timer to arm; the worker asks the kernel for no timer slack.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::accounting::{TaskUse, thread_use};
use hoptax_host::clock::now_ns;
use hoptax_wire::http1::{Answer, Progress};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;
use thiserror::Error;

use crate::connection::{Connection, InFlight};
use crate::log::Outcome;
use crate::pool::{LATE_NS, Offer, Pool, Pooling, WhenLate};
use crate::recording::{Failure, Recording, Unsent};
use crate::run::{Current, LIVE_NS, Run};
use crate::target::Target;

/// How often timeouts are looked for, nanoseconds: a timed-out request is noticed at most this much late.
const SCAN_NS: u64 = 10_000_000;
/// Longest wait, so that a request to stop is noticed, nanoseconds.
const LONGEST_WAIT_NS: u64 = 50_000_000;
/// How long a connection that could not be opened rests before the next attempt, nanoseconds.
const REST_NS: u64 = 10_000_000;
/// Events taken at once.
const EVENTS: usize = 256;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// The connections of a worker could not be opened.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kernel has no epoll instance for us.
    #[error("cannot create an epoll instance: {0}")]
    Epoll(#[source] io::Error),
    /// A connection failed.
    #[error("cannot connect to {address}: {source}; is the server running, and is the port right?")]
    Connect {
        /// The server.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No more sockets may be opened.
    #[error(
        "cannot open {wanted} connections: {source}; the limit of open files may be too low (see `ulimit -n`)"
    )]
    TooMany {
        /// How many were asked for.
        wanted: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// A connection was not established in time.
    #[error("{address} did not accept a connection within {seconds} s; is it reachable?")]
    Timeout {
        /// The server.
        address: SocketAddr,
        /// The timeout.
        seconds: f64,
    },
}

/// One epoll loop over connections of its own.
#[derive(Debug)]
pub struct Worker {
    epoll: OwnedFd,
    target: Arc<Target>,
    request_is_head: bool,
    timeout_ns: u64,
    connections: Vec<Connection>,
    pool: Pool,
    when_late: WhenLate,
    requests_per_connection: Option<NonZeroU32>,
    /// Connections that could not be opened, with the time until which they rest; in order of that time.
    resting: VecDeque<(u64, usize)>,
    in_flight: usize,
    buffer: Vec<u8>,
}

impl Worker {
    /// Opens all connections. The seed decides where the pool draws.
    ///
    /// # Errors
    /// When one of them cannot be opened: a load on fewer connections than asked for is not that load.
    pub fn connect(
        target: Arc<Target>,
        connections: usize,
        timeout: Duration,
        pooling: Pooling,
        seed: u64,
    ) -> Result<Self, ConnectError> {
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| ConnectError::Epoll(error.into()))?;
        let request_is_head = target.method == "HEAD";
        let mut worker = Self {
            epoll,
            request_is_head,
            timeout_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX / 4),
            connections: (0..connections).map(|_| Connection::new(request_is_head)).collect(),
            pool: Pool::new(pooling.order, pooling.when_busy, connections, seed),
            when_late: pooling.when_late,
            requests_per_connection: pooling.requests_per_connection,
            resting: VecDeque::new(),
            in_flight: 0,
            buffer: vec![0; READ_BYTES],
            target,
        };
        worker.open_all(connections)?;
        Ok(worker)
    }

    fn open_all(&mut self, wanted: usize) -> Result<(), ConnectError> {
        let address = self.target.address;
        let failed = |error: Errno| match error {
            Errno::MFILE | Errno::NFILE => ConnectError::TooMany { wanted, source: error.into() },
            _ => ConnectError::Connect { address, source: error.into() },
        };
        let deadline_ns = now_ns().saturating_add(self.timeout_ns);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            connection.open(&self.epoll, index as u64, address).map_err(failed)?;
        }
        let mut missing = wanted;
        let mut events = Vec::with_capacity(EVENTS);
        while missing > 0 {
            let now = now_ns();
            if now >= deadline_ns {
                return Err(ConnectError::Timeout { address, seconds: self.timeout_ns as f64 / 1e9 });
            }
            self.wait(&mut events, deadline_ns - now).map_err(failed)?;
            for event in &events {
                let index = event.data.u64() as usize;
                if let Some(connection) = self.connections.get_mut(index).filter(|one| !one.is_established())
                {
                    connection.finish_open().map_err(failed)?;
                    missing -= 1;
                }
            }
        }
        Ok(())
    }

    /// Runs once and records. Returns when all releases are done and all answers are in, or the drain is over;
    /// then what is unfinished is counted and its connections are closed. Setting `stop` ends the run early,
    /// as if its end had been planned for that moment. The result is what the calling thread used from the
    /// start of the record on.
    ///
    /// # Errors
    /// When the kernel does not say what the thread used, or refuses to wait for events.
    pub fn run(&mut self, run: Run, recording: &mut Recording, stop: &AtomicBool) -> io::Result<TaskUse> {
        let mut current = Current::new(run, recording);
        let mut events = Vec::with_capacity(EVENTS);
        let mut used_before = None;
        let mut released = false;
        let mut next_scan_ns = 0;
        let mut next_live_ns = current.run.start_ns + LIVE_NS;
        loop {
            let now = now_ns();
            if stop.load(Ordering::Relaxed) {
                current.run.end_ns = current.run.end_ns.min(now);
            }
            self.wake_resting(&mut current, now);
            if !released {
                // Once more when the end has passed: what came due just before it is decided like all the rest.
                self.release(&mut current, now);
                released = now >= current.run.end_ns;
            }
            if released
                && (self.in_flight == 0 || now >= current.run.end_ns.saturating_add(current.run.drain_ns))
            {
                break;
            }
            if used_before.is_none() && now >= current.run.record_from_ns {
                used_before = Some(thread_use()?);
            }
            if now >= next_scan_ns {
                self.scan_timeouts(&mut current, now);
                next_scan_ns = now + SCAN_NS;
            }
            if now >= next_live_ns {
                current.send_live();
                next_live_ns = now + LIVE_NS;
            }
            self.wait(&mut events, self.wait_ns(&current, now))?;
            self.take_events(&mut current, &events);
        }
        self.finish(&mut current);
        let used = thread_use()?;
        Ok(used - used_before.unwrap_or(used))
    }

    /// How long to wait for events at most.
    fn wait_ns(&self, current: &Current, now: u64) -> u64 {
        let mut until_ns = now + LONGEST_WAIT_NS;
        if self.in_flight > 0 {
            until_ns = until_ns.min(now + SCAN_NS);
        }
        if now < current.run.end_ns {
            until_ns = until_ns.min(current.run.end_ns);
            if self.pool.has_free() {
                until_ns = until_ns.min(current.next_ns);
            }
            if let Some(&(rest_ns, _)) = self.resting.front() {
                until_ns = until_ns.min(rest_ns);
            }
        }
        // What the release after `now` was read has used up is taken off, or it would be slept twice.
        until_ns.saturating_sub(now_ns())
    }

    /// Waits for events for `wait_ns` at most and leaves them in `events`.
    fn wait(&self, events: &mut Vec<epoll::Event>, wait_ns: u64) -> Result<(), Errno> {
        let timeout =
            Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as i64 };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends what is due onto free connections, and decides what becomes of the rest.
    fn release(&mut self, current: &mut Current, now: u64) {
        if !current.is_open() {
            // A closed loop plans a request for the moment when it finds a connection free.
            while current.next_ns <= now
                && now < current.run.end_ns
                && let Some(index) = self.pool.take()
            {
                self.start(current, index, now, false);
            }
            return;
        }
        while current.next_ns <= now && current.next_ns < current.run.end_ns {
            let planned_ns = current.next_ns;
            current.plan_next();
            match self.pool.offer(planned_ns) {
                Offer::Start(index) if self.when_late == WhenLate::Skip && now - planned_ns > LATE_NS => {
                    self.pool.set_free(index);
                    current.record_unsent(planned_ns, Unsent::Late);
                }
                Offer::Start(index) => self.start(current, index, planned_ns, false),
                Offer::Waits => {
                    let waiting = self.pool.waiting() as u64;
                    current.recording.most_waiting = current.recording.most_waiting.max(waiting);
                }
                Offer::Refused => current.record_unsent(planned_ns, Unsent::Busy),
            }
        }
    }

    /// Gives a connection back; a request that has waited for it takes it.
    fn give_back(&mut self, current: &mut Current, index: usize, now: u64) {
        if now >= current.run.end_ns {
            return self.pool.set_free(index);
        }
        if current.is_open() {
            // What came due before this is decided before it.
            self.release(current, now);
            if let Some(planned_ns) = self.pool.give(index) {
                self.start(current, index, planned_ns, true);
            }
        } else {
            self.pool.set_free(index);
        }
    }

    /// Hands a request to a connection, opening it first where it is closed.
    fn start(&mut self, current: &mut Current, index: usize, planned_ns: u64, blocked: bool) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let recorded = planned_ns >= current.run.record_from_ns;
        if recorded {
            let book = &mut current.recording.book;
            book.planned += 1;
            book.sent += 1;
            book.blocked += u64::from(blocked);
        }
        let started_ns = now_ns();
        let mut in_flight = InFlight {
            planned_ns,
            started_ns,
            written_ns: 0,
            first_byte_ns: 0,
            written_bytes: 0,
            recorded,
            blocked,
        };
        self.in_flight += 1;
        if connection.is_established() {
            in_flight.written_ns = started_ns;
            connection.in_flight = Some(in_flight);
            if let Err(error) = connection.write(&self.target.request) {
                self.fail(current, index, failure_of(error));
            }
        } else {
            connection.in_flight = Some(in_flight);
            if connection.open(&self.epoll, index as u64, self.target.address).is_err() {
                self.fail(current, index, Failure::Refused);
            }
        }
    }

    fn take_events(&mut self, current: &mut Current, events: &[epoll::Event]) {
        for event in events {
            self.take_event(current, event.data.u64() as usize, event.flags);
            // With many events at once the next release may come due before the last is handled.
            if current.is_open() && self.pool.has_free() {
                let now = now_ns();
                if current.next_ns <= now && now < current.run.end_ns {
                    self.release(current, now);
                }
            }
        }
    }

    fn take_event(&mut self, current: &mut Current, index: usize, flags: epoll::EventFlags) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.socket().is_none() {
            return;
        }
        if !connection.is_established() {
            if connection.finish_open().is_err() {
                self.fail(current, index, Failure::Refused);
                return;
            }
            if let Some(in_flight) = &mut connection.in_flight {
                in_flight.written_ns = now_ns();
            }
        }
        if flags.contains(epoll::EventFlags::OUT)
            && let Err(error) = connection.write(&self.target.request)
        {
            self.fail(current, index, failure_of(error));
            return;
        }
        let closing = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if flags.intersects(epoll::EventFlags::IN | closing) {
            self.read(current, index, flags.intersects(closing));
        }
    }

    /// Reads what has come. The socket is edge-triggered: a short read has emptied it, unless its end has come.
    fn read(&mut self, current: &mut Current, index: usize, closing: bool) {
        loop {
            let Some(connection) = self.connections.get_mut(index) else { return };
            let Some(socket) = connection.socket() else { return };
            let count = match rustix::io::read(socket, &mut self.buffer) {
                Ok(count) => count,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(error) => return self.fail(current, index, failure_of(error)),
            };
            let now = now_ns();
            let Some(in_flight) = &mut connection.in_flight else {
                // Nothing was asked: the server has closed an idle connection, or sent what nobody wanted.
                return connection.close(self.request_is_head);
            };
            if count == 0 {
                return match connection.reader.end() {
                    Ok(Some(answer)) => self.complete(current, index, answer, now),
                    Ok(None) => self.fail(current, index, Failure::Closed),
                    Err(_) => self.fail(current, index, Failure::Truncated),
                };
            }
            if in_flight.first_byte_ns == 0 {
                in_flight.first_byte_ns = now;
            }
            match connection.reader.feed(self.buffer.get(..count).unwrap_or_default()) {
                Ok(Progress::Complete(mut answer)) => {
                    answer.keep_alive &= !closing;
                    return self.complete(current, index, answer, now);
                }
                Ok(Progress::Partial) if count < READ_BYTES && !closing => return,
                Ok(Progress::Partial) => {}
                Err(_) => return self.fail(current, index, Failure::Malformed),
            }
        }
    }

    /// Books an answer and frees its connection.
    fn complete(&mut self, current: &mut Current, index: usize, answer: Answer, last_byte_ns: u64) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let Some(in_flight) = connection.in_flight.take() else { return };
        connection.answered += 1;
        let is_used_up = self.requests_per_connection.is_some_and(|most| connection.answered >= most.get());
        // An answer that came before its request was written whole leaves a connection of unknown state.
        if !answer.keep_alive || is_used_up || in_flight.written_bytes < self.target.request.len() {
            connection.close(self.request_is_head);
        }
        self.in_flight -= 1;
        if in_flight.recorded {
            let failure = self.target.expectation.failure(&answer);
            current.record_answer(&in_flight, index, answer, failure, last_byte_ns);
        }
        if !current.is_open() && last_byte_ns < current.run.end_ns {
            self.start(current, index, last_byte_ns, false);
        } else {
            self.give_back(current, index, last_byte_ns);
        }
    }

    /// Books a failure, closes its connection, and lets it rest when it could not even be opened.
    fn fail(&mut self, current: &mut Current, index: usize, failure: Failure) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        connection.close(self.request_is_head);
        let Some(in_flight) = connection.in_flight.take() else { return };
        self.in_flight -= 1;
        if in_flight.recorded {
            current.record_end(&in_flight, index, Outcome::Failed(failure));
        }
        let now = now_ns();
        if failure == Failure::Refused {
            self.resting.push_back((now + REST_NS, index));
        } else {
            self.give_back(current, index, now);
        }
    }

    fn wake_resting(&mut self, current: &mut Current, now: u64) {
        while let Some(&(rest_ns, index)) = self.resting.front()
            && rest_ns <= now
        {
            self.resting.pop_front();
            self.give_back(current, index, now);
        }
    }

    fn scan_timeouts(&mut self, current: &mut Current, now: u64) {
        if self.in_flight == 0 {
            return;
        }
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(index) else { return };
            let late = |one: &InFlight| now.saturating_sub(one.started_ns) >= self.timeout_ns;
            if let Some(in_flight) = connection.in_flight.take_if(|one| late(one)) {
                connection.close(self.request_is_head);
                self.in_flight -= 1;
                if in_flight.recorded {
                    current.record_end(&in_flight, index, Outcome::TimedOut);
                }
                self.give_back(current, index, now);
            }
        }
    }

    /// Counts what is unfinished and unsent, and leaves the connections ready for another run.
    fn finish(&mut self, current: &mut Current) {
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(index) else { continue };
            if let Some(in_flight) = connection.in_flight.take() {
                // Its answer may still come: the connection cannot be used again.
                connection.close(self.request_is_head);
                self.in_flight -= 1;
                if in_flight.recorded {
                    current.record_end(&in_flight, index, Outcome::Unfinished);
                }
                self.pool.set_free(index);
            }
        }
        while let Some((_, index)) = self.resting.pop_front() {
            self.pool.set_free(index);
        }
        for planned_ns in self.pool.give_up() {
            current.record_unsent(planned_ns, Unsent::End);
        }
        while current.is_open() && current.next_ns < current.run.end_ns {
            current.record_unsent(current.next_ns, Unsent::End);
            current.plan_next();
        }
        current.send_live();
        current.recording.keep_recent_status();
    }
}

fn failure_of(error: Errno) -> Failure {
    match error {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT => Failure::Refused,
        _ => Failure::Reset,
    }
}
