//! Distributions of times, as results state them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Planned release to when the generator took note of the request, whether or not a connection was free: how late the
    /// generator itself was.
    pub own_lag: Latency,
    /// First byte written to first byte read.
    pub first_byte: Latency,
    /// First byte read to last byte read.
    pub last_byte: Latency,
    /// Asked for a connection to connected, before any TLS, of the connections opened for a recorded request.
    pub connect: Latency,
}

/// One distribution, microseconds. A quantile that the evidence does not support is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Requests in it.
    pub count: u64,
    /// Of these, longer than an hour, which is what they count as.
    pub overflow: u64,
    /// Smallest.
    pub min_us: Option<f64>,
    /// Arithmetic mean.
    pub mean_us: Option<f64>,
    /// Standard deviation.
    pub standard_deviation_us: Option<f64>,
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
    /// What is known of quantiles that unfinished requests leave open.
    pub at_least: LowerBounds,
}

/// Lower bounds of quantiles, microseconds; null where the quantile is known, or not even a bound is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LowerBounds {
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

/// 95 % intervals of quantiles, from twenty batches of the recorded time, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuantileIntervals {
    /// Median.
    pub p50_us: Option<Range>,
    /// 90th percentile.
    pub p90_us: Option<Range>,
    /// 99th percentile.
    pub p99_us: Option<Range>,
    /// 99.9th percentile.
    pub p99_9_us: Option<Range>,
}

/// A percentile of response and service time, microseconds. One that the evidence does not support is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// Which, above 0 and below 100.
    pub percentile: f64,
    /// Of response time.
    pub response_us: Option<f64>,
    /// What that is at least, where requests whose answer was still awaited leave it open.
    pub response_at_least_us: Option<f64>,
    /// Its 95 % interval, as those of the other quantiles.
    pub response_interval: Option<Range>,
    /// Of service time.
    pub service_us: Option<f64>,
    /// What that is at least.
    pub service_at_least_us: Option<f64>,
}

/// From one value to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A mode of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// Where it begins, microseconds.
    pub low_us: f64,
    /// Its peak, microseconds.
    pub peak_us: f64,
    /// Where it ends, microseconds.
    pub high_us: f64,
    /// Share of the requests in it, 0 to 1.
    pub share: f64,
}
