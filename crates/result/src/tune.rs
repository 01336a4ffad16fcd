//! The result of tuning: the rate up to which responses stay in the fastest mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, Mode};

/// The result of tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneResult {
    /// Name and version of this format: `hoptax.tune/1`.
    pub format: String,
    /// The target of the requests.
    pub url: String,
    /// Connections.
    pub connections: u32,
    /// Required share of the responses in the fastest mode, 0 to 1.
    pub wanted_share: f64,
    /// The fastest mode of the first run; null when there is only one mode.
    pub fastest: Option<Mode>,
    /// The runs, in order; the first is at full speed.
    pub steps: Vec<TuneStep>,
    /// The highest of the rates tried at which nearly all responses were in the fastest mode.
    pub rate: Option<f64>,
    /// The machine.
    pub environment: Environment,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneStep {
    /// Requested requests per second; null for full speed.
    pub rate: Option<f64>,
    /// Answered per second.
    pub answered_rate: f64,
    /// Share of the responses in the fastest mode of the first run, 0 to 1.
    pub fastest_share: f64,
    /// The modes of this run.
    pub modes: Vec<Mode>,
    /// Mean response time, us.
    pub mean_us: Option<f64>,
    /// Median, us.
    pub p50_us: Option<f64>,
    /// 99th percentile, us.
    pub p99_us: Option<f64>,
}
