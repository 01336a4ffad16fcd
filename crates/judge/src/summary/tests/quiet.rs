//! Quiet slices: chosen by waits alone, and for both sides of a comparison.

use hoptax_load::Recording;
use hoptax_plan::record::{RoundRecord, SliceRecord};
use hoptax_result::{ArmLoad, Book, CostMeasure, Environment, StudyResult};

use super::super::{Conditions, summarise};
use crate::fixture;

const TEXT: &str = "
name: test
rounds: 5
arms: [direct, baseline, same, lua, ext-authz/http]
loads:
  - {name: in-use, loop: open, rate: 20000, blocks: 8, slice: 100ms}
";
const ROUNDS: u32 = 5;
const RESPONSES: u64 = 1_000;
/// The limit of the rule, as a share.
const LIMIT: f64 = 0.01;
/// Kind of a slice: whether the generator or the proxy waited in it, and by how much its slowest responses are slower, us.
type Kind = (bool, u64);

/// A study of slices of these kinds, by arm, round and block. The slowest twentieth of the responses of `lua` take 30 us more.
fn study(kind: impl Fn(&str, u32, u32) -> Kind) -> StudyResult {
    let plan = fixture::plan(TEXT);
    let record = |round: u32| {
        let mut record = RoundRecord { round, ..RoundRecord::default() };
        for block in 0..plan.loads[0].blocks {
            for (number, arm) in plan.arms.iter().enumerate() {
                let (waited, slower_us) = kind(&arm.id, round, block);
                let book =
                    Book { planned: RESPONSES, sent: RESPONSES, answered: RESPONSES, ..Book::default() };
                // Alternately the generator and the proxy.
                let [generator, proxy] = match (waited, block % 2) {
                    (false, _) => [900_000, 900_000],
                    (true, 0) => [1_100_000, 0],
                    (true, _) => [1, 1_100_000],
                };
                let slice = SliceRecord {
                    round,
                    block,
                    arm: number,
                    wall_s: 0.1,
                    recorded_s: 0.1,
                    answered: RESPONSES,
                    book,
                    generator_run_delay_ns: generator,
                    proxy_run_delay_ns: proxy,
                    response_p50_us: Some(100.0),
                    ..SliceRecord::default()
                };
                let mut recording = Recording::default();
                let own_us = if arm.id == "lua" { 30 } else { 0 };
                for index in 0..RESPONSES {
                    let tail_us = if index % 20 == 0 { 100 + own_us + slower_us } else { 0 };
                    recording.response.record(100_000 + index + 1_000 * tail_us);
                }
                record.add(slice, &recording, true);
            }
        }
        record
    };
    let records: Vec<RoundRecord> = (0..ROUNDS).map(record).collect();
    let environment = Environment { proxy_cpus: vec![1], generator_cpus: vec![0], ..Environment::default() };
    let conditions = Conditions { environment, quiet_wait_share: Some(LIMIT), ..Conditions::default() };
    summarise(&plan, &records, conditions)
}

fn load<'r>(result: &'r StudyResult, arm: &str) -> &'r ArmLoad {
    &result.arm(arm).unwrap().loads[0]
}

/// Compares at the resolution of histograms.
fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.5
}

#[test]
fn stalls_that_waits_mark_are_in_p99_and_not_in_quiet_p99() {
    // Every fourth slice of all arms has a stall of 5 ms.
    let result = study(|_, _, block| if block % 4 == 0 { (true, 5_000) } else { (false, 0) });
    let lua = load(&result, "lua");
    assert_eq!(lua.quiet_share, Some(0.75));
    let (cost, quiet) = (lua.cost.response_us.p99.unwrap(), lua.cost.response_us.quiet_p99.unwrap());
    assert!(near(quiet.estimate, 30.0) && quiet.half_width() < 0.5, "{quiet:?}");
    let (all, quiet) = (lua.response_us.p99.unwrap(), lua.response_us.quiet_p99.unwrap());
    assert!(quiet.estimate < 300.0 && all.estimate > quiet.estimate, "{all:?} {quiet:?} {cost:?}");
    assert_eq!(result.plan.quiet_rule.map(|rule| rule.max_wait_share), Some(LIMIT));
}

/// A rule that selects by response times keeps none of the slow ones, or leaves out some of the fast ones.
#[test]
fn slices_are_chosen_by_waits_and_not_by_response_times() {
    // Slow slices in which nothing waited, and fast slices in which generator or proxy waited.
    let result = study(|_, _, block| match block {
        0 | 1 => (true, 0),
        2 | 3 => (false, 5_000),
        _ => (false, 0),
    });
    for arm in ["baseline", "same", "lua"] {
        let load = load(&result, arm);
        assert_eq!(load.quiet_share, Some(0.75), "{arm}");
        let quiet_p99 = load.response_us.quiet_p99.unwrap();
        // Interpolated between 0.2 ms and 5.2 ms, since no response time lies between these.
        assert!(quiet_p99.estimate > 1_000.0, "{arm}: {quiet_p99:?}");
    }
    // The same waits with other response times choose the same slices.
    let quick = study(|_, _, block| (block < 2, 0));
    let slices = |result: &StudyResult| -> Vec<u32> {
        let samples = result.rounds.iter().flat_map(|round| &round.samples);
        samples.filter_map(|sample| Some(sample.quiet.as_ref()?.slices)).collect()
    };
    assert_eq!(slices(&result), slices(&quick));
    assert_eq!(slices(&quick).len(), 3 * ROUNDS as usize);
}

/// A rule that is applied to one side only adds the stalls of the other to the difference.
#[test]
fn both_sides_of_a_comparison_are_chosen_by_the_same_rule() {
    for stalled in ["lua", "baseline"] {
        let result =
            study(|arm, _, block| if arm == stalled && block % 4 == 0 { (true, 5_000) } else { (false, 0) });
        let cost = load(&result, "lua").cost.response_us.quiet_p99.unwrap();
        assert!(near(cost.estimate, 30.0), "{stalled}: {cost:?}");
        for arm in ["lua", "baseline"] {
            let expected = if arm == stalled { 0.75 } else { 1.0 };
            assert_eq!(load(&result, arm).quiet_share, Some(expected), "{arm}");
        }
    }
}

#[test]
fn an_arm_with_a_service_beside_the_generator_has_no_quiet_p99() {
    let result = study(|_, _, _| (false, 0));
    let asking = load(&result, "ext-authz/http");
    assert!(asking.response_us.p99.is_some() && asking.cost.response_us.p99.is_some());
    assert_eq!((asking.quiet_share, asking.cost_quiet_p99_half_width_us), (None, None));
    assert_eq!((asking.response_us.quiet_p99, asking.cost.response_us.quiet_p99), (None, None));
    assert!(asking.bounds.cost(CostMeasure::ResponseQuietP99Us).is_none());
    assert!(load(&result, "baseline").response_us.quiet_p99.is_some());
}

#[test]
fn an_arm_without_a_quiet_slice_has_no_quiet_p99_and_says_so() {
    let result = study(|arm, _, _| (arm == "lua", 0));
    let lua = load(&result, "lua");
    assert_eq!((lua.quiet_share, lua.response_us.quiet_p99), (Some(0.0), None));
    assert!(lua.cost.response_us.quiet_p99.is_none() && lua.cost.response_us.p99.is_some());
}

/// The interval takes rounds with equal weights, so a round of many responses does not make up for others of few.
#[test]
fn too_few_effective_responses_in_quiet_slices_have_no_quiet_p99() {
    let result = study(|_, round, block| (round < 4 && block > 0, 0));
    let lua = load(&result, "lua");
    // 4,000 in four rounds and 8,000 in one: 25 / (4 / 1,000 + 1 / 8,000).
    assert_eq!(
        (lua.responses, lua.quiet_share, lua.quiet_effective_responses),
        (40_000, Some(0.3), Some(6_060))
    );
    assert!(lua.response_us.quiet_p99.is_none() && lua.response_us.p99.is_some());
    let even = study(|_, _, block| (block > 2, 0));
    let lua = load(&even, "lua");
    assert_eq!((lua.quiet_share, lua.quiet_effective_responses), (Some(0.375), Some(15_000)));
    assert!(lua.response_us.quiet_p99.is_some());
}

#[test]
fn the_quiet_p99_is_computed_from_the_evidence_of_the_result_alone() {
    let result = study(|_, round, block| if (round + block) % 4 == 0 { (true, 5_000) } else { (false, 0) });
    let mut again = result.clone();
    again.arms.iter_mut().for_each(|arm| arm.loads.clear());
    super::super::fill(&mut again);
    assert_eq!(again.arms, result.arms);
}
