//! The accuracy of the load generator on a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Body, Environment, Finding, FloorAt, MachineSpeeds, Measured, RateTried, Report, Severity, percent,
};

/// The result of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationBody {
    /// True if the processors were kept from halting, by a task on each that spins and yields to all others.
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
    pub speeds: Option<MachineSpeeds>,
}

/// Its report.
pub type CalibrationResult = Report<CalibrationBody>;

impl Body for CalibrationBody {
    const FORMAT: &'static str = "hoptax.calibration/2";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        "load generator".to_owned()
    }

    /// None if the machine was its own, merging is exact in the recorder, and one of the rates tried was sent on time.
    fn own_findings(&self) -> Vec<Finding> {
        let warning = |id: &str, measured: Measured, message: String, advice: &str| {
            Finding::new(id, Severity::Warn, measured, message, advice)
        };
        let others = self.is_disturbed().then(|| {
            let message = format!("other programs used {} of a processor", percent(self.others_share, 0));
            let measured = Measured::percent(self.others_share, Self::MOST_OTHERS_SHARE);
            warning("other-work", measured, message, "stop them, and calibrate again")
        });
        let recorder = (!self.recorder.merges_exactly).then(|| {
            let message = "two halves of a recorded distribution do not merge to the whole".to_owned();
            let advice = "use `--workers 1`, do not merge results, and report this bug";
            warning("recorder", Measured::count(0.0, 0.0, ""), message, advice)
        });
        let late = self.ceiling.is_none().then(|| {
            let message = "none of the rates tried was sent on time".to_owned();
            let advice = "stop other work, or use a machine of your own";
            warning("never-on-time", Measured::count(0.0, 0.0, ""), message, advice)
        });
        others.into_iter().chain(recorder).chain(late).collect()
    }
}

impl CalibrationBody {
    /// Use of a processor by others above which a calibration is about them as much as about the machine.
    pub const MOST_OTHERS_SHARE: f64 = 0.1;
    /// Largest 99th percentile of send lag at which a rate counts as sent on time, us.
    pub const ON_TIME_US: f64 = 50.0;

    /// True if other work used too much of the machine.
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
    /// 99th percentile of service time, us, where it hides delays that response time shows: the value that a generator that
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
    /// True if merging two halves gives exactly the whole.
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
    /// True if it is reported only as a lower bound.
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
