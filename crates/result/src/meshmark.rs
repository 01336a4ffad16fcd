//! The index `MeshMark` of the arms of a study, beside their value for cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Report};

/// The index `MeshMark` of Service Mesh Performance for each arm and load of a study, and the value for cost of functions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshMarkBody {
    /// Name of the study.
    pub study: String,
    /// Confidence of the intervals of value for cost, 0 to 1.
    pub confidence: f64,
    /// One entry for each arm with a proxy and each of its loads.
    pub arms: Vec<MeshMarkArm>,
}

/// Its report.
pub type MeshMarkResult = Report<MeshMarkBody>;

impl Body for MeshMarkBody {
    const FORMAT: &'static str = "hoptax.meshmark/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }
}

/// The index of one arm under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshMarkArm {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// Utilisation efficiency of the processors of its proxies, 0 to 1: 1 minus the share of them that the proxies use. Null if
    /// that share is not known.
    pub cpu_mue: Option<f64>,
    /// Utilisation efficiency of the memory of the machine, 0 to 1: 1 minus the share of it that the proxies use at the end of a
    /// round. Null if that share is not known.
    pub memory_mue: Option<f64>,
    /// The formula as it is printed: each efficiency times a weight, all weights at their maximum of +50 %; 0 to 50. Null without
    /// an efficiency.
    pub product: Option<f64>,
    /// The formula with a weight of 0 % as the factor 1, the reading that reaches 100. Null without an efficiency.
    pub mean: Option<f64>,
    /// Null if the arm is not compared with another, if its cost is withheld, and if the whole interval of the cost is below 0.
    pub value_for_cost: Option<ValueForCost>,
    /// True if its function calls a companion, whose CPU time is not in its cost.
    pub asks_companion: bool,
}

/// Requests that an arm handles for each second of CPU time that it adds to the arm that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValueForCost {
    /// The estimate; null if the estimate of the cost is not above 0.
    pub estimate: Option<f64>,
    /// Lower end.
    pub low: f64,
    /// Upper end; null if the interval of the cost reaches 0, so that there is none.
    pub high: Option<f64>,
}
