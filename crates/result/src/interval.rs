//! A number with its confidence interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval that reaches `half_width` to either side of an estimate.
    pub fn around(estimate: f64, half_width: f64) -> Self {
        Self { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    /// True if `value` lies in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The interval of the quantity times `factor`, which may be negative.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let ends = [factor * self.low, factor * self.high];
        Self { estimate: factor * self.estimate, low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) }
    }
}
