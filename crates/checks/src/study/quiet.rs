//! The quiet p99 must rest on most responses, and on as many of an arm as of the one that it is compared with.
//!
//! An arm that makes somebody wait has fewer quiet slices, and its quiet p99 leaves that waiting out. Few slices have different shares by
//! chance, and equal ones although the arms differ. So a cost is kept only if the slices tell that the arms are about alike: the shares
//! differ by no more than the limit, and a difference of twice the limit is excluded. An arm with such a difference then passes in at most
//! 12 of 100 studies, however few its slices, and one that the machine hits alike loses its cost to chance the less often the more slices it
//! has: [`hoptax_stats::share_difference`]. The finding says if the arms differ, or if the slices are too few to tell.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{
    ArmLoad, ArmResult, Finding, Measure, Measured, Sample, Severity, StudyResult, StudyRound, grouped,
    percent,
};
use hoptax_stats::{ChosenInRound, ChosenSlices, ShareDifference, share_difference, slice_dispersion};

use crate::check::Check;
use crate::thresholds::{self, Limits};

/// Too few responses in quiet slices, or too different a share of them.
pub(super) const QUIET: Check<StudyResult> = Check {
    id: "quiet-slices",
    protects_from: "a tail without the waiting that the arm itself causes",
    source: "own: shares of the responses in slices in which generator and proxies hardly waited for a processor, and the interval of their \
             difference for that number of slices (Agresti and Caffo 2000); simulated coverage",
    judge: |result, limits| {
        let slices = differences(result);
        let of_arm = |arm: &ArmResult| -> Vec<Finding> {
            let other = result.reference_of(arm);
            let judge = |load: &ArmLoad| {
                let share = load.quiet_share?;
                let others = other.and_then(|other| other.under(&load.load)).and_then(|one| one.quiet_share);
                let slices = slices.get(&(arm.id.as_str(), load.load.as_str())).copied();
                let found = few(result, share, limits)
                    .or_else(|| differs(Shares { own: share, others: others?, slices }, limits))?;
                Some(Finding { arm: Some(arm.id.clone()), load: Some(load.load.clone()), ..found })
            };
            arm.loads.iter().filter_map(judge).collect()
        };
        result.arms.iter().flat_map(of_arm).collect()
    },
    withhold: None,
};

/// Differences of the shares of quiet slices, by arm and load. None in results without evidence by round.
fn differences(result: &StudyResult) -> BTreeMap<(&str, &str), ShareDifference> {
    let mut found = BTreeMap::new();
    for load in &result.plan.loads {
        let of_arm = |arm: &ArmResult| {
            let other = arm.compared_with.as_deref()?;
            let rounds = result.rounds.iter();
            Some(rounds.filter_map(|round| in_round(round, &arm.id, other, &load.name)).collect::<Vec<_>>())
        };
        let compared: Vec<(&ArmResult, Vec<ChosenInRound>)> =
            result.arms.iter().filter_map(|arm| Some((arm, of_arm(arm)?))).collect();
        let rounds: Vec<Vec<ChosenInRound>> = compared.iter().map(|(_, rounds)| rounds.clone()).collect();
        let dispersion = slice_dispersion(&rounds);
        let of_load = compared.iter().filter_map(|(arm, rounds)| {
            Some(((arm.id.as_str(), load.name.as_str()), share_difference(rounds, dispersion)?))
        });
        found.extend(of_load);
    }
    found
}

/// The slices of both arms in a round; none if the rule of quiet slices does not apply to both.
fn in_round(round: &StudyRound, arm: &str, other: &str, load: &str) -> Option<ChosenInRound> {
    let slices = |id: &str| {
        let sample = round.samples.iter().find(|sample| sample.arm == id && sample.load == load)?;
        Some(ChosenSlices { chosen: sample.quiet.as_ref()?.slices, all: counting(sample) })
    };
    Some(ChosenInRound { arm: slices(arm)?, other: slices(other)? })
}

/// Number of planned slices with a measurement that counts for response times. Quiet slices are among these.
fn counting(sample: &Sample) -> u32 {
    let slices = sample.block.iter().zip(&sample.copy).zip(&sample.set_aside);
    let counting = slices.filter(|(_, by)| by.is_empty()).map(|(slice, _)| slice);
    counting.collect::<BTreeSet<_>>().len() as u32
}

/// Withholds the quiet p99 of an arm with few responses in quiet slices, and differences from it.
fn few(result: &StudyResult, share: f64, limits: &Limits) -> Option<Finding> {
    let least = limits.value(&thresholds::QUIET_SHARE);
    let wait_share =
        result.plan.quiet_rule.map_or(limits.value(&thresholds::QUIET_WAIT), |rule| rule.max_wait_share);
    let message = format!(
        "{} of its responses are in quiet slices, in which generator and proxies each waited for a processor for at most {} % of \
         the time",
        percent(share, 0),
        (wait_share * 1e4).round() / 100.0
    );
    let advice = "the quiet p99 is only bounded, by quiet slices and all slices together; stop other work on the machine, or lower the rate";
    (share < least).then(|| finding(Measured::percent(share, least), message, advice))
}

/// Shares of the responses of an arm, and of the one that it is compared with, in quiet slices.
struct Shares {
    own: f64,
    others: f64,
    /// Their difference by the numbers of slices; none without evidence by round.
    slices: Option<ShareDifference>,
}

/// Withholds the cost of an arm in quiet p99 unless it has about as many quiet slices as the arm that it is compared with.
fn differs(Shares { own, others, slices }: Shares, limits: &Limits) -> Option<Finding> {
    let most = limits.value(&thresholds::QUIET_DIFFERENCE);
    let difference = (own - others).abs();
    let may_be = slices.map_or(difference, |slices| slices.may_be());
    let measured = if difference > most {
        Measured::percent(difference, most)
    } else if may_be > 2.0 * most {
        Measured::percent(may_be, 2.0 * most)
    } else {
        return None;
    };
    let mut message = format!(
        "{} of its responses are in quiet slices, and {} of those of the arm that it is compared with",
        percent(own, 0),
        percent(others, 0)
    );
    let advice = match slices.map(|slices| slices.may_be_chance()) {
        Some(false) => {
            "the difference is larger than chance explains: the arm changes how long threads wait; its cost in quiet p99 is only bounded, by \
             quiet slices and all slices together"
        }
        Some(true) => {
            message += &format!(
                "; with so few slices, the difference may be {} points, or due to chance",
                grouped(may_be * 100.0, 0)
            );
            "it has too few slices to tell if the arm causes the waits: its cost in quiet p99 is only bounded, by quiet slices and \
             all slices together; add rounds, or blocks of this load"
        }
        None => {
            "either the arm causes the waits, or its few slices differ by chance: its cost in quiet p99 is only bounded, by quiet slices \
             and all slices together; add rounds"
        }
    };
    Some(Finding { costs_alone: true, ..finding(measured, message, advice) })
}

fn finding(measured: Measured, message: String, advice: &str) -> Finding {
    let one = Finding::new("quiet-slices", Severity::Info, measured, message, advice);
    Finding { measures: vec![Measure::ResponseQuietP99], withholds: true, ..one }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, CostMeasure, Disturbance, QuietSlices};

    use super::*;
    use crate::study::tests::{fired, withheld};

    #[test]
    fn an_arm_with_few_quiet_slices_loses_its_quiet_p99_alone_and_one_with_another_share_its_cost() {
        let of =
            |share: f64| move |result: &mut StudyResult| result.arms[2].loads[1].quiet_share = Some(share);
        let quiet = ["+lua fixed-rate ResponseQuietP99", "lua fixed-rate ResponseQuietP99"];
        // Of the responses of the baseline, 80 % are in quiet slices.
        assert_eq!(fired("quiet-slices", of(0.71)).0, None);
        assert_eq!(fired("quiet-slices", of(0.49)).0, Some(Severity::Info));
        assert_eq!(withheld(of(0.49)), quiet);
        for share in [0.69, 0.91] {
            assert_eq!(withheld(of(share)), ["+lua fixed-rate ResponseQuietP99"], "{share}");
        }
    }

    #[test]
    fn a_refused_cost_is_bounded_by_what_all_slices_say_as_well() {
        let bound = |measure, low, high| Bound::new(BoundOf::Cost, measure, low, high).unwrap();
        let left = |of_all: Bound| {
            let (_, result) = fired("quiet-slices", |result| {
                let load = &mut result.arms[2].loads[1];
                load.quiet_share = Some(0.69);
                let quiet = bound(CostMeasure::ResponseQuietP99Us, Some(-10.0), Some(30.0));
                load.bounds.0 = vec![quiet, of_all];
            });
            let found = result.arms[2].loads[1].bounds.cost(CostMeasure::ResponseQuietP99Us).cloned();
            found.map(|found| (found.low, found.high, found.by))
        };
        let of_all = bound(CostMeasure::ResponseP99Us, Some(-200.0), Some(20.0));
        let by = vec!["quiet-slices".to_owned()];
        assert_eq!(left(of_all), Some((Some(-200.0), Some(30.0), by.clone())));
        let open = bound(CostMeasure::ResponseP99Us, Some(-200.0), None);
        assert_eq!(left(open), Some((Some(-200.0), None, by)));
    }

    /// A study of ten rounds with this many slices of each arm in each, and of these so many quiet ones, of baseline and `lua`.
    fn with_slices(result: &mut StudyResult, slices: u32, quiet: [fn(u32) -> u32; 2]) {
        let sample = |arm: &str, quiet: u32| Sample {
            arm: arm.to_owned(),
            load: "fixed-rate".to_owned(),
            block: (0..slices).collect(),
            copy: vec![0; slices as usize],
            set_aside: vec![Vec::new(); slices as usize],
            quiet: Some(QuietSlices { slices: quiet, ..QuietSlices::default() }),
            ..Sample::default()
        };
        let of_round = |round: u32| StudyRound {
            round,
            samples: vec![sample("baseline", quiet[0](round)), sample("lua", quiet[1](round))],
            ..StudyRound::default()
        };
        result.rounds = (0..10).map(of_round).collect();
        for (arm, quiet) in [0, 2].into_iter().zip(quiet) {
            let share = f64::from((0..10).map(quiet).sum::<u32>()) / f64::from(10 * slices);
            result.arms[arm].loads[1].quiet_share = Some(share);
        }
    }

    /// The finding about the cost of `lua`, if there is one.
    fn found(slices: u32, quiet: [fn(u32) -> u32; 2]) -> Option<Finding> {
        let (_, result) = fired("quiet-slices", |result| with_slices(result, slices, quiet));
        let of_lua =
            |finding: &Finding| finding.id == "quiet-slices" && finding.arm.as_deref() == Some("lua");
        result.findings.into_iter().find(of_lua)
    }

    #[test]
    fn many_slices_tell_which_arm_makes_somebody_wait() {
        // 80 % and 79 %, 80 % and 65 % of 200 slices.
        assert_eq!(found(20, [|_| 16, |round| if round < 2 { 15 } else { 16 }]), None);
        let different = found(20, [|_| 16, |_| 13]).unwrap();
        assert!(
            different.advice.starts_with("the difference is larger than chance explains"),
            "{different:?}"
        );
        assert!((different.value - 15.0).abs() < 1e-9 && (different.threshold - 10.0).abs() < 1e-9);
    }

    #[test]
    fn few_slices_neither_tell_that_arms_are_alike_nor_that_they_differ() {
        // 80 % and 80 %, 80 % and 60 % of 10 slices.
        let quiet = |round: u32| u32::from(round < 8);
        let alike = found(1, [quiet, quiet]).unwrap();
        assert!(alike.advice.starts_with("it has too few slices to tell"), "{alike:?}");
        assert!(
            alike.costs_alone && alike.value > 20.0 && (alike.threshold - 20.0).abs() < 1e-9,
            "{alike:?}"
        );
        let apart = found(1, [quiet, |round| u32::from(round < 6)]).unwrap();
        assert!(
            apart.message.contains("points, or due to chance") && (apart.threshold - 10.0).abs() < 1e-9,
            "{apart:?}"
        );
    }

    #[test]
    fn slices_that_vary_from_round_to_round_count_as_fewer() {
        let steady: fn(u32) -> u32 = |_| 10;
        let varying: fn(u32) -> u32 = |round| 20 * (round % 2);
        assert_eq!(found(20, [steady, steady]), None);
        assert_eq!(found(20, [varying, varying]), None, "both vary with the machine");
        let apart = found(20, [steady, varying]).unwrap();
        assert!(apart.advice.starts_with("it has too few slices to tell"), "{apart:?}");
    }

    #[test]
    fn slices_that_were_repeated_or_set_aside_count_once_or_not_at_all() {
        let sample = Sample {
            block: vec![0, 0, 1, 2],
            copy: vec![0; 4],
            set_aside: vec![vec![], vec![], vec![Disturbance::Steal], vec![]],
            ..Sample::default()
        };
        assert_eq!(counting(&sample), 2);
    }
}
