//! Bounds: limits of a number that a check withholds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CostMeasure;

/// A range that holds a number which was not measured well enough to be stated.
///
/// A bound is no measurement: it has no estimate, and its middle means nothing. Decisions treat the number as unknown. Outputs show it
/// in grey, as `-20 to +300`, `at least 12,000` or `at most 40`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The measure of the number, with its unit.
    pub measure: CostMeasure,
    /// Number that is bounded: the arm's own level, or its difference from the arm that it is compared with.
    pub of: BoundOf,
    /// The number is at least this; null if nothing bounds it below.
    pub low: Option<f64>,
    /// The number is at most this; null if nothing bounds it above. `low`, `high` or both are stated.
    pub high: Option<f64>,
    /// Ids of the checks that left only a bound, each once. Empty if no check did, but there are too few responses for an interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
}

/// The number of an arm that a bound is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoundOf {
    /// Its own level.
    Level,
    /// Its difference from the arm that it is compared with.
    Cost,
}

impl BoundOf {
    /// The numbers that a bound may be about: levels in the measures of slices, and costs in all measures.
    pub fn numbers() -> impl Iterator<Item = (Self, CostMeasure)> {
        let levels = CostMeasure::OF_SLICES.map(|measure| (Self::Level, measure));
        levels.into_iter().chain(CostMeasure::all().into_iter().map(|measure| (Self::Cost, measure)))
    }
}

/// The bounds of an arm: over all, or under one load. A number that is stated with an interval has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bounds(pub Vec<Bound>);

impl Bounds {
    /// The bound of the arm's difference from the arm that it is compared with.
    pub fn cost(&self, measure: CostMeasure) -> Option<&Bound> {
        self.get(BoundOf::Cost, measure)
    }

    /// The bound of the arm's own level.
    pub fn level(&self, measure: CostMeasure) -> Option<&Bound> {
        self.get(BoundOf::Level, measure)
    }

    /// The bound of a number.
    pub fn get(&self, of: BoundOf, measure: CostMeasure) -> Option<&Bound> {
        self.0.iter().find(|bound| bound.of == of && bound.measure == measure)
    }

    /// Returns the bounds of levels or of costs, each times `sign`, which is 1 or -1.
    #[must_use]
    pub fn signed(&self, of: BoundOf, sign: f64) -> Self {
        let signed = |bound: &Bound| {
            let [low, high] = [bound.low, bound.high].map(|end| end.map(|end| end * sign));
            let (low, high) = if sign < 0.0 { (high, low) } else { (low, high) };
            Bound { low, high, ..bound.clone() }
        };
        Self(self.0.iter().filter(|bound| bound.of == of).map(signed).collect())
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A bound of a difference as a share of the level that it is a difference from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundShare {
    /// The measure of the difference.
    pub measure: CostMeasure,
    /// The share is at least this, 0.1 for a tenth more; null if nothing bounds it below.
    pub low: Option<f64>,
    /// The share is at most this; null if nothing bounds it above.
    pub high: Option<f64>,
}

/// The ends of a difference as shares of the level that it is a difference from, which is somewhere between ends of its own: the least and
/// the greatest quotient of the two. An end of either that is none is not known. None if the level is not known to be above zero, and
/// without an end of the difference.
pub fn share_ends(
    (low, high): (Option<f64>, Option<f64>),
    (least, greatest): (Option<f64>, Option<f64>),
) -> Option<(Option<f64>, Option<f64>)> {
    low.or(high)?;
    let least = least.filter(|least| *least > 0.0)?;
    let of_greatest = |end: f64| greatest.map_or(0.0, |greatest| end / greatest);
    let share = |end: f64, is_outward: bool| if is_outward { end / least } else { of_greatest(end) };
    Some((low.map(|low| share(low, low < 0.0)), high.map(|high| share(high, high > 0.0))))
}

impl Bound {
    /// The bound with these ends. None if neither is a finite number.
    pub fn new(of: BoundOf, measure: CostMeasure, low: Option<f64>, high: Option<f64>) -> Option<Self> {
        let [low, high] = [low, high].map(|end| end.filter(|end| end.is_finite()));
        (low.is_some() || high.is_some()).then(|| Self { measure, of, low, high, by: Vec::new() })
    }
}
