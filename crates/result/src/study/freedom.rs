//! Degrees of freedom of the numbers of several sittings as one result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CostMeasure, CostShares};

/// Degrees of freedom of the interval of a number: those of the distribution whose critical value, times the standard error, is the
/// half-width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Freedom {
    /// The measure of the number.
    pub measure: CostMeasure,
    /// The number of the arm in that measure.
    pub of: FreedomOf,
    /// Degrees of freedom of Student's distribution; null for the normal distribution, which has infinitely many.
    pub degrees_of_freedom: Option<f64>,
}

/// A number of an arm that has degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FreedomOf {
    /// Its own level.
    Level,
    /// Its difference from the arm that it is compared with.
    Cost,
    /// That difference as a share of the level of the arm compared with. That of CPU time is a cost in the measure `cpu_share`.
    CostShare,
}

impl FreedomOf {
    /// The numbers whose degrees of freedom are recorded: levels in the measures of slices, and costs and their shares in all measures.
    pub fn numbers() -> impl Iterator<Item = (Self, CostMeasure)> {
        let levels = CostMeasure::OF_SLICES.into_iter().map(|measure| (Self::Level, measure));
        let costs = CostMeasure::all().into_iter().map(|measure| (Self::Cost, measure));
        let shares = CostShares::measures().map(|measure| (Self::CostShare, measure));
        levels.chain(costs).chain(shares)
    }
}

/// The degrees of freedom of numbers of an arm: over all, or under one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Freedoms(pub Vec<Freedom>);

impl Freedoms {
    /// The degrees of freedom of a number, infinite for the normal distribution. None if they are not recorded.
    pub fn get(&self, of: FreedomOf, measure: CostMeasure) -> Option<f64> {
        let found = self.0.iter().find(|one| one.of == of && one.measure == measure)?;
        Some(found.degrees_of_freedom.unwrap_or(f64::INFINITY))
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Freedom {
    /// So many degrees of freedom of a number, which may be infinite.
    pub fn new(of: FreedomOf, measure: CostMeasure, degrees_of_freedom: f64) -> Self {
        let degrees_of_freedom = Some(degrees_of_freedom).filter(|degrees| degrees.is_finite());
        Self { measure, of, degrees_of_freedom }
    }
}
