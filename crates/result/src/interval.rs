//! A number with its confidence interval.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Degrees of freedom of Student's distribution, whose critical value times the standard error is the half-width; null for the normal
    /// distribution, which has infinitely many. Absent if they are one less than the rounds that count for the number, and if they are not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degrees_of_freedom: Option<f64>,
}

/// The numbers of an interval as they are read, which may contradict each other.
#[derive(Deserialize)]
#[serde(rename = "Interval", deny_unknown_fields)]
struct Numbers {
    estimate: f64,
    low: f64,
    high: f64,
    #[serde(default, deserialize_with = "null_is_infinite")]
    degrees_of_freedom: Option<f64>,
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Numbers { estimate, low, high, degrees_of_freedom } = Numbers::deserialize(deserializer)?;
        if low > high {
            return Err(D::Error::custom(format!("the interval ends at {high}, below its begin {low}")));
        }
        if let Some(freedom) = degrees_of_freedom
            && freedom <= 0.0
        {
            return Err(D::Error::custom(format!("degrees of freedom are above 0, and not {freedom}")));
        }
        Ok(Self { estimate, low, high, degrees_of_freedom })
    }
}

/// Reads a field that is not absent. JSON has no infinite number, so one is written as null.
fn null_is_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Some(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY)))
}

impl Interval {
    /// The interval with these ends.
    pub fn new(estimate: f64, low: f64, high: f64) -> Self {
        Self { estimate, low, high, degrees_of_freedom: None }
    }

    /// The interval that reaches `half_width` to either side of an estimate.
    pub fn around(estimate: f64, half_width: f64) -> Self {
        Self::new(estimate, estimate - half_width, estimate + half_width)
    }

    /// The same interval with these degrees of freedom, which may be infinite.
    #[must_use]
    pub fn with_freedom(self, degrees_of_freedom: f64) -> Self {
        Self { degrees_of_freedom: Some(degrees_of_freedom), ..self }
    }

    /// True if `value` lies in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Distance from the estimate to the end that is farther from it. The range that a text states as estimate ± reach holds the whole
    /// interval; half of the width would cut the longer side of one that is not symmetric around its estimate.
    pub fn reach(&self) -> f64 {
        (self.estimate - self.low).max(self.high - self.estimate)
    }

    /// The interval of the quantity times `factor`, which may be negative.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let ends = [factor * self.low, factor * self.high];
        Self {
            estimate: factor * self.estimate,
            low: ends[0].min(ends[1]),
            high: ends[0].max(ends[1]),
            ..*self
        }
    }

    /// The interval of the quantity in a unit of this size, above 0.
    #[must_use]
    pub fn in_units(&self, unit: f64) -> Self {
        Self { estimate: self.estimate / unit, low: self.low / unit, high: self.high / unit, ..*self }
    }

    /// A difference as a share of the amount that it is a difference from, each with an interval of the same confidence, whatever their
    /// correlation. None if the amount's interval reaches zero: the share has no finite interval then, and who shows shares says so. An
    /// amount that is withheld has no interval, so there is no share for the same reason.
    ///
    /// **Method.** The ends are the least and the greatest quotient of ends. The box holds the share whenever the two intervals hold their
    /// numbers: two of 95 % do so at least 90 times in 100 (Bonferroni). For errors that are small beside the amount, it covers as often as
    /// each of the two, up to their critical values: the standard error of a quotient is at most the sum of those that each of the two
    /// numbers contributes (the triangle inequality), and the box is as wide as that sum. It is wide if they vary together.
    pub fn share_of(&self, amount: &Self) -> Option<Self> {
        let quotient = |end: f64, away: f64, near: f64| end / if end < 0.0 { away } else { near };
        (amount.low > 0.0).then(|| {
            Self::new(
                self.estimate / amount.estimate,
                quotient(self.low, amount.low, amount.high),
                quotient(self.high, amount.high, amount.low),
            )
        })
    }

    /// The sum of numbers that may depend on each other in any way, each with an interval of the same confidence. That of one is the number
    /// itself, with the degrees of freedom that it states; a sum of several states none. None without a number.
    ///
    /// **Method.** The distances from the estimates to the ends add up. A standard error of a sum is at most the sum of the
    /// standard errors, whatever their correlation (the triangle inequality). So the interval covers at least as often as those of
    /// the numbers, up to their critical values, and is wide if the numbers are independent.
    pub fn sum_of_dependent(numbers: &[Self]) -> Option<Self> {
        if numbers.len() < 2 {
            return numbers.first().copied();
        }
        let estimate = numbers.iter().map(|number| number.estimate).sum::<f64>();
        let below = numbers.iter().map(|number| number.estimate - number.low).sum::<f64>();
        let above = numbers.iter().map(|number| number.high - number.estimate).sum::<f64>();
        Some(Self::new(estimate, estimate - below, estimate + above))
    }
}
