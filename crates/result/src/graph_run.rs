//! A service graph that was run as processes: CPU time, memory and added time of its proxies, and the error of a prediction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AddedTime, Body, CheckedTime, Environment, ErrorSummary, Histogram, Interval, Report, SizeSource,
};

/// Resources that the proxies of a graph used, measured on processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRunBody {
    /// Name of the graph.
    pub graph: String,
    /// Requests per second to the entry of the graph, as planned: an open loop with independent arrivals.
    pub rate: f64,
    /// Connections to the entry.
    pub connections: u32,
    /// Recorded time of a slice, seconds.
    pub slice_s: f64,
    /// Time before it in which the same load is sent, seconds.
    pub warmup_s: f64,
    /// Seed of arrivals and orders.
    pub seed: u64,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// One entry for each proxy, in the order of the file.
    pub proxies: Vec<GraphRunProxy>,
    /// CPU time of all proxies for each request to the entry, us; null if withheld.
    pub all_cpu_us: Option<Interval>,
    /// Response times at the entry with all proxies.
    pub proxied: GraphRunResponse,
    /// The same without any.
    pub direct: GraphRunResponse,
    /// Response time that all proxies together add at the entry; null if withheld.
    pub added: Option<AddedTime>,
    /// Those of the numbers of the whole graph whose intervals are too wide for their estimates to be used. Their ends are bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wide: Vec<GraphRunNumber>,
    /// The prediction from results of studies beside these numbers; null without results.
    pub check: Option<GraphRunCheck>,
    /// The rounds that these numbers are computed from. Each starts all processes again.
    pub rounds: Vec<GraphRound>,
}

/// Its report.
pub type GraphRunResult = Report<GraphRunBody>;

impl Body for GraphRunBody {
    const FORMAT: &'static str = "hoptax.graph-run/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.graph.clone()
    }
}

impl GraphRunBody {
    /// A number of the whole graph; none if it is withheld.
    pub fn number(&self, number: GraphRunNumber) -> Option<Interval> {
        match number {
            GraphRunNumber::AllCpu => self.all_cpu_us,
            GraphRunNumber::AddedMean => self.added?.mean_us,
            GraphRunNumber::AddedP99 => self.added?.p99_us,
            GraphRunNumber::ProxiedMean => self.proxied.mean_us,
            GraphRunNumber::ProxiedP99 => self.proxied.p99_us,
            GraphRunNumber::DirectMean => self.direct.mean_us,
            GraphRunNumber::DirectP99 => self.direct.p99_us,
        }
    }

    /// True if the interval of a number is too wide for its estimate to be used, so that its ends are bounds.
    pub fn is_wide(&self, number: GraphRunNumber) -> bool {
        self.wide.contains(&number)
    }
}

/// A number of a whole graph that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphRunNumber {
    /// CPU time of all proxies for each request to the entry.
    AllCpu,
    /// Time that all proxies add to the mean.
    AddedMean,
    /// Time that all proxies add to the 99th percentile.
    AddedP99,
    /// Mean response time with all proxies.
    ProxiedMean,
    /// Its 99th percentile.
    ProxiedP99,
    /// Mean response time without any proxy.
    DirectMean,
    /// Its 99th percentile.
    DirectP99,
}

/// A proxy of a graph that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRunProxy {
    /// The service that it belongs to.
    pub service: String,
    /// Its worker threads.
    pub workers: u32,
    /// Requests that it handles for each request to the entry: those to the service, and those of the service if they pass it.
    pub per_request: f64,
    /// Requests per second that it handled.
    pub requests_per_second: f64,
    /// CPU time per request, us: the mean over the requests that it handles; null if withheld.
    pub cpu_us_per_request: Option<Interval>,
    /// True if the interval of that CPU time is too wide for its estimate to be used. Its ends are bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_wide: bool,
    /// Share of the time of its workers that it used, 0 to 1; null if withheld.
    pub busy_share: Option<Interval>,
    /// Resident memory at the end of a round, bytes; null if withheld.
    pub memory_bytes: Option<Interval>,
}

/// Response times at the entry of a graph, us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRunResponse {
    /// Their mean; null if withheld.
    pub mean_us: Option<Interval>,
    /// Their 99th percentile; null if withheld, and with too few responses.
    pub p99_us: Option<Interval>,
}

/// A prediction beside the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRunCheck {
    /// The results that it was learned from.
    pub sources: Vec<SizeSource>,
    /// One entry for each proxy, in the order of the file.
    pub proxies: Vec<CheckedProxy>,
    /// CPU time of all proxies for each request to the entry; null if withheld.
    pub all: Option<CheckedTime>,
    /// Errors of the proxies' CPU times, but those that are extrapolated or whose measured interval is too wide; null if there is none.
    pub cpu_errors: Option<ErrorSummary>,
    /// Response time that all proxies add on average; null if withheld or not predicted.
    pub mean: Option<CheckedTime>,
    /// Time that all proxies add to the 99th percentile; null if withheld or not predicted.
    pub p99: Option<CheckedTime>,
    /// True if a proxy is less busy or busier than those whose response times were measured.
    pub are_times_extrapolated: bool,
    /// Reason why response times were not predicted; null if they were.
    pub no_latency: Option<String>,
    /// The largest errors that a prediction should have.
    pub targets: GraphRunTargets,
    /// Places where the prediction goes beyond the measurements, each with the assumption there.
    pub extrapolations: Vec<String>,
}

/// The CPU time of a proxy as predicted and as measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedProxy {
    /// The service that it belongs to.
    pub service: String,
    /// CPU time per request; null if withheld.
    pub cpu: Option<CheckedTime>,
    /// True if it is less busy or busier than those that the prediction was learned from. It is then not in `cpu_errors`.
    pub is_extrapolated: bool,
}

/// The largest errors that a prediction should have, as shares of the measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRunTargets {
    /// Largest error of CPU times, on average over proxies.
    pub cpu_mean_share: f64,
    /// Largest error of the CPU time of any proxy.
    pub cpu_worst_share: f64,
    /// Largest error of the time that all proxies add on average.
    pub added_mean_share: f64,
    /// Largest error of the time that they add to the 99th percentile.
    pub added_p99_share: f64,
}

/// A round of a graph that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRound {
    /// Its slices, in their order.
    pub slices: Vec<GraphSlice>,
    /// One entry for each proxy, in the order of the file.
    pub proxies: Vec<GraphRoundProxy>,
    /// Functions that no statistic of their proxy shows at work, with the reason.
    pub unproven: Vec<String>,
}

/// A proxy in a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRoundProxy {
    /// Requests that it counted itself over all slices, those of warm-ups included.
    pub requests: u64,
    /// Resident memory after the slices, bytes.
    pub memory_bytes: u64,
}

/// Condition of a slice: the graph with proxies or without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GraphCondition {
    /// Every service that has a proxy is behind it.
    #[default]
    Proxied,
    /// No service has a proxy.
    Direct,
}

/// A time during which one load was sent and recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphSlice {
    /// The graph with proxies or without any.
    pub condition: GraphCondition,
    /// Reason why it does not count: the failed checks of its load; null if it counts.
    pub set_aside: Option<String>,
    /// Requests that were answered.
    pub answered: u64,
    /// Recorded time, seconds.
    pub recorded_s: f64,
    /// Mean response time, us; null if nothing was answered.
    pub mean_us: Option<f64>,
    /// Response times, nanoseconds; null if nothing was answered.
    pub response: Option<Histogram>,
    /// CPU time of each proxy in the recorded time, us, in the order of the file; null if not known. Empty without proxies.
    pub cpu_us: Vec<Option<f64>>,
}
