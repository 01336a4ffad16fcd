//! What one run of the load generator found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, Finding, Verdict};

/// When a request may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// A connection sends again when it is answered.
    Closed,
    /// Requests leave when planned.
    Open,
}

/// Everything that one load trial recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadResult {
    /// Name and version of this format: `hoptax.load/1`.
    pub format: String,
    /// What the findings add up to.
    pub verdict: Verdict,
    /// Failed and warned checks.
    pub findings: Vec<Finding>,
    /// What was asked for.
    pub plan: LoadPlan,
    /// Where each request went, exactly.
    pub book: Book,
    /// Requests that were not sent, by reason: `busy`, `late` or `end`.
    pub unsent: BTreeMap<String, u64>,
    /// Requests that waited for a connection.
    pub waiting: Waiting,
    /// Failed requests by kind, for example `reset` or `status-5xx`.
    pub failures: BTreeMap<String, u64>,
    /// Complete answers by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests per second.
    pub rate: LoadRate,
    /// Distributions over answered requests.
    pub latency: LatencySet,
    /// First against last third of the trial.
    pub drift: Option<Drift>,
    /// What the generator itself used.
    pub generator: Generator,
    /// The machine.
    pub environment: Environment,
}

/// The load that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// Where the requests went.
    pub url: String,
    /// Request method.
    pub method: String,
    /// Open or closed.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// How release times were drawn, as `--arrivals` says it; absent in a closed loop.
    pub arrivals: Option<String>,
    /// Connections.
    pub connections: u32,
    /// How a request found its connection.
    pub pool: String,
    /// What became of a request while all connections were busy: `wait`, `queue=N` or `skip`.
    pub when_busy: String,
    /// What became of a request that the generator was late with: `send` or `skip`.
    pub when_late: String,
    /// Requests after which a connection was closed and opened anew; null for as many as the server took.
    pub requests_per_connection: Option<u32>,
    /// What was expected of every answer, as `--expect` says it; empty for a status below 400.
    pub expect: String,
    /// Worker threads.
    pub workers: u32,
    /// Recorded time, seconds.
    pub duration_s: f64,
    /// Time before it that was left out of the record, seconds.
    pub warmup_s: f64,
    /// Time after which a request counts as timed out, seconds.
    pub timeout_s: f64,
    /// Seed of the release times.
    pub seed: u64,
    /// Share of failed, timed-out and unfinished requests that is tolerated.
    pub max_error_share: f64,
}

/// Requests that waited for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// Most of them at once.
    pub most: u64,
    /// How long those that were answered waited, all together, seconds.
    pub total_s: f64,
}

/// The exact book: `planned = sent + unsent`; `sent = answered + failed + timed_out + unfinished`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// Requests whose release fell into the recorded time.
    pub planned: u64,
    /// Of these, handed to a connection.
    pub sent: u64,
    /// Of these, never handed to a connection, because none was free before the end.
    pub unsent: u64,
    /// Of the sent, released late because every connection was busy.
    pub blocked: u64,
    /// Of the sent, answered in full with a status below 400.
    pub answered: u64,
    /// Of the sent, failed; `failures` says how.
    pub failed: u64,
    /// Of the sent, not answered within the timeout.
    pub timed_out: u64,
    /// Of the sent, still in flight when the drain after the end was over.
    pub unfinished: u64,
}

impl Book {
    /// Whether both equations hold.
    pub fn balances(&self) -> bool {
        self.planned == self.sent + self.unsent
            && self.sent == self.answered + self.failed + self.timed_out + self.unfinished
    }

    /// Share of the sent requests that were not answered, 0 to 1; 0 when none was sent.
    pub fn error_share(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            (self.sent - self.answered.min(self.sent)) as f64 / self.sent as f64
        }
    }

    /// Adds another book to this one.
    pub fn add(&mut self, other: &Self) {
        self.planned += other.planned;
        self.sent += other.sent;
        self.unsent += other.unsent;
        self.blocked += other.blocked;
        self.answered += other.answered;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.unfinished += other.unfinished;
    }
}

/// Requests per second over the recorded time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRate {
    /// What was asked for; absent in a closed loop.
    pub target: Option<f64>,
    /// Sent.
    pub offered: f64,
    /// Answered; withheld (null) when the result is void.
    pub achieved: Option<f64>,
}

/// The distributions of a trial, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySet {
    /// Planned release to last byte: what a user waits.
    pub response: Latency,
    /// First byte written to last byte read: what the subject took.
    pub service: Latency,
    /// Planned release to first byte written, the wait for a free connection included.
    pub send_lag: Latency,
    /// The send lag of the requests that found a free connection: how late the generator itself was.
    pub own_lag: Latency,
    /// First byte written to first byte read.
    pub first_byte: Latency,
}

/// One distribution, microseconds. A quantile that the evidence does not support is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Requests in it.
    pub count: u64,
    /// Smallest.
    pub min_us: Option<f64>,
    /// Arithmetic mean.
    pub mean_us: Option<f64>,
    /// Median.
    pub p50_us: Option<f64>,
    /// 90th percentile.
    pub p90_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p99_9_us: Option<f64>,
    /// Largest.
    pub max_us: Option<f64>,
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
    /// Time from the start of the record to the end of the drain, seconds.
    pub wall_seconds: f64,
    /// Time that the host took from this machine's processors meanwhile, as a share of their time, 0 to 1.
    pub steal_share: f64,
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
}
