//! Arguments that describe requests, connections and servers, which `hoptax load` and `hoptax find` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{Resettable, Str};
use clap::{Args, ValueHint};
use hoptax_host::running::Running;
use hoptax_load::{
    Connect, Expectation, Family, Lifetime, PoolOrder, ProxyProtocol, RequestsPerConnection, Source,
    StaticAddress, options,
};
use hoptax_session::load::{
    Body, Connections, Data, DataOrder, GivenUrl, Load, MOST_BYTES_OF_BODY, Requests, Servers, ServiceSource,
    TimedMessages,
};

use super::security::SecurityArguments;
use super::shared::{AwakeArguments, HeaderArguments, SeedArguments, WorkersArguments};
use super::values::{self, ProtocolChoice};

/// Ends the heading of an earlier group, which clap would otherwise continue.
pub(super) const NONE: Resettable<Str> = Resettable::Reset;
/// Headings of the help.
const REQUESTS: &str = "Requests";
pub(crate) const CONNECTIONS: &str = "Connections";
pub(crate) const CHECKS: &str = "Checks";

/// The versions of the PROXY protocol.
const PROXY_PROTOCOLS: [(&str, ProxyProtocol); 2] = [("v1", ProxyProtocol::V1), ("v2", ProxyProtocol::V2)];

#[expect(clippy::struct_excessive_bools, reason = "command-line flags are independent of each other")]
#[derive(Debug, Args)]
pub(crate) struct TrafficArguments {
    /// Target, `SCHEME://HOST:PORT/PATH`; several URLs are requested in turn
    ///
    /// Schemes: `http` (HTTP/1.1) and `https` (HTTP/2 or HTTP/1.1), unless --protocol selects another protocol; `grpc` and
    /// `grpcs`; `tcp` and `tls` (send the body, receive --response-size bytes); `ws` and `wss` (send the body as a WebSocket
    /// message, receive its echo).
    ///
    /// `{counter}` in a URL, a header value or a body is replaced by a request counter of twelve digits, `{random}` by sixteen
    /// random hexadecimal digits.
    ///
    /// User information (`http://joe:secret@HOST/`) is sent as basic authentication. Results and messages never show it, but
    /// other users can read the command line in the process list. To keep credentials out of it, write the header
    /// `Authorization: ...` to a file and give `-H @FILE`.
    #[arg(value_name = "URL", value_hint = ValueHint::Url, required = true, help_heading = NONE)]
    pub(crate) urls: Vec<GivenUrl>,
    /// Use ADDRESS for HOST:PORT instead of the system resolver: `shop.test:443:127.0.0.1`; repeatable
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = CONNECTIONS)]
    pub(crate) resolve: Vec<StaticAddress>,
    /// Use IPv4 addresses only
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = CONNECTIONS)]
    pub(crate) ipv4: bool,
    /// Use IPv6 addresses only
    #[arg(short = '6', long, help_heading = CONNECTIONS)]
    pub(crate) ipv6: bool,
    /// Spread connections over all addresses of a host, in turn [default: its first address]
    #[arg(long, help_heading = CONNECTIONS)]
    pub(crate) resolve_all: bool,
    /// Look up host names again during the load, at this interval of 100ms or more [default: once, before the load]
    ///
    /// New connections use the new addresses. Connections to addresses that a name no longer has are drained: requests in
    /// flight finish, and later ones open new connections. A failed lookup changes nothing. Hosts of --resolve keep their
    /// addresses.
    #[arg(long, value_name = "DURATION", value_parser = values::interval, help_heading = CONNECTIONS)]
    pub(crate) resolve_every: Option<Duration>,
    /// Connect to this Unix socket instead of the hosts of the URLs
    ///
    /// The URLs still set the `Host` header, the path and the server name.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with_all = ["resolve", "ipv4", "ipv6", "resolve_all", "resolve_every", "source_addresses"], help_heading = CONNECTIONS)]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Source address of connections, or a network such as `127.0.1.0/24`; repeatable
    ///
    /// Connections use the addresses in turn. Each address has its own ephemeral ports, about 28,000 for each port of a server.
    #[arg(long = "source-address", value_name = "ADDRESS", help_heading = CONNECTIONS)]
    pub(crate) source_addresses: Vec<Source>,
    /// Start each connection with a PROXY protocol header, before TLS
    ///
    /// The header names the addresses of the connection itself. `v1` is text, `v2` is binary.
    #[arg(long, value_name = "VERSION", value_parser = values::one_of(PROXY_PROTOCOLS), help_heading = CONNECTIONS)]
    pub(crate) proxy_protocol: Option<ProxyProtocol>,
    /// Relative frequency of each URL, in the order of the URLs: `3,1`
    #[arg(long, value_name = "WEIGHTS", value_delimiter = ',', help_heading = REQUESTS)]
    pub(crate) weights: Vec<f64>,
    /// Read requests from a file, one per line, and send them in turn
    ///
    /// A line is a path (`/path`), a whole URL, a method with a path and an optional body (`POST /path BODY`), or a JSON object
    /// with `url`, `method`, `header` and `body` (base64), the target format of vegeta. Paths are requested from the host of
    /// the URL. Blank lines and lines that begin with `#` are ignored.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["weights", "body", "body_file", "body_size"], help_heading = REQUESTS)]
    pub(crate) requests: Option<PathBuf>,
    /// Fill `{{field}}` in URLs, header values and bodies from the rows of a CSV file
    ///
    /// The first row names the fields. Requests of --requests are filled in too. All rows are encoded before the load starts, in
    /// at most 1 GiB.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = REQUESTS)]
    pub(crate) data: Option<PathBuf>,
    /// Order of the rows of --data
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = DataOrder::InTurn, requires = "data", help_heading = REQUESTS)]
    pub(crate) data_order: DataOrder,
    /// Protocol: `auto`, `http1`, `http2`, `http3`, `grpc` or `grpc-http3`
    ///
    /// With `auto`, the server of an `https://` URL chooses between HTTP/2 and HTTP/1.1 (ALPN) in a handshake before the load,
    /// and `http://` is HTTP/1.1. If the handshake fails, the load ends with an error; with --connect on-demand, it uses HTTP/1.1
    /// (with several --streams, HTTP/2) and counts the failures. `http2` and `grpc` with `http://` are HTTP/2 without TLS (h2c
    /// with prior knowledge, no upgrade). HTTP/3 requires TLS and is experimental. `grpc://` and `grpcs://` are gRPC over HTTP/2; `grpcs://` with
    /// `http3` is gRPC over HTTP/3, which is `grpc-http3` for `https://`.
    #[arg(long, value_name = "PROTOCOL", default_value_t = ProtocolChoice::default(), help_heading = REQUESTS)]
    pub(crate) protocol: ProtocolChoice,
    /// Concurrent requests on each connection, for HTTP/2, HTTP/3 and gRPC
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = values::whole::<u32>(1..=4096), help_heading = CONNECTIONS)]
    pub(crate) streams: u32,
    /// Response size in bytes, for TCP
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = values::whole::<u64>(1..), help_heading = REQUESTS)]
    pub(crate) response_size: u64,
    /// Proto file of the gRPC service; the body is then the message as JSON
    ///
    /// Without --proto and --reflection, the body is the encoded message.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = REQUESTS)]
    pub(crate) proto: Option<PathBuf>,
    /// Get the service definition from the server instead of --proto, by gRPC reflection over HTTP/2
    #[arg(long, conflicts_with = "proto", help_heading = REQUESTS)]
    pub(crate) reflection: bool,
    /// Messages per gRPC call, for methods that accept a stream; the body is repeated
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = values::whole::<u32>(1..=65_536), help_heading = REQUESTS)]
    pub(crate) messages: u32,
    /// Measure the time per message of gRPC streams
    #[arg(long, value_name = "SIDES", value_enum, help_heading = REQUESTS)]
    pub(crate) grpc_stream: Option<TimedMessages>,
    /// Number of connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = options::CONNECTIONS, value_parser = values::whole::<u32>(1..), help_heading = CONNECTIONS)]
    pub(crate) connections: u32,
    /// Assignment of requests to connections: `least-recent`, `most-recent`, `round-robin`, `random` or `pinned`
    ///
    /// `least-recent` takes the connection that has been free for longest. With `pinned`, each connection has its own requests,
    /// which wait for it.
    #[arg(long, value_name = "ORDER", default_value_t = PoolOrder::default(), help_heading = CONNECTIONS)]
    pub(crate) pool: PoolOrder,
    /// When to open connections: `ahead` of the first request, or `on-demand`
    #[arg(long, value_name = "WHEN", default_value_t = Connect::default(), help_heading = CONNECTIONS)]
    pub(crate) connect: Connect,
    /// Reopen a connection after this many requests: a number, or a range such as `500-1500`
    ///
    /// `1` opens a new connection for each request.
    #[arg(long, value_name = "NUMBER", help_heading = CONNECTIONS)]
    pub(crate) requests_per_connection: Option<RequestsPerConnection>,
    /// Reopen a connection at this age, after the response that is in flight
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = CONNECTIONS)]
    pub(crate) connection_age: Option<Duration>,
    /// Time limit of a request
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = values::duration, help_heading = REQUESTS)]
    pub(crate) timeout: Duration,
    #[command(flatten, next_help_heading = NONE)]
    pub(crate) workers: WorkersArguments,
    #[command(flatten, next_help_heading = NONE)]
    pub(crate) seed: SeedArguments,
    /// Request method
    #[arg(short = 'X', long, default_value = "GET", help_heading = REQUESTS)]
    pub(crate) method: String,
    #[command(flatten, next_help_heading = REQUESTS)]
    pub(crate) headers: HeaderArguments,
    /// Store cookies that responses set, and send them on the same connection; for HTTP/1.1, HTTP/2 and HTTP/3
    #[arg(long, help_heading = REQUESTS)]
    pub(crate) cookies: bool,
    /// Request body
    #[arg(long, value_name = "TEXT", group = "content", help_heading = REQUESTS)]
    pub(crate) body: Option<String>,
    /// Read the request body from a file of at most 64 MiB
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "content", help_heading = REQUESTS)]
    pub(crate) body_file: Option<PathBuf>,
    /// Send a body of this many bytes
    #[arg(long, value_name = "BYTES", group = "content", value_parser = values::whole::<u32>(1..=MOST_BYTES_OF_BODY), help_heading = REQUESTS)]
    pub(crate) body_size: Option<u32>,
    /// Account for the CPU time and memory of processes on this machine, usually of the server: `pid=123`
    ///
    /// Also `process=envoy` (all with this name), `cgroup=PATH` and `unit=envoy` (systemd). Their descendants belong to them. They
    /// are looked up before each load. `cpu`, `cpu_us` and `memory` are then metrics of conditions and objectives.
    #[arg(long, value_name = "PROCESSES", help_heading = CHECKS)]
    pub(crate) account: Option<Running>,
    /// Expected response; others count as failed: `status=200`, `contains=TEXT`, `json=/POINTER=VALUE`; repeatable
    ///
    /// Also `size=1024` (body bytes), `sha256=HEX` (of the body), `header=NAME`, `header=NAME:VALUE` and `json=/POINTER`. Separate
    /// several expectations by commas; `contains` and `json` extend to the end of their argument. All must hold. Without a
    /// `status`, any status below 400 is accepted.
    #[arg(long, value_name = "EXPECTATION", help_heading = CHECKS)]
    pub(crate) expect: Vec<Expectation>,
    #[command(flatten, next_help_heading = NONE)]
    pub(crate) awake: AwakeArguments,
    #[command(flatten)]
    pub(crate) security: SecurityArguments,
}

impl From<&TrafficArguments> for Load {
    fn from(arguments: &TrafficArguments) -> Self {
        Self {
            requests: arguments.requests_of_load(),
            servers: Servers {
                resolve: arguments.resolve.clone(),
                family: match (arguments.ipv4, arguments.ipv6) {
                    (true, _) => Some(Family::V4),
                    (_, true) => Some(Family::V6),
                    _ => None,
                },
                resolve_all: arguments.resolve_all,
                resolve_every: arguments.resolve_every,
                unix_socket: arguments.unix_socket.clone(),
                sources: arguments.source_addresses.clone(),
                proxy_protocol: arguments.proxy_protocol,
            },
            connections: Connections {
                number: arguments.connections,
                streams: arguments.streams,
                order: arguments.pool,
                lifetime: Lifetime {
                    connect: arguments.connect,
                    requests: arguments.requests_per_connection,
                    age: arguments.connection_age,
                },
                workers: arguments.workers.number,
            },
            tls: (&arguments.security).into(),
            account: arguments.account.clone(),
            seed: arguments.seed.number(),
        }
    }
}

impl TrafficArguments {
    /// The options that no result of a load or a search states, each with a space before it.
    pub(crate) fn again(&self) -> String {
        self.seed.again() + &self.awake.again()
    }

    fn requests_of_load(&self) -> Requests {
        let proto = self.proto.clone().map(ServiceSource::Proto);
        let data = |file: PathBuf| Data { file, order: self.data_order };
        Requests {
            urls: self.urls.clone(),
            weights: self.weights.clone(),
            file: self.requests.clone(),
            data: self.data.clone().map(data),
            protocol: self.protocol.0,
            method: self.method.clone(),
            headers: self.headers.all(),
            body: match (&self.body, &self.body_file, self.body_size) {
                (_, Some(path), _) => Body::File(path.clone()),
                (_, _, Some(bytes)) => Body::Bytes(bytes),
                (Some(text), ..) => Body::Text(text.clone()),
                _ => Body::Empty,
            },
            keeps_cookies: self.cookies,
            response_bytes: self.response_size,
            services: proto.or(self.reflection.then_some(ServiceSource::Reflection)),
            messages: self.messages,
            timed: self.grpc_stream,
            timeout: self.timeout,
            expect: self.expect.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use hoptax_load::Protocol;

    use crate::command::{Command, parsed};

    use super::*;

    /// A load that no command line states has the defaults of one that does.
    #[test]
    fn the_defaults_of_a_load_are_those_of_its_arguments() {
        let arguments = parsed(["hoptax", "load", "http://127.0.0.1/"]).unwrap();
        let Command::Load(arguments) = arguments.command else { panic!("{arguments:?}") };
        let url = GivenUrl::from("http://127.0.0.1/".to_owned());
        let requests = Requests { urls: vec![url], ..Requests::default() };
        let default = Load { requests, ..Load::default() };
        assert_eq!(format!("{:?}", Load::from(&arguments.traffic)), format!("{default:?}"));
    }

    /// The help is text, so nothing else would miss a new protocol in it.
    #[test]
    fn the_help_names_every_scheme_and_every_protocol_that_shares_one() {
        let command = TrafficArguments::augment_args(clap::Command::new("load"));
        let argument = |name: &str| command.get_arguments().find(|one| one.get_id() == name).unwrap();
        let of_urls = argument("urls").get_long_help().unwrap().to_string();
        let of_protocol = argument("protocol").get_help().unwrap().to_string();
        for &protocol in Protocol::ALL {
            let schemes = [false, true].map(|is_secure| protocol.usual_scheme(is_secure));
            for scheme in schemes {
                assert!(of_urls.contains(&format!("`{scheme}`")), "{scheme}: {of_urls}");
            }
            let shares = |other: &Protocol| schemes.iter().any(|scheme| other.has_scheme(scheme));
            let may_be_chosen = Protocol::ALL.iter().any(|other| *other != protocol && shares(other));
            assert_eq!(of_protocol.contains(&format!("`{protocol}`")), may_be_chosen, "{of_protocol}");
        }
    }
}
