//! The costs of all arms of a study in every measure and under every load, with the slices behind them.

use hoptax_result::ArmKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::table::Cell;

/// The costs of all arms of a study.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Costs {
    /// The arms, in the order of the main table.
    pub(crate) arms: Vec<CostArm>,
    /// A measure under a load, each with a number for some arm, or as a share with the reason why there is none; the first is shown first.
    pub(crate) views: Vec<CostView>,
    /// The values that the numbers were computed from, slice by slice: under the usual load of a measure first, under others as far as a
    /// page has room for them. Empty for combined results, which have none.
    pub(crate) slices: Vec<Slices>,
}

/// An arm with costs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CostArm {
    /// Its id.
    pub(crate) id: String,
    /// Its name in tables.
    pub(crate) name: String,
    /// The family of its function.
    pub(crate) family: String,
    /// Its function, in a line.
    pub(crate) summary: String,
    /// The arm that it is compared with.
    pub(crate) compared_with: Option<String>,
    /// Its role.
    pub(crate) kind: ArmKind,
    /// True if its cost is known in advance.
    pub(crate) is_control: bool,
}

/// The costs of all arms in one measure under one load.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CostView {
    /// The measure as a heading: `CPU %`.
    pub(crate) heading: String,
    /// The measure in words with its unit, for the axis.
    pub(crate) axis: String,
    /// The load; none for measures that all loads contribute to.
    pub(crate) load: Option<String>,
    /// The load in words.
    pub(crate) load_words: Option<String>,
    /// A number for each arm.
    pub(crate) cells: Vec<Cell>,
}

/// The slices of all arms in one measure under one load.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Slices {
    /// The measure in words with its unit.
    pub(crate) axis: String,
    /// The unit.
    pub(crate) unit: &'static str,
    /// The headings of the views that are computed from them.
    pub(crate) headings: Vec<String>,
    /// The load.
    pub(crate) load: String,
    /// The slices of each arm.
    pub(crate) arms: Vec<ArmSlices>,
}

/// The slices of one arm.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ArmSlices {
    /// The arm.
    pub(crate) arm: String,
    /// Its slices in chronological order.
    pub(crate) slices: Vec<Slice>,
}

/// A slice.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Slice {
    /// Its round, from 1.
    pub(crate) round: u32,
    /// Its start, seconds since that of the study.
    pub(crate) s: f64,
    /// The measured value.
    pub(crate) value: f64,
    /// Reason why it does not count; none if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aside: Option<String>,
}
