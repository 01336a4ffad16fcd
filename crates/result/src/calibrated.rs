//! The part of a calibration that every result of the same machine states.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of a calibration that other results are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// Begin of the measurement, RFC 3339 in UTC.
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
