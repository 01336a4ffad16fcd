//! Copies of the baseline: an estimate must discard disturbed slices of the arm and of the baseline equally.

use super::judge::{Adjustment, Estimate, Quantity, Tally, tallies, tally};
use super::simulation::{Levels, STEADY, Scenario};

/// A function with zero cost against nine copies of the baseline; its estimated cost is bias.
fn nine_copies(blocks: usize, levels: Levels, studies: u64) -> [Tally; 3] {
    let scenario = Scenario { copies: 9, blocks, levels, dearest_us: 0.0, ..STEADY };
    let estimates = [Estimate::PairByPair, Estimate::MeanOfCopies, Estimate::AllPairs];
    let methods = estimates.map(|estimate| (estimate, Adjustment::None));
    let found = tallies(scenario, studies, &[Quantity::CostUs], &methods);
    [found[0], found[1], found[2]]
}

#[test]
fn pairs_of_processes_are_unbiased_whatever_the_blocks_and_copies() {
    for (copies, blocks, studies) in
        [(1, 1, 2_000), (3, 2, 2_000), (3, 4, 1_000), (9, 4, 1_000), (3, 12, 500), (9, 12, 300)]
    {
        let scenario = Scenario { copies, blocks, dearest_us: 0.0, ..STEADY };
        let method = (Estimate::PairByPair, Adjustment::None);
        tally(scenario, studies, Quantity::CostUs, method).assert_sound(&format!("{scenario:?}"));
    }
}

#[test]
fn against_the_mean_of_copies_costs_lean_to_below_zero() {
    let [pairs, mean, _] = nine_copies(12, Levels::Normal(0.005), 300);
    assert!(mean.bias() < -0.5 && mean.coverage() < 91.0, "{mean:?}");
    assert!(pairs.bias().abs() < 0.2, "{pairs:?}");
}

#[test]
fn one_sample_of_all_pairs_is_biased_upwards_with_few_blocks() {
    for levels in [Levels::Normal(0.005), Levels::TwoModes(0.005)] {
        let [pairs, _, all] = nine_copies(2, levels, 1_000);
        assert!(all.bias() > 0.3, "{all:?}");
        assert!(pairs.bias().abs() < 0.1, "{pairs:?}");
    }
}

/// With two slices, a disturbed one cannot be identified. A disturbed slice of the arm is rare and moves a round by a
/// tenth, those of many copies are in every round and move it by little: the estimate is unbiased, but more skewed than
/// Student's interval allows for.
#[test]
fn against_many_copies_two_blocks_are_too_few_and_four_are_enough() {
    let [two, ..] = nine_copies(2, Levels::Normal(0.005), 1_500);
    assert!(two.coverage() < 93.0, "{two:?}");
    let [four, ..] = nine_copies(4, Levels::Normal(0.005), 1_000);
    assert!(four.coverage() > 93.0, "{four:?}");
}
