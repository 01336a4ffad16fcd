//! What a trial recorded about itself, for the checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Latency;

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
    /// Their median response time, microseconds.
    pub median_response_us: Option<f64>,
    /// Connections that were open when it began; null where it was not looked.
    pub connections: Option<u64>,
}

/// How well releases kept their times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// How far a gap between two releases was from the planned one, microseconds, of the releases of each worker.
    pub gap_error: Latency,
    /// Largest distance (Kolmogorov-Smirnov) of the distribution of gaps, over all workers, from the exponential one, 0
    /// to 1; null unless arrivals are Poisson.
    pub exponential_distance: Option<f64>,
    /// Gaps that this rests on.
    pub gaps: u64,
}

/// Requests in flight in the mean. The two must agree (Little's law), or requests are lost or counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InFlight {
    /// As seen at random moments.
    pub seen: f64,
    /// Of how many moments.
    pub looks: u64,
    /// The time that all requests were in flight, over the recorded time.
    pub computed: f64,
}

/// Workers or connections whose median response time is apart from that of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apart {
    /// `worker` or `connection`.
    pub of: String,
    /// Which, counted from 0.
    pub numbers: Vec<u32>,
    /// Of how many.
    pub total: u32,
    /// Their median, microseconds.
    pub p50_us: f64,
    /// The median of the others, microseconds.
    pub others_p50_us: f64,
}

/// Where the time between writing a request and reading its answer went, by the kernel's time stamps of a sample of
/// requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelStamps {
    /// From the write to the wire.
    pub to_wire: Latency,
    /// From the request on the wire to the last packet of the answer.
    pub on_wire: Latency,
    /// From the last packet to the read.
    pub from_wire: Latency,
}

/// Where an imported result comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The tool.
    pub tool: String,
    /// What it does not tell, and cannot be judged by.
    pub unknown: Vec<String>,
}

/// A threshold that was loosened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loosened {
    /// Its name.
    pub name: String,
    /// What it is.
    pub default: f64,
    /// What it was set to.
    pub value: f64,
}

/// Medians of response time in the first and the last third of the recorded time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Median of the first third, microseconds.
    pub first_third_p50_us: f64,
    /// Median of the last third, microseconds.
    pub last_third_p50_us: f64,
}

/// What the generator used while it recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// CPU time of all workers, seconds.
    pub cpu_seconds: f64,
    /// Time that the workers were ready to run but did not, microseconds.
    pub run_delay_us: f64,
    /// Time that was recorded, seconds: without the warm-up, and without the drain, in which the generator has next to
    /// nothing to do.
    pub wall_seconds: f64,
    /// Time that the host took from this machine's processors meanwhile, as a share of their time, 0 to 1.
    pub steal_share: f64,
    /// Share of the time that some task waited for a processor (pressure stall information); null where the kernel does
    /// not say, and where processors were kept from being halted, since what keeps them so counts as a task that waits.
    pub pressure_share: Option<f64>,
    /// Periods in which a limit on CPU time stopped this process; null where the kernel does not say.
    pub throttled: Option<u64>,
    /// What one reading of the clock takes, nanoseconds.
    pub clock_read_ns: f64,
    /// Largest step back of the clock in a thousand readings, nanoseconds.
    pub clock_step_back_ns: u64,
    /// The same for each worker.
    pub workers: Vec<GeneratorWorker>,
}

/// What one worker used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorWorker {
    /// CPU time, seconds.
    pub cpu_seconds: f64,
    /// Time ready to run but not running, microseconds.
    pub run_delay_us: f64,
    /// Response time of its requests.
    pub response: Latency,
}

/// The handshakes of TLS, those before the record included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsResult {
    /// The version that was agreed on: `1.2` or `1.3`.
    pub version: String,
    /// The cipher suite.
    pub cipher: String,
    /// The group that keys were exchanged on, by its registered name, such as `X25519`; absent where it is not known.
    pub key_exchange_group: Option<String>,
    /// The protocol, where the two sides spoke of it (ALPN).
    pub alpn: Option<String>,
    /// Handshakes from the beginning.
    pub full_handshakes: u64,
    /// Handshakes that took up an earlier session.
    pub resumed_handshakes: u64,
    /// Handshakes in which the server asked for a key of another group, which takes a round trip more.
    #[serde(default)]
    pub hello_retry_requests: u64,
    /// The share of those.
    pub resumption_share: f64,
    /// From connected to secured, microseconds.
    pub handshake: Latency,
}
