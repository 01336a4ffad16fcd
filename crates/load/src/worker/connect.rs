//! Making a worker, and opening its connections.

use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_wire::ClientProtocol;
use hoptax_wire::tls::Handshake;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;
use thiserror::Error;

use super::lead::Lead;
use super::{HostPool, Lane, Worker};
use crate::connection::{ConnectionId, Connections, Event, LaneId, Layout, SlotId};
use crate::dial::{Peer, Way};
use crate::handshakes::Handshakes;
use crate::kernel::ONE_IN;
use crate::lifetime::Connect;
use crate::pool::{Pool, Pooling};
use crate::schedule::worker_seed;
use crate::traffic::{Picker, Traffic};
use crate::transport::{ConnectionError, Scratch, Transport, Transports};

/// Bytes read at once.
pub(super) const READ_BYTES: usize = 64 * 1024;

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
        address: Peer,
        /// Why.
        source: io::Error,
    },
    /// This machine has no way to that kind of address.
    #[error(
        "cannot connect to {address}: {source}; this machine has no way to such an address (is it IPv6 without a route?)"
    )]
    NoRoute {
        /// The server.
        address: Peer,
        /// Why.
        source: io::Error,
    },
    /// No more ports are free.
    #[error(
        "cannot open {wanted} connections to {address}: {source}; one address of this machine has some 28,000 ports for \
         one port of the server (see net.ipv4.ip_local_port_range); give it several with --source-address"
    )]
    NoPorts {
        /// How many were asked for.
        wanted: usize,
        /// The server.
        address: Peer,
        /// Why.
        source: io::Error,
    },
    /// A given address of this machine is none.
    #[error("cannot connect to {address} from {from}: {source}; is it an address of this machine?")]
    Source {
        /// The server.
        address: Peer,
        /// The address that connections were to go out from.
        from: String,
        /// What the kernel said.
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
    /// The server does not speak what is asked for, or refuses to.
    #[error("cannot talk to {address}: {reason}")]
    Refused {
        /// The server.
        address: Peer,
        /// Why, in words.
        reason: String,
    },
    /// Fewer streams than asked for.
    #[error("{address} takes at most {most} streams on a connection, not {asked}: ask for fewer --streams")]
    Streams {
        /// The server.
        address: Peer,
        /// What it takes.
        most: u32,
        /// What was asked for.
        asked: usize,
    },
    /// A connection was not established in time.
    #[error(
        "{address} was not ready for requests within {seconds} s; is it reachable, and does it speak what is asked?"
    )]
    Timeout {
        /// The server.
        address: Peer,
        /// The timeout.
        seconds: f64,
    },
}

impl ConnectError {
    /// What a socket that failed means, where so many connections were asked for.
    pub(crate) fn of_socket(address: Peer, wanted: usize, source: io::Error) -> Self {
        match Errno::from_io_error(&source) {
            Some(Errno::MFILE | Errno::NFILE) => Self::TooMany { wanted, source },
            Some(Errno::ADDRNOTAVAIL) if wanted > 1 => Self::NoPorts { wanted, address, source },
            Some(Errno::NETUNREACH | Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => {
                Self::NoRoute { address, source }
            }
            _ => Self::Connect { address, source },
        }
    }

    /// A server that closed a connection before anything could be sent.
    pub(crate) fn closed(address: Peer) -> Self {
        Self::Refused { address, reason: ConnectionError::Closed.to_string() }
    }
}

/// What a worker is to be.
#[derive(Clone, Debug)]
pub struct WorkerSpec {
    /// What it sends.
    pub traffic: Arc<Traffic>,
    /// Its connections.
    pub connections: usize,
    /// After how long a request has timed out.
    pub timeout: Duration,
    /// How requests find connections.
    pub pooling: Pooling,
    /// Where the pool, the traffic and lifetimes draw.
    pub seed: u64,
    /// Its number, and of how many.
    pub number: u32,
    /// How many workers there are.
    pub workers: u32,
    /// Whether the kernel's time stamps are taken of a sample.
    pub kernel_stamps: bool,
    /// Over how long the connections are opened that are opened ahead, evenly; zero for all at once.
    pub ramp_up: Duration,
}

impl WorkerSpec {
    /// The only worker of a load.
    pub fn alone(traffic: impl Into<Traffic>, connections: usize, timeout: Duration, seed: u64) -> Self {
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

/// Whether a request can be given up without its connection.
fn cancels(protocol: &ClientProtocol) -> bool {
    match protocol {
        ClientProtocol::Http2(_) | ClientProtocol::Http3(_) => true,
        ClientProtocol::Http1 | ClientProtocol::Tcp { .. } | ClientProtocol::WebSocket { .. } => false,
    }
}

impl Worker {
    /// Makes a worker and opens its connections, unless they are opened on demand.
    ///
    /// # Errors
    /// When one of them cannot be opened: a load on fewer connections than asked for is not that load.
    pub fn connect(spec: &WorkerSpec) -> Result<Self, ConnectError> {
        Self::connect_until(spec, &AtomicBool::new(false))
    }

    /// The same; once `stop` is set, no further connection is opened ahead.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_until(spec: &WorkerSpec, stop: &AtomicBool) -> Result<Self, ConnectError> {
        if let Some(address) = spec.traffic.unsecured() {
            return Err(ConnectError::Refused {
                address: spec.traffic.dial.peer(address),
                reason: "TLS is asked for and not set up".to_owned(),
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
        for (host, share) in spec.traffic.share_out(spec.connections).into_iter().enumerate() {
            let pool = Pool::new(
                spec.pooling.order,
                spec.pooling.when_busy,
                share * streams as usize,
                seed.wrapping_add(host as u64),
            );
            hosts.push(HostPool { first: SlotId(lanes.len() as u32 * streams), pool });
            for _ in 0..share {
                // The stamps of a socket are those of one request only while there is one.
                let is_stamped = spec.kernel_stamps && streams == 1 && lanes.len().is_multiple_of(ONE_IN);
                lanes.push(Lane { host, is_stamped, number: 0 });
            }
        }
        let layout = Layout { lanes: lanes.len() as u32, streams };
        let mut worker = Self {
            epoll,
            timeout_ns: u64::try_from(spec.timeout.as_nanos()).unwrap_or(u64::MAX / 4),
            requests: vec![None; lanes.len() * streams as usize],
            connections: Connections::new(layout, cancels(protocol)),
            transports: Transports::default(),
            lanes,
            corked: Vec::new(),
            expected,
            hosts,
            picker: Picker::new(seed, spec.number, spec.workers),
            when_late: spec.pooling.when_late,
            lifetime: spec.pooling.lifetime,
            random: SmallRng::seed_from_u64(!seed),
            resting: VecDeque::new(),
            thinking: BinaryHeap::new(),
            lead: Lead::default(),
            buffer: vec![0; READ_BYTES],
            scratch: Scratch::default(),
            handshakes: Handshakes::default(),
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

    /// Begins to open a connection.
    pub(super) fn open(&mut self, connection: ConnectionId, now: u64) -> Result<(), Errno> {
        // Counted by opening, so that connections that live for one request take turns as well.
        let number = self.next_number;
        self.next_number = number.wrapping_add(self.workers);
        let lane = &mut self.lanes[self.connections.lane(connection).index()];
        lane.number = number;
        let Lane { host, is_stamped, .. } = *lane;
        let (address, number) = self.traffic.hosts[host].way(number);
        let client = self.traffic.client(host, address, &self.expected);
        let way = Way { dial: &self.traffic.dial, address, number };
        let transport = Transport::open(&self.epoll, connection, way, client, is_stamped, now)?;
        self.transports.insert(connection, transport);
        Ok(())
    }

    /// Goes on with a connection whose attempt to connect has ended.
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

    /// Takes note that a connection can carry requests.
    pub(super) fn set_ready(&mut self, connection: ConnectionId) {
        self.transports[connection].opened_ns = now_ns();
        let requests = self.lifetime.requests.map_or(u32::MAX, |requests| requests.draw(&mut self.random));
        self.connections.handle(Event::Ready { connection, requests });
    }

    /// Takes note of a handshake of TLS, if there was one.
    pub(super) fn record_handshake(&mut self, handshake: Option<(u64, Handshake)>) {
        if let Some((took_ns, handshake)) = handshake {
            self.handshakes.record(took_ns, &handshake);
        }
    }

    /// Where the connection of a lane goes that was opened last.
    pub(super) fn address(&self, lane: LaneId) -> Peer {
        let Lane { host, number, .. } = self.lanes[lane.index()];
        self.traffic.dial.peer(self.traffic.hosts[host].way(number).0)
    }

    pub(super) fn failed(&self, lane: LaneId, error: &ConnectionError) -> ConnectError {
        let (address, wanted) = (self.address(lane), self.lanes.len());
        let ConnectionError::Socket(error) = error else {
            return ConnectError::Refused { address, reason: error.to_string() };
        };
        ConnectError::of_socket(address, wanted, (*error).into())
    }
}
