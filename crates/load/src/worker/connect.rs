//! Creates a worker and opens its connections.

use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
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
use super::{HostPool, Lane, MAX_EVENTS, SCAN_NS, Worker};
use crate::connection::{Action, ConnectionId, Connections, Event, LaneId, Layout, SlotId, State};
use crate::handshakes::Handshakes;
use crate::kernel::SAMPLE_ONE_IN;
use crate::lifetime::Connect;
use crate::pool::{Pool, Pooling};
use crate::schedule::worker_seed;
use crate::traffic::{Picker, Traffic};
use crate::transport::{ConnectionError, Read, Scratch, Transport, Transports};

/// Size of the read buffer.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// Why a worker could not open its connections.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The epoll instance could not be created.
    #[error("cannot create an epoll instance: {0}")]
    Epoll(#[source] io::Error),
    /// A connect failed.
    #[error("cannot connect to {address}: {source}; is the server running, and is the port right?")]
    Connect {
        /// The server.
        address: SocketAddr,
        /// The system error.
        source: io::Error,
    },
    /// There is no route to the host.
    #[error(
        "cannot connect to {address}: {source}; no route to host (is it an IPv6 address without a route?)"
    )]
    NoRoute {
        /// The server.
        address: SocketAddr,
        /// The system error.
        source: io::Error,
    },
    /// The local ports are exhausted.
    #[error(
        "cannot open {wanted} connections to {address}: {source}; a local address has about 28,000 ports for each \
         port of the server (see net.ipv4.ip_local_port_range)"
    )]
    NoPorts {
        /// Requested number of connections.
        wanted: usize,
        /// The server.
        address: SocketAddr,
        /// The system error.
        source: io::Error,
    },
    /// The limit of open files is reached.
    #[error(
        "cannot open {wanted} connections: {source}; the limit of open files may be too low (see `ulimit -n`)"
    )]
    TooMany {
        /// Requested number of connections.
        wanted: usize,
        /// The system error.
        source: io::Error,
    },
    /// The handshake of TLS or of the protocol failed.
    #[error("the handshake with {address} failed: {reason}")]
    Refused {
        /// The server.
        address: SocketAddr,
        /// The reason.
        reason: String,
    },
    /// The server allows fewer streams than requested.
    #[error("{address} allows at most {most} streams per connection, not {asked}; use a lower --streams")]
    Streams {
        /// The server.
        address: SocketAddr,
        /// The server's limit.
        most: u32,
        /// Requested number of streams.
        asked: usize,
    },
    /// A connection was not established within the timeout.
    #[error(
        "{address} was not ready for requests within {seconds} s; is it reachable, and does it speak the requested protocol?"
    )]
    Timeout {
        /// The server.
        address: SocketAddr,
        /// The timeout.
        seconds: f64,
    },
}

/// Parameters of a worker.
#[derive(Clone, Debug)]
pub struct WorkerSpec {
    /// The requests and their hosts.
    pub traffic: Arc<Traffic>,
    /// Number of connections.
    pub connections: usize,
    /// Request timeout.
    pub timeout: Duration,
    /// How requests are assigned to connections.
    pub pooling: Pooling,
    /// Seed of the pool, the traffic, lifetimes and think times.
    pub seed: u64,
    /// Index of the worker.
    pub number: u32,
    /// Number of workers.
    pub workers: u32,
    /// Whether to take kernel timestamps of a sample of the connections.
    pub kernel_stamps: bool,
}

impl WorkerSpec {
    /// A load with a single worker.
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
        }
    }
}

/// Whether the protocol can cancel a request without closing its connection.
fn cancels(protocol: &ClientProtocol) -> bool {
    match protocol {
        ClientProtocol::Http2(_) => true,
        #[cfg(feature = "http3")]
        ClientProtocol::Http3(_) => true,
        ClientProtocol::Http1 | ClientProtocol::Tcp { .. } | ClientProtocol::WebSocket { .. } => false,
    }
}

impl Worker {
    /// Creates a worker and opens its connections, unless they are opened on demand.
    ///
    /// # Errors
    /// When one of them cannot be opened: with fewer connections the load would be a different one.
    pub fn connect(spec: &WorkerSpec) -> Result<Self, ConnectError> {
        if let Some(address) = spec.traffic.unsecured() {
            return Err(ConnectError::Refused {
                address,
                reason: "the URL requires TLS, but TLS is not configured".to_owned(),
            });
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
                // Kernel timestamps identify a request only if the socket carries one at a time.
                let is_stamped =
                    spec.kernel_stamps && streams == 1 && lanes.len().is_multiple_of(SAMPLE_ONE_IN);
                lanes.push(Lane { host, is_stamped });
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
            backing_off: VecDeque::new(),
            thinking: BinaryHeap::new(),
            lead: Lead::default(),
            buffer: vec![0; READ_BYTES],
            scratch: Scratch::default(),
            handshakes: Handshakes::default(),
            filled: Vec::new(),
            traffic: Arc::clone(&spec.traffic),
        };
        if worker.lifetime.connect == Connect::Ahead {
            worker.open_all()?;
        }
        Ok(worker)
    }

    /// Starts to open a connection.
    pub(super) fn open(&mut self, connection: ConnectionId, now: u64) -> Result<(), Errno> {
        let Lane { host, is_stamped } = self.lanes[self.connections.lane(connection).index()];
        let client = self.traffic.client(host, &self.expected);
        let address = self.traffic.hosts[host].address;
        let transport = Transport::open(&self.epoll, connection, address, client, is_stamped, now)?;
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
        self.transports[connection].finish_connect(now_ns, host, &mut self.scratch)?;
        self.connections.handle(Event::Connected(connection));
        Ok(())
    }

    /// Marks a connection as ready for requests.
    pub(super) fn set_ready(&mut self, connection: ConnectionId) {
        self.transports[connection].opened_ns = now_ns();
        let requests = self.lifetime.requests.map_or(u32::MAX, |requests| requests.draw(&mut self.random));
        self.connections.handle(Event::Ready { connection, requests });
    }

    fn open_all(&mut self) -> Result<(), ConnectError> {
        let now = now_ns();
        let deadline_ns = now.saturating_add(self.timeout_ns);
        let mut pending = 0;
        for lane in self.connections.layout().all_lanes() {
            self.connections.handle(Event::Preconnect(lane));
            while let Some(action) = self.connections.next_action() {
                let Action::Open(connection) = action else {
                    unreachable!("without requests, opening is the only action: {action:?}")
                };
                self.open(connection, now).map_err(|error| self.connect_error(lane, &error.into()))?;
                pending += 1;
            }
        }
        let mut events = Vec::with_capacity(MAX_EVENTS);
        while pending > 0 {
            let now = now_ns();
            if now >= deadline_ns {
                let is_pending =
                    |one: &ConnectionId| !matches!(self.connections.state(*one), State::Open { .. });
                let waiting = self.connections.live().find(is_pending);
                let lane = waiting.map_or(LaneId(0), |connection| self.connections.lane(connection));
                return Err(ConnectError::Timeout {
                    address: self.address(lane),
                    seconds: self.timeout_ns as f64 / 1e9,
                });
            }
            let wait_ns = (deadline_ns - now).min(SCAN_NS);
            self.wait(&mut events, wait_ns).map_err(|error| self.connect_error(LaneId(0), &error.into()))?;
            #[cfg(feature = "http3")]
            for connection in self.connections.live().collect::<Vec<_>>() {
                let ticked = self.transports[connection].tick(&mut Vec::new());
                ticked.map_err(|error| self.connect_error(self.connections.lane(connection), &error))?;
            }
            for event in &events {
                let connection = ConnectionId::from_token(event.data.u64());
                let lane = self.connections.lane(connection);
                if self.continue_handshake(connection).map_err(|error| self.connect_error(lane, &error))? {
                    self.check_streams(connection)?;
                    self.set_ready(connection);
                    pending -= 1;
                }
            }
        }
        Ok(())
    }

    /// Advances the handshake of a connection as far as possible. Returns whether it has just become ready.
    fn continue_handshake(&mut self, connection: ConnectionId) -> Result<bool, ConnectionError> {
        match self.connections.state(connection) {
            State::Connecting { .. } => self.finish_connect(connection, now_ns())?,
            State::Handshaking { .. } => {}
            State::Open { .. } | State::Draining { .. } | State::Closed => return Ok(false),
        }
        loop {
            let transport = &mut self.transports[connection];
            if transport.settings_received() {
                return Ok(true);
            }
            transport.transmit()?;
            let alpn = self.traffic.protocol.alpn();
            let (read, handshake) = transport.read(&mut self.buffer, alpn, true, &mut self.scratch)?;
            self.record_handshake(handshake);
            match read {
                Read::WouldBlock => return Ok(false),
                Read::End => return Err(ConnectionError::Closed),
                Read::Bytes(_) => {}
            }
        }
    }

    fn check_streams(&self, connection: ConnectionId) -> Result<(), ConnectError> {
        let most = self.transports[connection].max_streams();
        let asked = self.connections.layout().streams;
        if most < asked {
            let address = self.address(self.connections.lane(connection));
            return Err(ConnectError::Streams { address, most, asked: asked as usize });
        }
        Ok(())
    }

    /// Records a TLS handshake, if there is one.
    pub(super) fn record_handshake(&mut self, handshake: Option<(u64, Handshake)>) {
        if let Some((took_ns, handshake)) = handshake {
            self.handshakes.record(took_ns, &handshake);
        }
    }

    fn address(&self, lane: LaneId) -> SocketAddr {
        self.traffic.hosts[self.lanes[lane.index()].host].address
    }

    fn connect_error(&self, lane: LaneId, error: &ConnectionError) -> ConnectError {
        let (address, wanted) = (self.address(lane), self.lanes.len());
        let ConnectionError::Socket(error) = error else {
            return ConnectError::Refused { address, reason: error.to_string() };
        };
        let source = (*error).into();
        match *error {
            Errno::MFILE | Errno::NFILE => ConnectError::TooMany { wanted, source },
            Errno::ADDRNOTAVAIL if wanted > 1 => ConnectError::NoPorts { wanted, address, source },
            Errno::NETUNREACH | Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL => {
                ConnectError::NoRoute { address, source }
            }
            _ => ConnectError::Connect { address, source },
        }
    }
}
