//! One, two or three arms and their baseline: the machine's speed cannot be estimated from other arms, so nothing may
//! be adjusted.

use hoptax_stats::slowdowns;

use super::judge::{Adjustment, Estimate, Quantity, Tally, tallies};
use super::simulation::{BASELINE_US, Levels, Machine, STEADY, Scenario, USUAL};

const LIBRARY: (Estimate, Adjustment) = (Estimate::PairByPair, Adjustment::Between);

/// Intervals of all quantities of a function.
fn all_hold(scenario: Scenario, studies: u64) {
    let quantities = [Quantity::CostUs, Quantity::Share, Quantity::Rate];
    let found = tallies(scenario, studies, &quantities, &[LIBRARY]);
    for (quantity, tally) in quantities.iter().zip(found) {
        tally.assert_sound(&format!("{quantity:?} in {scenario:?}"));
    }
}

fn few_arms_hold(levels: Levels) {
    // As many rounds as studies with this number of copies have, since an arm with two modes needs them.
    for (functions, copies, rounds) in [(1, 1, 10), (1, 3, 10), (1, 9, 15), (2, 1, 10), (3, 2, 10)] {
        all_hold(Scenario { functions, copies, rounds, levels, ..USUAL }, 1_500);
    }
    all_hold(Scenario { functions: 1, copies: 3, rounds: 15, levels, ..STEADY }, 2_000);
    all_hold(Scenario { functions: 2, copies: 1, rounds: 15, levels, ..STEADY }, 2_000);
}

#[test]
fn few_arms_have_honest_intervals_with_normal_levels() {
    few_arms_hold(Levels::Normal(0.005));
}

#[test]
fn few_arms_have_honest_intervals_where_every_process_has_two_modes() {
    few_arms_hold(Levels::TwoModes(0.005));
}

#[test]
fn few_arms_have_honest_intervals_where_slices_are_noisy_and_costs_are_large() {
    for functions in [1, 2, 3] {
        let noisy = Scenario { functions, noise: 0.017, between_rounds: 0.01, dearest_us: 10.0, ..USUAL };
        all_hold(noisy, 1_000);
    }
}

/// An arm compared with an origin without a proxy: the cost is all of its CPU time.
fn against_direct(functions: usize, machine: Scenario, adjustment: Adjustment, studies: u64) -> Tally {
    // Twelve blocks, so that a disturbed slice is discarded: there is no other arm to correct for it.
    let scenario = Scenario { functions, copies: 0, blocks: 12, ..machine };
    let mut draws = Machine::new(functions as u64);
    let mut tally = Tally::default();
    for _ in 0..studies {
        let study = draws.study(scenario);
        let adjusted = slowdowns(&study.observations).is_some() && adjustment == Adjustment::OwnArmLeftOut;
        let truth = (BASELINE_US + scenario.cost_us(1)) * if adjusted { study.usual_slowdown } else { 1.0 };
        tally.add(&study.against_direct(1, adjustment), truth);
    }
    tally
}

#[test]
fn an_arm_against_no_proxy_has_an_honest_interval_however_few_there_are() {
    for (functions, studies) in [(1, 1_500), (2, 1_500), (3, 1_500), (4, 1_000), (6, 800), (12, 400)] {
        let tally = against_direct(functions, USUAL, Adjustment::OwnArmLeftOut, studies);
        tally.assert_sound_level(&format!("{functions} functions against direct"));
    }
}

#[test]
fn an_arm_adjusted_by_itself_has_an_interval_of_zero_width() {
    let alone = against_direct(1, USUAL, Adjustment::OwnArmIncluded, 200);
    assert!(alone.coverage() < 5.0 && alone.half_width() < 1e-9, "{alone:?}");
    let two = against_direct(2, USUAL, Adjustment::OwnArmIncluded, 500);
    assert!(two.coverage() < 80.0, "{two:?}");
}

#[test]
fn an_arms_own_level_has_an_honest_interval() {
    for machine in [USUAL, STEADY] {
        for (copies, blocks) in [(1, 4), (9, 4), (1, 12)] {
            let scenario = Scenario { copies, blocks, ..machine };
            let mut draws = Machine::new(blocks as u64);
            let mut tally = Tally::default();
            for _ in 0..1_000 {
                tally.add(&draws.study(scenario).level(0), BASELINE_US);
            }
            tally.assert_sound_level(&format!("level in {scenario:?}"));
        }
    }
}
