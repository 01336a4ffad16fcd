//! Making a worker, and opening its connections.

use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::Handshake;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;
use thiserror::Error;

use super::lead::Lead;
use super::{EVENTS, HostPool, SCAN_NS, Worker};
use crate::connection::{Connection, Read, Scratch, Trouble};
use crate::handshakes::Handshakes;
use crate::kernel::ONE_IN;
use crate::lifetime::Connect;
use crate::pool::{Pool, Pooling};
use crate::schedule::worker_seed;
use crate::traffic::{Picker, Traffic};

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
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// This machine has no way to that kind of address.
    #[error(
        "cannot connect to {address}: {source}; this machine has no way to such an address (is it IPv6 without a route?)"
    )]
    NoRoute {
        /// The server.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No more ports are free.
    #[error(
        "cannot open {wanted} connections to {address}: {source}; one address of this machine has some 28,000 ports for \
         one port of the server (see net.ipv4.ip_local_port_range)"
    )]
    NoPorts {
        /// How many were asked for.
        wanted: usize,
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
    /// The server does not speak what is asked for, or refuses to.
    #[error("cannot talk to {address}: {reason}")]
    Refused {
        /// The server.
        address: SocketAddr,
        /// Why, in words.
        reason: String,
    },
    /// Fewer streams than asked for.
    #[error("{address} takes at most {most} streams on a connection, not {asked}: ask for fewer --streams")]
    Streams {
        /// The server.
        address: SocketAddr,
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
        address: SocketAddr,
        /// The timeout.
        seconds: f64,
    },
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
        }
    }
}

impl Worker {
    /// Makes a worker and opens its connections, unless they are opened on demand.
    ///
    /// # Errors
    /// When one of them cannot be opened: a load on fewer connections than asked for is not that load.
    pub fn connect(spec: &WorkerSpec) -> Result<Self, ConnectError> {
        if let Some(address) = spec.traffic.unsecured() {
            return Err(ConnectError::Refused {
                address,
                reason: "TLS is asked for and not set up".to_owned(),
            });
        }
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| ConnectError::Epoll(error.into()))?;
        let seed = worker_seed(spec.seed, spec.number);
        let (mut hosts, mut connections) = (Vec::new(), Vec::with_capacity(spec.connections));
        let expected = spec.traffic.expectation.shared_headers();
        let protocol = &spec.traffic.protocol;
        let streams = protocol.streams() as usize;
        for (number, share) in spec.traffic.share_out(spec.connections).into_iter().enumerate() {
            let pool = Pool::new(
                spec.pooling.order,
                spec.pooling.when_busy,
                share * streams,
                seed.wrapping_add(number as u64),
            );
            hosts.push(HostPool { first: connections.len() * streams, pool });
            for _ in 0..share {
                // The stamps of a socket are those of one request only while there is one.
                let is_stamped =
                    spec.kernel_stamps && streams == 1 && connections.len().is_multiple_of(ONE_IN);
                let client = spec.traffic.client(number, &expected);
                connections.push(Connection::new(number, is_stamped, client));
            }
        }
        let mut worker = Self {
            epoll,
            timeout_ns: u64::try_from(spec.timeout.as_nanos()).unwrap_or(u64::MAX / 4),
            slots: vec![None; connections.len() * streams],
            connections,
            streams,
            corked: Vec::new(),
            expected,
            hosts,
            picker: Picker::new(seed, spec.number, spec.workers),
            when_late: spec.pooling.when_late,
            lifetime: spec.pooling.lifetime,
            random: SmallRng::seed_from_u64(!seed),
            resting: VecDeque::new(),
            thinking: BinaryHeap::new(),
            in_flight: 0,
            established: 0,
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

    /// Begins to open a connection.
    pub(super) fn open(&mut self, index: usize) -> Result<(), Errno> {
        self.close(index);
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) };
        let Some(host) = self.traffic.hosts.get(connection.host) else { return Ok(()) };
        let requests = self.lifetime.requests.map(|requests| requests.draw(&mut self.random));
        connection.requests_left = requests.unwrap_or(u32::MAX);
        let client = self.traffic.client(connection.host, &self.expected);
        connection.open(&self.epoll, index as u64, host.address, client)
    }

    /// Goes on with a connection whose attempt to connect has come to something.
    pub(super) fn finish_connect(&mut self, index: usize, now_ns: u64) -> Result<(), Trouble> {
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) };
        let Some(host) = self.traffic.hosts.get(connection.host) else { return Ok(()) };
        connection.finish_connect(now_ns, host, &mut self.scratch)
    }

    /// Takes note that a connection can carry requests.
    pub(super) fn set_ready(&mut self, index: usize) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.is_counted = true;
            self.established += 1;
        }
    }

    fn open_all(&mut self) -> Result<(), ConnectError> {
        let deadline_ns = now_ns().saturating_add(self.timeout_ns);
        for index in 0..self.connections.len() {
            self.open(index).map_err(|error| self.failed(index, &error.into()))?;
        }
        let mut missing = self.connections.len();
        let mut events = Vec::with_capacity(EVENTS);
        while missing > 0 {
            let now = now_ns();
            if now >= deadline_ns {
                let waits = self.connections.iter().position(|connection| !connection.is_counted);
                let seconds = self.timeout_ns as f64 / 1e9;
                return Err(ConnectError::Timeout {
                    address: self.address(waits.unwrap_or_default()),
                    seconds,
                });
            }
            let wait_ns = (deadline_ns - now).min(SCAN_NS);
            self.wait(&mut events, wait_ns).map_err(|error| self.failed(0, &error.into()))?;
            #[cfg(feature = "http3")]
            for index in 0..self.connections.len() {
                let ticked = self.connections.get_mut(index).map_or(Ok(()), |one| one.tick(&mut Vec::new()));
                ticked.map_err(|trouble| self.failed(index, &trouble))?;
            }
            for event in &events {
                let index = event.data.u64() as usize;
                if self.go_on_opening(index).map_err(|trouble| self.failed(index, &trouble))? {
                    self.check_streams(index)?;
                    self.set_ready(index);
                    missing -= 1;
                }
            }
        }
        Ok(())
    }

    /// Takes a connection as far as it comes; whether it has just become ready.
    fn go_on_opening(&mut self, index: usize) -> Result<bool, Trouble> {
        if self.connections.get(index).is_none_or(|connection| connection.is_counted) {
            return Ok(false);
        }
        if self.connections.get(index).is_some_and(Connection::is_connecting) {
            self.finish_connect(index, now_ns())?;
        }
        loop {
            let Some(connection) = self.connections.get_mut(index) else { return Ok(false) };
            if connection.is_settled() {
                return Ok(true);
            }
            connection.transmit()?;
            let alpn = self.traffic.protocol.alpn();
            let (read, handshake) = connection.read(&mut self.buffer, alpn, &mut self.scratch)?;
            self.record_handshake(handshake);
            match read {
                Read::Later => return Ok(false),
                Read::End => return Err(Trouble::Closed),
                Read::Bytes(_) => {}
            }
        }
    }

    fn check_streams(&self, index: usize) -> Result<(), ConnectError> {
        let most = self.connections.get(index).map_or(1, Connection::max_streams);
        if (most as usize) < self.streams {
            let address = self.address(index);
            return Err(ConnectError::Streams { address, most, asked: self.streams });
        }
        Ok(())
    }

    /// Takes note of a handshake of TLS, if there was one.
    pub(super) fn record_handshake(&mut self, handshake: Option<(u64, Handshake)>) {
        if let Some((took_ns, handshake)) = handshake {
            self.handshakes.record(took_ns, &handshake);
        }
    }

    fn address(&self, index: usize) -> SocketAddr {
        let host = self.connections.get(index).and_then(|connection| self.traffic.hosts.get(connection.host));
        host.map_or_else(|| ([0, 0, 0, 0], 0).into(), |host| host.address)
    }

    fn failed(&self, index: usize, trouble: &Trouble) -> ConnectError {
        let (address, wanted) = (self.address(index), self.connections.len());
        let Trouble::Socket(error) = trouble else {
            return ConnectError::Refused { address, reason: trouble.to_string() };
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
