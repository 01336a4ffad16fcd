//! The accuracy of the load generator on a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Environment, MachineSpeeds, Report, Verdict};

/// The result of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationBody {
    /// Whether the processors were kept from being halted, by a task on each that spins and yields to all others.
    #[serde(default)]
    pub never_halted: bool,
    /// Largest share of a processor that other work used, before the first experiment or after the last.
    #[serde(default)]
    pub others_share: f64,
    /// The smallest latency that can be resolved, at 1,000 requests/s on 16 connections, where processors sleep between
    /// requests and are woken for each.
    pub floor: Floor,
    /// The floor at each of the rates tried for the ceiling, as far as every request was sent.
    #[serde(default)]
    pub floors: Vec<FloorAt>,
    /// Test of the recorder with known values.
    pub recorder: Recorder,
    /// Experiments with known answers.
    pub experiments: Vec<Experiment>,
    /// The highest rate sent on time; null if none of the rates tried was.
    pub ceiling: Option<Ceiling>,
    /// The rates tried for the ceiling, in order.
    #[serde(default)]
    pub tried: Vec<RateTried>,
    /// Speeds of the operations that make up the cost of a function; null if not measured.
    #[serde(default)]
    pub speeds: Option<MachineSpeeds>,
}

/// Its report.
pub type CalibrationResult = Report<CalibrationBody>;

impl Body for CalibrationBody {
    const FORMAT: &'static str = "hoptax.calibration/2";
    type Environment = Environment;

    fn subject(&self) -> String {
        "load generator".to_owned()
    }

    /// Sound if the machine was its own, merging is exact in the recorder, and one of the rates tried was sent on time.
    fn verdict(&self) -> Verdict {
        let is_sound = !self.is_disturbed() && self.recorder.merges_exactly && self.ceiling.is_some();
        if is_sound { Verdict::Sound } else { Verdict::Caution }
    }
}

impl CalibrationBody {
    /// Use of a processor by others above which a calibration is about them as much as about the machine.
    pub const MOST_OTHERS_SHARE: f64 = 0.1;

    /// Whether other work used too much of the machine.
    pub fn is_disturbed(&self) -> bool {
        self.others_share > Self::MOST_OTHERS_SHARE
    }
}

/// Response time of an origin that responds immediately, us. Every measured latency includes it.
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

/// Response time of an origin that responds immediately, at one rate. A busier machine sleeps less and wakes sooner, so
/// each rate has its own floor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FloorAt {
    /// Requests per second, evenly spaced, from one worker.
    pub rate: f64,
    /// Number of connections.
    pub connections: u32,
    /// Median, us.
    pub p50_us: f64,
    /// 99th percentile, us.
    pub p99_us: f64,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// Number of requests.
    pub requests: u64,
    /// Measured response time of a request less its true one; null if responses were not waited for.
    pub error: Option<PerRequestError>,
    /// Quantiles of response time, measured and true.
    pub quantiles: Vec<QuantileError>,
    /// 99th percentile of service time, us, where it hides what response time shows: the value that a generator that
    /// measures only service time would report.
    pub service_p99_us: Option<f64>,
    /// Requests per second of a closed loop, measured and predicted by theory.
    pub rate: Option<RateError>,
    /// Requests whose response was not fully received.
    pub unfinished: u64,
}

/// Requests per second of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateError {
    /// As measured.
    pub reported: f64,
    /// Predicted by theory.
    pub analytic: f64,
}

/// Test of the recorder of distributions with known values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recorder {
    /// Number of values.
    pub values: u64,
    /// Largest amount by which a quantile exceeded the true value, as a share of it.
    pub most_above_share: f64,
    /// Largest amount by which a quantile fell below the true value, as a share of it.
    pub most_below_share: f64,
    /// Whether merging two halves gives exactly the whole.
    pub merges_exactly: bool,
}

/// Error of single requests, us.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerRequestError {
    /// Smallest. Negative only if a clock is wrong.
    pub min_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Largest.
    pub max_us: f64,
}

/// One quantile of response time, us.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuantileError {
    /// The quantile: 0.99 for p99.
    pub quantile: f64,
    /// As `hoptax load` reports it.
    pub reported_us: f64,
    /// Whether it is reported only as a lower bound.
    pub is_lower_bound: bool,
    /// The quantile of the true response times of these requests.
    pub true_us: f64,
    /// The quantile of the distribution that they were drawn from, if it has a closed form.
    pub analytic_us: Option<f64>,
}

/// The highest of the rates tried at which 99 of 100 requests are sent within 50 us of their time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Requests per second.
    pub rate: f64,
    /// 99th percentile of send lag at that rate, us.
    pub send_lag_p99_us: f64,
}

/// One of the rates tried for the ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTried {
    /// Requests per second.
    pub rate: f64,
    /// Requests sent, as a share of those planned.
    pub sent_share: f64,
    /// 99th percentile of send lag, us; null when nothing was sent.
    pub send_lag_p99_us: Option<f64>,
}

/// The part of a calibration that other results are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// When it was measured.
    pub measured_at: String,
    /// Median response time of an origin that responds immediately, at 1,000 requests/s, us.
    pub floor_p50_us: f64,
    /// 99th percentile of the same, us.
    pub floor_p99_us: f64,
    /// The floor at other rates.
    #[serde(default)]
    pub floors: Vec<FloorAt>,
    /// The highest rate sent on time; null if none of the rates tried was.
    pub ceiling: Option<f64>,
    /// The rates tried for the ceiling.
    #[serde(default)]
    pub tried: Vec<RateTried>,
}

impl Calibrated {
    /// Median response time of an origin that responds immediately at `rate` requests per second, us, interpolated over
    /// the logarithms of the two nearest measured rates. Outside the measured range it is that of the nearest rate;
    /// None without measurements, or when `rate` is not positive and finite.
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
