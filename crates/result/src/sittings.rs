//! What several sittings found: runs of one study on one machine, hours or days apart, put together.
//!
//! A machine has spells that last longer than a study, so that intervals over the rounds of one sitting do not hold for the next.
//! What holds for the machine is in the differences between sittings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, Verdict};

/// The results of one study from several sittings on one machine, put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingsResult {
    /// Name and version of this format: `hoptax.sittings/1`.
    pub format: String,
    /// Name of the study.
    pub study: String,
    /// The machine that all sittings were on.
    pub machine: SittingsMachine,
    /// What the intervals hold for: the machine, where two sittings or more state a cost.
    pub holds_for: HoldsFor,
    /// Confidence of every interval, 0 to 1.
    pub confidence: f64,
    /// The sittings, in the order of time.
    pub sittings: Vec<SittingRecord>,
    /// One entry for each arm that is compared with another, in the order of the study file.
    pub arms: Vec<SittingArm>,
}

impl SittingsResult {
    /// The name of the format that is written.
    pub const FORMAT: &str = "hoptax.sittings/1";

    /// Whether a sitting, by its place, states any cost. One that is void states none.
    pub fn states(&self, sitting: usize) -> bool {
        let mut costs = self.arms.iter().flat_map(|arm| &arm.costs);
        costs.any(|cost| cost.estimates.get(sitting).is_some_and(Option::is_some))
    }
}

/// What all sittings have in common beside their study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingsMachine {
    /// Processor model.
    pub cpu_model: String,
    /// Processors online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Version of the proxy; absent where there is none.
    pub proxy_version: Option<String>,
    /// Whether the processors were kept from being halted.
    pub never_halted: bool,
}

/// What an interval holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HoldsFor {
    /// One sitting: another one, hours later, may find something else.
    Sitting,
    /// The machine, whatever the sitting.
    Machine,
}

/// One sitting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingRecord {
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The name of its folder.
    pub folder: String,
    /// Complete rounds.
    pub rounds: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// Version of hoptax.
    pub hoptax_version: String,
}

/// What the sittings found of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingArm {
    /// Its id in the study.
    pub id: String,
    /// The arm that its costs are the difference from.
    pub compared_with: String,
    /// Its costs, in the order of [`CostMeasure`]; those that no sitting states are left out.
    pub costs: Vec<SittingCost>,
}

/// One cost of an arm, sitting by sitting and put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingCost {
    /// What it measures, with its unit.
    pub measure: CostMeasure,
    /// One entry for each sitting, in their order; null where it states no such cost.
    pub estimates: Vec<Option<SittingEstimate>>,
    /// What `combined` holds for. A cost that one sitting alone states holds for that one.
    pub holds_for: HoldsFor,
    /// The cost with its interval: of all sittings together, or of the only one.
    pub combined: Interval,
    /// Standard deviation of the true costs of sittings; null where one alone states the cost. Zero when they differ by no more
    /// than their standard errors explain.
    pub between_sittings: Option<f64>,
    /// Where the estimate of another sitting, as precise as these, is expected; null where one alone states the cost.
    pub another_sitting: Option<Interval>,
}

/// A cost as one sitting measured it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingEstimate {
    /// The cost with the interval of its sitting.
    pub interval: Interval,
    /// Its standard error over the rounds of the sitting.
    pub standard_error: f64,
}

/// A cost that sittings are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostMeasure {
    /// CPU time of the proxies per request, microseconds.
    CpuUs,
    /// The same as a share of that of the arm compared with: 0.1 for a tenth more.
    CpuShare,
    /// Median response time, microseconds.
    ResponseP50Us,
    /// 90th percentile of response time, microseconds.
    ResponseP90Us,
    /// 99th percentile of response time, microseconds.
    ResponseP99Us,
    /// Highest rate of the closed loop, requests per second.
    MaxRate,
}

impl CostMeasure {
    /// All of them, in the order in which results have them.
    pub const ALL: [Self; 6] = [
        Self::CpuUs,
        Self::CpuShare,
        Self::ResponseP50Us,
        Self::ResponseP90Us,
        Self::ResponseP99Us,
        Self::MaxRate,
    ];

    /// The words for it, with its unit, as tables head it.
    pub fn words(self) -> &'static str {
        match self {
            Self::CpuUs => "CPU time per request, us",
            Self::CpuShare => "CPU time per request, % of what it is compared with",
            Self::ResponseP50Us => "p50 of response time, us",
            Self::ResponseP90Us => "p90 of response time, us",
            Self::ResponseP99Us => "p99 of response time, us",
            Self::MaxRate => "max rate, requests/s",
        }
    }
}
