//! Tests of [`StudyResult::usable_rounds`] with the measures of studies, which its crate does not know.

use hoptax_result::{
    Contrast, CostMeasure, Disturbance, Program, SittingRecord, StudyResult, Verdict, sample,
};

use crate::measures;

#[test]
fn rounds_in_which_an_arm_lost_its_slices_do_not_count() {
    let arms = [sample::arm("baseline"), sample::arm("lua")];
    let mut result =
        sample::study_of_rates(&arms, vec![sample::closed_loop("full", 16)], 6, |_, _, _| 1_000.0);
    let usable = |result: &StudyResult, other| {
        result.usable_rounds(Contrast { arm: "lua", other }, CostMeasure::MaxRate, Some("full"))
    };
    assert_eq!((usable(&result, None), usable(&result, Some("baseline"))), (6, 6));
    for round in result.rounds.iter_mut().take(2) {
        let lost = round.samples.iter_mut().filter(|sample| sample.arm == "lua");
        lost.flat_map(|sample| &mut sample.set_aside).for_each(|by| by.push(Disturbance::Steal));
    }
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
    let arms = [sample::arm("baseline"), sample::arm("lua")];
    let mut result =
        sample::study_of_rates(&arms, vec![sample::closed_loop("full", 16)], 6, |_, _, _| 1_000.0);
    result.rounds.clear();
    result.plan.rounds_completed = 20;
    let sitting = |rounds| SittingRecord {
        started_at: String::new(),
        folder: String::new(),
        rounds,
        verdict: Verdict::Sound,
        program: Program::default(),
    };
    result.sittings = [12, 3, 5].map(sitting).into();
    assert_eq!(result.usable_rounds(Contrast { arm: "lua", other: None }, CostMeasure::MaxRate, None), 3);
}

/// The columns of samples are those of the measures, and count in the same slices.
#[test]
fn each_cost_is_counted_in_the_slices_of_its_measure() {
    let arms = [sample::arm("baseline"), sample::arm("lua")];
    let of_cost = [
        (CostMeasure::CpuUs, &measures::CPU),
        (CostMeasure::CpuShare, &measures::CPU),
        (CostMeasure::ResponseP99Us, &measures::RESPONSE_P50),
        (CostMeasure::MaxRate, &measures::RATE),
    ];
    for (cost, measure) in of_cost {
        let mut result =
            sample::study_of_rates(&arms, vec![sample::closed_loop("full", 16)], 4, |_, _, _| 1_000.0);
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
