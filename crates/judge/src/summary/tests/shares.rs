//! Costs as shares of the level that they are differences from.

use hoptax_result::{ArmRound, CostMeasure, CostShares, Opened, RoundMeasure, sample};

use super::*;

const MEMORY: CostMeasure = CostMeasure::OfRounds(RoundMeasure::MEMORY);

/// Evidence of an arm whose rate and memory are nine tenths of those of the baseline, which double from round to round.
fn study() -> StudyResult {
    let lua = ArmResult { compared_with: Some("baseline".to_owned()), ..sample::arm("lua") };
    let mut result = fixture::closed_loop(&[sample::arm("baseline"), lua], 3);
    for (round, level) in result.rounds.iter_mut().zip([1_000.0, 2_000.0, 4_000.0]) {
        for (sample, of) in round.samples.iter_mut().zip([1.0, 0.9]) {
            sample.values.insert(measures::RATE.id.to_string(), vec![Some(level * of)]);
        }
        for (arm, of) in [("baseline", 1.0), ("lua", 0.9)] {
            let memory_bytes = vec![(1e5 * level * of) as u64];
            let opened = Some(Opened { connections: 50, before_bytes: 0, after_bytes: 400_000 });
            round.arms.insert(arm.to_owned(), ArmRound { memory_bytes, opened, ..ArmRound::default() });
        }
    }
    result
}

#[test]
fn what_varies_from_round_to_round_in_both_arms_is_not_in_a_share() {
    let mut result = study();
    fill(&mut result);
    let (baseline, lua) = (result.arm("baseline").unwrap(), result.arm("lua").unwrap());
    for measure in [CostMeasure::MaxRate, MEMORY] {
        let (cost, share) = (measure.interval(&lua.cost).unwrap(), lua.cost.share(measure).unwrap());
        assert!((share.estimate + 0.1).abs() < 1e-6 && share.half_width() < 1e-4, "{measure:?}: {share:?}");
        let level = baseline.level(measure).unwrap();
        assert!(cost.half_width() / level.estimate > 0.1, "{measure:?}: {cost:?} of {level:?}");
    }
    // A page of each of the two numbers.
    let of_memory = lua.cost.share(MEMORY).unwrap();
    assert!(of_memory.half_width() > 4_096.0 / 4e8, "{of_memory:?}");
    let rate = lua.cost.share(CostMeasure::MaxRate);
    assert_eq!(lua.loads[0].cost.share(CostMeasure::MaxRate), rate);
}

#[test]
fn a_level_that_is_not_above_zero_in_every_round_leaves_a_cost_without_a_share() {
    const GROWTH: CostMeasure = CostMeasure::OfRounds(RoundMeasure::MEMORY_PER_CONNECTION);
    let known = |mut result: StudyResult| {
        fill(&mut result);
        let cost = &result.arm("lua").unwrap().cost;
        (GROWTH.interval(cost).is_some(), cost.share(GROWTH).is_some())
    };
    assert_eq!(known(study()), (true, true));
    let mut shrinks = study();
    let baseline = shrinks.rounds[1].arms.get_mut("baseline").unwrap();
    baseline.opened = Some(Opened { connections: 50, before_bytes: 500_000, after_bytes: 400_000 });
    assert_eq!(known(shrinks), (true, false));
}

#[test]
fn every_cost_has_a_share_of_the_level_of_its_reference() {
    let lua = index("lua");
    let mut rounds = rounds(lua, [4.0, 5.0, 6.0]);
    for slice in rounds.iter_mut().flat_map(|round| &mut round.slices).filter(|slice| slice.arm == lua) {
        slice.response_p50_us = Some(150.0);
    }
    let result = summarised(&rounds);
    let cost = &result.arms[lua].cost;
    let share = |measure: CostMeasure| cost.share(measure).unwrap().estimate;
    assert!((share(CostMeasure::ResponseP50Us) - 0.5).abs() < 1e-9, "{cost:?}");
    assert!(share(CostMeasure::ResponseP90Us).abs() < 1e-9 && share(CostMeasure::MaxRate).abs() < 1e-9);
    for arm in &result.arms {
        for cost in arm.loads.iter().map(|load| &load.cost).chain([&arm.cost]) {
            for measure in CostShares::measures() {
                let is_known = measure.interval(cost).is_some();
                assert_eq!(cost.share(measure).is_some(), is_known, "{measure:?} of {}", arm.id);
            }
        }
    }
}
