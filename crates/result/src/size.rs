//! The predicted use of the proxies of a service graph, and how far predictions are from measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, Verdict};

/// The CPU time and memory that the proxies of a graph are predicted to use at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeResult {
    /// Name and version of this format: `hoptax.size/1`.
    pub format: String,
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
    /// The cores of all proxies at other rates, ascending up to that of the bottleneck: CPU time per request falls with the rate, so
    /// cores do not grow in proportion to it.
    pub curve: Vec<SizePoint>,
    /// The proxy whose workers are the first to be busy all the time while the rate grows.
    pub bottleneck: SizeBottleneck,
    /// Where the prediction goes beyond what was measured, and what it assumes there.
    pub extrapolations: Vec<String>,
}

impl SizeResult {
    /// The current format.
    pub const FORMAT: &'static str = "hoptax.size/1";
}

/// A result that a prediction is learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeSource {
    /// Name of the study.
    pub study: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Processor that it was measured on.
    pub cpu_model: String,
    /// Version of the proxy; null if unknown.
    pub proxy_version: Option<String>,
    /// Busy shares of the plain proxy's processors that it was measured at, 0 to 1, ascending.
    pub busy_shares: Vec<f64>,
    /// Whether the result has its rounds. Sums are then taken within rounds; otherwise intervals are added, which makes sums wide.
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
    /// CPU time per request, us: the mean over what it handles.
    pub cpu_us_per_request: Interval,
    /// Cores that it uses.
    pub cores: Interval,
    /// Cores that it uses as a share of its workers. Above 1, it has too few workers for the rate.
    pub busy_share: Interval,
    /// Rate at the entry of the graph at which its workers are busy all the time, requests per second.
    pub max_rate: Interval,
    /// Its resident memory with the connections of the studies, bytes; null if the results do not state it.
    pub memory_bytes: Option<Interval>,
}

/// A function of a proxy of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizedFunction {
    /// The service whose proxy performs it.
    pub service: String,
    /// The function, as in the file.
    pub function: String,
    /// Which requests it is performed for.
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
}

/// Which requests of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeSide {
    /// Those to its service.
    Inbound,
    /// Those of its service.
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

/// How far predictions from single functions and plain proxies are from compositions that the same study measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeCheckResult {
    /// Name and version of this format: `hoptax.size-check/1`.
    pub format: String,
    /// Name of the study.
    pub study: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// One entry for each composition and load, in the order of the study.
    pub compositions: Vec<CheckedComposition>,
    /// Compositions that cannot be predicted from the study.
    pub left_out: Vec<UncheckedComposition>,
    /// Mean of the errors without their signs, of those that are not extrapolated; null if there is none.
    pub mean_error_share: Option<f64>,
    /// The largest of these errors without its sign; null if there is none.
    pub worst_error_share: Option<f64>,
}

impl SizeCheckResult {
    /// The current format.
    pub const FORMAT: &'static str = "hoptax.size-check/1";
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
    /// Whether the interval of the difference excludes 0.
    pub is_interaction: bool,
    /// Whether one of its proxies is less busy or busier than those that its parts were measured on.
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
    /// Why, and what to do.
    pub reason: String,
}
