//! What one run of the load generator found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, Finding, Verdict};

mod evidence;
mod latency;

pub use evidence::{
    Apart, Drift, Generator, GeneratorWorker, Imported, InFlight, KernelStamps, Loosened, Pacing, TlsResult,
    Window,
};
pub use latency::{Latency, LatencySet, LowerBounds, Mode, Percentile, QuantileIntervals, Range};

/// When a request may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// A connection sends again when it is answered.
    Closed,
    /// Requests leave when planned.
    Open,
}

/// Why a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// As it was planned.
    Plan,
    /// As many requests were recorded as were asked for.
    Requests,
    /// It was interrupted.
    Interrupt,
    /// So many requests waited that they could never have been sent.
    Backlog,
}

/// What came of a condition of `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailOnOutcome {
    /// The condition does not hold.
    Passed,
    /// It does.
    Failed,
    /// It cannot be told: the value is withheld, not measured, or only bounded; or the result is void. That is no pass.
    Unknown,
}

/// A condition of `--fail-on`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailOn {
    /// The condition, as it was given.
    pub condition: String,
    /// What came of it.
    pub outcome: FailOnOutcome,
    /// The value that was compared; null where it is not known.
    pub value: Option<f64>,
    /// What it is at least, where only that is known.
    pub at_least: Option<f64>,
    /// The unit of both: `us`, `%`, `/s`, or `requests`.
    pub unit: String,
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
    /// Time that was recorded, seconds, and that all numbers speak of: what was planned, unless the trial ended early.
    pub recorded_s: f64,
    /// Why it ended: `plan`, `requests`, `interrupt` or `backlog`.
    pub ended_by: EndedBy,
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
    /// Distributions. Response and service time are those of answered requests and of those whose answer was still
    /// awaited, the others those of answered requests.
    pub latency: LatencySet,
    /// Percentiles of choice, those of `--percentiles` and of `--fail-on`, in rising order.
    pub percentiles: Vec<Percentile>,
    /// The conditions of `--fail-on`, and what came of each.
    pub fail_on: Vec<FailOn>,
    /// 95 % intervals of the quantiles of response time.
    pub response_intervals: QuantileIntervals,
    /// Response time, up to the answer or the failure, by outcome: `answered`, `timed-out`, or a kind of failure.
    pub outcomes: BTreeMap<String, Latency>,
    /// The modes of response time, the fastest first.
    pub modes: Vec<Mode>,
    /// The complete windows of the trial, each a hundredth of its planned length; empty for a trial in stages.
    pub windows: Vec<Window>,
    /// How well releases kept their times; null in a closed loop.
    pub pacing: Option<Pacing>,
    /// Rank correlation (Spearman) of the response times of one request and the next; null with too few.
    pub serial_correlation: Option<f64>,
    /// Requests in flight, counted and computed.
    pub in_flight: Option<InFlight>,
    /// Workers and connections whose response times are apart from the others'.
    pub apart: Vec<Apart>,
    /// What the kernel's time stamps say, where they were asked for.
    pub kernel: Option<KernelStamps>,
    /// What the handshakes of TLS came to; null without TLS.
    pub tls: Option<TlsResult>,
    /// Connections that the server wanted no further request on (GOAWAY of HTTP/2, the end of WebSocket), by its reason.
    pub retired: BTreeMap<String, u64>,
    /// The stages that began of a load that has some, each with its own numbers.
    pub stages: Vec<Stage>,
    /// First against last third of the trial.
    pub drift: Option<Drift>,
    /// What the generator itself used.
    pub generator: Generator,
    /// The tool that a result was imported from, with what it does not tell.
    pub imported: Option<Imported>,
    /// Thresholds of checks that were loosened.
    pub loosened: Vec<Loosened>,
    /// The machine.
    pub environment: Environment,
}

/// The load that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// Where the requests went: a URL, or what they were taken from.
    pub url: String,
    /// What was spoken: `http1`, `http2`, `grpc`, `tcp` or `websocket`.
    pub protocol: String,
    /// Request method; empty where the protocol has none.
    pub method: String,
    /// Different requests that were sent.
    pub requests: u32,
    /// Open or closed.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// How release times were drawn, as `--arrivals` says it; absent in a closed loop.
    pub arrivals: Option<String>,
    /// Connections.
    pub connections: u32,
    /// Requests at once on each of them.
    pub streams: u32,
    /// What the generator allows of HTTP/2; null where that is not spoken.
    pub http2: Option<Http2Plan>,
    /// How a request found its connection.
    pub pool: String,
    /// What became of a request while all connections were busy: `wait`, `queue=N` or `skip`.
    pub when_busy: String,
    /// What became of a request that the generator was late with: `send` or `skip`.
    pub when_late: String,
    /// When connections were opened: `ahead` or `on-demand`.
    pub connect: String,
    /// Requests after which a connection was closed and opened anew, as a number or a range; null for as many as the
    /// server took.
    pub requests_per_connection: Option<String>,
    /// Age at which it was, seconds; null for none.
    pub connection_age_s: Option<f64>,
    /// Time between an answer and the next request of a closed loop, as `--think` says it; null for none.
    pub think: Option<String>,
    /// How the rate changed, as `--stages` says it; null for one rate.
    pub stages: Option<String>,
    /// What was expected of every answer, as `--expect` says it; empty for a status below 400.
    pub expect: String,
    /// Worker threads.
    pub workers: u32,
    /// Recorded time, seconds; the longest that it could be where requests are limited.
    pub duration_s: f64,
    /// Requests after which the record was to end; null for as many as fit.
    pub request_limit: Option<u64>,
    /// Time before it that was left out of the record, seconds.
    pub warmup_s: f64,
    /// Time after which a request counts as timed out, seconds.
    pub timeout_s: f64,
    /// Seed of the release times.
    pub seed: u64,
    /// Whether the processors were kept from being halted: a task that yields to all others spun on each of them.
    #[serde(default)]
    pub never_halted: bool,
    /// Share of failed, timed-out and unfinished requests that is tolerated.
    pub max_error_share: f64,
}

/// Settings of HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http2Plan {
    /// Bytes of an answer that may be under way.
    pub stream_window_bytes: u32,
    /// Bytes of all answers of a connection that may be.
    pub connection_window_bytes: u32,
    /// Bytes of the table of header fields, in both directions.
    pub header_table_bytes: u32,
    /// Bytes of a frame at most.
    pub max_frame_bytes: u32,
}

/// Requests that waited for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// Most of them at once.
    pub most: u64,
    /// How long requests waited, all together, until they were sent or until the end, seconds.
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

/// One stage of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Requests per second at its beginning.
    pub from_rate: f64,
    /// Requests per second at its end.
    pub to_rate: f64,
    /// How long it lasted, seconds: its length, unless the trial ended early.
    pub duration_s: f64,
    /// Where its requests went.
    pub book: Book,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<String, u64>,
    /// Failed requests by kind.
    pub failures: BTreeMap<String, u64>,
    /// Requests per second; `target` is the mean of the stage.
    pub rate: LoadRate,
    /// Distributions.
    pub latency: LatencySet,
}
