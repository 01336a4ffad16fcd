//! Evidence that a trial records about itself, for the checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Latency, Range};

/// A hundredth of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Requests planned in it.
    pub planned: u64,
    /// Requests sent in it.
    pub sent: u64,
    /// Answered requests that were planned in it.
    pub answered: u64,
    /// Their median response time, us.
    pub median_response_us: Option<f64>,
    /// Connections open at its start; null if not recorded.
    pub connections: Option<u64>,
}

/// Accuracy of release times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// Deviation of the gap between two releases of a worker from the planned gap, us.
    pub gap_error: Latency,
    /// Kolmogorov-Smirnov distance between the distribution of gaps, over all workers, and the exponential
    /// distribution, 0 to 1; null unless arrivals are Poisson.
    pub exponential_distance: Option<f64>,
    /// Number of gaps in it.
    pub gaps: u64,
}

/// Mean number of requests in flight. The two values must agree (Little's law); otherwise requests are lost or counted
/// twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InFlight {
    /// As observed at random moments.
    pub seen: f64,
    /// Number of observations.
    pub looks: u64,
    /// Total time that requests were in flight, divided by the recorded time.
    pub computed: f64,
}

/// Mean number of requests in flight, as observed at random moments, in equal parts of the recorded time from its start on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InFlightOverTime {
    /// Length of a part, seconds.
    pub part_s: f64,
    /// The mean of each part; null in one that a worker did not observe.
    pub means: Vec<Option<f64>>,
}

impl InFlightOverTime {
    /// The means of parts of this length; none if no part has one.
    pub fn new(part_s: f64, means: Vec<Option<f64>>) -> Option<Self> {
        means.iter().any(Option::is_some).then_some(Self { part_s, means })
    }
}

/// Workers or connections whose median response time differs from that of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outliers {
    /// `worker` or `connection`.
    pub of: String,
    /// Their numbers, counted from 0.
    pub numbers: Vec<u32>,
    /// The total number of workers or connections.
    pub total: u32,
    /// Their median, us.
    pub p50_us: f64,
    /// The median of the others, us.
    pub others_p50_us: f64,
}

/// The division of a load among its connections, as quantiles over connections in equal steps from the least to the greatest: of 64
/// connections or fewer, the value of each, ascending. A connection that replaces a closed one counts with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByConnection {
    /// Number of connections.
    pub total: u32,
    /// Answered requests of a connection.
    pub requests: Vec<f64>,
    /// Number of connections with 100 answered requests or more.
    pub with_p50: u32,
    /// Their median response times as recorded, us, to about a tenth; empty if there are none, and if times are withheld.
    pub p50_us: Vec<f64>,
}

/// The parts of the time between writing a request and reading its response, from kernel timestamps of a sample of
/// requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelStamps {
    /// Time from the write to transmission.
    pub to_wire: Latency,
    /// Time from transmission of the request to arrival of the response's last packet.
    pub on_wire: Latency,
    /// Time from arrival of the last packet to the read.
    pub from_wire: Latency,
}

/// The source of an imported result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The tool.
    pub tool: String,
    /// Quantities that it does not report, and that cannot be judged.
    pub unknown: Vec<String>,
    /// The quantiles of service time for which the file has only a wide range. They are not in the distribution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<ImportedRange>,
    /// Requests answered, if the counters of the tool overlap or are incomplete, so that only a range is known. Null in the book then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<CountRange>,
    /// Requests failed, in the same case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<CountRange>,
    /// The rate of answered requests, requests per second, if their number is a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_per_s: Option<Range>,
}

/// A number of requests of which only bounds are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRange {
    /// The fewest.
    pub at_least: u64,
    /// The most.
    pub at_most: u64,
}

impl CountRange {
    /// A number that is known.
    pub fn exactly(count: u64) -> Self {
        Self { at_least: count, at_most: count }
    }

    /// The number, if the bounds are the same.
    pub fn exact(self) -> Option<u64> {
        (self.at_least == self.at_most).then_some(self.at_least)
    }
}

/// The range of a bucket that a quantile lies in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportedRange {
    /// The percentile, above 0 and below 100.
    pub percentile: f64,
    /// The lower bound of the bucket, us.
    pub low_us: f64,
    /// Its upper bound, us.
    pub high_us: f64,
}

/// A threshold that was loosened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loosened {
    /// Its name.
    pub name: String,
    /// Its default.
    pub default: f64,
    /// Its value.
    pub value: f64,
}

/// Medians of response time in the first and the last third of the recorded time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Median of the first third, us.
    pub first_third_p50_us: f64,
    /// Median of the last third, us.
    pub last_third_p50_us: f64,
}

/// Resource use of the generator while recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// CPU time of all workers, seconds.
    pub cpu_seconds: f64,
    /// Time that the workers were runnable but not running, us.
    pub run_delay_us: f64,
    /// Recorded time, seconds: without the warm-up, and without the drain, in which the generator is nearly idle.
    pub wall_seconds: f64,
    /// Stolen share of the processors' time meanwhile, 0 to 1.
    pub steal_share: f64,
    /// Share of the time that some task waited for a processor (pressure stall information); null if the kernel does
    /// not report it, and if processors were kept from being halted, since the spinning tasks count as waiting.
    pub pressure_share: Option<f64>,
    /// Periods in which a CPU limit throttled this process; null if the kernel does not report it.
    pub throttled: Option<u64>,
    /// Duration of one clock reading, nanoseconds.
    pub clock_read_ns: f64,
    /// Largest backward step of the clock in a thousand readings, nanoseconds.
    pub clock_step_back_ns: u64,
    /// Resource use of each worker.
    pub workers: Vec<GeneratorWorker>,
}

/// Resource use of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorWorker {
    /// CPU time, seconds.
    pub cpu_seconds: f64,
    /// Time runnable but not running, us.
    pub run_delay_us: f64,
    /// Response time of its requests.
    pub response: Latency,
}

/// TLS handshakes, including those before recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsResult {
    /// The negotiated version: `1.2` or `1.3`.
    pub version: String,
    /// The cipher suite.
    pub cipher: String,
    /// The key exchange group, by its registered name, such as `X25519`; absent if not known.
    pub key_exchange_group: Option<String>,
    /// The protocol negotiated by ALPN, if any.
    pub alpn: Option<String>,
    /// Full handshakes.
    pub full_handshakes: u64,
    /// Resumed handshakes.
    pub resumed_handshakes: u64,
    /// Handshakes in which the server requested a key share of another group, which adds a round trip.
    #[serde(default)]
    pub hello_retry_requests: u64,
    /// The share of resumed handshakes.
    pub resumption_share: f64,
    /// Time from TCP connected to handshake complete, us.
    pub handshake: Latency,
}
