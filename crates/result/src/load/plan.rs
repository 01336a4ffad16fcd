//! The load that was requested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Loop, unless_zero};

/// The requested load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// The target of the requests: a URL, or the source that they were read from.
    pub url: String,
    /// Protocol: `http1`, `http2`, `http3`, `grpc`, `grpc-http3`, `tcp` or `websocket`; the negotiated one where the server
    /// chose it.
    pub protocol: String,
    /// Request method; empty if the protocol has none.
    pub method: String,
    /// Number of distinct requests.
    pub requests: u32,
    /// The data that these were filled in from; null without data.
    pub data: Option<DataPlan>,
    /// True if cookies that responses set were sent back on their connection.
    #[serde(default)]
    pub cookies: bool,
    /// Streams of gRPC whose messages are timed: `server`, `client=N` with N messages in each request, or `both=N` with N
    /// messages in turn; null for none.
    pub grpc_stream: Option<String>,
    /// Open or closed.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// Spacing of release times, in the syntax of `--arrivals`; absent in a closed loop.
    pub arrivals: Option<String>,
    /// Connections; null if another tool does not state them.
    #[serde(with = "unless_zero")]
    #[schemars(with = "Option<u32>")]
    pub connections: u32,
    /// Concurrent requests per connection.
    pub streams: u32,
    /// Network path of connections to the servers.
    #[serde(default)]
    pub network: NetworkPlan,
    /// HTTP/2 settings of the generator; null with other protocols.
    pub http2: Option<Http2Plan>,
    /// Order in which connections take requests, in the syntax of `--pool`.
    pub pool: String,
    /// Treatment of a request while all connections are busy: `wait`, `queue=N` or `skip`.
    pub when_busy: String,
    /// Treatment of a request that the generator is late with: `send` or `skip`.
    pub when_late: String,
    /// Time at which connections are opened: `ahead` or `on-demand`.
    pub connect: String,
    /// Requests after which a connection is closed and reopened, as a number or a range; null for as many as the server
    /// allows.
    pub requests_per_connection: Option<String>,
    /// Age at which a connection is closed and reopened, seconds; null for none.
    pub connection_age_s: Option<f64>,
    /// Time between a response and the next request of a closed loop, in the syntax of `--think`; null for none.
    pub think: Option<String>,
    /// Rate over time, in the syntax of `--stages`; null for a constant rate.
    pub stages: Option<String>,
    /// Conditions of every response, in the syntax of `--expect`; empty for a status below 400.
    pub expect: String,
    /// Worker threads; null if another tool does not state them.
    #[serde(with = "unless_zero")]
    #[schemars(with = "Option<u32>")]
    pub workers: u32,
    /// Recorded time, seconds; an upper bound if the number of requests is limited; null if another tool does not state it.
    #[serde(with = "unless_zero")]
    #[schemars(with = "Option<f64>")]
    pub duration_s: f64,
    /// Number of requests after which recording ends; null without a limit.
    pub request_limit: Option<u64>,
    /// Warm-up before the recorded time, seconds.
    pub warmup_s: f64,
    /// Time after which a request counts as timed out, seconds; null if another tool does not state it.
    #[serde(with = "unless_zero")]
    #[schemars(with = "Option<f64>")]
    pub timeout_s: f64,
    /// Seed of the release times.
    pub seed: u64,
    /// The generator's share of the load of several, of which this plan is; absent if it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<PlanShare>,
    /// True if the processors were kept from halting, by a task on each that spins and yields to all others.
    #[serde(default)]
    pub never_halted: bool,
    /// Tolerated share of failed, timed-out and unfinished requests.
    pub max_error_share: f64,
    /// Further properties that the command line gave and that this plan does not state, because they are long or may be secret: `headers`,
    /// `credentials`, `request file`, `body`, `protocol`, `addresses`, `TLS options`, `account`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstated: Vec<String>,
}

/// The share of a load that one of several generators sends: of the requests of the schedule in turn, those of its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanShare {
    /// The index of the generator, from 0.
    pub index: u32,
    /// The number of generators.
    pub of: u32,
}

impl LoadPlan {
    /// From when on the subject answered at the sustained rate of the result, in words.
    pub fn sustained_since(&self) -> &'static str {
        if self.warmup_s > 0.0 { "from the start of the warm-up on" } else { "from the start on" }
    }

    /// True if a command with the rate, the connections, the time limit of a request, the workers, the URL and what is
    /// [unstated](Self::unstated) alone sends the same requests.
    pub fn is_plain(&self) -> bool {
        let is_get = self.method == "GET" && self.requests == 1 && self.data.is_none() && !self.cookies;
        let connects_plainly = self.network.unix_socket.is_none()
            && self.network.proxy_protocol.is_none()
            && self.network.source_addresses.is_empty()
            && self.network.resolve_every_s.is_none()
            && self.network.ramp_up_s <= 0.0
            && self.requests_per_connection.is_none()
            && self.connection_age_s.is_none()
            && self.pool == "least-recent"
            && self.connect == "ahead";
        let waits = self.when_busy == "wait" && self.when_late == "send";
        is_get
            && connects_plainly
            && waits
            && self.protocol == "http1"
            && self.stages.is_none()
            && self.think.is_none()
            && self.expect.is_empty()
    }
}

/// Network path of connections to the servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkPlan {
    /// Addresses of the servers before the load; connections take turns among those of one server. Empty with a Unix socket.
    pub servers: Vec<String>,
    /// Path of the Unix socket that all connections went to; null for none.
    pub unix_socket: Option<String>,
    /// Source addresses and networks, in the syntax of `--source-address`; empty where the kernel chose.
    pub source_addresses: Vec<String>,
    /// Version of the PROXY protocol whose header every connection began with, `v1` or `v2`; null for none.
    pub proxy_protocol: Option<String>,
    /// Time before the warm-up over which the connections were opened evenly, seconds; 0 for all at once.
    pub ramp_up_s: f64,
    /// Interval at which host names were looked up again, seconds; null if they were not.
    pub resolve_every_s: Option<f64>,
}

/// Lookups of host names during a load, those before it excluded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lookups {
    /// Number of lookups.
    pub done: u64,
    /// Lookups that failed or gave no usable address. The addresses then stayed.
    pub failed: u64,
    /// Number of times that the addresses of a host changed. Another order of the addresses is a change.
    pub changes: u64,
    /// Addresses of the servers that connections used at the end.
    pub servers: Vec<String>,
}

/// Data that requests were filled in from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// Number of rows.
    pub rows: u32,
    /// Order of the rows: `in-turn` or `random`.
    pub order: String,
}

/// HTTP/2 settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http2Plan {
    /// Flow-control window of a stream, bytes.
    pub stream_window_bytes: u32,
    /// Flow-control window of a connection, bytes.
    pub connection_window_bytes: u32,
    /// Size of the HPACK dynamic table in both directions, bytes.
    pub header_table_bytes: u32,
    /// Largest frame, bytes.
    pub max_frame_bytes: u32,
}

/// Requests that waited for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// Largest number waiting at once.
    pub most: u64,
    /// Total time that requests waited until they were sent or the trial ended, seconds.
    pub total_s: f64,
}

/// Requests per second over the recorded time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRate {
    /// Requested; absent in a closed loop, unless another tool paced it.
    pub target: Option<f64>,
    /// Sent; null if nothing was sent, and in results of other tools, which state the actual load.
    #[serde(with = "unless_zero")]
    #[schemars(with = "Option<f64>")]
    pub offered: f64,
    /// Answered; withheld (null) when the result is void.
    pub achieved: Option<f64>,
}
