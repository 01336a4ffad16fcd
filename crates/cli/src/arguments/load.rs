//! The flags of `hoptax load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_checks::fail_on::Condition;
use hoptax_load::{
    Connect, Expectation, Pace, PoolOrder, Protocol, RequestsPerConnection, Resolved, Think, WhenBusy,
    WhenLate,
};

use super::values::{ArrivalsChoice, DataOrder, GivenUrl, GrpcStream, Headers};
use super::{NeverHalt, SecurityArguments, values};

#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are independent of each other")]
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load http://127.0.0.1:8080/                  as fast as possible (closed loop)
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/   1,000 requests per second (open loop)
  hoptax load -n 10000 http://127.0.0.1:8080/         10,000 requests
  hoptax load -q 1000 --fail-on 'p99>5ms' --fail-on 'errors>0.1%' http://127.0.0.1:8080/
  hoptax load -q 1000 --percentiles 95,99.99 http://127.0.0.1:8080/
  hoptax load -q 1000 --arrivals poisson --json result.json http://127.0.0.1:8080/
  hoptax load -q 1000 --openmetrics load.prom http://127.0.0.1:8080/
  hoptax load -q 1000 --hgrm load.hgrm --hlog load.hlog http://127.0.0.1:8080/
  hoptax load -q 1000 --every 1s http://127.0.0.1:8080/ | jq .rate
  hoptax load --stages 0:1000@10s,1000:5000@60s http://127.0.0.1:8080/
  hoptax load --resolve shop.test:8080:127.0.0.1 -H @headers.txt http://joe:secret@shop.test:8080/
  hoptax load -q 500 --weights 9,1 http://127.0.0.1:8080/ http://127.0.0.1:8080/slow
  hoptax load --protocol http2 --streams 32 -c 4 --ca lab/ca.pem https://127.0.0.1:8443/
  hoptax load --body-size 100 ws://127.0.0.1:8080/
  hoptax load --proto shop.proto --body '{\"id\": 7}' grpc://127.0.0.1:8080/shop.v1.Shop/Buy
  hoptax load --grpc-stream both --messages 100 --proto shop.proto grpc://127.0.0.1:8080/shop.v1.Shop/Chat
  hoptax load --reflection --body '{\"id\": 7}' grpc://127.0.0.1:8080/shop.v1.Shop/Buy
  hoptax load -q 500 --data users.csv -H 'x-user: {{name}}' http://127.0.0.1:8080/users/{{id}}
  hoptax load -q 500 -X POST --body '{\"id\": \"{counter}\"}' http://127.0.0.1:8080/{random}

Protocols, by the scheme of the URL: http and https (HTTP/1.1, or --protocol http2 or grpc), grpc and grpcs, tcp and tls
(bytes there and back), ws and wss (WebSocket messages there and back).

User information of a URL (joe:secret@) is sent as basic authentication; no result and no message shows it.

In URLs, values of headers and bodies, {counter} stands for twelve digits that count the requests, and {random} for
sixteen hexadecimal digits drawn for each.")]
pub(crate) struct LoadArguments {
    /// Where the load goes, `SCHEME://HOST:PORT/PATH`; several take turns, or are drawn by --weights
    #[arg(value_name = "URL", value_hint = ValueHint::Url, required = true)]
    pub(crate) urls: Vec<GivenUrl>,
    /// The address of a host and port, in place of what the system's resolver says: `shop.test:443:127.0.0.1`; may be given
    /// again
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub(crate) resolve: Vec<Resolved>,
    /// Use addresses of IPv4 alone
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// Use addresses of IPv6 alone
    #[arg(short = '6', long)]
    pub(crate) ipv6: bool,
    /// How often each URL is requested, as weights in their order: `3,1`
    #[arg(long, value_name = "WEIGHTS", value_delimiter = ',')]
    pub(crate) weights: Vec<f64>,
    /// A file of requests that are sent in turn, one per line: `/path`, `POST /path BODY`, whole URLs, or JSON with `url`,
    /// `method`, `header` and `body` (in base64), as vegeta writes it; what begins with `/` goes to the host of the URL
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["weights", "body", "body_file", "body_size"])]
    pub(crate) requests: Option<PathBuf>,
    /// A CSV file whose first row names fields: `{{field}}` in URLs, values of headers and bodies, also those of --requests, is
    /// filled in from its rows
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) data: Option<PathBuf>,
    /// How rows of --data are chosen: `in-turn`, from the first again after the last, or `random`
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = DataOrder::InTurn, requires = "data")]
    pub(crate) data_order: DataOrder,
    /// Requests per second, at most 10,000,000; as fast as possible if not given
    #[arg(short = 'q', long, value_name = "RATE", value_parser = values::rate)]
    pub(crate) rate: Option<f64>,
    /// Rates over time, in place of one rate: `FROM:TO@LENGTH`, or `RATE@LENGTH`, with commas between; each stage has a
    /// result of its own
    #[arg(long, value_name = "STAGES", conflicts_with_all = ["rate", "duration", "warmup"])]
    pub(crate) stages: Option<Pace>,
    /// Time between an answer and the next request of its connection, in a closed loop: `40ms`, or `exp:40ms` for
    /// exponential times of that mean
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "stages"])]
    pub(crate) think: Option<Think>,
    /// What is spoken, where the scheme of the URL leaves it open: `http1`, `http2` or `grpc` for `http://` and `https://`
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) protocol: Option<Protocol>,
    /// Requests at once on each connection, for HTTP/2 and gRPC
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) streams: u32,
    /// Bytes of every answer, for TCP
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) answer_size: u64,
    /// The proto file of the service, for gRPC; the body is then the message as JSON. Without it the body is the message
    /// itself
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) proto: Option<PathBuf>,
    /// Ask the server itself for its services (gRPC reflection), in place of --proto
    #[arg(long, conflicts_with = "proto")]
    pub(crate) reflection: bool,
    /// How often the message is sent in a call of gRPC that takes a stream of them
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) messages: u32,
    /// Time the messages of gRPC calls: `server` for a stream of answers, `both` for a conversation, in which each of --messages is
    /// sent after the answer to the one before
    #[arg(long, value_name = "SIDES", value_enum)]
    pub(crate) grpc_stream: Option<GrpcStream>,
    /// Connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: u32,
    /// How a request finds its connection: `least-recent` (free for longest), `most-recent`, `round-robin`, `random`, or
    /// `pinned` (each connection has requests of its own, which wait for it)
    #[arg(long, value_name = "ORDER", default_value_t = PoolOrder::default())]
    pub(crate) pool: PoolOrder,
    /// What becomes of a request while all connections are busy: `wait` (which counts in its response time), `queue=100`
    /// (only so many wait, at most 1,000,000), or `skip`
    #[arg(long, value_name = "MODE", default_value_t = WhenBusy::default())]
    pub(crate) when_busy: WhenBusy,
    /// What becomes of a request that the generator itself is late with: `send`, or `skip` (when it is more than 10 ms
    /// late)
    #[arg(long, value_name = "MODE", default_value_t = WhenLate::default())]
    pub(crate) when_late: WhenLate,
    /// When connections are opened: `ahead` of the first request, or `on-demand`
    #[arg(long, value_name = "WHEN", default_value_t = Connect::default())]
    pub(crate) connect: Connect,
    /// Requests after which a connection is closed and opened anew, as a number or a range: `1` for a new one each time,
    /// `500-1500`
    #[arg(long, value_name = "NUMBER")]
    pub(crate) requests_per_connection: Option<RequestsPerConnection>,
    /// Age at which a connection is closed after an answer, and opened anew
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub(crate) connection_age: Option<Duration>,
    /// How long to record, for example `30s` or `2m` [default: 10s, or the length of a trace]
    #[arg(short, long, value_parser = values::duration)]
    pub(crate) duration: Option<Duration>,
    /// Requests to record, and then end, if --duration does not end it before; those of the warm-up do not count
    #[arg(short = 'n', long = "count", value_name = "NUMBER", conflicts_with = "stages", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// How long to offer load before the record begins [default: 1s, or nothing before a trace or stages]
    #[arg(long, value_name = "DURATION", value_parser = values::duration_or_none)]
    pub(crate) warmup: Option<Duration>,
    /// After how long a request has timed out
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = values::duration)]
    pub(crate) timeout: Duration,
    /// How release times are drawn: `uniform` (evenly), `poisson` (with exponential gaps, as independent users do),
    /// `jitter=10%` (evenly, each moved by up to that share of a gap), `burst=8` (so many at once), or `trace=FILE`
    /// (times since the start, one per line as `1.5ms`, in place of a rate)
    #[arg(long, value_name = "ARRIVALS", default_value = "uniform", value_parser = values::arrivals)]
    pub(crate) arrivals: ArrivalsChoice,
    /// Worker threads
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: u32,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Request method
    #[arg(short = 'X', long, default_value = "GET")]
    pub(crate) method: String,
    /// A request header, `Name: value`, or `@FILE` for a file with one per line; may be given again
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<Headers>,
    /// Send cookies that answers set back on their connection, which is then a session; for HTTP/1.1 and HTTP/2
    #[arg(long)]
    pub(crate) cookies: bool,
    /// Request body
    #[arg(long, value_name = "TEXT", group = "content")]
    pub(crate) body: Option<String>,
    /// A file that is the request body
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "content")]
    pub(crate) body_file: Option<PathBuf>,
    /// A request body of so many bytes
    #[arg(long, value_name = "BYTES", group = "content", value_parser = clap::value_parser!(u32).range(1..=67_108_864))]
    pub(crate) body_size: Option<u32>,
    /// What every answer must be to count as one: `status=200`, `size=1024` (bytes of the body), `header=NAME`,
    /// `header=NAME:VALUE` or `sha256=HEX` (of the body), or several with commas between, and at the end one of
    /// `contains=TEXT`, `json=/POINTER` and `json=/POINTER=VALUE`; may be given again, and all hold together; a status below
    /// 400 if not given
    #[arg(long, value_name = "EXPECTATION")]
    pub(crate) expect: Vec<Expectation>,
    /// Share of requests without an answer above which the result is void, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = values::share)]
    pub(crate) max_error_share: f64,
    /// Set the threshold of a check, `NAME=VALUE`; may be given again. `hoptax checks --thresholds` lists them; a loosened
    /// one is printed with the verdict
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = values::threshold)]
    pub(crate) thresholds: Vec<(String, f64)>,
    /// Percentiles that are told beside p50, p90, p99 and p99.9: `95,99.99`
    #[arg(long, value_name = "PERCENTILES", value_delimiter = ',', value_parser = values::percentile)]
    pub(crate) percentiles: Vec<f64>,
    /// End with exit code 1 when this holds, or when that cannot be told: `p99>5ms` (any percentile, `min`, `mean` or `max`),
    /// `service.p99.9>2ms`, `send-lag.p99>1ms`, `rate<9900`, `errors>0.1%`, `reset>10`, with `>`, `>=`, `<` or `<=`; may be
    /// given again. A void result ends with 4
    #[arg(long = "fail-on", value_name = "CONDITION")]
    pub(crate) fail_on: Vec<Condition>,
    /// Keep the processors from being halted: `auto` where wake-ups are slow and nobody else wants the processors, as a server on
    /// this machine does
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
    /// Take the kernel's time stamps of the requests on one connection in sixteen, to show how long they were between the
    /// generator and the wire
    #[arg(long)]
    pub(crate) kernel_stamps: bool,
    /// Write the moments and the outcome of every request to a file, 64 bytes each; `hoptax log FILE` prints it as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Write the percentile distribution of response time to a file, in milliseconds, as `HdrHistogram` prints it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write the histograms of response and service time of every second to a file, as an interval log of `HdrHistogram`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hlog: Option<PathBuf>,
    /// Print a line of JSON for every interval while the load runs: rate, answers, failures, response time, send lag. The table
    /// then goes to stderr. `hoptax schema load-interval` describes a line
    #[arg(long, value_name = "DURATION", value_parser = values::interval)]
    pub(crate) every: Option<Duration>,
    #[command(flatten)]
    pub(crate) security: SecurityArguments,
    /// Write the result to a file in the text format of `OpenMetrics`, which Prometheus reads
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
