//! Studies of two to four rounds, whose costs borrow their variances from each other: single costs, and sums of them as in a bill.

use hoptax_stats::{
    Moderated, Replicates, Weighted, mean_over_rounds, moderated, slowdowns, sum_of_moderated,
};

use super::judge::Tally;
use super::simulation::{BASELINE_US, Levels, Machine, STEADY, Scenario, Study, USUAL};

/// The costs of all functions, if no round lost one of them. They have deviations in proportion to the level of their arm.
fn costs(study: &Study) -> Option<Vec<Replicates>> {
    let found = slowdowns(&study.observations);
    let Scenario { functions, copies, .. } = study.scenario;
    let cost = |arm: usize| {
        let values = study.cost_by_round(arm, found.as_ref())?;
        let own = BASELINE_US + study.scenario.cost_us(arm);
        Some(Replicates { values, own, shared: BASELINE_US / (copies as f64).sqrt() })
    };
    (1..=functions).map(cost).collect()
}

/// Intervals of single costs, of the dearest, of the sum of all, and Student's of single costs.
fn tallies(scenario: Scenario, studies: u32) -> [Tally; 4] {
    let mut machine =
        Machine::new(4_099 + (100 * scenario.functions + 10 * scenario.copies + scenario.rounds) as u64);
    let mut tallies = [Tally::default(); 4];
    for _ in 0..studies {
        let study = machine.study(scenario);
        let Some(costs) = costs(&study) else { continue };
        let truth = |arm: usize| study.usual_slowdown * study.scenario.cost_us(arm);
        let found = moderated(&costs).expect("there are costs");
        for (arm, (cost, found)) in (1..).zip(costs.iter().zip(&found)) {
            let interval = found.interval(0.95).expect("it is finite");
            tallies[0].add(&interval, truth(arm));
            if arm == scenario.functions {
                tallies[1].add(&interval, truth(arm));
            }
            tallies[3].add(&mean_over_rounds(&cost.values, 0.95).expect("there are rounds"), truth(arm));
        }
        let terms: Vec<Weighted<Moderated>> = found.iter().map(|one| Weighted::new(1.0, *one)).collect();
        let sum = sum_of_moderated(&terms).expect("there are terms").interval(0.95).expect("it is finite");
        tallies[2].add(&sum, (1..=scenario.functions).map(truth).sum());
    }
    tallies
}

fn hold(levels: Levels) {
    for machine in [USUAL, STEADY] {
        for (functions, copies, dearest_us) in [(7, 3, 1.5), (7, 1, 10.0), (20, 4, 10.0)] {
            for rounds in [2, 3, 4] {
                let scenario =
                    Scenario { functions, copies, rounds, levels, dearest_us, blocks: 6, ..machine };
                let [costs, dearest, sum, student] = tallies(scenario, 600);
                for (name, tally) in [("costs", costs), ("dearest", dearest), ("sum", sum)] {
                    assert!(tally.coverage() >= 93.0, "{name} {scenario:?}: {tally:?}");
                }
                assert!(costs.half_width() < student.half_width(), "{scenario:?}");
            }
        }
    }
}

#[test]
fn few_rounds_cover_with_normal_levels() {
    hold(Levels::Normal(0.005));
}

#[test]
fn few_rounds_cover_where_every_process_has_two_modes() {
    hold(Levels::TwoModes(0.005));
}
