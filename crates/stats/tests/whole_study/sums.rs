//! Sums of costs: the parts of a proxy together, and their interaction. The reference is the whole proxy, and an arm without
//! a part costs less than it.

use hoptax_result::Interval;
use hoptax_stats::slowdowns;

use super::judge::Tally;
use super::simulation::{Levels, Machine, STEADY, Scenario, Study, USUAL};

/// The estimate that an interval is computed for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    /// The sum of all arms but the last.
    Sum,
    /// This sum less the last arm, which lacks all parts.
    Interaction,
}

impl Target {
    fn weights(self, functions: usize) -> Vec<(usize, f64)> {
        let parts = (1..functions).map(|arm| (arm, -1.0));
        let all = (self == Self::Interaction).then_some((functions, 1.0));
        parts.chain(all).collect()
    }
}

/// Rejected: the sum of the estimates, with the squares of the half-widths added, as if the costs were independent.
fn as_if_independent(costs: &[(f64, Interval)]) -> Interval {
    let estimate = costs.iter().map(|(weight, cost)| weight * cost.estimate).sum::<f64>();
    let half_width =
        costs.iter().map(|(weight, cost)| (weight * cost.half_width()).powi(2)).sum::<f64>().sqrt();
    Interval::around(estimate, half_width)
}

/// The number that a true cost is multiplied by: with few arms a study refers to the machine's speed in the long run.
fn slowdown(study: &Study) -> f64 {
    if study.scenario.functions > 3 { study.usual_slowdown } else { 1.0 }
}

fn truth(study: &Study, weights: &[(usize, f64)]) -> f64 {
    slowdown(study) * weights.iter().map(|(arm, weight)| weight * study.scenario.cost_us(*arm)).sum::<f64>()
}

fn machine(scenario: Scenario) -> Machine {
    Machine::new(2_359 + (10 * scenario.functions + scenario.copies) as u64)
}

/// Parts that cost up to 6 of 20 us, with as many copies of the whole as a study with these arms has.
fn with(functions: usize, copies: usize, machine: Scenario) -> Scenario {
    Scenario { functions, copies, blocks: 6, dearest_us: -6.0, ..machine }
}

#[test]
fn the_interval_covers_the_sum_of_the_parts_and_their_interaction() {
    let two_modes = Scenario { levels: Levels::TwoModes(0.005), ..USUAL };
    for scenario in [with(2, 1, STEADY), with(4, 2, USUAL), with(4, 2, two_modes), with(9, 3, USUAL)] {
        let mut machine = machine(scenario);
        let mut tallies = [Target::Sum, Target::Interaction].map(|target| (target, Tally::default()));
        for _ in 0..1_200 {
            let study = machine.study(scenario);
            let found = slowdowns(&study.observations);
            for (target, tally) in &mut tallies {
                let weights = target.weights(scenario.functions);
                tally.add(&study.sum(&weights, found.as_ref()), truth(&study, &weights));
            }
        }
        for (target, tally) in tallies {
            tally.assert_sound(&format!("{target:?} in {scenario:?}"));
        }
    }
}

#[test]
fn intervals_of_parts_cannot_be_added_as_if_they_were_independent() {
    let scenario = with(9, 1, STEADY);
    let mut machine = machine(scenario);
    let (mut sum, mut independent) = (Tally::default(), Tally::default());
    let weights = Target::Sum.weights(scenario.functions);
    for _ in 0..300 {
        let study = machine.study(scenario);
        let found = slowdowns(&study.observations);
        let truth = truth(&study, &weights);
        sum.add(&study.sum(&weights, found.as_ref()), truth);
        let one = |(arm, weight): &(usize, f64)| (*weight, study.sum(&[(*arm, 1.0)], found.as_ref()));
        independent.add(&as_if_independent(&weights.iter().map(one).collect::<Vec<_>>()), truth);
    }
    assert!(sum.coverage() > 91.0, "{sum:?}");
    assert!(independent.coverage() < 75.0, "{independent:?}");
}
