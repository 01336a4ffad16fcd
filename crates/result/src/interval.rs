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
        (amount.low > 0.0).then(|| Self {
            estimate: self.estimate / amount.estimate,
            low: quotient(self.low, amount.low, amount.high),
            high: quotient(self.high, amount.high, amount.low),
        })
    }

    /// The sum of numbers that may depend on each other in any way, each with an interval of the same confidence. None without a
    /// number.
    ///
    /// **Method.** The distances from the estimates to the ends add up. A standard error of a sum is at most the sum of the
    /// standard errors, whatever their correlation (the triangle inequality). So the interval covers at least as often as those of
    /// the numbers, up to their critical values, and is wide if the numbers are independent.
    pub fn sum_of_dependent(numbers: &[Self]) -> Option<Self> {
        if numbers.is_empty() {
            return None;
        }
        let estimate = numbers.iter().map(|number| number.estimate).sum::<f64>();
        let below = numbers.iter().map(|number| number.estimate - number.low).sum::<f64>();
        let above = numbers.iter().map(|number| number.high - number.estimate).sum::<f64>();
        Some(Self { estimate, low: estimate - below, high: estimate + above })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_reaches_from_the_least_quotient_to_the_greatest() {
        let (amount, interval) =
            (Interval::around(100.0, 20.0), |low: f64, high: f64| Interval { estimate: 6.0, low, high });
        for (low, high, ends) in
            [(2.4, 9.6, (0.02, 0.12)), (-4.0, 9.6, (-0.05, 0.12)), (-9.6, -2.4, (-0.12, -0.02))]
        {
            let share = interval(low, high).share_of(&amount).unwrap();
            assert!((share.low - ends.0).abs() < 1e-12 && (share.high - ends.1).abs() < 1e-12, "{share:?}");
            assert!((share.estimate - 0.06).abs() < 1e-12);
        }
        assert_eq!(interval(1.0, 2.0).share_of(&Interval::around(10.0, 10.0)), None);
    }

    #[test]
    fn ends_of_dependent_numbers_add_up_and_no_number_has_no_sum() {
        let interval = |estimate: f64, below: f64, above: f64| Interval {
            estimate,
            low: estimate - below,
            high: estimate + above,
        };
        let one = interval(10.0, 3.0, 1.0);
        let sum = Interval::sum_of_dependent(&[one, interval(5.0, 4.0, 0.0)]);
        assert_eq!(sum, Some(interval(15.0, 7.0, 1.0)));
        assert_eq!(Interval::sum_of_dependent(&[one]), Some(one));
        assert_eq!(Interval::sum_of_dependent(&[]), None);
    }
}
