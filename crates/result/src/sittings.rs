//! The combined result of several sittings: runs of one study on one machine, hours or days apart.
//!
//! The state of a machine may last longer than a study, so intervals over the rounds of one sitting do not hold for the
//! next. Only intervals that include the variance between sittings hold for the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, CostMeasure, Interval, Report, SittingRecord};

/// The combined results of one study from several sittings on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingsBody {
    /// Name of the study.
    pub study: String,
    /// The machine of all sittings.
    pub machine: SittingsMachine,
    /// The scope of the intervals: the machine, if two or more sittings have a cost.
    pub holds_for: HoldsFor,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// The sittings, in chronological order.
    pub sittings: Vec<SittingRecord>,
    /// One entry for each arm that is compared with another, in the order of the study file.
    pub arms: Vec<SittingArm>,
}

/// Its report.
pub type SittingsResult = Report<SittingsBody>;

impl Body for SittingsBody {
    const FORMAT: &'static str = "hoptax.sittings/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }
}

impl SittingsResult {
    /// True if the sitting with this index has any cost. A void one has none.
    pub fn states(&self, sitting: usize) -> bool {
        let mut costs = self.arms.iter().flat_map(|arm| &arm.costs);
        costs.any(|cost| cost.estimates.get(sitting).is_some_and(Option::is_some))
    }
}

/// Properties that all sittings share besides their study.
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
    /// Version of the proxy; absent without one.
    pub proxy_version: Option<String>,
    /// True if the processors were kept from halting.
    pub never_halted: bool,
}

/// The scope of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HoldsFor {
    /// One sitting: another one, hours later, may differ.
    Sitting,
    /// The machine, for any sitting.
    Machine,
}

/// The results of the sittings for one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingArm {
    /// Its id in the study.
    pub id: String,
    /// The arm that its costs are the difference from.
    pub compared_with: String,
    /// Its costs, in the order of [`CostMeasure`], without those that no sitting has.
    pub costs: Vec<SittingCost>,
}

/// One cost of an arm, by sitting and combined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingCost {
    /// The measure, with its unit.
    pub measure: CostMeasure,
    /// The load that it was measured under, for [`CostMeasure::BY_LOAD`]; null for the cost of the arm itself, which is
    /// that under the load of the measure, or of none.
    pub load: Option<String>,
    /// One entry per sitting, in their order; null if it lacks the cost.
    pub estimates: Vec<Option<SittingEstimate>>,
    /// The scope of `combined`. A cost that only one sitting has holds for that sitting.
    pub holds_for: HoldsFor,
    /// The cost with its interval, of all sittings together or of the only one. Null if a check withheld it, and if only one sitting
    /// states it and another bounds it.
    pub combined: Option<Interval>,
    /// Standard deviation of the true costs of sittings; null if only one has the cost. Zero when they differ by no
    /// more than their standard errors explain.
    pub between_sittings: Option<f64>,
    /// Prediction interval for the estimate of another sitting with the same precision; null if only one has the cost.
    pub another_sitting: Option<Interval>,
}

/// A cost as measured by one sitting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingEstimate {
    /// The cost with the interval of its sitting.
    pub interval: Interval,
    /// Its standard error over the rounds of the sitting; 0 if the interval has zero width.
    pub standard_error: f64,
}
