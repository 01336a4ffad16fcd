//! Distributions of times in results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distributions of a trial, us.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySet {
    /// Time from intended start to last byte: the time that a user waits.
    pub response: Latency,
    /// Time from first byte written to last byte read: the time that the subject took.
    pub service: Latency,
    /// Time from intended start to first byte written, including the wait for a free connection.
    pub send_lag: Latency,
    /// Time from intended start until the generator handled the request, with or without a free connection: the generator's own lag.
    pub own_lag: Latency,
    /// Time from first byte written to first byte read.
    pub first_byte: Latency,
    /// Time from first byte read to last byte read.
    pub last_byte: Latency,
    /// Time from the start of a connection attempt to connected, without TLS, of connections opened for a recorded request.
    pub connect: Latency,
}

/// One distribution, us. A quantile that the evidence does not support is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Number of requests.
    pub count: u64,
    /// Times longer than an hour, which are counted as an hour.
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
    /// Lower bounds of quantiles that unfinished requests leave open.
    pub at_least: LowerBounds,
}

/// Lower bounds of quantiles, us; null if the quantile is known, or if there is no bound.
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

/// Bounds of a time: the truth lies between them, us. Null where there is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeBounds {
    /// Lower bound of the time; null for none.
    pub low_us: Option<f64>,
    /// Upper bound of the time; null for none.
    pub high_us: Option<f64>,
}

/// Bounds of the statistics of a distribution. Those of quantiles hold with 95 % confidence, as their intervals do. Null where nothing is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyBounds {
    /// Smallest.
    pub min_us: Option<TimeBounds>,
    /// Arithmetic mean.
    pub mean_us: Option<TimeBounds>,
    /// Median.
    pub p50_us: Option<TimeBounds>,
    /// 90th percentile.
    pub p90_us: Option<TimeBounds>,
    /// 99th percentile.
    pub p99_us: Option<TimeBounds>,
    /// 99.9th percentile.
    pub p99_9_us: Option<TimeBounds>,
    /// Largest.
    pub max_us: Option<TimeBounds>,
}

/// Bounds of response and service time.
///
/// The upper bound of response time is that of the measured times, which count from the intended start and so contain every delay of the
/// generator. The lower bound is that of the times without these delays (`without_generator`). It rests on two properties of the server:
/// a request that is sent earlier is answered no later, and one that is sent earlier by some time is answered earlier by at most that time.
/// First-come-first-served queues with any number of servers have both, in any sequence. A closed loop has no intended starts that the
/// server could delay; its bounds are of the load as it was sent.
///
/// Service time counts until the generator has read the response, so it has an upper bound alone where the generator was late to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadBounds {
    /// Bounds of response time.
    pub response: LatencyBounds,
    /// Bounds of service time.
    pub service: LatencyBounds,
}

/// 95 % confidence intervals of quantiles, from order statistics and twenty batches of the recorded time, us.
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

/// A percentile of response and service time, us. One that the evidence does not support is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// The percentile, above 0 and below 100.
    pub percentile: f64,
    /// Its response time.
    pub response_us: Option<f64>,
    /// Lower bound of its response time, if requests with pending responses leave it open.
    pub response_at_least_us: Option<f64>,
    /// Its 95 % confidence interval, computed as for the other quantiles.
    pub response_interval: Option<Range>,
    /// Bounds of its response time, as for the other quantiles.
    pub response_bounds: Option<TimeBounds>,
    /// Its response time without the delays of the generator.
    pub without_generator_us: Option<f64>,
    /// Its service time.
    pub service_us: Option<f64>,
    /// Lower bound of its service time.
    pub service_at_least_us: Option<f64>,
    /// Bounds of its service time.
    pub service_bounds: Option<TimeBounds>,
}

/// A range of values.
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
    /// Its lower end, us.
    pub low_us: f64,
    /// Its peak, us.
    pub peak_us: f64,
    /// Its upper end, us.
    pub high_us: f64,
    /// Share of the requests in it, 0 to 1.
    pub share: f64,
}
