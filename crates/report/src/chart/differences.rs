//! Differences from a reference with their intervals, and what was decided about each.

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
    /// Largest difference that does not matter, in the unit of the axis.
    pub(crate) margin: f64,
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
    /// The same in the unit of the measure, with the reference: `+4.95 ±0.65 us from 41.2 us`.
    pub(crate) text: String,
    /// The decision.
    pub(crate) decision: Decision,
}
