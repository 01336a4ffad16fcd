//! The merge of a load's result from those of several runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Latency, LatencyBounds, LoadRate, PlanShare};
use crate::{Environment, Program, Verdict};

/// The runs that a result was merged from. Histograms and counts of the result are sums over them, and so are its rates, which
/// hold for the time in which all runs recorded. The target of a load of agents is that of all, also of those that are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merged {
    /// The runs, in the order in which they were listed.
    pub runs: Vec<MergedRun>,
    /// The listed runs that are not in the result.
    pub left_out: Vec<RunLeftOut>,
    /// Share of the answered requests that belong to times at which not all runs recorded, 0 to 1. The server had less load then.
    pub outside_share: f64,
    /// True if quantiles have intervals: only if the records of all runs begin and end within a twentieth of each other.
    pub has_intervals: bool,
    /// Properties of machines and TLS connections that are not the same for all runs, with their values.
    pub differences: Vec<String>,
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergedRun {
    /// The file that it was read from.
    pub file: String,
    /// The program that made it.
    pub program: Program,
    /// Its own verdict.
    pub verdict: Verdict,
    /// Start of its record, seconds since 1970, by the clock of its machine.
    pub recorded_from_unix_s: f64,
    /// Its recorded time, seconds.
    pub recorded_s: f64,
    /// Its requests per second.
    pub rate: LoadRate,
    /// Its connections.
    pub connections: u32,
    /// The seed of its release times.
    pub seed: u64,
    /// Its share of one load; absent if it was a load of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<PlanShare>,
    /// Its response time.
    pub response: Latency,
    /// Bounds of it.
    #[serde(default)]
    pub bounds: LatencyBounds,
    /// Its machine.
    pub environment: Environment,
}

/// A run that was listed and is not in the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunLeftOut {
    /// Its file.
    pub file: String,
    /// Reason why it is not in the result.
    pub reason: String,
    /// Its planned rate, requests per second; null in a closed loop, and if the file could not be read.
    pub planned_rate: Option<f64>,
}
