//! The cost of an arm as a share of the level of the arm that it is compared with.

use hoptax_result::Interval;

use crate::mean_over_rounds;

/// The cost of an arm in a round, and the level of the arm that it is compared with in the same round, both in one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostAtLevel {
    /// The difference of the arm from the other.
    pub cost: f64,
    /// The level that the cost is a difference from.
    pub level: f64,
}

/// The cost as a share of the level, with its `confidence` interval: 0.1 for a tenth more.
///
/// **Method.** The share of each round, its cost divided by its level, and [`mean_over_rounds`] of these. The numbers of a round are
/// already centres of several slices, such as [`crate::costs_by_round`]: the reciprocal of a noisy number is too large on average, so the
/// mean of the shares of single slices would be too high by up to twice as much.
///
/// **Why within rounds.** A share has the errors of both numbers. The interval of the cost divided by the level as if that were exact is
/// too narrow where the level varies by itself, and too wide where rounds differ in what arm and reference share, such as the machine.
/// `tests/share_coverage.rs` simulates rounds that vary in both: at a true share of +100 %, that interval covers in 77 to 84 %, while
/// the one of the shares of rounds covers shares of 0, +20 and +100 % in 94 to 96 %. [`Interval::share_of`] counts the errors of both
/// numbers without rounds; it is a bound, and covers +100 % in 96 to 98 %.
///
/// **Limits.** The mean is too high by up to the square of the relative standard deviation by which the level alone varies from round to
/// round: by 0.25 % of the arm's level at 5 %, which is a sixth of the standard error over twelve rounds.
///
/// **Degenerate cases.** `None` if a level is not above zero, if a number is not finite, and as for [`mean_over_rounds`].
pub fn share_of_level(rounds: &[CostAtLevel], confidence: f64) -> Option<Interval> {
    mean_over_rounds(&shares_of_level(rounds)?, confidence)
}

/// The shares of the rounds that [`share_of_level`] is the mean of, for moderated variances.
///
/// **Degenerate cases.** `None` if a level is not above zero, and if a number is not finite.
pub fn shares_of_level(rounds: &[CostAtLevel]) -> Option<Vec<f64>> {
    let share = |round: &CostAtLevel| {
        let is_sound = round.level > 0.0 && round.level.is_finite() && round.cost.is_finite();
        is_sound.then(|| round.cost / round.level)
    };
    rounds.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn rounds(of: &[(f64, f64)]) -> Vec<CostAtLevel> {
        of.iter().map(|(cost, level)| CostAtLevel { cost: *cost, level: *level }).collect()
    }

    #[test]
    fn the_interval_is_that_of_the_shares_of_rounds() {
        let found = share_of_level(&rounds(&[(10.0, 100.0), (30.0, 150.0), (60.0, 200.0)]), 0.95);
        assert_eq!(found, mean_over_rounds(&[0.1, 0.2, 0.3], 0.95));
    }

    #[test]
    fn a_level_that_is_not_above_zero_has_no_share() {
        for level in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(share_of_level(&rounds(&[(1.0, 10.0), (1.0, level), (1.0, 10.0)]), 0.95), None);
        }
        for cost in [f64::NAN, f64::INFINITY] {
            assert_eq!(shares_of_level(&rounds(&[(cost, 10.0)])), None);
        }
        assert_eq!(share_of_level(&rounds(&[(1.0, 10.0)]), 0.95), None, "one round has no interval");
        assert_eq!(share_of_level(&rounds(&[(1.0, 10.0); 2]), 1.0), None);
    }

    proptest! {
        #[test]
        fn what_slows_a_whole_round_cancels(
            of in vec((-50.0..100.0_f64, 50.0..150.0_f64, 0.1..10.0_f64), 2..9),
        ) {
            let as_measured = rounds(&of.iter().map(|(cost, level, _)| (*cost, *level)).collect::<Vec<_>>());
            let slowed: Vec<(f64, f64)> =
                of.iter().map(|(cost, level, slower)| (cost * slower, level * slower)).collect();
            let found = share_of_level(&as_measured, 0.95).unwrap();
            let slowed = share_of_level(&rounds(&slowed), 0.95).unwrap();
            prop_assert!((found.estimate - slowed.estimate).abs() < 1e-9, "{found:?} {slowed:?}");
            prop_assert!((found.half_width() - slowed.half_width()).abs() < 1e-9, "{found:?} {slowed:?}");
        }
    }
}
