//! From four arms to a hundred: the machine's speed is estimated from other arms, and intervals become narrower and
//! stay valid.

use hoptax_stats::slowdowns;

use super::judge::{Adjustment, Estimate, Quantity, tallies};
use super::simulation::{Machine, STEADY, Scenario, USUAL};

/// A scenario with as many copies as a study would have.
fn study_of(functions: usize, machine: Scenario) -> Scenario {
    let copies = (functions as f64).sqrt().round() as usize;
    Scenario { functions, copies, dearest_us: 10.0, ..machine }
}

fn width_ratio(scenario: Scenario, studies: u64, quantity: Quantity, to: Adjustment) -> f64 {
    let pairs = Estimate::PairByPair;
    let found = tallies(scenario, studies, &[quantity], &[(pairs, Adjustment::Between), (pairs, to)]);
    found[0].half_width() / found[1].half_width()
}

fn mean_weight(scenario: Scenario, studies: u32) -> f64 {
    let mut machine = Machine::new(53);
    let weights =
        (0..studies).map(|_| slowdowns(&machine.study(scenario).observations).map_or(0.0, |it| it.weight));
    weights.sum::<f64>() / f64::from(studies)
}

#[test]
fn intervals_are_honest_from_four_arms_to_a_hundred_whether_the_machine_wanders_or_not() {
    for (functions, rounds, studies) in
        [(4, 10, 300), (6, 5, 300), (12, 10, 100), (20, 5, 80), (60, 10, 16), (100, 8, 8)]
    {
        for machine in [USUAL, STEADY] {
            let scenario = Scenario { rounds, ..study_of(functions, machine) };
            let quantities = [Quantity::CostUs, Quantity::Share];
            let method = (Estimate::PairByPair, Adjustment::Between);
            for (tally, quantity) in tallies(scenario, studies, &quantities, &[method]).iter().zip(quantities)
            {
                tally.assert_sound(&format!("{quantity:?} in {scenario:?}"));
            }
        }
    }
}

#[test]
fn on_an_unsteady_machine_the_adjustment_narrows_intervals() {
    for (functions, studies, most) in [(4, 100, 0.98), (20, 20, 0.92), (60, 6, 0.88)] {
        let ratio = width_ratio(study_of(functions, USUAL), studies, Quantity::CostUs, Adjustment::None);
        assert!(ratio < most, "{functions} functions: {ratio}");
    }
}

#[test]
fn on_a_steady_machine_the_adjustment_costs_little() {
    for (functions, studies) in [(4, 100), (20, 20), (60, 6)] {
        let ratio = width_ratio(study_of(functions, STEADY), studies, Quantity::CostUs, Adjustment::None);
        assert!((0.97..1.03).contains(&ratio), "{functions} functions: {ratio}");
    }
}

#[test]
fn arms_adjusted_by_each_other_have_wider_intervals_than_by_others() {
    let few = width_ratio(study_of(4, USUAL), 100, Quantity::Share, Adjustment::OwnArmLeftOut);
    let many = width_ratio(study_of(20, USUAL), 20, Quantity::Share, Adjustment::OwnArmLeftOut);
    assert!(few < 0.92 && many > few, "{few} {many}");
}

#[test]
fn neighbours_have_weight_only_if_the_speed_lasts_from_slice_to_slice() {
    for (functions, studies) in [(20, 20), (60, 8)] {
        let scenario = study_of(functions, USUAL);
        let (lasting, fleeting) =
            (mean_weight(scenario, studies), mean_weight(Scenario { lasting: false, ..scenario }, studies));
        assert!(lasting > 0.6 && fleeting < 0.1, "{lasting} {fleeting}");
    }
}
