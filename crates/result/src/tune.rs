//! The rate at which answers stay in the fastest mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, Mode};

/// What tuning found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneResult {
    /// Name and version of this format: `hoptax.tune/1`.
    pub format: String,
    /// Where the requests went.
    pub url: String,
    /// Connections.
    pub connections: u32,
    /// Share of the answers that are to be in the fastest mode, 0 to 1.
    pub wanted_share: f64,
    /// The fastest mode of the first run; null when there is only one mode.
    pub fastest: Option<Mode>,
    /// The runs, in their order; the first is as fast as possible.
    pub steps: Vec<TuneStep>,
    /// The largest rate of those tried at which nearly all answers were in the fastest mode.
    pub rate: Option<f64>,
    /// The machine.
    pub environment: Environment,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneStep {
    /// Requests per second asked for; null for as fast as possible.
    pub rate: Option<f64>,
    /// Answered per second.
    pub answered_rate: f64,
    /// Share of the answers in the fastest mode of the first run, 0 to 1.
    pub fastest_share: f64,
    /// The modes of this run.
    pub modes: Vec<Mode>,
    /// Mean response time, microseconds.
    pub mean_us: Option<f64>,
    /// Median, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<f64>,
}
