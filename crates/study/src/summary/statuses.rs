//! Answers by status, where a load expects several: those that a limit lets pass, and those that it refuses.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{ResponseCost, StatusResult};
use hoptax_stats::{mean_over_rounds, median, quantile_supported};

use crate::plan::{Arm, CONFIDENCE, Load};
use crate::record::{RoundRecord, SliceRecord, Times};

/// The status of what a limit lets pass.
const ADMITTED: u16 = 200;

/// The slices of an arm under a load that count, each with its answers by status.
fn slices(
    round: &RoundRecord,
    load: usize,
    arm: usize,
) -> impl Iterator<Item = (&SliceRecord, &BTreeMap<u16, Times>)> {
    let answers =
        round.by_status.iter().filter_map(|(index, times)| Some((round.slices.get(*index)?, times)));
    answers.filter(move |(slice, _)| slice.load == load && slice.arm == arm && !slice.set_aside)
}

/// What is known of each status.
pub(super) fn statuses(rounds: &[RoundRecord], load: usize, arm: usize) -> Vec<StatusResult> {
    let all: BTreeSet<u16> = rounds
        .iter()
        .flat_map(|round| slices(round, load, arm))
        .flat_map(|(_, answers)| answers.keys().copied())
        .collect();
    all.into_iter().map(|status| of_status(rounds, load, arm, status)).collect()
}

fn of_status(rounds: &[RoundRecord], load: usize, arm: usize, status: u16) -> StatusResult {
    let (mut count, mut whole) = (0, 0);
    let (mut rates, mut medians, mut tails) = (Vec::new(), Vec::new(), Vec::new());
    for round in rounds {
        let mut times = hoptax_load::histogram();
        let (mut of_round, mut seconds) = (0, 0.0);
        for (slice, answers) in slices(round, load, arm) {
            if let Some(own) = answers.get(&status) {
                own.add_to(&mut times);
                of_round += own.count();
            }
            whole += answers.values().map(Times::count).sum::<u64>();
            seconds += slice.recorded_s;
        }
        count += of_round;
        if seconds > 0.0 {
            rates.push(of_round as f64 / seconds);
        }
        if !times.is_empty() {
            medians.push(times.value_at_quantile(0.5) as f64 / 1e3);
            tails.push(times.value_at_quantile(0.99) as f64 / 1e3);
        }
    }
    StatusResult {
        status,
        count,
        share: if whole == 0 { 0.0 } else { count as f64 / whole as f64 },
        per_second: mean_over_rounds(&rates, CONFIDENCE),
        response_us: ResponseCost {
            p50: mean_over_rounds(&medians, CONFIDENCE),
            p99: mean_over_rounds(&tails, CONFIDENCE).filter(|_| quantile_supported(count, 0.99)),
        },
    }
}

/// What a limit let pass, over what it should have: what its bucket held when the slice began and what was filled in during it,
/// or as much as was asked for. A slice before which the bucket is not known says nothing: the first of a round, as the warm-up
/// is not in the record.
pub(super) fn admitted_ratio(
    rounds: &[RoundRecord],
    (load, spec): (usize, &Load),
    (index, arm): (usize, &Arm),
) -> Option<hoptax_result::Interval> {
    let limit = arm.limit().filter(|_| spec.expect.len() > 1)?;
    let of_round = |round: &RoundRecord| {
        let held = held(round, index, limit);
        let ratio = |(number, held): (&usize, &f64)| {
            let slice = round.slices.get(*number).filter(|slice| slice.load == load && !slice.set_aside)?;
            let expected = (slice.book.answered as f64).min(held + limit * slice.recorded_s);
            (expected > 0.0).then_some(passed(round, *number)?.0 / expected)
        };
        median(&held.iter().filter_map(ratio).collect::<Vec<f64>>())
    };
    mean_over_rounds(&rounds.iter().filter_map(of_round).collect::<Vec<f64>>(), CONFIDENCE)
}

/// How many answers of a slice passed the limit, and how many it refused.
fn passed(round: &RoundRecord, number: usize) -> Option<(f64, f64)> {
    let answers = round.by_status.get(&number)?;
    let all = answers.values().map(Times::count).sum::<u64>();
    let passed = answers.get(&ADMITTED).map_or(0, Times::count);
    Some((passed as f64, (all - passed) as f64))
}

/// What the bucket of an arm held when each of its slices began, by the number of the slice, where that is known. A bucket holds
/// what is filled in within a second, and is empty when a slice ends in which it refused.
fn held(round: &RoundRecord, arm: usize, limit: f64) -> BTreeMap<usize, f64> {
    let mut held = BTreeMap::new();
    // When the last slice of each copy ended, and what its bucket held then.
    let mut before: BTreeMap<u32, (f64, Option<f64>)> = BTreeMap::new();
    for (number, slice) in round.slices.iter().enumerate().filter(|(_, slice)| slice.arm == arm) {
        let at_start = before.get(&slice.copy).and_then(|&(ended_s, left)| {
            let filled = limit * (slice.began_s - ended_s).max(0.0);
            if filled >= limit { Some(limit) } else { Some((left? + filled).min(limit)) }
        });
        held.extend(at_start.map(|at_start| (number, at_start)));
        let left = match passed(round, number) {
            Some((_, refused)) if refused > 0.0 => Some(0.0),
            Some((passed, _)) => {
                at_start.map(|held| (held + limit * slice.recorded_s - passed).clamp(0.0, limit))
            }
            None => None,
        };
        before.insert(slice.copy, (slice.began_s + slice.wall_s, left));
    }
    held
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use hoptax_functions::Catalogue;
    use hoptax_load::{Distribution, Recording};
    use hoptax_result::Book;

    use super::*;
    use crate::file;
    use crate::plan::Plan;

    const TEXT: &str = "
name: test
arms: [baseline, \"rate-limit/lua{per_second=100}\"]
loads: [{name: offered, loop: open, rate: 500, slice: 1s, expect: [200, 429]}]
";

    fn plan() -> Plan {
        let (file, positions) = file::read("test.yaml", TEXT).unwrap();
        Plan::new(&file, &positions, &Catalogue::load().unwrap()).unwrap()
    }

    /// A round with slices of 1 s of the limit, each by when it began and how many of its 500 requests passed.
    fn round(slices: &[(f64, u64)]) -> RoundRecord {
        let mut record = RoundRecord::default();
        for (block, &(began_s, passed)) in (0..).zip(slices) {
            let book = Book { planned: 500, sent: 500, answered: 500, ..Book::default() };
            let slice = SliceRecord {
                block,
                arm: 1,
                began_s,
                wall_s: 1.0,
                recorded_s: 1.0,
                book,
                ..SliceRecord::default()
            };
            record.add(slice, &Recording::new(), true);
            let of = |count: u64| {
                let mut times = Distribution::new();
                (0..count).for_each(|_| times.record(50_000));
                times
            };
            record.add_statuses(&BTreeMap::from([(200, of(passed)), (429, of(500 - passed))]));
        }
        record
    }

    fn ratio(slices: &[(f64, u64)]) -> Option<f64> {
        let (plan, rounds) = (plan(), [round(slices), round(slices)]);
        admitted_ratio(&rounds, (0, &plan.loads[0]), (1, &plan.arms[1])).map(|ratio| ratio.estimate)
    }

    #[test]
    fn a_bucket_gives_what_it_holds_and_what_is_filled_in() {
        // Full again after two seconds: a hundred at once, and a hundred in the second.
        assert_eq!(ratio(&[(0.0, 7), (3.0, 200)]), Some(1.0));
        assert_eq!(ratio(&[(0.0, 7), (3.0, 250)]), Some(1.25));
        // Half a second after its last slice it is half full.
        assert_eq!(ratio(&[(0.0, 7), (1.5, 150)]), Some(1.0));
    }

    #[test]
    fn a_bucket_that_was_asked_for_no_more_than_was_filled_in_stays_full() {
        // In three slices one after the other: at first it refuses, then a hundred a second pass, then five hundred are asked.
        let (plan, mut record) = (plan(), round(&[(0.0, 7), (3.0, 100), (4.0, 200)]));
        record.by_status.get_mut(&1).unwrap().remove(&429);
        record.slices[1].book.answered = 100;
        let rounds = [record.clone(), record];
        let ratio = admitted_ratio(&rounds, (0, &plan.loads[0]), (1, &plan.arms[1])).unwrap();
        assert!((ratio.estimate - 1.0).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn the_first_slice_of_a_round_says_nothing() {
        assert_eq!(ratio(&[(0.0, 7)]), None);
    }

    #[test]
    fn answers_are_told_apart() {
        let rounds = [round(&[(0.0, 100), (3.0, 200)]), round(&[(0.0, 100), (3.0, 200)])];
        let statuses = statuses(&rounds, 0, 1);
        let [passed, refused] = statuses.as_slice() else { panic!("{statuses:?}") };
        assert_eq!((passed.status, passed.count, refused.status, refused.count), (200, 600, 429, 1400));
        assert!((passed.share - 0.3).abs() < 1e-9);
        assert!((passed.per_second.unwrap().estimate - 150.0).abs() < 1e-9);
    }
}
