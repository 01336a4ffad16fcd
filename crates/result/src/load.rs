//! The result of one run of the load generator.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Book, Environment, Reasons, Report};

mod account;
mod agents;
mod body;
mod by_request;
mod evidence;
mod histograms;
mod interval;
mod known;
mod latency;
mod merged;
mod plan;
mod shape;
mod unless_zero;
mod usable;

pub use account::ProcessAccount;
pub use agents::{Agent, AgentOutcome, Agents};
pub use body::{BodyBytes, BytesOverTime};
pub use by_request::{NamedRequests, RequestHistograms};
pub use evidence::{
    ByConnection, CountRange, Drift, Generator, GeneratorWorker, Imported, ImportedRange, InFlight,
    InFlightOverTime, KernelStamps, Loosened, Outliers, Pacing, TlsResult, Window,
};
pub use histograms::{LoadHistograms, RequestPhase};
pub use interval::{IntervalTimes, LoadInterval};
pub use known::{Known, TimeOf};
pub use latency::{
    Latency, LatencyBounds, LatencySet, LoadBounds, LowerBounds, Mode, Percentile, QuantileIntervals, Range,
    TimeBounds,
};
pub use merged::{Merged, MergedRun, RunLeftOut};
pub use plan::{DataPlan, Http2Plan, LoadPlan, LoadRate, Lookups, NetworkPlan, PlanShare, Waiting};

/// Release of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// A connection sends its next request when it is answered.
    #[default]
    Closed,
    /// Requests are sent at planned times.
    Open,
}

/// Reason for the end of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// As planned.
    #[default]
    Plan,
    /// The requested number of requests was recorded.
    Requests,
    /// It was interrupted.
    Interrupt,
    /// The backlog exceeded the requests that could be sent in the planned time.
    Backlog,
}

/// The outcome of a condition of `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailOnOutcome {
    /// The condition does not hold.
    Passed,
    /// The condition holds.
    Failed,
    /// Cannot be decided: the value is not known, or the limit lies between its bounds; or the result is void. Not a pass.
    Unknown,
}

/// A condition of `--fail-on`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailOn {
    /// The condition, as it was given.
    pub condition: String,
    /// Its outcome.
    pub outcome: FailOnOutcome,
    /// The value that was compared; null if not known.
    pub value: Option<f64>,
    /// A lower bound of the value, if it is not known.
    pub at_least: Option<f64>,
    /// An upper bound of the value, if it is not known.
    pub at_most: Option<f64>,
    /// The unit of value and bounds: `us`, `%`, `/s`, `requests` or `bytes`.
    pub unit: String,
}

/// The complete record of one load trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadBody {
    /// The requested load.
    pub plan: LoadPlan,
    /// Start of the record, seconds since 1970; null in results of other tools and of earlier versions.
    pub recorded_from_unix_s: Option<f64>,
    /// Recorded time, seconds, which all numbers refer to: the planned time, unless the trial ended early. In a merged result,
    /// the time in which all runs recorded. Null if nothing was recorded, and if another tool does not state it.
    #[serde(with = "unless_zero")]
    #[schemars(with = "Option<f64>")]
    pub recorded_s: f64,
    /// Reason for its end: `plan`, `requests`, `interrupt` or `backlog`.
    pub ended_by: EndedBy,
    /// Exact accounts of all requests. In a result of another tool, the accounts that it states.
    pub book: Book,
    /// Requests that were not sent, by reason: `busy`, `late` or `end`.
    pub unsent: BTreeMap<String, u64>,
    /// Requests that waited for a connection.
    pub waiting: Waiting,
    /// Failed requests by kind, for example `reset` or `status-5xx`.
    pub failures: BTreeMap<String, u64>,
    /// First reasons of failed requests by kind, with their number of requests, where they are known. Under `timed-out` and `unfinished`,
    /// reasons why requests that timed out or stayed unfinished were never sent.
    #[serde(default, skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
    /// Complete responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Sizes of their bodies; null without a response with a status, and in results of other tools and of earlier versions.
    pub body_bytes: Option<BodyBytes>,
    /// Bytes of bodies over the recorded time, in parts as long as those of `windows`. Absent without a body, for a trial with stages, for a
    /// merged result whose runs began at different times, and in results of other tools and of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_over_time: Option<BytesOverTime>,
    /// Violations of the protocol that alone fail no request, by rule: responses whose end is known nevertheless, and bytes that arrived
    /// while no request was in flight.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deviations: BTreeMap<String, u64>,
    /// Established connections that were closed after the start of the record, by reason: `server` if the server closed or drained them,
    /// `request` if a request asked for it (`Connection: close`), `violation` if the server violated the protocol, `refused` if it refused
    /// a single request, `early-response` if it responded before it had the whole request, `timed-out` with a request that timed out,
    /// `plan` at their number of requests or age, `generator` if a resource of this machine was exhausted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub closed: BTreeMap<String, u64>,
    /// Requests per second.
    pub rate: LoadRate,
    /// Requests answered per second from the start of the warm-up to the end of the record, however long before they were due. With a
    /// backlog, it is the rate that the server sustains; `rate` counts only requests that were due in the recorded time. Null in results
    /// of other tools and of earlier versions.
    pub sustained_rate: Option<f64>,
    /// Distributions. Response and service time are of answered requests and of those whose response was still pending;
    /// the others are of answered requests.
    pub latency: LatencySet,
    /// Response time of answered requests less the time by which the generator may have delayed them: by sending them, or requests ahead of
    /// them at the server, late, and by reading late. Each is a lower bound. Null in results of other tools.
    pub without_generator: Option<Latency>,
    /// Bounds of response and service time. They hold also if `latency` states the number.
    #[serde(default)]
    pub bounds: LoadBounds,
    /// The percentiles requested by `--percentiles` and `--fail-on`, ascending.
    pub percentiles: Vec<Percentile>,
    /// Responses within limits of response time, if the trial was asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Within>,
    /// The conditions of `--fail-on`, with their outcomes.
    pub fail_on: Vec<FailOn>,
    /// 95 % confidence intervals of the quantiles of response time.
    pub response_intervals: QuantileIntervals,
    /// Response time until the response or the failure, by outcome: `answered`, `timed-out`, or a kind of failure.
    pub outcomes: BTreeMap<String, Latency>,
    /// Times between messages of gRPC responses, and from the first byte written to the first of them; null unless
    /// `--grpc-stream` is given. The count is that of messages. With `--grpc-stream client`, there is one time for each answered
    /// call: its service time divided by the number of its messages.
    pub messages: Option<Latency>,
    /// The requests by name, in the order in which the load states them; absent unless it has several names, and in results of other tools
    /// and of earlier versions. The most frequent ones have a row each, and the rest is `others`, the last row. Rows add up to the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_request: Vec<NamedRequests>,
    /// The modes of response time, the fastest first.
    pub modes: Vec<Mode>,
    /// The complete windows of the trial, each a hundredth of its planned length, or as long as `window_s`; empty for a trial with stages
    /// and for a merged result.
    pub windows: Vec<Window>,
    /// Length of a window in a load that ends with its requests, seconds: its constant rate, or the warm-up of a closed loop, tells how
    /// long these take. Absent if neither does, in all other loads, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<f64>,
    /// Accuracy of release times; null in a closed loop and in a merged result.
    pub pacing: Option<Pacing>,
    /// Rank correlation (Spearman) of the response times of consecutive requests; null with too few requests and in a merged
    /// result.
    pub serial_correlation: Option<f64>,
    /// Requests in flight, observed and computed; null in a merged result.
    pub in_flight: Option<InFlight>,
    /// Requests in flight over the recorded time, in parts as long as those of `windows`. Absent for a trial with stages, for a merged
    /// result whose runs began at different times, and in results of other tools and of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_over_time: Option<InFlightOverTime>,
    /// Workers and connections whose response times differ from those of the others.
    pub apart: Vec<Outliers>,
    /// The division of requests and response times among connections. Absent with one connection or without an answer, for a trial with
    /// stages, for a merged result, because quantiles over the connections of several runs do not follow from those of each, and in
    /// results of other tools and of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_connection: Option<ByConnection>,
    /// Kernel timestamps, if requested.
    pub kernel: Option<KernelStamps>,
    /// Reason why there are none, although they were requested; null otherwise.
    pub kernel_absent: Option<String>,
    /// TLS handshakes; null without TLS.
    pub tls: Option<TlsResult>,
    /// Connections that the server drained (GOAWAY of HTTP/2 or HTTP/3, Close of WebSocket), by its reason.
    pub drained: BTreeMap<String, u64>,
    /// The lowest limit on concurrent requests of a connection that the server announced during the load, if it is below `plan.streams`;
    /// null otherwise.
    pub stream_limit: Option<u32>,
    /// Lookups of host names during the load; null unless `--resolve-every` is given.
    pub lookups: Option<Lookups>,
    /// The stages that began, if the load has stages, each with its own numbers.
    pub stages: Vec<Stage>,
    /// Comparison of the first and last third of the trial.
    pub drift: Option<Drift>,
    /// Resource use of the generator.
    pub generator: Generator,
    /// CPU time and memory of the processes of the server; absent without `--account`, and in a merged result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<ProcessAccount>,
    /// Other loads that the same server sent during this one, each counted once; absent unless it may send several at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads_beside: Option<u32>,
    /// The tool that a result was imported from, with the quantities that it does not report.
    pub imported: Option<Imported>,
    /// The agents that sent the load together; absent for a load of one generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Agents>,
    /// The runs that a result was merged from; absent for the result of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
    /// Thresholds of checks that were loosened.
    pub loosened: Vec<Loosened>,
    /// The histograms behind the distributions; absent if response times are withheld, and in results of other tools and of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histograms: Option<LoadHistograms>,
}

/// Its report.
pub type LoadResult = Report<LoadBody>;

/// Returns the reason why a request was not sent, a key of [`LoadBody::unsent`], as words.
pub fn why_unsent(reason: &str) -> &str {
    match reason {
        "busy" => "no connection was free",
        "late" => "too late",
        "end" => "at the end",
        other => other,
    }
}

impl Body for LoadBody {
    const FORMAT: &'static str = "hoptax.load/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.plan.url.clone()
    }
}

/// The responses within a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// The limit of response time, us.
    pub limit_us: f64,
    /// Requests that were answered within the limit, to 0.1 % of it.
    pub answered: u64,
    /// Responses within the limit in each of the `windows` of the load, to 1 % of the limit.
    pub by_window: Vec<u64>,
}

/// One stage of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Requests per second at its beginning.
    pub from_rate: f64,
    /// Requests per second at its end.
    pub to_rate: f64,
    /// Its duration, seconds: as planned, unless the trial ended early.
    pub duration_s: f64,
    /// Accounts of its requests.
    pub book: Book,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<String, u64>,
    /// Failed requests by kind.
    pub failures: BTreeMap<String, u64>,
    /// Requests per second; `target` is the mean of the stage.
    pub rate: LoadRate,
    /// Distributions.
    pub latency: LatencySet,
    /// Response time less the time by which the generator may have delayed it.
    pub without_generator: Option<Latency>,
    /// Bounds of response and service time of these requests.
    #[serde(default)]
    pub bounds: LoadBounds,
}
