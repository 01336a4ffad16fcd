//! The predicted use of the proxies of a service graph, and the errors of predictions that were compared with measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Interval, Report, Verdict};

/// The CPU time and memory that the proxies of a graph are predicted to use at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeBody {
    /// Name of the graph.
    pub graph: String,
    /// Requests per second that arrive at the entry of the graph.
    pub rate: f64,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// The results that were learned from.
    pub sources: Vec<SizeSource>,
    /// One entry for each proxy, in the order of the file.
    pub proxies: Vec<SizedProxy>,
    /// One entry for each function of each proxy, the most expensive first.
    pub functions: Vec<SizedFunction>,
    /// Cores that all proxies use together.
    pub cores: Interval,
    /// Memory of all proxies together; null if the results do not state that of each.
    pub memory_bytes: Option<Interval>,
    /// The cores of all proxies at other rates, ascending up to that of the bottleneck: CPU time per request falls with the rate, so
    /// cores do not grow in proportion to it.
    pub curve: Vec<SizePoint>,
    /// The proxy whose workers are the first to be busy all the time while the rate grows.
    pub bottleneck: SizeBottleneck,
    /// Response time that the proxies add to a request; null if the results do not state it.
    pub latency: Option<SizeLatency>,
    /// Reason why `latency` is null.
    pub no_latency: Option<String>,
    /// Prices of CPU time and memory; null if none were given.
    pub money: Option<SizeMoney>,
    /// Places where the prediction goes beyond the measurements, each with the assumption there.
    pub extrapolations: Vec<String>,
    /// The services of the graph, each after all that call it; empty in results of earlier versions.
    #[serde(default)]
    pub services: Vec<SizedService>,
}

/// Its report.
pub type SizeResult = Report<SizeBody>;

impl Body for SizeBody {
    const FORMAT: &'static str = "hoptax.size/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.graph.clone()
    }
}

/// A service of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedService {
    /// Its name.
    pub service: String,
    /// True if it has a proxy.
    pub has_proxy: bool,
    /// Its calls, in the order of the file.
    pub calls: Vec<SizedCall>,
}

/// A call from a service of a graph to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedCall {
    /// The service that is called.
    pub service: String,
    /// Calls for each request to the caller.
    pub per_request: f64,
}

/// A result that a prediction is learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeSource {
    /// Name of the study.
    pub study: String,
    /// Its begin, RFC 3339 in UTC.
    pub started_at: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Processor that it was measured on.
    pub cpu_model: String,
    /// Version of the proxy; null if unknown.
    pub proxy_version: Option<String>,
    /// Busy shares of the plain proxy's processors that it was measured at, 0 to 1, ascending.
    pub busy_shares: Vec<f64>,
    /// True if the result has its rounds. Sums are then taken within rounds; otherwise intervals are added, which makes sums wide.
    pub has_rounds: bool,
}

/// The cores of all proxies at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizePoint {
    /// Requests per second that arrive at the entry of the graph.
    pub rate: f64,
    /// Cores of all proxies together.
    pub cores: Interval,
}

/// A proxy of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedProxy {
    /// The service that it belongs to.
    pub service: String,
    /// Its worker threads.
    pub workers: u32,
    /// Requests per second that it handles: those to the service, and those of the service if they pass it.
    pub requests_per_second: f64,
    /// CPU time per request, us: the mean over the requests that it handles.
    pub cpu_us_per_request: Interval,
    /// Cores that it uses.
    pub cores: Interval,
    /// Cores that it uses as a share of its workers. Above 1, it has too few workers for the rate.
    pub busy_share: Interval,
    /// Rate at the entry of the graph at which its workers are busy all the time, requests per second.
    pub max_rate: Interval,
    /// Its resident memory with the connections of the studies, bytes; null if the results do not state it.
    pub memory_bytes: Option<Interval>,
    /// Its new connections; null if its connections are kept.
    pub new_connections: Option<SizedConnections>,
    /// True if it is less busy or busier than the proxies whose CPU times were measured, or if it shares processors and the cost of that is
    /// not known.
    #[serde(default)]
    pub is_extrapolated: bool,
    /// Resources of its container.
    #[serde(default)]
    pub kubernetes: KubernetesResources,
}

/// New connections of a proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedConnections {
    /// Their number per second.
    pub per_second: f64,
    /// CPU time of each besides its requests, with the functions of the proxy, us.
    pub cpu_us_each: Interval,
    /// Cores that they use. Those of the proxy include them.
    pub cores: Interval,
}

/// Resources of the container of a proxy, in the notation of Kubernetes. No limit of memory is suggested: memory grows with
/// connections, which the prediction does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KubernetesResources {
    /// `requests.cpu`: the upper end of its cores, in thousandths of a core, such as `1303m`.
    pub cpu_request: String,
    /// `limits.cpu`: its workers, or more if the request needs more, such as `2`.
    pub cpu_limit: String,
    /// `requests.memory`: the upper end of its memory, such as `62Mi`; null if the results do not state it.
    pub memory_request: Option<String>,
}

/// Money for CPU time and memory of proxies in a month, in the currency of the prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeMoney {
    /// Price of a core for an hour; null if it was not stated.
    pub price_per_core_hour: Option<f64>,
    /// Price of a GiB of memory for an hour; null if it was not stated.
    pub price_per_gib_hour: Option<f64>,
    /// Hours of a month: a twelfth of 365 days.
    pub hours_per_month: f64,
    /// One entry for each proxy, in the order of the file.
    pub proxies: Vec<ProxyMoney>,
    /// All proxies in a month; null if memory has a price, and the memory of a proxy is unknown.
    pub per_month: Option<Interval>,
}

/// Money for a proxy in a month.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyMoney {
    /// The service that it belongs to.
    pub service: String,
    /// Its cores; null without a price.
    pub cpu_per_month: Option<Interval>,
    /// Its memory; null without a price, and if the results do not state the memory.
    pub memory_per_month: Option<Interval>,
    /// Both; null if memory has a price, and its memory is unknown.
    pub per_month: Option<Interval>,
}

/// Response time that the proxies of a graph add to a request to its entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeLatency {
    /// Time that all proxies together add: along calls that follow each other, and to the slowest of calls at the same time.
    pub added: AddedTime,
    /// The times of `added` whose intervals are too wide for their estimates to be used: `mean_us`, `p99_us`. Their ends are bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wide: Vec<String>,
    /// True if a proxy is less busy or busier than those whose response times were measured.
    pub is_extrapolated: bool,
    /// One entry for each proxy, in the order of the file.
    pub proxies: Vec<ProxyLatency>,
}

/// Time that is added to response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedTime {
    /// Its mean, us; null if withheld.
    pub mean_us: Option<Interval>,
    /// Its 99th percentile, us; null if withheld, and if there are too few responses for it.
    pub p99_us: Option<Interval>,
}

/// Response time that a proxy adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyLatency {
    /// The service that it belongs to.
    pub service: String,
    /// The busy share of its workers, or of the processors that all proxies share, 0 to 1.
    pub busy_share: f64,
    /// Time that it adds to a request that it handles.
    pub added: AddedTime,
    /// Time that it adds on average to the critical path of a request to the entry, us: of calls at the same time, only the slowest counts.
    pub critical_path_us: Interval,
    /// The times whose intervals are too wide for their estimates to be used: `mean_us` and `p99_us` of `added`, `critical_path_us`. Their
    /// ends are bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wide: Vec<String>,
    /// True if it is less busy or busier than those whose response times were measured.
    pub is_extrapolated: bool,
}

/// A function of a proxy of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedFunction {
    /// The service whose proxy performs it.
    pub service: String,
    /// The function, as in the file.
    pub function: String,
    /// Requests that it is performed for.
    pub side: SizeSide,
    /// These requests per second.
    pub requests_per_second: f64,
    /// CPU time that it adds to a request, us.
    pub cpu_us_per_request: Interval,
    /// Cores that it adds: its part of the proxy's.
    pub cores: Interval,
    /// Cores that the proxy would use less without it. A proxy that is less busy needs more CPU time per request, so this is less
    /// than its part where the results show that.
    pub saved_cores: Interval,
    /// Memory that the proxy would use less without it; null if the results do not state it.
    pub saved_memory_bytes: Option<Interval>,
    /// Time by which the proxies would add less to a request to the entry without it, on average, us; null if the results do not state
    /// response times, or if the graph has so many functions that they are not simulated one by one.
    pub saved_mean_us: Option<Interval>,
    /// True if a proxy is so little busy without the function that its response times were not measured there.
    #[serde(default)]
    pub saved_mean_is_extrapolated: bool,
}

impl SizedFunction {
    /// Most functions that a prediction switches off one by one, and that its page has switches for: a graph may have hundreds, which nobody
    /// would switch one by one.
    pub const MOST_SWITCHED: usize = 40;
}

/// Direction of the requests of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeSide {
    /// Requests to its service.
    Inbound,
    /// Requests of its service.
    Outbound,
}

impl SizeSide {
    /// Its name, as serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }
}

/// The first proxy to be busy all the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeBottleneck {
    /// Its service.
    pub service: String,
    /// The rate at the entry of the graph at which it is, requests per second.
    pub rate: Interval,
    /// Other proxies whose intervals of that rate overlap this one: one of them may be first instead.
    pub or: Vec<String>,
}

/// Errors of predictions from single functions and plain proxies, for compositions that the same study measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeCheckBody {
    /// Name of the study.
    pub study: String,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// Arms that are chains of plain proxies and show the cost of sharing processors. They are not predicted.
    #[serde(default)]
    pub chains: Vec<String>,
    /// One entry for each composition and load, in the order of the study.
    pub compositions: Vec<CheckedComposition>,
    /// Compositions that cannot be predicted from the study.
    pub left_out: Vec<UncheckedComposition>,
    /// Mean of the errors without their signs, of those that are not extrapolated; null if there is none.
    pub mean_error_share: Option<f64>,
    /// The largest of these errors without its sign; null if there is none.
    pub worst_error_share: Option<f64>,
    /// The response time of each composition under each open load that is a share of the capacity, in the order of the study.
    #[serde(default)]
    pub response_times: Vec<CheckedResponse>,
    /// Compositions whose response time cannot be predicted from the study.
    #[serde(default)]
    pub response_times_left_out: Vec<UncheckedComposition>,
    /// Errors of the means of response time, but those whose intervals are too wide; null if there is none.
    pub mean_response_errors: Option<ErrorSummary>,
    /// Errors of the 99th percentiles of response time, but those whose intervals are too wide; null if there is none.
    pub p99_response_errors: Option<ErrorSummary>,
}

/// Its report.
pub type SizeCheckResult = Report<SizeCheckBody>;

impl Body for SizeCheckBody {
    const FORMAT: &'static str = "hoptax.size-check/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }
}

/// Errors without their signs, of those that are not extrapolated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorSummary {
    /// Their number.
    pub count: u32,
    /// Their mean.
    pub mean_share: f64,
    /// The largest.
    pub worst_share: f64,
}

impl ErrorSummary {
    /// The summary of errors without their signs, as shares; none without errors.
    pub fn of(errors: &[f64]) -> Option<Self> {
        let worst_share = errors.iter().copied().reduce(f64::max)?;
        let mean_share = errors.iter().sum::<f64>() / errors.len() as f64;
        Some(Self { count: errors.len() as u32, mean_share, worst_share })
    }
}

/// The response time of a composition under a load, with that of the origin behind it: predicted from single functions and plain
/// proxies, and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedResponse {
    /// Its arm.
    pub arm: String,
    /// Its load.
    pub load: String,
    /// Number of its proxies.
    pub hops: u32,
    /// Number of its functions.
    pub functions: u32,
    /// The mean.
    pub mean: CheckedTime,
    /// The 99th percentile; null with too few responses.
    pub p99: Option<CheckedTime>,
    /// True if its proxies are less busy or busier than those that its parts were measured on, or if they share processors and the time
    /// that this adds is not known.
    pub is_extrapolated: bool,
}

/// A time as predicted and as measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedTime {
    /// As measured, us.
    pub measured_us: Interval,
    /// As predicted, us.
    pub predicted_us: Interval,
    /// Measured minus predicted, us.
    pub difference_us: Interval,
    /// Predicted minus measured, as a share of the measured time.
    pub error_share: f64,
    /// True if the interval of the difference excludes 0.
    pub is_interaction: bool,
    /// True if the interval of the measured time is too wide to judge the prediction by, or in a check of compositions that of the
    /// predicted time. The error is then in no summary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_wide: bool,
}

/// A composition under a load: predicted from single functions and plain proxies, and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckedComposition {
    /// Its arm.
    pub arm: String,
    /// Its load.
    pub load: String,
    /// Number of its proxies.
    pub hops: u32,
    /// Number of its functions.
    pub functions: u32,
    /// CPU time of its proxies per request as measured, us: that of the plain proxy that it is compared with, and its cost.
    pub measured_us: Interval,
    /// The same as predicted for its rate, us.
    pub predicted_us: Interval,
    /// Measured minus predicted, us. An interval without 0 shows that the costs do not add up; by chance, one in twenty has none.
    pub difference_us: Interval,
    /// Predicted minus measured, as a share of the measured CPU time.
    pub error_share: f64,
    /// True if the interval of the difference excludes 0.
    pub is_interaction: bool,
    /// True if one of its proxies is less busy or busier than those that its parts were measured on, or shares processors and the cost of
    /// that is not known.
    pub is_extrapolated: bool,
}

/// A composition that cannot be predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UncheckedComposition {
    /// Its arm.
    pub arm: String,
    /// Its load; null for all.
    pub load: Option<String>,
    /// Reason, and advice.
    pub reason: String,
}
