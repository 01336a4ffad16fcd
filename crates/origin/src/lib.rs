//! The test server. It returns a delay, size, status or error on request, over HTTP/1.1, HTTP/2, gRPC, WebSocket and TCP,
//! with or without TLS, and over HTTP/3.
//!
//! Parameters are set in the query or in headers (see [`Behaviour`]); Fortio's echo syntax is accepted too. Each worker is
//! a thread with its own epoll loop and listening socket. Workers share no state. A delay is a timer of the worker and does
//! not block other connections.

mod behaviour;
mod call;
mod calling;
mod connection;
mod context;
mod defaults;
mod grpc;
mod http3;
mod protocol;
mod queue;
mod request;
mod respond;
mod response;
mod services;
mod small_file;
mod streams;
mod table;
mod transport;
mod worker;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

pub use hoptax_wire::tls::ServerConfig;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

pub use behaviour::{BadParameter, Behaviour};
pub use calling::{Call, CallingOptions, CallingOrigin, Calls};
pub use defaults::Defaults;
use http3::Http3;
pub use queue::{Freeze, Queue};
pub use request::{BadRequest, Next, RequestReader};
use services::ServiceState;
pub use services::{Secrets, SecretsError};
pub use small_file::read_small_file;
pub use table::{TableError, Tables};
use worker::Worker;

/// Length of the accept queue.
const BACKLOG: i32 = 4096;
/// Number of TCP ports from the kernel that are tried until one is free on UDP as well.
const PORT_ATTEMPTS: u32 = 16;

/// The configuration of an origin.
#[derive(Clone, Debug)]
pub struct OriginOptions {
    /// Listen address; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Number of worker threads; 0 counts as 1.
    pub workers: usize,
    /// Default parameters, as a query string: `delay=1ms&size=100`.
    pub default_query: String,
    /// Delay tables that requests may name. Requests cannot make the origin read any other file.
    pub tables: Vec<PathBuf>,
    /// Random seed for delays, errors and closes.
    pub seed: u64,
    /// TLS; without it, connections that begin with TLS are malformed requests.
    pub tls: Option<OriginTls>,
    /// Request size for plain TCP, bytes. If set, the origin serves plain TCP only: each request of this size gets a response
    /// of the default size.
    pub tcp_request_bytes: Option<u64>,
    /// Certificates that proxies may fetch, with their keys.
    pub secrets: Secrets,
}

/// A free port of the loopback interface, with one worker, and nothing else.
impl Default for OriginOptions {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            workers: 1,
            default_query: String::new(),
            tables: Vec::new(),
            seed: 1,
            tls: None,
            tcp_request_bytes: None,
            secrets: Secrets::default(),
        }
    }
}

/// TLS of an origin.
#[derive(Clone, Debug)]
pub struct OriginTls {
    /// Its configuration.
    pub config: Arc<ServerConfig>,
    /// True if HTTP/3 is served too, on the UDP port with the number of the TCP port.
    pub http3: bool,
}

/// An error that stops the origin.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// Binding or listening failed.
    #[error("cannot listen on {address}: {source}; {}", advice(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The socket of HTTP/3 cannot be bound.
    #[error("cannot listen on UDP {address} for HTTP/3: {source}; {}", advice(source))]
    ListenHttp3 {
        /// The address.
        address: SocketAddr,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The TLS configuration cannot be used with QUIC.
    #[error("HTTP/3 needs TLS 1.3 with the cipher suite AES-128-GCM, which the TLS configuration lacks")]
    NoQuic,
    /// A delay table is invalid.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The default parameters are invalid.
    #[error("invalid default: {0}")]
    Default(#[from] BadParameter),
    /// A call that it is to make cannot be sent.
    #[error("invalid call: {0}")]
    Call(String),
    /// A system call failed.
    #[error("the origin failed: {0}")]
    System(#[from] io::Error),
    /// A worker thread panicked.
    #[error("a worker thread of the origin panicked; this is a bug in hoptax")]
    WorkerLost,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another process listens there: stop it, or choose another port",
        io::ErrorKind::PermissionDenied => "ports below 1024 require root: choose another port",
        io::ErrorKind::AddrNotAvailable => "no interface of this machine has this address",
        _ => "choose another address",
    }
}

/// The times of one response, nanoseconds of [`hoptax_host::clock::now_ns`]. A call whose messages are answered one by one has
/// one response: it arrives when its head has been read, its service time is the sum of those of its messages, its departure
/// is that of its last reply, and it is written when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The connection: its number in the accept order of the worker, from 0.
    pub connection: u64,
    /// Time when the request had been read.
    pub arrived_ns: u64,
    /// Service time in the worker's queue; none if the request did not enter it.
    pub service_ns: Option<u64>,
    /// Planned departure of the response.
    pub departs_ns: u64,
    /// Time when the response was passed to the socket.
    pub written_ns: u64,
}

/// An origin that listens but does not serve yet.
#[derive(Debug)]
pub struct Origin {
    listeners: Vec<TcpListener>,
    http3: Option<Http3>,
    address: SocketAddr,
    settings: SharedSettings,
    seed: u64,
}

/// The settings that all workers share.
#[derive(Clone, Debug, Default)]
struct SharedSettings {
    defaults: Arc<Defaults>,
    tables: Arc<Tables>,
    tls: Option<Arc<ServerConfig>>,
    request_bytes: Option<u64>,
    services: ServiceState,
}

/// Counters of an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginReport {
    /// Connections accepted.
    pub connections: u64,
    /// Requests answered.
    pub answered: u64,
    /// Connections that ended during a request or a response, and malformed requests.
    pub broken: u64,
}

impl Origin {
    /// Reads the tables and starts to listen, on UDP too if HTTP/3 is served.
    ///
    /// # Errors
    /// If a table or the default is invalid, or an address cannot be bound.
    pub fn bind(options: &OriginOptions) -> Result<Self, OriginError> {
        let tables = Arc::new(Tables::load(&options.tables)?);
        let defaults = Arc::new(Defaults::new(&options.default_query, Arc::clone(&tables))?);
        let (listeners, http3, address) = listen_all(options)?;
        let settings = SharedSettings {
            defaults,
            tables,
            tls: options.tls.as_ref().map(|tls| Arc::clone(&tls.config)),
            request_bytes: options.tcp_request_bytes,
            services: ServiceState { secrets: options.secrets.clone(), ..ServiceState::default() },
        };
        Ok(Self { listeners, http3, address, settings, seed: options.seed })
    }

    /// Returns true if it serves HTTP/3, on UDP at [`Self::local_address`].
    pub fn serves_http3(&self) -> bool {
        self.http3.is_some()
    }

    /// Its default parameters, which may be replaced while it serves.
    pub fn defaults(&self) -> Arc<Defaults> {
        Arc::clone(&self.settings.defaults)
    }

    /// The address that it listens on.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set, then finishes responses in flight for at most one second.
    ///
    /// # Errors
    /// If a system call of a worker fails.
    pub fn run(self, stop: &AtomicBool) -> Result<OriginReport, OriginError> {
        Ok(self.serve(stop, false)?.0)
    }

    /// Serves like [`Self::run`] and records every response, grouped by worker, in order of departure.
    ///
    /// # Errors
    /// If a system call of a worker fails.
    pub fn run_recorded(self, stop: &AtomicBool) -> Result<(OriginReport, Vec<Served>), OriginError> {
        self.serve(stop, true)
    }

    fn serve(self, stop: &AtomicBool, records: bool) -> Result<(OriginReport, Vec<Served>), OriginError> {
        let workers = self
            .listeners
            .into_iter()
            .zip(self.seed..)
            .map(|(listener, seed)| Worker::new(listener, &self.settings, seed, records))
            .collect::<io::Result<Vec<Worker>>>()?;
        let http3_worker =
            self.http3.map(|endpoint| http3::Worker::new(endpoint, &self.settings, self.seed, records));
        let reports: Vec<_> = thread::scope(|scope| {
            let mut handles: Vec<_> =
                workers.into_iter().map(|worker| scope.spawn(|| worker.run(stop))).collect();
            handles.extend(http3_worker.into_iter().map(|worker| scope.spawn(|| worker.run(stop))));
            handles.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let mut sum = OriginReport::default();
        let mut served = Vec::new();
        for report in reports {
            let (report, recorded) = report.map_err(|_| OriginError::WorkerLost)??;
            served.extend(recorded);
            sum.connections += report.connections;
            sum.answered += report.answered;
            sum.broken += report.broken;
        }
        Ok((sum, served))
    }
}

/// The sockets of an origin, and their address. If the kernel chooses the port, it is one that is free on TCP and UDP.
fn listen_all(options: &OriginOptions) -> Result<(Vec<TcpListener>, Option<Http3>, SocketAddr), OriginError> {
    let mut attempts = if options.listen.port() == 0 { PORT_ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        let (listeners, address) = listen_tcp(options)?;
        // With a request size for plain TCP, no other protocol is served.
        let tls = options.tls.as_ref().filter(|tls| tls.http3 && options.tcp_request_bytes.is_none());
        let Some(tls) = tls else { return Ok((listeners, None, address)) };
        match Http3::bind(address, &tls.config) {
            Ok(Some(endpoint)) => return Ok((listeners, Some(endpoint), address)),
            Ok(None) => return Err(OriginError::NoQuic),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts > 0 => {}
            Err(source) => return Err(OriginError::ListenHttp3 { address, source }),
        }
    }
}

/// A listening socket for each worker, and their address.
fn listen_tcp(options: &OriginOptions) -> Result<(Vec<TcpListener>, SocketAddr), OriginError> {
    let mut address = options.listen;
    let mut listeners = Vec::new();
    let workers = options.workers.max(1);
    for _ in 0..workers {
        let listener = listen(address, workers > 1)
            .map_err(|source| OriginError::Listen { address: options.listen, source })?;
        // For port 0, the kernel chooses the port of the first listener; the others use the same port.
        address = listener.local_addr()?;
        listeners.push(listener);
    }
    Ok((listeners, address))
}

/// A listening socket. `SO_REUSEPORT` is set only for several workers: a second origin on the same port must fail.
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
