//! Arguments of `hoptax load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_checks::fail_on::Condition;
use hoptax_load::{
    Connect, Expectation, Pace, PoolOrder, RequestsPerConnection, Source, StaticAddress, Think, WhenBusy,
    WhenLate,
};

use super::security::SecurityArguments;
use super::values::{
    self, ArrivalsChoice, DataOrder, GivenUrl, GrpcStream, Headers, NeverHalt, ProtocolChoice, ProxyVersion,
};

/// Headings of the help.
const REQUESTS: &str = "Requests";
const SCHEDULE: &str = "Schedule";
const CONNECTIONS: &str = "Connections";
const CHECKS: &str = "Checks";
const OUTPUT: &str = "Output";

#[expect(clippy::struct_excessive_bools, reason = "command-line flags are independent of each other")]
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load http://127.0.0.1:8080/                  as fast as possible (closed loop)
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/   1,000 requests per second (open loop)
  hoptax load -q 1000 --fail-on 'p99>5ms' --json result.json http://127.0.0.1:8080/

Exit codes:
  0    the result is not void, and no condition of --fail-on holds or is unknown
  1    a condition of --fail-on holds or is unknown
  2    invalid arguments
  3    the load could not run: no connection, a full disk, too few file descriptors
  4    the result is void
  130  interrupted

Checks judge whether the result is valid, including the load generator itself (`hoptax checks`).
docs/load.md has more examples, and describes conditions, metrics, and early ends.")]
pub(crate) struct LoadArguments {
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
    #[arg(value_name = "URL", value_hint = ValueHint::Url, required = true)]
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
    /// Look up host names again at this interval (100ms or more) during the load, with or without --resolve-all [default: once before it]
    ///
    /// New connections use the new addresses. Connections to addresses that a name no longer has are drained: requests in
    /// flight finish, and later ones open new connections. A failed lookup changes nothing. Hosts of --resolve keep their
    /// addresses.
    #[arg(long, value_name = "DURATION", value_parser = values::interval, help_heading = CONNECTIONS)]
    pub(crate) resolve_every: Option<Duration>,
    /// Connect to this Unix socket instead of the hosts of the URLs
    ///
    /// The URLs still set the `Host` header, the path and the server name.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with_all = ["resolve", "ipv4", "ipv6", "resolve_all", "resolve_every", "source_addresses", "kernel_stamps"], help_heading = CONNECTIONS)]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Source address of connections, or a network such as `127.0.1.0/24`; repeatable
    ///
    /// Connections use the addresses in turn. Each address has its own ephemeral ports, about 28,000 for each port of a server.
    #[arg(long = "source-address", value_name = "ADDRESS", help_heading = CONNECTIONS)]
    pub(crate) source_addresses: Vec<Source>,
    /// Start each connection with a PROXY protocol header, before TLS
    ///
    /// The header names the addresses of the connection itself.
    #[arg(long, value_name = "VERSION", value_enum, help_heading = CONNECTIONS)]
    pub(crate) proxy_protocol: Option<ProxyVersion>,
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
    /// Requests per second, at most 10,000,000; without a rate, a closed loop sends as fast as possible
    #[arg(short = 'q', long, value_name = "RATE", value_parser = values::rate, help_heading = SCHEDULE)]
    pub(crate) rate: Option<f64>,
    /// Rates over time instead of one rate: `RATE@LENGTH` or `FROM:TO@LENGTH`, separated by commas
    ///
    /// Example: `0:1000@10s,1000:5000@60s` ramps up to 1,000/s in 10 s and then to 5,000/s in a minute. Each stage has its own
    /// result.
    #[arg(long, value_name = "STAGES", conflicts_with_all = ["rate", "duration", "warmup"], help_heading = SCHEDULE)]
    pub(crate) stages: Option<Pace>,
    /// Think time between a response and the next request of a connection, in a closed loop: `40ms`, or `exp:40ms`
    ///
    /// `exp:MEAN` draws exponentially distributed times.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "stages"], help_heading = SCHEDULE)]
    pub(crate) think: Option<Think>,
    /// Protocol: `auto`, `http1`, `http2`, `http3`, `grpc` or `grpc-http3`
    ///
    /// With `auto`, the server of an `https://` URL chooses between HTTP/2 and HTTP/1.1 (ALPN) in a handshake before the load,
    /// and `http://` is HTTP/1.1. If the handshake fails, the load ends with an error; with --connect on-demand, it uses HTTP/1.1
    /// (with several --streams, HTTP/2) and counts the failures. `http2` and `grpc` with `http://` are HTTP/2 without TLS (h2c
    /// with prior knowledge, no upgrade). HTTP/3 requires TLS. `grpc://` and `grpcs://` are gRPC over HTTP/2; `grpcs://` with
    /// `http3` is gRPC over HTTP/3, which is `grpc-http3` for `https://`.
    #[arg(long, value_name = "PROTOCOL", default_value_t = ProtocolChoice::default(), help_heading = REQUESTS)]
    pub(crate) protocol: ProtocolChoice,
    /// Concurrent requests on each connection, for HTTP/2, HTTP/3 and gRPC
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = CONNECTIONS)]
    pub(crate) streams: u32,
    /// Response size in bytes, for TCP
    #[arg(long, alias = "answer-size", value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..), help_heading = REQUESTS)]
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
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536), help_heading = REQUESTS)]
    pub(crate) messages: u32,
    /// Measure the time per message of gRPC streams
    #[arg(long, value_name = "SIDES", value_enum, help_heading = REQUESTS)]
    pub(crate) grpc_stream: Option<GrpcStream>,
    /// Number of connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..), help_heading = CONNECTIONS)]
    pub(crate) connections: u32,
    /// Assignment of requests to connections: `least-recent`, `most-recent`, `round-robin`, `random` or `pinned`
    ///
    /// `least-recent` takes the connection that has been free for longest. With `pinned`, each connection has its own requests,
    /// which wait for it.
    #[arg(long, value_name = "ORDER", default_value_t = PoolOrder::default(), help_heading = CONNECTIONS)]
    pub(crate) pool: PoolOrder,
    /// If all connections are busy: `wait`, `queue=100` (at most 100 requests wait, limit 1,000,000) or `skip`
    ///
    /// The wait is part of the response time.
    #[arg(long, value_name = "MODE", default_value_t = WhenBusy::default(), help_heading = SCHEDULE)]
    pub(crate) when_busy: WhenBusy,
    /// If the generator itself is late: `send`, or `skip` requests that are more than 10 ms late
    #[arg(long, value_name = "MODE", default_value_t = WhenLate::default(), help_heading = SCHEDULE)]
    pub(crate) when_late: WhenLate,
    /// When to open connections: `ahead` of the first request, or `on-demand`
    #[arg(long, value_name = "WHEN", default_value_t = Connect::default(), help_heading = CONNECTIONS)]
    pub(crate) connect: Connect,
    /// Open the connections evenly over this time, before the warm-up [default: all at once]
    ///
    /// Requests start when all connections are open.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = CONNECTIONS)]
    pub(crate) ramp_up: Option<Duration>,
    /// Reopen a connection after this many requests: a number, or a range such as `500-1500`
    ///
    /// `1` opens a new connection for each request.
    #[arg(long, value_name = "NUMBER", help_heading = CONNECTIONS)]
    pub(crate) requests_per_connection: Option<RequestsPerConnection>,
    /// Reopen a connection at this age, after the response that is in flight
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = CONNECTIONS)]
    pub(crate) connection_age: Option<Duration>,
    /// Length of the recording, for example `30s` or `2m` [default: 10s, or the length of the trace or stages]
    #[arg(short, long, value_parser = values::duration, help_heading = SCHEDULE)]
    pub(crate) duration: Option<Duration>,
    /// End after recording this many requests, unless --duration ends earlier; warm-up requests do not count
    #[arg(short = 'n', long = "count", value_name = "NUMBER", conflicts_with = "stages", value_parser = clap::value_parser!(u64).range(1..), help_heading = SCHEDULE)]
    pub(crate) count: Option<u64>,
    /// Length of the warm-up, which is not recorded [default: 1s, or 0s with a trace or stages]
    #[arg(long, value_name = "DURATION", value_parser = values::duration_or_none, help_heading = SCHEDULE)]
    pub(crate) warmup: Option<Duration>,
    /// Time limit of a request
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = values::duration, help_heading = REQUESTS)]
    pub(crate) timeout: Duration,
    /// Arrival process: `uniform`, `poisson`, `jitter=10%`, `burst=8` or `trace=FILE`
    ///
    /// `uniform` sends at equal intervals. `poisson` has exponential intervals, as independent users cause them. `jitter=10%`
    /// moves each uniform arrival by up to 10 % of an interval. `burst=8` sends eight requests at once. `trace=FILE` reads send
    /// times since the start, one per line such as `1.5ms`, and replaces --rate.
    #[arg(long, value_name = "ARRIVALS", default_value = "uniform", value_parser = values::arrivals, help_heading = SCHEDULE)]
    pub(crate) arrivals: ArrivalsChoice,
    /// Number of worker threads
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: u32,
    /// Seed of all random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Request method
    #[arg(short = 'X', long, default_value = "GET", help_heading = REQUESTS)]
    pub(crate) method: String,
    /// Request header `Name: value`, or `@FILE` with one header per line; repeatable
    ///
    /// `@FILE` keeps credentials out of the process list.
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = REQUESTS)]
    pub(crate) headers: Vec<Headers>,
    /// Store cookies that responses set, and send them on the same connection; for HTTP/1.1, HTTP/2 and HTTP/3
    #[arg(long, help_heading = REQUESTS)]
    pub(crate) cookies: bool,
    /// Request body
    #[arg(long, value_name = "TEXT", group = "content", help_heading = REQUESTS)]
    pub(crate) body: Option<String>,
    /// Read the request body from a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "content", help_heading = REQUESTS)]
    pub(crate) body_file: Option<PathBuf>,
    /// Send a body of this many bytes
    #[arg(long, value_name = "BYTES", group = "content", value_parser = clap::value_parser!(u32).range(1..=67_108_864), help_heading = REQUESTS)]
    pub(crate) body_size: Option<u32>,
    /// Expected response; others count as failed: `status=200`, `contains=TEXT`, `json=/POINTER=VALUE`; repeatable
    ///
    /// Also `size=1024` (body bytes), `sha256=HEX` (of the body), `header=NAME`, `header=NAME:VALUE` and `json=/POINTER`. Separate
    /// several expectations by commas; `contains` and `json` extend to the end of their argument. All must hold. Without a
    /// `status`, any status below 400 is accepted.
    #[arg(long, value_name = "EXPECTATION", help_heading = CHECKS)]
    pub(crate) expect: Vec<Expectation>,
    /// Maximum share of sent requests that fail, time out or do not finish, 0 to 1; above it, the result is void
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = values::share, help_heading = CHECKS)]
    pub(crate) max_error_share: f64,
    /// Set the threshold of a check, `NAME=VALUE`; repeatable
    ///
    /// `hoptax checks --thresholds` lists names and defaults. A loosened threshold is printed with the verdict.
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = values::threshold, help_heading = CHECKS)]
    pub(crate) thresholds: Vec<(String, f64)>,
    /// Additional percentiles beside p50, p90, p99 and p99.9: `95,99.99`
    #[arg(long, value_name = "PERCENTILES", value_delimiter = ',', value_parser = values::percentile, help_heading = OUTPUT)]
    pub(crate) percentiles: Vec<f64>,
    /// Exit with code 1 if this condition holds or is unknown, for example `p99>5ms`; repeatable
    ///
    /// Metrics: `p99` (any percentile), `min`, `mean` and `max` of response time, `service.p99.9`, `send-lag.p99`, `rate`,
    /// `errors`, and failures by kind such as `reset`. Relations: `>`, `>=`, `<`, `<=`. Examples: `rate<9900`, `errors>0.1%`,
    /// `reset>10`, `send-lag.p99>1ms`. A void result exits with code 4. docs/load.md lists all metrics.
    #[arg(long = "fail-on", value_name = "CONDITION", help_heading = CHECKS)]
    pub(crate) fail_on: Vec<Condition>,
    /// Keep idle processors from halting, so that wake-ups are fast
    ///
    /// `auto` has no effect if the server is on this machine.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
    /// Record kernel timestamps on one connection in sixteen, to show the time between the generator and the wire
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) kernel_stamps: bool,
    /// Write timestamps and outcome of every request to a file, 64 bytes each; `hoptax log FILE` prints CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) log: Option<PathBuf>,
    /// Write the percentile distribution of response time to a file, in the text format of `HdrHistogram`
    ///
    /// Comments at its end state the verdict, and which quantiles the result withholds. If the result is void, the file has only
    /// these comments.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write histograms of response and service time for every second to a file, an interval log of `HdrHistogram`
    ///
    /// It is written while the load runs. Comments at its end state the verdict, and which quantiles the result withholds.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) hlog: Option<PathBuf>,
    /// Print a line of JSON for every interval while the load runs; the table then goes to stderr
    ///
    /// A line has the rate, counts, failures by kind, response times and send lags of its interval (`hoptax schema
    /// load-interval`). The last line also has the verdict on the whole load.
    #[arg(long, value_name = "DURATION", value_parser = values::interval, help_heading = OUTPUT)]
    pub(crate) every: Option<Duration>,
    #[command(flatten)]
    pub(crate) security: SecurityArguments,
    /// Write the result to a file in `OpenMetrics` text format, which Prometheus reads
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write the result as JSON to a file; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) json: Option<PathBuf>,
}
