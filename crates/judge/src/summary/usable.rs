//! Tests of [`StudyResult::usable_rounds`] with the measures of slices, which are unknown in its crate.

use hoptax_result::{Contrast, CostMeasure, Disturbance, StudyResult, sample};

use crate::{fixture, measures};

fn study(rounds: u32) -> StudyResult {
    fixture::closed_loop(&[sample::arm("baseline"), sample::arm("lua")], rounds)
}

#[test]
fn rounds_in_which_an_arm_lost_its_slices_do_not_count() {
    let mut result = study(6);
    let usable = |result: &StudyResult, other| {
        result.usable_rounds(Contrast { arm: "lua", other }, CostMeasure::MaxRate, Some("full"))
    };
    assert_eq!((usable(&result, None), usable(&result, Some("baseline"))), (6, 6));
    result.rounds.iter_mut().take(2).for_each(|round| fixture::lose(round, "lua"));
    assert_eq!((usable(&result, None), usable(&result, Some("baseline"))), (4, 4));
    assert_eq!(
        result.usable_rounds(Contrast { arm: "baseline", other: None }, CostMeasure::MaxRate, Some("full")),
        6,
        "the other arm lost none"
    );
    result.rounds.clear();
    assert_eq!(usable(&result, None), result.plan.rounds_completed);
}

#[test]
fn several_sittings_as_one_have_the_rounds_of_the_shortest_and_not_their_sum() {
    let mut result = study(6);
    result.rounds.clear();
    result.plan.rounds_completed = 20;
    result.sittings = [12, 3, 5].map(sample::sitting).into();
    assert_eq!(result.usable_rounds(Contrast { arm: "lua", other: None }, CostMeasure::MaxRate, None), 3);
}

/// The columns of samples are those of the measures, and count in the same slices.
#[test]
fn each_cost_is_counted_in_the_slices_of_its_measure() {
    let of_cost = [
        (CostMeasure::CpuUs, &measures::CPU),
        (CostMeasure::CpuShare, &measures::CPU),
        (CostMeasure::ResponseP99Us, &measures::RESPONSE_P50),
        (CostMeasure::MaxRate, &measures::RATE),
    ];
    for (cost, measure) in of_cost {
        let mut result = study(4);
        for sample in result.rounds.iter_mut().flat_map(|round| &mut round.samples) {
            sample.values = [(measure.id.to_string(), vec![Some(1.0)])].into();
        }
        let usable = |result: &StudyResult| {
            result.usable_rounds(Contrast { arm: "lua", other: Some("baseline") }, cost, Some("full"))
        };
        assert_eq!(usable(&result), 4, "{cost:?}");
        for (round, by) in result.rounds.iter_mut().zip([Disturbance::RunDelay, Disturbance::Stalled]) {
            for sample in &mut round.samples {
                sample.set_aside = vec![vec![by]];
            }
        }
        let by = [Disturbance::RunDelay, Disturbance::Stalled];
        let lost = by.into_iter().filter(|by| measure.is_invalidated_by(&[*by])).count() as u32;
        assert_eq!(usable(&result), 4 - lost, "{cost:?}");
    }
}
