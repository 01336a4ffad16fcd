//! One thread's share of a load: an epoll loop over connections of its own.
//!
//! The loop is the same for all kinds of load: release what is due onto free connections, wait for events no
//! longer than until the next release, take the answers. `epoll_pwait2` waits to the nanosecond, so there is
//! no timer to arm; the worker asks the kernel for no timer slack, and wakes before a release by what wake-ups
//! take ([`lead`]).
//!
//! What happens to connections is decided by the state machine in `connection`. The worker tells it of events, and
//! performs the actions that it leaves in a queue (`Worker::perform`). An action may be an event in turn, which adds to the
//! queue and never calls back.

mod answers;
mod connect;
mod end;
mod lead;
mod release;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hoptax_host::accounting::{TaskUse, thread_use};
use hoptax_host::clock::now_ns;
use hoptax_wire::ExpectedHeader;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;

pub use connect::{ConnectError, WorkerSpec};

use crate::connection::{Connections, SlotId};
use crate::handshakes::Handshakes;
use crate::lifetime::Lifetime;
use crate::pool::{Pool, WhenLate};
use crate::recording::Recording;
use crate::run::{Current, LIVE_NS, Run};
use crate::traffic::{Picked, Picker, Traffic};
use crate::transport::{Scratch, Transports};
use lead::Lead;

/// How often timeouts are looked for, nanoseconds: a timed-out request is noticed at most this much late.
const SCAN_NS: u64 = 10_000_000;
/// Longest wait, so that a request to stop is noticed, nanoseconds.
const LONGEST_WAIT_NS: u64 = 50_000_000;
/// Events taken at once.
const EVENTS: usize = 256;

/// One epoll loop over connections of its own.
#[derive(Debug)]
pub struct Worker {
    epoll: OwnedFd,
    traffic: Arc<Traffic>,
    timeout_ns: u64,
    /// The state of every connection and request.
    connections: Connections,
    /// The sockets of those that are not closed.
    transports: Transports,
    /// Where the connections of each lane go.
    lanes: Vec<Lane>,
    /// The requests without an end yet, by slot.
    requests: Vec<Option<InFlight>>,
    /// Requests that are held back on the connection whose answers are being looked at.
    corked: Vec<SlotId>,
    expected: Arc<[ExpectedHeader]>,
    hosts: Vec<HostPool>,
    picker: Picker,
    when_late: WhenLate,
    lifetime: Lifetime,
    /// Draws lifetimes and think times.
    random: SmallRng,
    /// Streams of connections that could not be opened, with the time until which they rest; in order of that time.
    resting: VecDeque<(u64, SlotId)>,
    /// Streams of a closed loop whose user thinks, with the time until when.
    thinking: BinaryHeap<Reverse<(u64, SlotId)>>,
    /// How long before a release the worker wakes.
    lead: Lead,
    buffer: Vec<u8>,
    scratch: Scratch,
    /// The handshakes of TLS since the last run.
    handshakes: Handshakes,
    /// The request that is being written, where each has numbers of its own.
    filled: Vec<u8>,
}

/// Where the connections of a lane go.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// The host, by number.
    host: usize,
    /// Whether the kernel's time stamps are asked for.
    is_stamped: bool,
}

/// The slots of one host.
#[derive(Debug)]
struct HostPool {
    /// The first of them.
    first: SlotId,
    pool: Pool,
}

impl HostPool {
    /// The slot that the pool knows by a number.
    fn slot(&self, number: usize) -> SlotId {
        SlotId(self.first.0 + number as u32)
    }

    /// The number by which the pool knows a slot.
    fn number(&self, slot: SlotId) -> usize {
        (slot.0 - self.first.0) as usize
    }
}

/// A request without an end yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) intended_ns: u64,
    /// When the generator took note of it.
    pub(crate) offered_ns: u64,
    /// Which request it is.
    pub(crate) picked: Picked,
    /// When the attempt began: the bytes were written, or a connection for them was asked for.
    pub(crate) started_ns: u64,
    /// When the connection that was opened for it was connected; 0 before, and for a request that joined it.
    pub(crate) connected_ns: u64,
    /// When the first byte was written; 0 while the connection is being opened.
    pub(crate) written_ns: u64,
    /// When the first byte of the answer was read; 0 before.
    pub(crate) first_byte_ns: u64,
    /// When the last message of the answer was read; 0 before, and where messages are not timed.
    pub(crate) message_ns: u64,
    /// Whether it is part of the record.
    pub(crate) recorded: bool,
    /// Whether it had to wait for a connection.
    pub(crate) blocked: bool,
    /// Whether its connection was opened for it, and not for a request before it that it joined.
    pub(crate) connected: bool,
}

impl Worker {
    /// Runs once and records. Returns when all releases are done and all answers are in, or the drain is over;
    /// then what is unfinished is counted and its connections are closed. Setting `stop` ends the run early,
    /// as if its end had been planned for that moment. The result is what the calling thread used while it
    /// recorded, without warm-up and drain.
    ///
    /// # Errors
    /// When the kernel does not say what the thread used, or refuses to wait for events.
    pub fn run(&mut self, run: Run, recording: &mut Recording, stop: &AtomicBool) -> io::Result<TaskUse> {
        self.run_in_parts(run, recording, &mut [], stop)
    }

    /// The same, with a recording for the first part of the run and one for each further part.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn run_in_parts(
        &mut self,
        run: Run,
        first: &mut Recording,
        rest: &mut [Recording],
        stop: &AtomicBool,
    ) -> io::Result<TaskUse> {
        let mut current = Current::new(run, first, rest);
        current.plan_next(self.picker.pick(&self.traffic));
        let mut events = Vec::with_capacity(EVENTS);
        let (mut used_before, mut used_after) = (None, None);
        let mut released = false;
        let mut next_scan_ns = 0;
        let mut next_live_ns = current.run.start_ns + LIVE_NS;
        self.begin_thinking(&current);
        self.lead.begin(now_ns());
        loop {
            let now = now_ns();
            current.look(now, self.connections.in_flight(), self.connections.established());
            current.end_early(now, stop.load(Ordering::Relaxed), self.waiting());
            self.wake_resting(&mut current, now);
            if !released {
                // Once more when the end has passed: what came due just before it is decided like all the rest.
                self.release(&mut current, now);
                released = now >= current.run.end_ns;
            }
            self.perform(&mut current, now);
            if released
                && (self.connections.in_flight() == 0
                    || now >= current.run.end_ns.saturating_add(current.run.drain_ns))
            {
                break;
            }
            if used_before.is_none() && now >= current.run.record_from_ns {
                used_before = Some(thread_use()?);
            }
            if used_after.is_none() && now >= current.run.end_ns {
                used_after = Some(thread_use()?);
            }
            if now >= next_scan_ns {
                self.scan_timeouts(&mut current, now);
                #[cfg(feature = "http3")]
                self.tick(&mut current, now);
                next_scan_ns = now + SCAN_NS;
            }
            if now >= next_live_ns {
                current.send_live();
                next_live_ns = now + LIVE_NS;
            }
            let until_ns = if current.run.polls { now } else { self.wait_until_ns(&current, now) };
            // What the release after `now` was read has used up is taken off, or it would be slept twice.
            let from_ns = now_ns();
            self.wait(&mut events, until_ns.saturating_sub(from_ns))?;
            if events.is_empty() {
                if current.run.polls {
                    thread::yield_now();
                }
                self.lead.waited(until_ns, from_ns, now_ns());
            }
            self.take_events(&mut current, &events);
        }
        self.finish(&mut current);
        let used = used_after.map_or_else(thread_use, Ok)?;
        Ok(used - used_before.unwrap_or(used))
    }

    /// Until when to wait for events at most.
    fn wait_until_ns(&self, current: &Current, now: u64) -> u64 {
        let mut until_ns = now + LONGEST_WAIT_NS;
        if self.connections.in_flight() > 0 {
            until_ns = until_ns.min(now + SCAN_NS);
        }
        if now < current.run.end_ns {
            until_ns = until_ns.min(current.run.end_ns);
            // Also when no connection is free: how late the generator takes note of a request is its own doing, how long
            // the request then waits is not.
            if current.is_open() || self.may_release() {
                until_ns = until_ns.min(self.lead.before(current.next_ns, now));
            }
            if let Some(&(rest_ns, _)) = self.resting.front() {
                until_ns = until_ns.min(rest_ns);
            }
            if let Some(&Reverse((thought_ns, _))) = self.thinking.peek() {
                until_ns = until_ns.min(self.lead.before(thought_ns, now));
            }
        }
        until_ns
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

    /// Requests that wait for a connection.
    fn waiting(&self) -> u64 {
        self.hosts.iter().map(|host| host.pool.waiting() as u64).sum()
    }

    /// The request in a slot.
    fn request(&mut self, slot: SlotId) -> &mut InFlight {
        match &mut self.requests[slot.index()] {
            Some(request) => request,
            None => panic!("{slot:?} is taken and has no request"),
        }
    }

    /// The host of a slot, by number.
    fn host_of(&self, slot: SlotId) -> usize {
        self.lanes[self.connections.layout().lane(slot).index()].host
    }

    fn set_free(&mut self, slot: SlotId) {
        let number = self.host_of(slot);
        let host = &mut self.hosts[number];
        host.pool.set_free(host.number(slot));
    }
}
