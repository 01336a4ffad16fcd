mod own_load;
mod quiet;
mod shares;

use hoptax_load::Recording;
use hoptax_plan::record::SliceRecord;
use hoptax_result::{Book, Capacity, Cost, ResponseCost, Sample};
use hoptax_stats::Weighted;

use super::*;
use crate::fixture;
use crate::measures;
use crate::precision::{self, Precision};

const TEXT: &str = "
name: test
rounds: 3
arms: [direct, baseline, same, lua, rbac, cors]
loads:
  - {name: fixed-rate, loop: open, rate: 1000, blocks: 4, slice: 200ms}
  - {name: saturation, loop: closed, blocks: 2}
";

fn plan() -> Plan {
    fixture::plan(TEXT)
}

/// One slice of an arm with these values of measures, undisturbed.
pub(super) fn one_slice(arm: &str, load: &str, values: &[(&measures::Measure, f64)]) -> Sample {
    Sample {
        arm: arm.to_owned(),
        load: load.to_owned(),
        began_s: vec![0.0],
        block: vec![0],
        copy: vec![0],
        set_aside: vec![Vec::new()],
        slowdown: vec![None],
        values: values.iter().map(|(measure, value)| (measure.id.to_string(), vec![Some(*value)])).collect(),
        ..Sample::default()
    }
}

fn slice(load: usize, block: u32, arm: usize) -> SliceRecord {
    SliceRecord {
        block,
        load,
        arm,
        wall_s: 0.2,
        recorded_s: 0.2,
        book: Book { planned: 4000, sent: 4000, answered: 4000, ..Book::default() },
        proxy_cpu_ns: 184_000_000,
        hops_cpu_ns: vec![184_000_000],
        handover_ns: Some(60.0),
        response_p50_us: Some(100.0),
        answered: 4000,
        ..SliceRecord::default()
    }
}

/// The factor by which the machine is slower in each block, far larger than the cost of a
/// function.
const SLOWER: [f64; 4] = [0.8, 0.8, 1.25, 1.25];

/// Rounds in which arm `arm` spends `extra_us` more per request than the others.
fn rounds(arm: usize, extra_us: [f64; 3]) -> Vec<RoundRecord> {
    extra_us.map(|extra_us| round(&plan(), arm, extra_us)).into()
}

fn round(plan: &Plan, arm: usize, extra_us: f64) -> RoundRecord {
    let mut record = RoundRecord::default();
    for (load, spec) in plan.loads.iter().enumerate() {
        for block in 0..spec.blocks {
            for index in (0..plan.arms.len()).filter(|&index| plan.arms[index].takes_part(spec)) {
                let mut slice = slice(load, block, index);
                if index == arm {
                    slice.proxy_cpu_ns += (extra_us * 4_000_000.0) as u64;
                }
                slice.proxy_cpu_ns = (slice.proxy_cpu_ns as f64 * SLOWER[block as usize]) as u64;
                let mut recording = Recording::default();
                (0..100).for_each(|index| recording.response.record(100_000 + index));
                record.add(slice, &recording, spec.open.is_some());
            }
        }
    }
    record
}

fn summarised(rounds: &[RoundRecord]) -> StudyResult {
    summarise(&plan(), rounds, Conditions::default())
}

/// The same rounds with the baseline's slices repeated as those of another copy.
fn with_a_copy(mut rounds: Vec<RoundRecord>, of_copy: impl Fn(&mut SliceRecord)) -> Vec<RoundRecord> {
    for round in &mut rounds {
        let baseline = |slice: &&SliceRecord| slice.arm == index("baseline") && slice.load == 0;
        let copies: Vec<SliceRecord> = round.slices.iter().filter(baseline).cloned().collect();
        for mut slice in copies {
            of_copy(&mut slice);
            round.add(slice, &Recording::default(), false);
        }
    }
    rounds
}

#[test]
fn costs_are_differences_from_the_mean_of_all_copies() {
    let lua = index("lua");
    let rounds = with_a_copy(rounds(lua, [5.0; 3]), |slice| {
        slice.copy = 1;
        // A process with its own level, 2 us higher.
        slice.proxy_cpu_ns += (8_000_000.0 * SLOWER[slice.block as usize]) as u64;
    });
    let result = summarised(&rounds);
    let cost = result.arms[lua].cost.cpu_us_per_request.unwrap();
    assert!((cost.estimate - 4.0).abs() < 1e-9, "{cost:?}");
}

#[test]
fn the_busy_share_of_a_capacity_is_the_least_of_all_uses_of_connections() {
    let lua = index("lua");
    let of = |rate, closed_busy_share| Capacity { rate, closed_rate: rate, closed_busy_share };
    let judged = |of_uses: [Capacity; 2]| {
        let mut all = rounds(lua, [5.0; 3]);
        for record in &mut all {
            let of_load = |(load, one)| (load, BTreeMap::from([(lua, one)]));
            record.capacities = (0_usize..).zip(of_uses).map(of_load).collect();
        }
        summarised(&all).arms[lua].capacity
    };
    // The connections of the second use limit its closed loop, those of the first do not.
    let kept = of(9_000.0, Some(0.98));
    let limited = Capacity { closed_busy_share: Some(0.5), ..kept };
    assert_eq!(judged([kept, of(700.0, Some(0.5))]), Some(limited));
    assert_eq!(judged([limited, of(700.0, Some(0.98))]), Some(limited));
    assert_eq!(judged([kept, of(700.0, None)]), Some(kept), "one without CPU times hides no other");
    let unknown = of(9_000.0, None);
    assert_eq!(judged([unknown, of(700.0, None)]), Some(unknown));
}

#[test]
fn a_slice_that_was_measured_again_is_not_lost() {
    let disturb = |slice: &mut SliceRecord| slice.steal_ticks = 1;
    let lost = |rounds: &[RoundRecord]| summarised(rounds).arms[index("baseline")].slices.clone();
    let again = with_a_copy(rounds(0, [0.0; 3]), disturb);
    assert_eq!((lost(&again).set_aside, lost(&again).lost), (12, 0));
    let never = with_a_copy(rounds(0, [0.0; 3]), |slice| {
        disturb(slice);
        slice.copy = 1;
    });
    assert_eq!((lost(&never).set_aside, lost(&never).lost), (12, 12));
}

#[test]
fn a_repeated_slice_counts_once_with_its_last_measurement() {
    let lua = index("lua");
    // The repetitions of the baseline are 2 us higher.
    let rounds = with_a_copy(rounds(lua, [5.0; 3]), |slice| {
        slice.proxy_cpu_ns += (8_000_000.0 * SLOWER[slice.block as usize]) as u64;
    });
    let cost = summarised(&rounds).arms[lua].cost.cpu_us_per_request.unwrap();
    assert!((cost.estimate - 3.0).abs() < 1e-9, "{cost:?}");
}

fn index(id: &str) -> usize {
    plan().arms.iter().position(|arm| arm.id == id).unwrap()
}

#[test]
fn a_cost_is_the_paired_difference_at_the_usual_speed_despite_drift() {
    // As measured, the differences are 0.8 and 1.25 times the cost, and their centre is 5.125.
    let lua = index("lua");
    let result = summarised(&rounds(lua, [4.0, 5.0, 6.0]));
    let cost = result.arms[lua].cost.cpu_us_per_request.unwrap();
    assert!((cost.estimate - 5.0).abs() < 1e-9, "{cost:?}");
    // Student's t with two degrees of freedom, times the standard error of 4, 5 and 6.
    assert!((cost.half_width() - 4.302_652_73 / 3.0_f64.sqrt()).abs() < 1e-6, "{cost:?}");
    let same = result.arms[index("same")].cost.cpu_us_per_request.unwrap();
    assert!(same.estimate.abs() < 1e-9 && same.half_width() < 1e-9, "{same:?}");
    let rate = result.arms[lua].max_rate.unwrap();
    assert!((rate.estimate - 20_000.0).abs() < 1e-6);
}

#[test]
fn work_that_a_slice_left_is_part_of_its_cost() {
    let lua = index("lua");
    let mut rounds = rounds(lua, [0.0; 3]);
    for slice in rounds.iter_mut().flat_map(|round| &mut round.slices).filter(|slice| slice.arm == lua) {
        // 5 us for each of 4,000 requests.
        slice.late_hops_cpu_ns = vec![(20_000_000.0 * SLOWER[slice.block as usize]) as u64];
    }
    let cost = summarised(&rounds).arms[lua].cost.cpu_us_per_request.unwrap();
    assert!((cost.estimate - 5.0).abs() < 1e-6, "{cost:?}");
}

#[test]
fn a_slice_that_was_set_aside_is_in_no_number_and_counted() {
    let lua = index("lua");
    let mut rounds = rounds(lua, [1.0; 3]);
    let disturbed = rounds[0].slices.iter_mut().find(|slice| slice.arm == lua && slice.load == 0).unwrap();
    disturbed.proxy_cpu_ns *= 10;
    disturbed.steal_ticks = 1;
    let arm = &summarised(&rounds).arms[lua];
    assert!((arm.cost.cpu_us_per_request.unwrap().estimate - 1.0).abs() < 1e-9);
    assert_eq!((arm.slices.used, arm.slices.set_aside), (17, 1));
}

#[test]
fn the_arm_without_a_proxy_has_no_cpu_time_and_one_round_has_no_interval() {
    let result = summarised(&rounds(index("lua"), [1.0; 3]));
    let direct = &result.arms[index("direct")];
    assert_eq!(
        (direct.cpu_us_per_request, direct.max_rate, direct.cost.cpu_us_per_request),
        (None, None, None)
    );
    assert!(direct.response_us.p50.is_some());
    let one = summarised(&rounds(index("lua"), [1.0; 3])[..1]);
    assert!(one.arms.iter().all(|arm| arm.cpu_us_per_request.is_none() && arm.cost == Cost::default()));
}

#[test]
fn an_empty_study_has_no_numbers() {
    let result = summarised(&[]);
    assert_eq!(result.plan.rounds_completed, 0);
    assert!(
        result
            .arms
            .iter()
            .all(|arm| arm.cost == Cost::default() && arm.response_us == ResponseCost::default())
    );
}

#[test]
fn an_arm_without_responses_has_no_numbers() {
    let lua = index("lua");
    let mut rounds = rounds(lua, [1.0; 3]);
    for slice in rounds.iter_mut().flat_map(|round| &mut round.slices).filter(|slice| slice.arm == lua) {
        slice.book = Book { planned: 10, sent: 10, failed: 10, ..Book::default() };
        slice.answered = 0;
        slice.response_p50_us = None;
    }
    for round in &mut rounds {
        round.responses.clear();
    }
    let result = summarised(&rounds);
    assert_eq!(result.arms[lua].cost, Cost::default());
    assert_eq!(result.arms[lua].book.failed, 10 * 18);
    assert!(result.arms[index("same")].cost.cpu_us_per_request.is_some());
}

#[test]
fn drift_compares_the_last_third_of_the_rounds_with_the_first() {
    let mut rounds = rounds(index("lua"), [0.0; 3]);
    for slice in rounds[2].slices.iter_mut().filter(|slice| slice.load == 0) {
        slice.proxy_cpu_ns = slice.proxy_cpu_ns * 11 / 10;
    }
    let drift = summarised(&rounds).host.drift_share.unwrap();
    assert!((drift - 0.1).abs() < 1e-6, "{drift}");
}

#[test]
fn every_number_can_be_recomputed_from_the_result_alone() {
    let result = summarised(&rounds(index("lua"), [4.0, 5.0, 6.5]));
    let text = serde_json::to_string(&result).unwrap();
    let mut read: StudyResult = serde_json::from_str(&text).unwrap();
    let mut taken = 0;
    read.for_each_number(&mut |_, number| {
        taken += u32::from(number.is_some());
        number.clear();
    });
    assert!(taken > 20, "{taken}");
    assert_ne!(read, result);
    fill(&mut read);
    assert_eq!(read, result);
}

#[test]
fn only_cpu_time_counts_if_the_proxy_waited_for_its_processor() {
    let lua = index("lua");
    let mut rounds = rounds(lua, [1.0; 3]);
    for slice in rounds.iter_mut().flat_map(|round| &mut round.slices) {
        slice.proxy_run_delay_ns = 40_000_000;
    }
    let result = summarised(&rounds);
    let arm = &result.arms[lua];
    assert!((arm.cost.cpu_us_per_request.unwrap().estimate - 1.0).abs() < 1e-9);
    assert_eq!((arm.max_rate, arm.cost.max_rate), (None, None));
    assert_eq!((arm.slices.used, arm.slices.lost, arm.slices.delayed), (0, 0, 18));
}

#[test]
fn slices_set_aside_do_not_count_and_are_kept() {
    let mut rounds = rounds(0, [0.0; 3]);
    let disturbed = rounds[0].slices.iter_mut().find(|slice| slice.load == 1).unwrap();
    disturbed.steal_ticks = 1;
    disturbed.book = Book { planned: 4000, sent: 4000, failed: 4000, ..Book::default() };
    disturbed.generator_cpu_ns = 200_000_000;
    let arm = disturbed.arm;
    let result = summarised(&rounds);
    assert_eq!(result.arms[arm].loads.last().unwrap().book.failed, 0);
    assert_eq!(result.arms[arm].book.failed, 4000, "the whole book has all of it");
    assert!(result.generator[1].core_share.abs() < 1e-9, "{:?}", result.generator);
}

/// The slices of the baseline under the fixed rate, each measured twice more, with responses and failures.
fn with_repeats(mut rounds: Vec<RoundRecord>) -> Vec<RoundRecord> {
    for round in &mut rounds {
        let of_baseline = |slice: &&SliceRecord| slice.arm == index("baseline") && slice.load == 0;
        let slices: Vec<SliceRecord> = round.slices.iter().filter(of_baseline).cloned().collect();
        for (ns, status, answered, failed) in [(5_000_000, 429, 700, 300), (900_000, 200, 290, 10)] {
            for slice in &slices {
                let sent = answered + failed;
                let book = Book { planned: sent, sent, answered, failed, ..Book::default() };
                let mut recording = Recording::default();
                let mut times = hoptax_load::Distribution::default();
                for _ in 0..answered {
                    recording.response.record(ns);
                    times.record(ns);
                }
                recording.failures.insert(hoptax_load::Failure::Reset, failed);
                round.add(SliceRecord { book, ..slice.clone() }, &recording, true);
                round.add_statuses(&[(status, times)].into());
            }
        }
    }
    rounds
}

#[test]
fn of_a_slice_that_was_repeated_one_measurement_counts_in_tails_statuses_and_failures() {
    let result = summarised(&with_repeats(rounds(0, [0.0; 3])));
    let arm = &result.arms[index("baseline")];
    let load = arm.loads.iter().find(|load| load.load == "fixed-rate").unwrap();
    // Four blocks in each of three rounds.
    assert_eq!((load.book.sent, load.book.failed), (12 * 300, 12 * 10));
    assert_eq!(load.failures, [("reset".to_owned(), 12 * 10)].into());
    let p90_us = load.response_us.p90.unwrap().estimate;
    assert!((p90_us - 900.0).abs() < 1.0, "{p90_us}");
    for sample in result.rounds.iter().flat_map(|round| &round.samples) {
        if (sample.arm.as_str(), sample.load.as_str()) == ("baseline", "fixed-rate") {
            let counts = histogram::counts(sample.responses.as_ref());
            assert_eq!(counts.iter().map(|time| time.count).sum::<u64>(), 4 * 290);
            assert_eq!(sample.statuses.keys().collect::<Vec<_>>(), [&200]);
            assert_eq!(sample.set_aside_book.sent, 4 * (4_000 + 1_000), "what does not count is kept");
        }
    }
}

#[test]
fn a_sequential_study_uses_the_quantile_of_its_looks_and_states_its_confidence() {
    let rounds = rounds(index("lua"), [4.0, 5.0, 7.0]);
    let sequential = Some(SequentialPlan {
        target_share: 0.01,
        of_cost_share: 0.0,
        reached: false,
        looks: vec![3],
        quantile_confidence: hoptax_stats::LOOK_CONFIDENCE,
    });
    let fixed = summarised(&rounds);
    let looked = summarise(&plan(), &rounds, Conditions { sequential, ..Conditions::default() });
    let half_width = |result: &StudyResult| {
        let lua = result.arms.iter().find(|arm| arm.id == "lua").unwrap();
        lua.cost.cpu_us_per_request.unwrap().half_width()
    };
    // R: qt(0.98, 2) / qt(0.975, 2) = 4.848732 / 4.302653.
    let ratio = half_width(&looked) / half_width(&fixed);
    assert!((ratio - 4.848_732 / 4.302_653).abs() < 1e-5, "{ratio}");
    assert!((looked.plan.confidence - 0.95).abs() < 1e-12);
}

#[test]
fn half_widths_are_shares_of_the_arm_compared_with() {
    let of = |extra_us: [f64; 3]| {
        precision::half_widths(&summarised(&rounds(index("lua"), extra_us)), &Precision::default())
    };
    let (small, large) = (of([4.0, 5.0, 7.0]), of([14.0, 15.0, 17.0]));
    // `direct` has no CPU time, and what `same` costs is known; `rbac` and `cors` cost the same in each round.
    assert_eq!(small.len(), 3);
    assert!(small[0] > 0.01 && small[1].max(small[2]) < 1e-9, "{small:?}");
    assert!((small[0] - large[0]).abs() < 0.02 * small[0], "{small:?} {large:?}");
}

#[test]
fn half_widths_are_those_of_the_comparisons_that_a_study_asks_for() {
    let mut result = summarised(&rounds(index("lua"), [4.0, 5.0, 7.0]));
    let lua = result.arms.iter().position(|arm| arm.id == "lua").unwrap();
    let rbac = result.arms.iter_mut().find(|arm| arm.id == "rbac").unwrap();
    rbac.compared_with = Some("lua".to_owned());
    // Not the wide cost of `lua` itself, which is compared with the plain proxy.
    let found = precision::half_widths(&result, &Precision::default());
    assert!(result.arms[lua].cost.cpu_us_per_request.is_some());
    assert!(found.len() == 1 && found[0] < 1e-9, "{found:?}");
}

#[test]
fn an_arm_that_equals_its_reference_besides_the_same_arm_is_a_subject() {
    let mut result = summarised(&rounds(index("lua"), [4.0, 5.0, 7.0]));
    let widths = |result: &StudyResult| precision::half_widths(result, &Precision::default()).len();
    for arm in result.arms.iter_mut().filter(|arm| ["rbac", "cors"].contains(&arm.id.as_str())) {
        arm.compared_with = Some("lua".to_owned());
    }
    assert_eq!(widths(&result), 2);
    // If an arm has a single equal arm, that is the A/A arm, whose cost is known.
    let kind = |result: &mut StudyResult, id: &str| {
        result.arms.iter_mut().find(|arm| arm.id == id).unwrap().kind = hoptax_result::ArmKind::Same;
    };
    kind(&mut result, "rbac");
    assert_eq!(widths(&result), 1);
    kind(&mut result, "cors");
    assert_eq!(widths(&result), 2, "one of the two is a subject");
}

#[test]
fn a_composition_with_a_known_delay_takes_at_least_that_delay() {
    let text = TEXT.replace("rbac, cors", "control/delay, {name: edge, functions: [control/delay, cors]}");
    let plan = fixture::plan(&text);
    let limits =
        |arm: &Arm| known_answer(arm).map(|known| (known.response_p50_low_us, known.response_p50_high_us));
    let of =
        |functions: usize| plan.arms.iter().filter(move |arm| arm.functions.components().len() == functions);
    let alone = of(1).find_map(limits).unwrap();
    assert!(alone.0 > Some(0.0) && alone.1 > alone.0, "{alone:?}");
    assert_eq!(of(2).map(limits).collect::<Vec<_>>(), [Some((alone.0, None))]);
}

#[test]
fn a_sum_of_costs_is_that_of_the_printed_ones_and_absent_without_one_of_them() {
    let mut result = summarised(&rounds(index("lua"), [4.0, 5.0, 7.0]));
    let cost = |id: &str| result.arms[index(id)].cost.cpu_us_per_request.unwrap();
    assert_eq!(sum_of_cpu_costs(&result, &[Weighted::new(1.0, "lua")]), Some(cost("lua")));
    let terms = [Weighted::new(1.0, "lua"), Weighted::new(-2.0, "rbac")];
    let sum = sum_of_cpu_costs(&result, &terms).unwrap();
    assert!((sum.estimate - cost("lua").estimate + 2.0 * cost("rbac").estimate).abs() < 1e-9, "{sum:?}");
    result.arms[index("rbac")].cost.cpu_us_per_request = None;
    assert_eq!(sum_of_cpu_costs(&result, &terms), None, "one of them is withheld");
    assert_eq!(
        sum_of_cpu_costs(&result, &[Weighted::new(1.0, "baseline")]),
        None,
        "it is compared with nothing"
    );
}
