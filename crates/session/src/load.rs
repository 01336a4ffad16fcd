//! A load as a user states it: its requests, servers, connections and schedule. It becomes a trial, which is sent and judged.

mod build_traffic;
mod data;
mod headers;
mod intervals;
mod log_file;
mod reflection;
mod requests;
mod schedule;
mod send;
mod shared;
mod trial_spec;

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use hoptax_host::running::Running;
use hoptax_load::{
    Expectation, Family, Lifetime, PoolOrder, Protocol, ProxyProtocol, Source, StaticAddress, options,
    without_user,
};
use hoptax_text::file::bytes_up_to;

use crate::failure::Failure;
use crate::tls::ClientTls;

pub use hoptax_checks::fail_on::Condition;

pub use headers::GivenHeaders;
pub use intervals::Lines;
pub use schedule::{ArrivalsOf, Schedule};
pub use send::{Files, Sending, Sent, send};
pub use shared::{SharedLoad, check as check_shared};
pub use trial_spec::Lengths;

/// A load, without its schedule.
#[derive(Clone, Debug)]
pub struct Load {
    /// Requests, in turn or by weight.
    pub requests: Requests,
    /// Servers that the requests go to.
    pub servers: Servers,
    /// Number and behaviour of connections.
    pub connections: Connections,
    /// TLS of the connections.
    pub tls: ClientTls,
    /// Processes whose CPU time and memory are accounted for.
    pub account: Option<Running>,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            requests: Requests::default(),
            servers: Servers::default(),
            connections: Connections::default(),
            tls: ClientTls::default(),
            account: None,
            seed: 1,
        }
    }
}

/// Requests of a load.
#[derive(Clone, Debug)]
pub struct Requests {
    /// The targets, in turn.
    pub urls: Vec<GivenUrl>,
    /// The relative frequency of each URL; empty if all are equally frequent.
    pub weights: Vec<f64>,
    /// A file of requests; their paths are resolved against the host of the only URL.
    pub file: Option<PathBuf>,
    /// Rows that fill in fields of the requests; None for requests without fields.
    pub data: Option<Data>,
    /// The protocol; none for the default of the URL's scheme. With `https`, the server chooses it.
    pub protocol: Option<Protocol>,
    /// The method.
    pub method: String,
    /// Headers, names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// True if connections keep the cookies that responses set.
    pub keeps_cookies: bool,
    /// Size of a TCP response, bytes.
    pub response_bytes: u64,
    /// Source of the definition of the gRPC service; None if the body is the encoded message.
    pub services: Option<ServiceSource>,
    /// Messages of a gRPC call.
    pub messages: u32,
    /// The gRPC messages to time; None to time none.
    pub timed: Option<TimedMessages>,
    /// Time limit of a request.
    pub timeout: Duration,
    /// Conditions on responses. A request whose response violates one counts as failed.
    pub expect: Vec<Expectation>,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            urls: Vec::new(),
            weights: Vec::new(),
            file: None,
            data: None,
            protocol: None,
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Body::default(),
            keeps_cookies: false,
            response_bytes: 64,
            services: None,
            messages: 1,
            timed: None,
            timeout: options::TIMEOUT,
            expect: Vec::new(),
        }
    }
}

/// A URL as it was given; its `Debug` output omits user information.
#[derive(Clone)]
pub struct GivenUrl(String);

impl From<String> for GivenUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl Deref for GivenUrl {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for GivenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_user(&self.0))
    }
}

/// The body of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Body {
    /// No body.
    #[default]
    Empty,
    /// A text.
    Text(String),
    /// The content of a file.
    File(PathBuf),
    /// A body of this many bytes.
    Bytes(u32),
}

/// The most bytes of a body.
pub const MOST_BYTES_OF_BODY: u32 = 64 << 20;

impl Body {
    /// Its bytes.
    ///
    /// # Errors
    /// When its file cannot be read, or has more than [`MOST_BYTES_OF_BODY`].
    pub fn bytes(&self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Empty => Ok(Vec::new()),
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::File(path) => bytes_up_to(path, MOST_BYTES_OF_BODY.into()).map_err(|error| {
                Failure::bad_input(format!("cannot read the body `{}`: {error}", path.display()))
            }),
            Self::Bytes(bytes) => Ok(vec![b'x'; *bytes as usize]),
        }
    }
}

/// A CSV file whose rows fill in requests.
#[derive(Clone, Debug)]
pub struct Data {
    /// The file.
    pub file: PathBuf,
    /// The order of its rows.
    pub order: DataOrder,
}

/// Order of the rows of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DataOrder {
    /// One after the other, from the first again after the last.
    InTurn,
    /// A random row for each request.
    Random,
}

/// Source of the definition of a gRPC service.
#[derive(Clone, Debug)]
pub enum ServiceSource {
    /// In a proto file.
    Proto(PathBuf),
    /// At the server, by reflection.
    Reflection,
}

/// Which messages of gRPC calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimedMessages {
    /// Server streaming: the time from each message to the next.
    Server,
    /// Client streaming of several messages: the service time of a call divided by their number.
    Client,
    /// Bidirectional: each message is sent after the response to the previous one; the time is that of a round trip.
    Both,
}

/// Addresses of the servers of a load, and the network path to them.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Fixed addresses of host names, which are not looked up.
    pub resolve: Vec<StaticAddress>,
    /// The address family; none for either.
    pub family: Option<Family>,
    /// True if connections use all addresses of a host.
    pub resolve_all: bool,
    /// Interval at which names are looked up again; None to look them up once.
    pub resolve_every: Option<Duration>,
    /// A Unix socket instead of the hosts.
    pub unix_socket: Option<PathBuf>,
    /// Source addresses of connections.
    pub sources: Vec<Source>,
    /// The PROXY protocol that connections start with.
    pub proxy_protocol: Option<ProxyProtocol>,
}

/// The connections of a load.
#[derive(Clone, Debug)]
pub struct Connections {
    /// Their number.
    pub number: u32,
    /// Concurrent requests on each.
    pub streams: u32,
    /// Order in which connections take requests.
    pub order: PoolOrder,
    /// When connections are opened, and the limits after which they are reopened.
    pub lifetime: Lifetime,
    /// Worker threads.
    pub workers: u32,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            number: options::CONNECTIONS,
            streams: 1,
            order: PoolOrder::default(),
            lifetime: Lifetime::default(),
            workers: options::WORKERS,
        }
    }
}

impl Load {
    /// Refuses conditions on processes if the load accounts for no processes.
    ///
    /// # Errors
    /// When `needs_account` is true and the load has no account.
    pub(crate) fn check_account(&self, needs_account: bool) -> Result<(), Failure> {
        if needs_account && self.account.is_none() {
            return Err(Failure::bad_input(
                "`cpu`, `cpu_us` and `memory` need processes on this machine: name them, such as `--account process=envoy` or `--account \
                 pid=123`",
            ));
        }
        Ok(())
    }
}
