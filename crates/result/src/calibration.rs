//! How wrong the load generator is on a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Environment;

/// What a calibration found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationResult {
    /// Name and version of this format: `hoptax.calibration/1`.
    pub format: String,
    /// The smallest latency that can be resolved.
    pub floor: Floor,
    /// The recorder, fed with known values.
    pub recorder: Recorder,
    /// Experiments with known answers.
    pub experiments: Vec<Experiment>,
    /// The largest rate that is offered on time; null when none of those tried was.
    pub ceiling: Option<Ceiling>,
    /// The machine.
    pub environment: Environment,
}

/// Response time of an origin that answers at once, microseconds: what every latency contains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// Smallest.
    pub min_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// Requests in it.
    pub requests: u64,
    /// Response time that was measured of a request, less the one that it should have had; null where answers were not
    /// waited for.
    pub error: Option<PerRequestError>,
    /// Quantiles of response time, measured and true.
    pub quantiles: Vec<QuantileError>,
    /// 99th percentile of service time, microseconds, where it hides what response time shows: what a generator that
    /// only looks at service times would report.
    pub service_p99_us: Option<f64>,
    /// Requests per second of a closed loop, measured and by theory.
    pub rate: Option<RateError>,
    /// Requests whose answer was not waited for to the end.
    pub unfinished: u64,
}

/// Requests per second of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateError {
    /// As measured.
    pub reported: f64,
    /// By theory.
    pub analytic: f64,
}

/// The recorder of distributions, fed with known values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recorder {
    /// How many values.
    pub values: u64,
    /// Most that a quantile was above the value that it stands for, as a share of it.
    pub most_above_share: f64,
    /// Most that one was below.
    pub most_below_share: f64,
    /// Whether two halves put together are exactly what the whole is.
    pub merges_exactly: bool,
}

/// Error of single requests, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerRequestError {
    /// Smallest. Below zero only when a clock is wrong.
    pub min_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Largest.
    pub max_us: f64,
}

/// One quantile of response time, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuantileError {
    /// Which: 0.99 for p99.
    pub quantile: f64,
    /// As `hoptax load` reports it.
    pub reported_us: f64,
    /// Whether it reports that only as a lower bound.
    pub is_lower_bound: bool,
    /// Of the response times that these requests should have had.
    pub true_us: f64,
    /// Of the distribution that they were drawn from, where it is known in closed form.
    pub analytic_us: Option<f64>,
}

/// The largest rate, of those tried, at which 99 of 100 requests leave within 50 us of their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Requests per second.
    pub rate: f64,
    /// 99th percentile of send lag at that rate, microseconds.
    pub send_lag_p99_us: f64,
}

/// The part of a calibration that other results are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// When it was measured.
    pub measured_at: String,
    /// Response time of an origin that answers at once: median, microseconds.
    pub floor_p50_us: f64,
    /// The same, 99th percentile.
    pub floor_p99_us: f64,
    /// The largest rate that was offered on time.
    pub ceiling: Option<f64>,
}
