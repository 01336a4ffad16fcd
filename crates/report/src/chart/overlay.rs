//! The costs of several runs beside each other, and the differences between them.

use schemars::JsonSchema;
use serde::Serialize;

use super::differences::Outcome;
use super::tone::Tone;
use crate::quantity::Quantity;

/// Costs of the same arms in several runs, of which the first is the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Overlay {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The runs.
    pub(crate) runs: Vec<OverlaidRun>,
    /// The measures; the first is shown first.
    pub(crate) views: Vec<OverlayView>,
}

/// A run of an overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct OverlaidRun {
    /// Its name.
    pub(crate) name: String,
    /// Its role in the chart, by which it is coloured.
    pub(crate) tone: Tone,
}

/// The costs of all arms in one measure.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OverlayView {
    /// The measure without its unit.
    pub(crate) heading: String,
    /// The measure in words with its unit, for the axis.
    pub(crate) axis: String,
    /// Equivalence margin of runs, in the unit of the axis; none if it is not the same for all arms.
    pub(crate) margin: Option<f64>,
    /// The arms, in the order of the reference.
    pub(crate) rows: Vec<OverlayRow>,
}

/// An arm in several runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OverlayRow {
    /// Its name.
    pub(crate) name: String,
    /// Its function, in a line.
    pub(crate) summary: String,
    /// Its cost in each run; none where that is not measured or withheld.
    pub(crate) costs: Vec<Option<Quantity>>,
    /// The difference of each run from the reference; none for the reference, and where either cost has neither an interval nor bounds.
    pub(crate) differences: Vec<Option<OverlayDifference>>,
}

/// The difference of a run from the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OverlayDifference {
    /// The difference, in the unit of the measure.
    pub(crate) value: Quantity,
    /// The same as a share of the level that the margin is a share of.
    pub(crate) text: String,
    /// The decision.
    pub(crate) outcome: Outcome,
}
