//! How slow the machine was in each round, so that rounds can be held against each other.

use crate::median;

/// How many times slower the machine was in each round than over the study, as seen by every arm but `without`.
/// `levels` holds for each arm its level in each round, in any unit that grows as the machine gets slower.
///
/// **Why.** A machine's speed wanders from round to round, by 5 % where this was measured, and what it changes is a
/// factor. Within a block the difference of two arms is rid of what both share, but a function that costs as much as
/// the whole baseline still costs 5 % more in a slow round, and its interval would tell of the machine. Dividing a
/// round's differences by its slowness takes that out; a cost is then the one at the study's mean speed.
///
/// **Method.** Of each other arm, the level in the round over its mean over rounds; of these, the median over arms.
/// The arm itself is left out: the luck of its own processes is what its interval is there to show. With many arms
/// the median also knows nothing of the luck of any other; with one or two it is theirs, and the interval comes out
/// wider than it need be (`tests/slowness.rs`).
///
/// **Source.** Multiplicative effects of the measuring occasion: T. Kalibera and R. Jones, "Quantifying Performance
/// Changes with Effect Size Confidence Intervals", 2012, which compares by ratios for the same reason.
///
/// **Degenerate cases.** A round in which no other arm has a level counts as one of mean slowness, 1. Levels that are
/// not above zero are ignored.
pub fn slowness(levels: &[Vec<Option<f64>>], without: usize) -> Vec<f64> {
    let rounds = levels.iter().map(Vec::len).max().unwrap_or(0);
    let others: Vec<Vec<Option<f64>>> = levels
        .iter()
        .enumerate()
        .filter(|(arm, _)| *arm != without)
        .map(|(_, of_arm)| relative(of_arm))
        .collect();
    let of_round = |round: usize| {
        let all: Vec<f64> = others.iter().filter_map(|of_arm| of_arm.get(round).copied().flatten()).collect();
        median(&all).unwrap_or(1.0)
    };
    (0..rounds).map(of_round).collect()
}

/// The levels of an arm over their mean.
fn relative(levels: &[Option<f64>]) -> Vec<Option<f64>> {
    let usable = |level: &f64| level.is_finite() && *level > 0.0;
    let all: Vec<f64> = levels.iter().flatten().copied().filter(usable).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    levels.iter().map(|level| level.filter(usable).map(|level| level / mean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_in_which_all_others_were_slower_is_slower() {
        let levels = [
            vec![Some(10.0), Some(12.0)],
            vec![Some(20.0), Some(24.0)],
            vec![Some(30.0), Some(36.0)],
            vec![Some(100.0), Some(50.0)],
        ];
        let slowness = slowness(&levels, 3);
        assert!((slowness[0] - 10.0 / 11.0).abs() < 1e-12 && (slowness[1] - 12.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn the_luck_of_one_arm_does_not_show_in_that_of_the_others() {
        let steady = vec![Some(10.0), Some(10.0)];
        let lucky = vec![Some(10.0), Some(14.0)];
        assert_eq!(slowness(&[steady.clone(), steady.clone(), lucky, steady], 0), [1.0, 1.0]);
    }

    #[test]
    fn rounds_and_levels_that_say_nothing_change_nothing() {
        assert_eq!(slowness(&[vec![Some(5.0), Some(6.0)]], 0), [1.0, 1.0]);
        assert_eq!(slowness(&[vec![None, None], vec![Some(3.0), None]], 0), [1.0, 1.0]);
        assert_eq!(slowness(&[vec![], vec![Some(0.0), Some(f64::NAN), Some(2.0)]], 0), [1.0, 1.0, 1.0]);
        assert!(slowness(&[], 0).is_empty());
    }
}
