//! Differences from a reference with their intervals and decisions.

use hoptax_result::Decision;
use schemars::JsonSchema;
use serde::Serialize;

use crate::quantity::Quantity;

/// Differences from a reference, as shares of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Differences {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The label of the axis, with the unit.
    pub(crate) axis: String,
    /// Equivalence margin, in the unit of the axis; none where each row has a limit.
    pub(crate) margin: Option<f64>,
    /// The differences, those of one subject beside each other.
    pub(crate) rows: Vec<DifferenceRow>,
}

/// A difference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DifferenceRow {
    /// The subject; with the arm that it is compared with, if not all are compared with the same one.
    pub(crate) subject: String,
    /// The measure, without its unit.
    pub(crate) measure: String,
    /// The difference as a share of the reference, %.
    pub(crate) share: Quantity,
    /// The same in other words: in the unit of the measure, or with the limit.
    pub(crate) text: String,
    /// Its limit, in the unit of the axis; none without one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<f64>,
    /// The decision.
    pub(crate) outcome: Outcome,
}

/// Decision about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Not zero, and perhaps beyond the margin.
    Different,
    /// Within the margin.
    Equivalent,
    /// The interval is too wide to say.
    Undecided,
    /// Beyond its limit.
    Failed,
    /// Within its limit.
    Passed,
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Different => Self::Different,
            Decision::Equivalent => Self::Equivalent,
            Decision::Undecided => Self::Undecided,
        }
    }
}
