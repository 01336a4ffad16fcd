//! Intervals that are too wide for their numbers to carry information.

use hoptax_result::Interval;

use crate::thresholds::{self, Limits};

/// The half-width of a cost.
#[derive(Clone, Copy, Debug)]
pub struct Width {
    /// As a share of the level of the arm compared with, or of the least that the cost is, if that is larger.
    pub share: f64,
    /// True if the share is of the least cost, because that is larger than the level.
    pub is_of_cost: bool,
}

impl Width {
    /// The half-width of a cost that is added to a level.
    pub fn new(cost: &Interval, level: f64) -> Self {
        // Not the estimate, which disturbances inflate together with the interval.
        let least = cost.estimate.abs() - cost.half_width();
        Self { share: cost.half_width() / level.max(least), is_of_cost: least > level }
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
        assert!(!small.is_of_cost && (small.share - 0.1).abs() < 1e-9);
        let large = Width::new(&Interval::around(500.0, 100.0), 100.0);
        assert!(large.is_of_cost && (large.share - 0.25).abs() < 1e-9);
    }
}
