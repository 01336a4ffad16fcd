//! Intervals that are too wide for their numbers to carry information.

use hoptax_result::Interval;

use crate::thresholds::{self, Limits};

/// The number that the half-width of a cost is divided by, and so judged beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WidthDivisor {
    /// The level of the arm compared with.
    Reference,
    /// The lower level of the two arms.
    Lower,
    /// The least absolute value of the cost, if it is larger than the level.
    LeastCost,
}

/// The half-width of a cost.
#[derive(Clone, Copy, Debug)]
pub struct Width {
    /// The half-width as a share of the divisor; infinite if that number is not above zero.
    pub share: f64,
    /// The number that it is divided by.
    pub divisor: WidthDivisor,
}

impl Width {
    /// The half-width of a cost that is added to the level of the arm compared with, in the unit of the cost.
    pub fn new(cost: &Interval, level: f64) -> Self {
        Self::divided(cost, level, WidthDivisor::Reference)
    }

    /// The half-width of the cost of a tail of response time, beside the lower level of the two arms. `level` is that of the arm compared
    /// with, in the unit of the cost.
    ///
    /// Stalls raise the tail of the arm that they hit, and make the difference at the same time. Beside the level of the reference, two
    /// copies of one arm would be judged differently by which of them is the reference: the one with the stalls would hide its own
    /// interval. The lower level is the same for both.
    pub fn of_tail(cost: &Interval, level: f64) -> Self {
        Self::divided(cost, level.min(level + cost.estimate).max(0.0), WidthDivisor::Lower)
    }

    fn divided(cost: &Interval, level: f64, divisor: WidthDivisor) -> Self {
        // The near end of the interval: disturbances inflate the estimate together with the interval.
        let least = cost.estimate.abs() - cost.half_width();
        let number = level.max(least);
        let share = if number > 0.0 { cost.half_width() / number } else { f64::INFINITY };
        Self { share, divisor: if least > level { WidthDivisor::LeastCost } else { divisor } }
    }
}

/// The half-width of a level as a share of it, if it is too large. A level that is not above 0 is always too vague.
pub fn vague_level(level: &Interval, limits: &Limits) -> Option<f64> {
    let share = level.half_width() / level.estimate.max(0.0);
    (share > limits.value(&thresholds::INTERVAL_FAIL_SHARE)).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_vague_from_half_of_it_on() {
        let vague =
            |estimate, half_width| vague_level(&Interval::around(estimate, half_width), &Limits::default());
        assert_eq!((vague(10.0, 4.9), vague(10.0, 6.0)), (None, Some(0.6)));
        assert_eq!(vague(-3.0, 1.0), Some(f64::INFINITY));
    }

    #[test]
    fn the_width_of_a_cost_is_that_against_the_larger_of_level_and_least_cost() {
        let small = Width::new(&Interval::around(5.0, 10.0), 100.0);
        assert!(small.divisor == WidthDivisor::Reference && (small.share - 0.1).abs() < 1e-9);
        let large = Width::new(&Interval::around(500.0, 100.0), 100.0);
        assert!(large.divisor == WidthDivisor::LeastCost && (large.share - 0.25).abs() < 1e-9);
    }

    #[test]
    fn the_width_of_the_cost_of_a_tail_does_not_depend_on_which_arm_is_the_reference() {
        // 1,357 us less 929 us are 428 us.
        let (cost, mirrored) = (Interval::around(-929.0, 624.0), Interval::around(929.0, 624.0));
        let [one, other] = [Width::of_tail(&cost, 1_357.0), Width::of_tail(&mirrored, 428.0)];
        assert!((one.share - 624.0 / 428.0).abs() < 1e-9 && one.divisor == WidthDivisor::Lower, "{one:?}");
        assert!((one.share - other.share).abs() < 1e-9 && one.divisor == other.divisor, "{other:?}");
        assert!(Width::new(&cost, 1_357.0).share < 0.5, "beside the reference alone, the one is not vague");
        // A certain difference from a high reference is judged by its own size, both ways.
        let certain = [Interval::around(-900.0, 100.0), Interval::around(900.0, 100.0)];
        for (cost, level) in certain.iter().zip([1_000.0, 100.0]) {
            let width = Width::of_tail(cost, level);
            assert!(
                width.divisor == WidthDivisor::LeastCost && (width.share - 0.125).abs() < 1e-9,
                "{width:?}"
            );
        }
    }

    #[test]
    fn the_cost_of_a_tail_is_vague_without_a_level_above_zero() {
        for (estimate, half_width, level) in
            [(-100.0, 120.0, 100.0), (-150.0, 160.0, 100.0), (0.0, 0.0, 0.0), (5.0, 10.0, -10.0)]
        {
            let width = Width::of_tail(&Interval::around(estimate, half_width), level);
            assert!(width.share.is_infinite() && width.share > 0.0, "{width:?}");
        }
    }
}
