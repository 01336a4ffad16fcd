//! A worker: one thread with an epoll loop over its own connections.
//!
//! The loop is the same for every kind of load: start the requests that are due on free connections, wait for events
//! until the next request is due, handle the events. `epoll_pwait2` has a timeout in nanoseconds, so no timer is
//! armed. The worker minimizes its timer slack, and wakes before a request is due to compensate for wake-up latency
//! ([`lead`]).
//!
//! The state machine in `connection` decides about connections. The worker feeds it events and performs the actions
//! that it queues (`Worker::perform`). Performing an action may cause another event, which appends to the queue and
//! never calls back.

mod actions;
mod ahead;
mod connect;
mod end;
mod holds;
mod lead;
mod release;
mod responses;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hoptax_host::accounting::{TaskUse, ThreadAccount};
use hoptax_host::clock::now_ns;
use hoptax_wire::ExpectedHeader;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;

pub use connect::WorkerSpec;

use crate::addresses::Addresses;
use crate::connection::{Connections, SlotId};
use crate::current::Current;
use crate::failure::ReasonTexts;
use crate::handshakes::Handshakes;
use crate::in_flight::InFlight;
use crate::lifetime::Lifetime;
use crate::pool::{Pool, WhenLate};
use crate::recording::Recording;
use crate::run::{LIVE_NS, Run};
use crate::traffic::{Picker, Traffic};
use crate::transport::{Scratch, Transports};
use lead::Lead;

/// Interval between scans for timeouts, nanoseconds. That a response is missing is detected at most this much late, and that one is late
/// when it arrives.
const SCAN_NS: u64 = 10_000_000;
/// Maximum wait, nanoseconds. It bounds the delay of a stop request.
const MAX_WAIT_NS: u64 = 50_000_000;
/// Maximum number of events per wait.
const MAX_EVENTS: usize = 256;

/// One epoll loop over its own connections.
#[derive(Debug)]
pub struct Worker {
    epoll: OwnedFd,
    traffic: Arc<Traffic>,
    timeout_ns: u64,
    /// State machine of all connections and slots.
    connections: Connections,
    /// Transports of the connections that are not closed.
    transports: Transports,
    /// Host of each lane.
    lanes: Vec<Lane>,
    /// Requests in flight, by slot.
    requests: Vec<Option<InFlight>>,
    /// Requests that are corked on the connection whose responses are being handled.
    corked: Vec<SlotId>,
    /// The event that a request waited for, by slot, if it ended before its first byte was written.
    unwritten: BTreeMap<SlotId, &'static str>,
    expected: Arc<[ExpectedHeader]>,
    hosts: Vec<HostPool>,
    picker: Picker,
    when_late: WhenLate,
    lifetime: Lifetime,
    /// Draws the requests per connection and the think times.
    random: SmallRng,
    /// Slots in backoff after a failed connect, with the end of the backoff; ordered by that time.
    backing_off: VecDeque<(u64, SlotId)>,
    /// Slots of a closed loop in their think time, with its end.
    thinking: BinaryHeap<Reverse<(u64, SlotId)>>,
    /// Time by which the worker wakes before a request is due.
    lead: Lead,
    buffer: Vec<u8>,
    scratch: Scratch,
    /// The lowest limit on concurrent requests that a server has set, if it is below the number of streams.
    lowest_limit: Option<u32>,
    /// Reason why the kernel takes no timestamps, although they were requested.
    no_stamps: Option<Errno>,
    /// TLS handshakes since the last run.
    handshakes: Handshakes,
    /// Reasons of failed requests.
    reasons: ReasonTexts,
    /// Buffer for a request with its placeholders filled in.
    filled: Vec<u8>,
    /// Number of the next connection to open, which selects its addresses. Workers take every `workers`-th number.
    next_number: usize,
    workers: usize,
}

/// Destination of the connections of a lane.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Index of the host.
    host: usize,
    /// True if its connections take kernel timestamps.
    is_stamped: bool,
    /// Address of the connection opened last.
    address: SocketAddr,
}

/// The slots of one host.
#[derive(Debug)]
struct HostPool {
    /// The first slot.
    first: SlotId,
    pool: Pool,
    addresses: Arc<Addresses>,
}

impl HostPool {
    /// The slot with an index in the pool.
    fn slot(&self, number: usize) -> SlotId {
        SlotId(self.first.0 + number as u32)
    }

    /// The index of a slot in the pool.
    fn number(&self, slot: SlotId) -> usize {
        (slot.0 - self.first.0) as usize
    }
}

impl Worker {
    /// Runs once and records. Returns when every request has ended or the drain time is over; requests still in flight
    /// then count as unfinished, and their connections are closed. Setting `stop` ends the run early, as if that moment
    /// had been its planned end. Returns the CPU use of the calling thread over the record, without warm-up and drain.
    ///
    /// # Errors
    /// When the CPU use of the thread cannot be read, or waiting for events fails.
    pub fn run(&mut self, run: Run, recording: &mut Recording, stop: &AtomicBool) -> io::Result<TaskUse> {
        self.run_in_parts(run, recording, &mut [], stop)
    }

    /// The local address of each connection, in the order in which a course counts them; none for one that is not open.
    pub fn local_addresses(&self) -> Vec<Option<SocketAddr>> {
        let address = |lane| {
            let transport = self.transports.get(self.connections.current(lane)?)?;
            SocketAddr::try_from(rustix::net::getsockname(transport.socket()).ok()?).ok()
        };
        self.connections.layout().all_lanes().map(address).collect()
    }

    /// Like [`Worker::run`], with a recording for the first part of the run and one for each further part.
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
        let mut events = Vec::with_capacity(MAX_EVENTS);
        let account = ThreadAccount::current()?;
        let (mut used_before, mut used_after) = (None, None);
        let mut released = false;
        let mut next_scan_ns = 0;
        let mut next_live_ns = current.run.start_ns + LIVE_NS;
        self.begin_thinking(&current);
        let begun_ns = now_ns();
        self.lead.begin(begun_ns);
        current.account_for_delays(begun_ns);
        loop {
            let now = now_ns();
            current.begin_turn(now);
            self.sample(&mut current, now);
            current.end_early(now, stop.load(Ordering::Relaxed), self.waiting());
            self.end_backoffs(&mut current, now);
            if let Some(hosts) = current.take_addresses() {
                self.change_addresses(hosts);
            }
            if !released {
                // Release once more after the end, to decide about requests that came due just before it.
                self.release(&mut current, now);
                current.end_when_sent(now, || self.waiting());
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
                current.begin_record();
                used_before = Some(account.read()?);
            }
            if used_after.is_none() && now >= current.run.end_ns {
                used_after = Some(account.read()?);
            }
            if now >= next_scan_ns {
                self.scan_timeouts(&mut current, now);
                if self.traffic.protocol.has_datagrams() {
                    self.tick(&mut current, now);
                }
                next_scan_ns = now + SCAN_NS;
            }
            if now >= next_live_ns {
                current.send_live(now, self.connections.established());
                next_live_ns = now + LIVE_NS;
            }
            let until_ns = if current.run.polls { now } else { self.wait_until_ns(&current, now) };
            current.end_turn();
            // `now` is stale: subtract the time that the release has taken, so that the wait does not overshoot.
            let from_ns = now_ns();
            self.wait(&mut events, until_ns.saturating_sub(from_ns))?;
            current.end_wait(from_ns);
            if events.is_empty() {
                if current.run.polls {
                    thread::yield_now();
                }
                self.lead.record_wait(until_ns, from_ns, now_ns());
            }
            self.handle_epoll_events(&mut current, &events);
        }
        if self.traffic.protocol.has_datagrams() {
            self.acknowledge(&mut current, &mut events)?;
        }
        self.finish(&mut current);
        current.end_turn();
        let used = used_after.map_or_else(|| account.read(), Ok)?;
        Ok(used - used_before.unwrap_or(used))
    }

    /// The latest time until which to wait for events.
    fn wait_until_ns(&self, current: &Current, now: u64) -> u64 {
        let mut until_ns = now + MAX_WAIT_NS;
        if self.connections.in_flight() > 0 {
            until_ns = until_ns.min(now + SCAN_NS);
        }
        if now < current.run.end_ns {
            until_ns = until_ns.min(current.run.end_ns);
            // Also when no connection is free: a late detection of a due request counts as the generator's own lag, and the
            // wait for a connection after it does not.
            if current.is_open() || self.has_free_connection() {
                until_ns = until_ns.min(self.lead.wake_at_ns(current.next_ns, now));
            }
            if let Some(&(backoff_end_ns, _)) = self.backing_off.front() {
                until_ns = until_ns.min(backoff_end_ns);
            }
            if let Some(&Reverse((think_end_ns, _))) = self.thinking.peek() {
                until_ns = until_ns.min(self.lead.wake_at_ns(think_end_ns, now));
            }
        }
        until_ns
    }

    /// Waits for events for at most `wait_ns` and stores them in `events`.
    fn wait(&self, events: &mut Vec<epoll::Event>, wait_ns: u64) -> Result<(), Errno> {
        let timeout =
            Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as i64 };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Number of requests that wait for a connection.
    fn waiting(&self) -> u64 {
        self.hosts.iter().map(|host| host.pool.waiting() as u64).sum()
    }

    /// The request in a slot.
    fn request(&mut self, slot: SlotId) -> &mut InFlight {
        match &mut self.requests[slot.index()] {
            Some(request) => request,
            None => panic!("{slot:?} is busy but has no request"),
        }
    }

    /// Index of a slot's host.
    fn host_of(&self, slot: SlotId) -> usize {
        self.lanes[self.connections.layout().lane(slot).index()].host
    }

    fn set_free(&mut self, slot: SlotId) {
        let number = self.host_of(slot);
        let host = &mut self.hosts[number];
        host.pool.set_free(host.number(slot));
    }
}
