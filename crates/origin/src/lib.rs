//! The test server: answers with a delay, a size, a status or an error on request, over HTTP/1.1, HTTP/2, gRPC, WebSocket
//! and TCP, with or without TLS.
//!
//! What a request asks for is in its query or in headers (see [`Behaviour`]); Fortio's echo syntax works too. Each
//! worker is a thread with an epoll loop and a listening socket of its own, nothing shared; a delay is held by the
//! worker's own clock while other connections go on.

mod answer;
mod behaviour;
mod connection;
mod context;
#[cfg(feature = "http3")]
mod http3;
mod protocol;
mod queue;
mod request;
mod services;
mod table;
mod transport;
mod worker;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

pub use hoptax_wire::tls::ServerConfig;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

pub use behaviour::{BadParameter, Behaviour};
pub use queue::{Freeze, Queue};
pub use request::{BadRequest, Next, RequestReader};
use services::Companion;
pub use table::{TableError, Tables};
use worker::Worker;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// What an origin is to be.
#[derive(Clone, Debug)]
pub struct OriginOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads.
    pub workers: usize,
    /// What a request gets that asks for nothing, written as a query: `delay=1ms&size=100`.
    pub default_query: String,
    /// The delay tables that requests may name. No other file is ever read for a request.
    pub tables: Vec<PathBuf>,
    /// Seed of drawn delays, errors and closes.
    pub seed: u64,
    /// How connections over TLS are secured; without this there are none.
    pub tls: Option<Arc<ServerConfig>>,
    /// For plain TCP in place of all else: bytes of a request, for which an answer of the default size comes.
    pub tcp_request_bytes: Option<u64>,
}

/// Why there is no origin.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {}", advice(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A delay table cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The default is no behaviour.
    #[error("the default answer: {0}")]
    Default(#[from] BadParameter),
    /// The kernel refused what a worker needs.
    #[error("the origin cannot go on: {0}")]
    System(#[from] io::Error),
    /// A worker ended without a report, which is a fault of hoptax.
    #[error("a worker thread ended without a report; this is a fault of hoptax")]
    WorkerLost,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another process listens there: end it, or choose another port",
        io::ErrorKind::PermissionDenied => "ports below 1024 are for root: choose another",
        io::ErrorKind::AddrNotAvailable => "the address is not one of this machine",
        _ => "choose another address",
    }
}

/// One answer, in nanoseconds of [`hoptax_host::clock::now_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its connection, by the order in which the worker accepted them, from 0.
    pub connection: u64,
    /// When the request had been read.
    pub arrived_ns: u64,
    /// Its time at the worker's one server; none when it passed by.
    pub service_ns: Option<u64>,
    /// When the answer was to leave.
    pub departs_ns: u64,
    /// When it was handed to the socket.
    pub written_ns: u64,
}

/// An origin that listens and does not serve yet.
#[derive(Debug)]
pub struct Origin {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    serves: Serves,
    seed: u64,
}

/// What all workers serve.
#[derive(Clone, Debug)]
struct Serves {
    defaults: Behaviour,
    tables: Arc<Tables>,
    tls: Option<Arc<ServerConfig>>,
    request_bytes: Option<u64>,
    companion: Companion,
}

/// What an origin did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginReport {
    /// Connections accepted.
    pub connections: u64,
    /// Requests answered.
    pub answered: u64,
    /// Connections that ended in the middle of a request or an answer, and requests that were not HTTP.
    pub broken: u64,
}

impl Origin {
    /// Reads the tables and begins to listen.
    ///
    /// # Errors
    /// When a table or the default cannot be used, or the address not be listened on.
    pub fn bind(options: &OriginOptions) -> Result<Self, OriginError> {
        let tables = Tables::load(&options.tables)?;
        let mut defaults = Behaviour::default();
        defaults.apply_default(&options.default_query, &tables)?;
        let mut address = options.listen;
        let mut listeners = Vec::new();
        let workers = options.workers.max(1);
        for _ in 0..workers {
            let listener = listen(address, workers > 1)
                .map_err(|source| OriginError::Listen { address: options.listen, source })?;
            // With port 0 the kernel chooses for the first; the others share its choice.
            address = listener.local_addr()?;
            listeners.push(listener);
        }
        let serves = Serves {
            defaults,
            tables: Arc::new(tables),
            tls: options.tls.clone(),
            request_bytes: options.tcp_request_bytes,
            companion: Companion::default(),
        };
        Ok(Self { listeners, address, serves, seed: options.seed })
    }

    /// Where it listens.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set; answers that are under way by then are finished, for a second at most.
    ///
    /// # Errors
    /// When the kernel refuses what a worker needs.
    pub fn run(self, stop: &AtomicBool) -> Result<OriginReport, OriginError> {
        Ok(self.serve(stop, false)?.0)
    }

    /// Serves like [`Self::run`] and keeps every answer, worker by worker, in the order in which they left.
    ///
    /// # Errors
    /// When the kernel refuses what a worker needs.
    pub fn run_and_keep(self, stop: &AtomicBool) -> Result<(OriginReport, Vec<Served>), OriginError> {
        self.serve(stop, true)
    }

    fn serve(self, stop: &AtomicBool, keeps: bool) -> Result<(OriginReport, Vec<Served>), OriginError> {
        let workers = self
            .listeners
            .into_iter()
            .zip(self.seed..)
            .map(|(listener, seed)| Worker::new(listener, &self.serves, seed, keeps))
            .collect::<io::Result<Vec<Worker>>>()?;
        #[cfg(feature = "http3")]
        let of_http3 = http3::Worker::new(self.address, &self.serves, self.seed, keeps)?;
        let reports: Vec<_> = thread::scope(|scope| {
            #[cfg_attr(not(feature = "http3"), expect(unused_mut, reason = "that feature adds to them"))]
            let mut handles: Vec<_> =
                workers.into_iter().map(|worker| scope.spawn(|| worker.run(stop))).collect();
            #[cfg(feature = "http3")]
            handles.extend(of_http3.into_iter().map(|worker| scope.spawn(|| worker.run(stop))));
            handles.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let mut sum = OriginReport::default();
        let mut served = Vec::new();
        for report in reports {
            let (report, of_worker) = report.map_err(|_| OriginError::WorkerLost)??;
            served.extend(of_worker);
            sum.connections += report.connections;
            sum.answered += report.answered;
            sum.broken += report.broken;
        }
        Ok((sum, served))
    }
}

/// A listening socket. Several share a port only when asked to: a second origin on the same port must fail.
fn listen(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if shared {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}
