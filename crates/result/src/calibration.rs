//! How wrong the load generator is on a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, MachineSpeeds};

/// What a calibration found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationResult {
    /// Name and version of this format: `hoptax.calibration/1`.
    pub format: String,
    /// Whether the processors were kept from being halted: a task that yields to all others spun on each of them.
    #[serde(default)]
    pub never_halted: bool,
    /// The smallest latency that can be resolved, at 1,000 requests/s on 16 connections: processors fall asleep between
    /// requests and are woken for each.
    pub floor: Floor,
    /// The same at each of the rates that were tried for the ceiling, as far as every request was sent.
    #[serde(default)]
    pub floors: Vec<FloorAt>,
    /// The recorder, fed with known values.
    pub recorder: Recorder,
    /// Experiments with known answers.
    pub experiments: Vec<Experiment>,
    /// The largest rate that is offered on time; null when none of those tried was.
    pub ceiling: Option<Ceiling>,
    /// The rates that were tried for it, in their order.
    #[serde(default)]
    pub tried: Vec<RateTried>,
    /// How fast the machine does what the cost of a function is made of; null where it was not measured.
    #[serde(default)]
    pub speeds: Option<MachineSpeeds>,
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

/// Response time of an origin that answers at once, at one rate. A busier machine sleeps less, and wakes sooner, so the
/// floor of one rate is not that of another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FloorAt {
    /// Requests per second, evenly released by one worker.
    pub rate: f64,
    /// Connections that they were spread over.
    pub connections: u32,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
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

/// One rate that was tried for the ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTried {
    /// Requests per second.
    pub rate: f64,
    /// Requests that were sent, as a share of those planned.
    pub sent_share: f64,
    /// 99th percentile of send lag, microseconds; null when nothing was sent.
    pub send_lag_p99_us: Option<f64>,
}

/// The part of a calibration that other results are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// When it was measured.
    pub measured_at: String,
    /// Response time of an origin that answers at once at 1,000 requests/s: median, microseconds.
    pub floor_p50_us: f64,
    /// The same, 99th percentile.
    pub floor_p99_us: f64,
    /// The same at other rates.
    #[serde(default)]
    pub floors: Vec<FloorAt>,
    /// The largest rate that was offered on time; null when none of those tried was.
    pub ceiling: Option<f64>,
    /// The rates that were tried for it.
    #[serde(default)]
    pub tried: Vec<RateTried>,
}

impl Calibrated {
    /// Median response time of an origin that answers at once when it is asked `rate` times a second, microseconds:
    /// interpolated between the logarithms of the two rates on either side. Beyond the rates that were measured it is that
    /// of the nearest; None when none was, or when `rate` is not a rate.
    pub fn floor_p50_us_at(&self, rate: f64) -> Option<f64> {
        if !(rate.is_finite() && rate > 0.0) {
            return None;
        }
        let below =
            self.floors.iter().filter(|floor| floor.rate <= rate).max_by(|a, b| a.rate.total_cmp(&b.rate));
        let above =
            self.floors.iter().filter(|floor| floor.rate > rate).min_by(|a, b| a.rate.total_cmp(&b.rate));
        match (below, above) {
            (Some(below), Some(above)) => {
                let weight = (rate / below.rate).ln() / (above.rate / below.rate).ln();
                Some(below.p50_us + weight * (above.p50_us - below.p50_us))
            }
            (Some(one), None) | (None, Some(one)) => Some(one.p50_us),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_of_a_rate_lies_between_those_of_its_neighbours() {
        let floor = |rate, p50_us| FloorAt { rate, connections: 64, p50_us, p99_us: 0.0 };
        let calibrated = Calibrated {
            measured_at: String::new(),
            floor_p50_us: 200.0,
            floor_p99_us: 0.0,
            floors: vec![floor(1_000.0, 200.0), floor(100_000.0, 50.0), floor(10_000.0, 70.0)],
            ceiling: None,
            tried: Vec::new(),
        };
        let at = |rate| calibrated.floor_p50_us_at(rate);
        assert_eq!((at(10.0), at(10_000.0), at(1e9)), (Some(200.0), Some(70.0), Some(50.0)));
        assert!((at(10_000.0_f64.sqrt() * 1_000.0_f64.sqrt()).unwrap() - 135.0).abs() < 1e-9);
        assert_eq!((at(f64::NAN), at(0.0)), (None, None));
        assert_eq!(Calibrated { floors: Vec::new(), ..calibrated }.floor_p50_us_at(1_000.0), None);
    }
}
