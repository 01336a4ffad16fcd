//! What an arm costs: its differences from the baseline, paired by block, interval over rounds.

use hoptax_result::Interval;

use crate::{hodges_lehmann, mean_over_rounds};

/// The cost of an arm with its `confidence` interval, in the unit of the differences. `rounds` holds for each
/// round the differences `arm - baseline`, one for each block in which both slices count.
///
/// **Method.** Within a round, the [`hodges_lehmann()`] estimate of the differences; over rounds,
/// [`mean_over_rounds`] of these. A round weighs the same however many of its slices were set aside.
///
/// **Source.** Pairing by block is the randomised block design; the interval over the topmost replicate is that of
/// T. Kalibera and R. Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.
///
/// **Why pair by block.** The machine drifts by far more than a function costs. Arms measured within one block,
/// in random order, drift together, and the difference is rid of it.
///
/// **Why restarts are the topmost replicate.** A process keeps its own level for as long as it lives. Measured on
/// a 2-core virtual machine, microseconds of CPU per request: 80 blocks from one start gave header mutation +0.40
/// \[-0.32, +1.00\]; 80 more blocks, all processes started afresh, +2.07 \[+1.48, +2.81\]. The two do not meet;
/// nor do those of the local rate limit, +0.38 \[-0.31, +1.03\] and +2.18 \[+1.45, +3.09\]. Ten rounds of 12
/// blocks gave +0.64 with a half-width of 0.51, and showed why: most rounds lie near +0.3, three near +2.
///
/// **Why not pool the blocks of all rounds.** Blocks of a round share the levels of its processes, so they are not
/// independent: 120 blocks in ten rounds are ten observations of a level, not 120. In the simulation of
/// `tests/coverage.rs` the 95 % interval of pooled blocks covers the true cost in 60 to 80 % of studies, and the one
/// from a single start in 40 %; this one in 93 to 97 %.
///
/// **What it takes.** Rounds serve better than blocks: where a level varies as measured, 12 rounds of 4 blocks
/// give a narrower interval than 6 of 12. An arm whose processes live at one of two levels needs more than six
/// rounds once everything else is quiet: when three starts in ten land on the upper level, six rounds see only the
/// lower one in 12 % of studies, and no arithmetic on these six finds the other (coverage falls to 89 %; ten rounds
/// bring it back to 93.6 %). The intervals of arms that share a baseline share its error, and are not independent
/// of each other.
///
/// **Degenerate cases.** Rounds without a pair are left out. `None` when fewer than two are left, when
/// `confidence` does not lie strictly between 0 and 1, and when a difference is not finite.
pub fn paired_cost(rounds: &[Vec<f64>], confidence: f64) -> Option<Interval> {
    let centres = rounds
        .iter()
        .filter(|differences| !differences.is_empty())
        .map(|differences| hodges_lehmann(differences))
        .collect::<Option<Vec<f64>>>()?;
    mean_over_rounds(&centres, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_slice_does_not_move_the_cost() {
        let calm = vec![vec![1.0, 1.1, 0.9, 1.0], vec![1.2, 1.3, 1.1, 1.2]];
        let mut disturbed = calm.clone();
        disturbed[0].push(40.0);
        let (calm, disturbed) = (paired_cost(&calm, 0.95).unwrap(), paired_cost(&disturbed, 0.95).unwrap());
        assert!((calm.estimate - 1.1).abs() < 1e-12);
        assert!((disturbed.estimate - calm.estimate).abs() < 0.05, "{disturbed:?}");
    }

    #[test]
    fn a_round_weighs_the_same_however_many_pairs_it_has() {
        let cost = paired_cost(&[vec![1.0; 12], vec![3.0]], 0.95).unwrap();
        assert!((cost.estimate - 2.0).abs() < 1e-12);
    }

    #[test]
    fn rounds_without_pairs_are_left_out() {
        let rounds = [vec![], vec![1.0, 2.0], vec![], vec![3.0, 4.0]];
        assert_eq!(paired_cost(&rounds, 0.95), mean_over_rounds(&[1.5, 3.5], 0.95));
        assert_eq!(paired_cost(&[vec![], vec![1.0, 2.0]], 0.95), None);
        assert_eq!(paired_cost(&[], 0.95), None);
    }

    #[test]
    fn a_difference_that_is_not_finite_is_not_hidden() {
        assert_eq!(paired_cost(&[vec![1.0, f64::NAN, 1.0], vec![1.0], vec![1.1]], 0.95), None);
    }
}
