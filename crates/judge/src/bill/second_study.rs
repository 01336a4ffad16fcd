//! The second study of a bill whose parts do not add up: it confirms or refutes the first, and measures pairs of parts that may interact.
//!
//! **Why a second study.** Which parts cost most is known after the first study only, and measuring all pairs of all parts from the start
//! would multiply its length. A pair that was chosen by the numbers of one study must not be judged by the same numbers either, because a
//! choice by size favours large errors. The second study measures each pair and all parts anew.
//!
//! **Why all parts again.** If parts add up, the interval of their sum excludes zero by chance in up to one study of twenty. The second
//! study measures all parts one by one and together again. The decision to run it does not depend on its numbers, so it is an independent
//! check of the first study.
//!
//! **Why the most expensive parts.** If two parts make each other more expensive, removing either one saves the extra cost, so both costs
//! contain it. If two parts share work, neither cost contains the shared work. Parts that share much work may then cost little one by one,
//! so their pair can be missed. The bill therefore states how much of the interaction the measured pairs explain.

use std::collections::BTreeMap;

use hoptax_result::{Activity, BillResult, BilledPair, BilledSecondStudy, BilledSum, Decision, StudyResult};
use hoptax_stats::Weighted;

use super::sum;
use crate::summary::sum_of_cpu_costs;

/// Number of parts whose pairs are measured: six pairs, so that the second study is not much longer than the first.
const MOST_PARTS: usize = 4;

/// A pair to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Names of the two parts, each with its kind.
    pub parts: [String; 2],
    /// The arms without one of them.
    pub arms: [String; 2],
    /// The arm without both, or why there is none.
    pub both: Result<String, String>,
}

/// Returns true if the sum of a bill must be measured again: its parts interact, or may interact by more than the margin.
pub fn is_in_doubt(bill: &BillResult) -> bool {
    bill.sum.as_ref().is_some_and(|sum| match sum.decision {
        Decision::Equivalent => false,
        Decision::Different => true,
        Decision::Undecided => sum.interaction_share.estimate.abs() > BilledSum::MARGIN_SHARE,
    })
}

/// The arms without one part whose pairs must be measured. None with fewer than three parts, because the arm without all parts already
/// measures the only pair.
pub fn suspects(bill: &BillResult) -> Vec<String> {
    let measured = || bill.parts.iter().filter(|part| part.cost.cpu_us_per_request.is_some());
    let is_idle = |activity: &Activity| matches!(activity, Activity::NotExercised { .. });
    // The bill lists parts in the order of their costs. Parts that did nothing hardly share work.
    let active = measured().filter(|part| !is_idle(&part.activity));
    let idle = measured().filter(|part| is_idle(&part.activity));
    let arms: Vec<String> = active.chain(idle).filter_map(|part| part.arm.clone()).collect();
    if arms.len() < 3 { Vec::new() } else { arms.into_iter().take(MOST_PARTS).collect() }
}

/// Returns the result of the second study. It has the arms without one of `parts`, the arm without all of them if that is
/// [`BillResult::ALL_OFF`], and the arms that the pairs name, each compared with the arm [`BillResult::WHOLE`].
///
/// **Method.** Each pair is a sum of two parts, computed like the sum of all parts in a bill. The sum of the interactions of all pairs is
/// [`sum_of_cpu_costs`] with every arm once, weighted by the number of pairs that it is in.
pub fn second_study(result: &StudyResult, parts: &[&str], pairs: &[Pair]) -> BilledSecondStudy {
    let billed = pairs.iter().map(|pair| BilledPair {
        parts: pair.parts.clone(),
        sum: pair
            .both
            .as_ref()
            .ok()
            .and_then(|both| sum(result, &pair.arms.each_ref().map(String::as_str), both)),
        not_measured: pair.both.as_ref().err().cloned(),
    });
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for pair in pairs {
        // The list of pairs states why it was not measured.
        let Ok(both) = &pair.both else { continue };
        for (arm, weight) in [(&pair.arms[0], -1.0), (&pair.arms[1], -1.0), (both, 1.0)] {
            *weights.entry(arm).or_default() += weight;
        }
    }
    let terms: Vec<Weighted<&str>> =
        weights.into_iter().map(|(arm, weight)| Weighted::new(weight, arm)).collect();
    BilledSecondStudy {
        verdict: result.verdict,
        rounds: result.plan.rounds_completed,
        sum: sum(result, parts, BillResult::ALL_OFF),
        pairs: billed.collect(),
        pairs_us: sum_of_cpu_costs(result, &terms),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TEXT, bill_of, estimate, is_near, study_of};
    use super::*;

    /// Three parts. `lua` and `cors` share 10 us of work, which remains if only one of them is removed.
    const PAIRS: &str = "
  - {name: no-rbac, hops: [{functions: [lua, cors]}], compared_with: whole}
  - {name: pair-1, hops: [{functions: [rbac]}], compared_with: whole}
  - {name: pair-2, hops: [{functions: [cors]}], compared_with: whole}
loads:";

    fn cpu_us(arm: &str) -> f64 {
        match arm {
            "baseline" => 50.0,
            "no-lua" => 80.0,
            "no-cors" => 95.0,
            "no-rbac" => 92.0,
            "pair-1" => 65.0,
            "pair-2" => 72.0,
            "all-off" => 57.0,
            _ => 100.0,
        }
    }

    /// The study of a bill of three parts, with pairs of them.
    fn study_with_pairs(cpu_us: impl Fn(&str) -> f64) -> StudyResult {
        let of_two = "all-off, hops: [{functions: [rbac]}]";
        let text = TEXT
            .replace("\nloads:", PAIRS)
            .replace(of_two, "all-off, hops: [{functions: [header-mutation]}]");
        study_of(&text, cpu_us)
    }

    fn pair(parts: [&str; 2], both: Result<&str, &str>) -> Pair {
        Pair {
            parts: parts.map(str::to_owned),
            arms: parts.map(|part| format!("no-{part}")),
            both: both.map(str::to_owned).map_err(str::to_owned),
        }
    }

    #[test]
    fn the_pair_that_interacts_is_told_from_one_that_does_not() {
        let study = study_with_pairs(cpu_us);
        let found = second_study(
            &study,
            &["no-lua", "no-cors", "no-rbac"],
            &[
                pair(["lua", "cors"], Ok("pair-1")),
                pair(["lua", "rbac"], Ok("pair-2")),
                pair(["cors", "rbac"], Err("it answers otherwise")),
            ],
        );
        let [shared, apart, unmeasured] = found.pairs.as_slice() else { panic!("{found:?}") };
        let shared_sum = shared.sum.unwrap();
        assert!(is_near(shared_sum.interaction_us.estimate, -10.0), "{shared_sum:?}");
        assert_eq!(shared_sum.decision, Decision::Different);
        assert!(is_near(apart.sum.unwrap().interaction_us.estimate, 0.0), "{apart:?}");
        assert_eq!(apart.sum.unwrap().decision, Decision::Equivalent);
        assert_eq!(
            (unmeasured.sum, unmeasured.not_measured.as_deref()),
            (None, Some("it answers otherwise"))
        );
        assert!(is_near(estimate(found.pairs_us), -10.0), "{found:?}");
        // 20 + 5 + 8 one by one, 43 together.
        let all = found.sum.unwrap();
        assert!(is_near(all.parts_us.estimate, 33.0) && is_near(all.together_us.estimate, 43.0), "{all:?}");
        assert_eq!(all.decision, Decision::Different);
    }

    #[test]
    fn two_parts_are_measured_again_without_further_pairs() {
        // 30 and 10 one by one, 50 together.
        let study = study_of(TEXT, |arm| match arm {
            "no-lua" => 70.0,
            "no-cors" => 90.0,
            "all-off" | "baseline" => 50.0,
            _ => 100.0,
        });
        let found = second_study(&study, &["no-lua", "no-cors"], &[]);
        assert_eq!((found.pairs.len(), found.pairs_us), (0, None));
        let sum = found.sum.unwrap();
        assert!(is_near(sum.parts_us.estimate, 40.0) && is_near(sum.together_us.estimate, 50.0), "{sum:?}");
        assert_eq!(sum.decision, Decision::Different);
    }

    #[test]
    fn doubtful_sums_are_measured_again_and_pairs_need_three_parts() {
        let three = [("lua", Some("no-lua")), ("cors", Some("no-cors")), ("rbac", Some("no-rbac"))];
        let study = study_with_pairs(cpu_us);
        let bill = bill_of(&study, &three);
        assert!(is_in_doubt(&bill));
        assert_eq!(suspects(&bill), ["no-lua", "no-rbac", "no-cors"]);
        let of_two = bill_of(&study, &three[..2]);
        assert_eq!(suspects(&of_two), Vec::<String>::new(), "everything off is the pair");
        assert!(is_in_doubt(&of_two), "it is measured again nevertheless");
        let adds_up = study_with_pairs(|arm| match arm {
            "all-off" => 67.0,
            other => cpu_us(other),
        });
        let mut bill = bill_of(&adds_up, &three);
        assert!(!is_in_doubt(&bill));
        let sum = bill.sum.as_mut().unwrap();
        sum.decision = Decision::Undecided;
        assert!(!is_in_doubt(&bill));
        bill.sum.as_mut().unwrap().interaction_share.estimate = 0.2;
        assert!(is_in_doubt(&bill));
        bill.sum = None;
        assert!(!is_in_doubt(&bill));
    }
}
