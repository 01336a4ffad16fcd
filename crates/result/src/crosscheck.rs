//! What load generators report of the same load, and what the server saw of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Environment;

/// What a crosscheck found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrosscheckResult {
    /// Name and version of this format: `hoptax.crosscheck/1`.
    pub format: String,
    /// Requests per second that each was asked for; null for as fast as possible.
    pub rate: Option<f64>,
    /// Connections that each was asked for.
    pub connections: u32,
    /// Length of each run, seconds.
    pub seconds: u32,
    /// Runs of each tool in each scenario, alternating.
    pub rounds: u32,
    /// Whether the processors were kept from being halted: a task that yields to all others spun on each of them.
    #[serde(default)]
    pub never_halted: bool,
    /// What was asked, scenario by scenario.
    pub scenarios: Vec<Scenario>,
    /// Tools that could not be asked, with the reason.
    pub left_out: Vec<LeftOut>,
    /// The machine.
    pub environment: Environment,
}

/// One server, and what every tool made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name, or the URL.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// The tools.
    pub tools: Vec<ToolRuns>,
}

/// A tool that could not be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// The tool.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// The runs of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRuns {
    /// The tool.
    pub tool: String,
    /// Its version, where it tells.
    pub version: Option<String>,
    /// Its runs.
    pub runs: Vec<ToolRun>,
    /// Runs that failed, with what the tool said last.
    pub failed: Vec<String>,
}

/// One run of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRun {
    /// What it reports.
    pub reported: ToolNumbers,
    /// What the server saw: from the arrival of a request to its answer.
    pub seen: ToolNumbers,
    /// What users who come at that rate would have waited, by the server's own plan; null where there is no rate or no
    /// plan.
    pub known: Option<ToolNumbers>,
    /// The gaps between arrivals at the server.
    pub gaps: Gaps,
    /// Connections that carried a request.
    pub connections: u64,
    /// CPU time of the tool for each request that the server saw, microseconds.
    pub cpu_us_per_request: f64,
}

/// Rate and quantiles; null where they are not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolNumbers {
    /// Requests per second.
    pub rate: Option<f64>,
    /// Median, microseconds.
    pub p50_us: Option<f64>,
    /// 90th percentile, microseconds.
    pub p90_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<f64>,
}

/// Gaps between arrivals at the server, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gaps {
    /// Mean, microseconds.
    pub mean_us: f64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// Share of gaps below a tenth of the mean, 0 to 1: arrivals in bursts.
    pub burst_share: f64,
    /// How far a gap was from the planned one, which is even, 99th percentile, microseconds; null without a rate.
    pub error_p99_us: Option<f64>,
    /// Standard deviation over mean: 0 for even arrivals, 1 for Poisson ones.
    pub variation: f64,
}
