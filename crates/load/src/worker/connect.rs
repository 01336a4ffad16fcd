//! Making a worker, and opening its connections.

use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::epoll;
use rustix::io::Errno;
use thiserror::Error;

use super::{EVENTS, HostPool, Worker};
use crate::connection::Connection;
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
    /// A connection was not established in time.
    #[error("{address} did not accept a connection within {seconds} s; is it reachable?")]
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
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| ConnectError::Epoll(error.into()))?;
        let seed = worker_seed(spec.seed, spec.number);
        let (mut hosts, mut connections) = (Vec::new(), Vec::with_capacity(spec.connections));
        let expected = spec.traffic.expectation.shared_headers();
        for (number, share) in spec.traffic.share_out(spec.connections).into_iter().enumerate() {
            let pool = Pool::new(
                spec.pooling.order,
                spec.pooling.when_busy,
                share,
                seed.wrapping_add(number as u64),
            );
            hosts.push(HostPool { first: connections.len(), pool });
            for _ in 0..share {
                let is_stamped = spec.kernel_stamps && connections.len().is_multiple_of(ONE_IN);
                connections.push(Connection::new(number, is_stamped, &expected));
            }
        }
        let mut worker = Self {
            epoll,
            timeout_ns: u64::try_from(spec.timeout.as_nanos()).unwrap_or(u64::MAX / 4),
            connections,
            hosts,
            picker: Picker::new(seed, spec.number, spec.workers),
            when_late: spec.pooling.when_late,
            lifetime: spec.pooling.lifetime,
            random: SmallRng::seed_from_u64(!seed),
            resting: VecDeque::new(),
            thinking: BinaryHeap::new(),
            in_flight: 0,
            established: 0,
            buffer: vec![0; READ_BYTES],
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
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) };
        let Some(host) = self.traffic.hosts.get(connection.host) else { return Ok(()) };
        let requests = self.lifetime.requests.map(|requests| requests.draw(&mut self.random));
        connection.requests_left = requests.unwrap_or(u32::MAX);
        connection.open(&self.epoll, index as u64, host.address)
    }

    /// Takes note that a connection may be open now.
    pub(super) fn finish_open(&mut self, index: usize, now_ns: u64) -> Result<(), Errno> {
        let Some(connection) = self.connections.get_mut(index) else { return Ok(()) };
        connection.finish_open(now_ns)?;
        self.established += 1;
        Ok(())
    }

    fn open_all(&mut self) -> Result<(), ConnectError> {
        let deadline_ns = now_ns().saturating_add(self.timeout_ns);
        for index in 0..self.connections.len() {
            self.open(index).map_err(|error| self.failed(index, error))?;
        }
        let mut missing = self.connections.len();
        let mut events = Vec::with_capacity(EVENTS);
        while missing > 0 {
            let now = now_ns();
            if now >= deadline_ns {
                let waits = self.connections.iter().position(|connection| !connection.is_established());
                let seconds = self.timeout_ns as f64 / 1e9;
                return Err(ConnectError::Timeout {
                    address: self.address(waits.unwrap_or_default()),
                    seconds,
                });
            }
            self.wait(&mut events, deadline_ns - now).map_err(|error| self.failed(0, error))?;
            for event in &events {
                let index = event.data.u64() as usize;
                if self.connections.get(index).is_some_and(|connection| !connection.is_established()) {
                    self.finish_open(index, now_ns()).map_err(|error| self.failed(index, error))?;
                    missing -= 1;
                }
            }
        }
        Ok(())
    }

    fn address(&self, index: usize) -> SocketAddr {
        let host = self.connections.get(index).and_then(|connection| self.traffic.hosts.get(connection.host));
        host.map_or_else(|| ([0, 0, 0, 0], 0).into(), |host| host.address)
    }

    fn failed(&self, index: usize, error: Errno) -> ConnectError {
        let (address, wanted, source) = (self.address(index), self.connections.len(), error.into());
        match error {
            Errno::MFILE | Errno::NFILE => ConnectError::TooMany { wanted, source },
            Errno::ADDRNOTAVAIL if wanted > 1 => ConnectError::NoPorts { wanted, address, source },
            Errno::NETUNREACH | Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL => {
                ConnectError::NoRoute { address, source }
            }
            _ => ConnectError::Connect { address, source },
        }
    }
}
