//! Creates a worker and opens its connections.

use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_wire::{ProtocolError, QuicError};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;

use super::lead::Lead;
use super::{HostPool, Lane, Worker};
use crate::addresses::Addresses;
use crate::connect_error::ConnectError;
use crate::connection::{Closing, ConnectionId, Connections, Event, LaneId, Layout, SlotId, State};
use crate::connection_error::ConnectionError;
use crate::dial::DialTarget;
use crate::failure::ReasonTexts;
use crate::handshakes::Handshakes;
use crate::kernel::SAMPLE_ONE_IN;
use crate::lifetime::Connect;
use crate::peer::Peer;
use crate::pool::{Pool, Pooling};
use crate::schedule::worker_seed;
use crate::traffic::{Picker, Traffic};
use crate::transport::{Scratch, Transport, Transports};

/// Size of the read buffer.
const READ_BYTES: usize = 64 * 1024;

/// Parameters of a worker.
#[derive(Clone, Debug)]
pub struct WorkerSpec {
    /// The requests and their hosts.
    pub traffic: Arc<Traffic>,
    /// Number of connections.
    pub connections: usize,
    /// Request timeout.
    pub timeout: Duration,
    /// Assignment of requests to connections.
    pub pooling: Pooling,
    /// Seed of the pool, the traffic, lifetimes and think times.
    pub seed: u64,
    /// Index of the worker.
    pub number: u32,
    /// Number of workers.
    pub workers: u32,
    /// True to take kernel timestamps of a sample of the connections.
    pub kernel_stamps: bool,
    /// Time over which preconnected connections are opened evenly; zero to open all at once.
    pub ramp_up: Duration,
}

impl WorkerSpec {
    /// A load with a single worker.
    pub fn single(traffic: impl Into<Traffic>, connections: usize, timeout: Duration, seed: u64) -> Self {
        Self {
            traffic: Arc::new(traffic.into()),
            connections,
            timeout,
            pooling: Pooling::default(),
            seed,
            number: 0,
            workers: 1,
            kernel_stamps: false,
            ramp_up: Duration::ZERO,
        }
    }
}

impl Worker {
    /// Creates a worker and opens its connections, unless they are opened on demand.
    ///
    /// # Errors
    /// When one of them cannot be opened: with fewer connections the load would be a different one.
    pub fn connect(spec: &WorkerSpec) -> Result<Self, ConnectError> {
        Self::connect_until(spec, &AtomicBool::new(false))
    }

    /// Like [`Self::connect`], but stops preconnecting when `stop` is set.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_until(spec: &WorkerSpec, stop: &AtomicBool) -> Result<Self, ConnectError> {
        if let Some(address) = spec.traffic.unsecured() {
            return Err(ConnectError::Refused {
                address: spec.traffic.dial.peer(address),
                reason: "the URL requires TLS, but TLS is not configured".to_owned(),
            });
        }
        for address in spec.traffic.addresses() {
            spec.traffic.dial.check(address, spec.connections)?;
        }
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| ConnectError::Epoll(error.into()))?;
        let seed = worker_seed(spec.seed, spec.number);
        let (mut hosts, mut lanes) = (Vec::new(), Vec::with_capacity(spec.connections));
        let expected = spec.traffic.expectation.shared_headers();
        let protocol = &spec.traffic.protocol;
        let streams = protocol.streams();
        for (host, share) in spec.traffic.divide_connections(spec.connections).into_iter().enumerate() {
            let pool = Pool::new(
                spec.pooling.order,
                spec.pooling.when_busy,
                share * streams as usize,
                seed.wrapping_add(host as u64),
            );
            let addresses = Arc::clone(&spec.traffic.hosts[host].addresses);
            let address = addresses.select(0).0;
            hosts.push(HostPool { first: SlotId(lanes.len() as u32 * streams), pool, addresses });
            for _ in 0..share {
                // Kernel timestamps identify a request only if the socket carries one at a time.
                let is_stamped =
                    spec.kernel_stamps && streams == 1 && lanes.len().is_multiple_of(SAMPLE_ONE_IN);
                lanes.push(Lane { host, is_stamped, address });
            }
        }
        let layout = Layout { lanes: lanes.len() as u32, streams };
        let mut worker = Self {
            epoll,
            timeout_ns: u64::try_from(spec.timeout.as_nanos()).unwrap_or(u64::MAX / 4),
            requests: vec![None; lanes.len() * streams as usize],
            connections: Connections::new(layout, protocol.cancels()),
            transports: Transports::default(),
            lanes,
            corked: Vec::new(),
            unwritten: BTreeMap::new(),
            expected,
            hosts,
            picker: Picker::new(seed, spec.number, spec.workers),
            when_late: spec.pooling.when_late,
            lifetime: spec.pooling.lifetime,
            random: SmallRng::seed_from_u64(!seed),
            backing_off: VecDeque::new(),
            thinking: BinaryHeap::new(),
            lead: Lead::default(),
            buffer: vec![0; READ_BYTES],
            scratch: Scratch::default(),
            lowest_limit: None,
            no_stamps: None,
            handshakes: Handshakes::default(),
            reasons: ReasonTexts::default(),
            filled: Vec::new(),
            traffic: Arc::clone(&spec.traffic),
            next_number: spec.number as usize,
            workers: spec.workers.max(1) as usize,
        };
        if worker.lifetime.connect == Connect::Ahead {
            worker.open_all(spec.ramp_up, stop)?;
        }
        Ok(worker)
    }

    /// Starts to open a connection.
    pub(super) fn open(&mut self, connection: ConnectionId, now: u64) -> Result<(), Errno> {
        // Each opening takes a number, so that short-lived connections use the addresses in turn as well.
        let number = self.next_number;
        self.next_number = number.wrapping_add(self.workers);
        let lane = &mut self.lanes[self.connections.lane(connection).index()];
        let Lane { host, is_stamped, .. } = *lane;
        let (address, number) = self.hosts[host].addresses.select(number);
        lane.address = address;
        let client = self.traffic.client(host, address, &self.expected);
        let target = DialTarget { dial: &self.traffic.dial, address, number };
        let transport = Transport::open(&self.epoll, connection, target, client, is_stamped, now)?;
        self.no_stamps = transport.no_stamps.or(self.no_stamps);
        self.transports.insert(connection, transport);
        Ok(())
    }

    /// Called when the non-blocking connect completes.
    pub(super) fn finish_connect(
        &mut self,
        connection: ConnectionId,
        now_ns: u64,
    ) -> Result<(), ConnectionError> {
        let host = &self.traffic.hosts[self.lanes[self.connections.lane(connection).index()].host];
        let dial = &self.traffic.dial;
        self.transports[connection].finish_connect(now_ns, dial, host, &mut self.scratch)?;
        self.connections.handle(Event::Connected(connection));
        Ok(())
    }

    /// Marks a connection as ready for requests.
    pub(super) fn set_ready(&mut self, connection: ConnectionId) {
        let transport = &mut self.transports[connection];
        transport.opened_ns = now_ns();
        let streams = transport.max_streams();
        self.note_limit(streams);
        let requests = self.lifetime.requests.map_or(u32::MAX, |requests| requests.draw(&mut self.random));
        self.connections.handle(Event::Ready { connection, requests, streams });
        self.drain_if_gone(self.connections.lane(connection));
    }

    /// Applies the server's limit on concurrent requests.
    pub(super) fn change_limit(&mut self, connection: ConnectionId, streams: u32) {
        // With QUIC, the limit also drops between the end of a request and the server's permission for the next one. Before a connection is
        // ready, no request waits for it.
        let is_open = matches!(self.connections.state(connection), State::Open { .. });
        if is_open && !self.traffic.protocol.has_datagrams() {
            self.note_limit(streams);
        }
        self.connections.handle(Event::Limit { connection, streams });
    }

    fn note_limit(&mut self, streams: u32) {
        if streams < self.connections.layout().streams {
            self.lowest_limit = Some(self.lowest_limit.map_or(streams, |lowest| lowest.min(streams)));
        }
    }

    /// Closes the socket of a connection.
    pub(super) fn close(&mut self, connection: ConnectionId, was_open: bool) {
        // There is no transport if the connect failed at once.
        if let Some(transport) = self.transports.remove(connection) {
            transport.close(was_open);
        }
    }

    /// Applies new addresses of all hosts. New connections use them, and connections to addresses that are gone are drained.
    pub(super) fn change_addresses(&mut self, hosts: Vec<Arc<Addresses>>) {
        for (host, addresses) in self.hosts.iter_mut().zip(hosts) {
            host.addresses = addresses;
        }
        for lane in self.connections.layout().all_lanes() {
            self.drain_if_gone(lane);
        }
    }

    /// Drains the open connection of a lane if the host no longer has its address. One that is being opened is drained when it
    /// is ready, so that its requests do not fail.
    fn drain_if_gone(&mut self, lane: LaneId) {
        let Lane { host, address, .. } = self.lanes[lane.index()];
        if !self.hosts[host].addresses.contains(address)
            && let Some(connection) = self.connections.current(lane)
            && matches!(self.connections.state(connection), State::Open { .. })
        {
            self.connections.handle(Event::Drain { connection, why: Closing::Plan });
        }
    }

    /// Records the TLS handshake that the last read completed, and returns how long it took, nanoseconds; None if it completed none.
    pub(super) fn record_handshake(&mut self) -> Option<u64> {
        let (took_ns, handshake) = self.scratch.handshake.take()?;
        self.handshakes.record(took_ns, &handshake);
        Some(took_ns)
    }

    /// The destination of the connection opened last on a lane.
    pub(super) fn address(&self, lane: LaneId) -> Peer {
        self.traffic.dial.peer(self.lanes[lane.index()].address)
    }

    pub(super) fn connect_error(&self, lane: LaneId, error: &ConnectionError) -> ConnectError {
        let (address, wanted) = (self.address(lane), self.lanes.len());
        let error = match error {
            ConnectionError::Socket(error) => error,
            ConnectionError::Tls(error) => return ConnectError::from_tls(address, error),
            ConnectionError::Protocol(ProtocolError::Quic(error @ QuicError::Untrusted)) => {
                return ConnectError::Untrusted { address, reason: error.to_string() };
            }
            error => return ConnectError::Refused { address, reason: error.to_string() },
        };
        if self.traffic.protocol.has_datagrams() && *error == Errno::CONNREFUSED {
            return ConnectError::NoHttp3 { address };
        }
        ConnectError::from_socket(address, wanted, (*error).into())
    }
}
