//! Decides which arms of a study differ from a reference arm, measure by measure.

mod configurations;
mod keys;
mod of_studies;

use hoptax_result::{
    ArmKind, ArmResult, Bound, BoundOf, BoundShare, ComparedMeasure, ComparedSubject, ComparisonBody,
    Contrast, CostMeasure, Decision, StudyResult, SubjectName, share_ends,
};
use hoptax_stats::{DECISIVE, decide, rounds_needed};

use crate::precision::{Basis, half_width_at_looks};
use crate::summary::once::resolution;

pub use configurations::{ArmIn, Read, configuration_differences};
pub use keys::key_differences;
pub use of_studies::{ArmOfStudy, ComparedArm, JointStudy, StudyOfComparison, of_studies};

/// The comparisons with arms that `compared_with` of the study file names, in the order of these arms. None of them is a
/// baseline: the cost of an arm is its difference from the baseline.
pub fn with_named(result: &StudyResult, margin_share: f64) -> Vec<ComparisonBody> {
    let is_compared = |id: &str| result.arms.iter().any(|arm| arm.compared_with.as_deref() == Some(id));
    let named = result.arms.iter().filter(|arm| arm.kind != ArmKind::Baseline && is_compared(&arm.id));
    named.map(|arm| compare(result, &arm.id, margin_share)).collect()
}

/// A measure of an arm compared with the reference, in a judged study. If an identical arm differs by more than chance explains (the
/// finding `same-differs`), a difference in that measure is undecided unless it exceeds the largest difference of identical arms: the setup
/// causes such differences by itself, and more rounds do not remove them.
fn beside_same(result: &StudyResult, one: ComparedMeasure, margin_share: f64) -> ComparedMeasure {
    let of_same = largest_of_same(result, one.measure, margin_share);
    let is_no_larger = of_same.is_some_and(|of_same| one.difference_share.estimate.abs() <= of_same);
    if one.decision == Decision::Different && is_no_larger {
        return ComparedMeasure { decision: Decision::Undecided, ..one };
    }
    one
}

/// The largest difference of an identical arm, as a share of its reference, in a measure in which they differ by more than chance explains.
fn largest_of_same(result: &StudyResult, measure: CostMeasure, margin_share: f64) -> Option<f64> {
    let of_measure = measure.measure();
    let mut findings = result.findings.iter().filter(|finding| finding.id == "same-differs");
    if !findings.any(|finding| finding.measures.contains(&of_measure)) {
        return None;
    }
    let same = result.arms.iter().filter(|arm| arm.kind == ArmKind::Same);
    let share = |arm: &ArmResult| {
        let reference = result.reference_of(arm)?;
        let found = compared(result, reference, arm, measure, margin_share)?;
        Some(found.difference_share.estimate.abs())
    };
    same.filter_map(share).reduce(f64::max)
}

/// Compares all arms of `result` that have the reference `reference` with it. Differences of at most `margin_share` of
/// the reference do not matter. Differences that only bounds hold stay with these, and are not decided about. Subjects are named by their
/// arms.
///
/// **Method.** [`decide`] for the share in each measure. It is formed within rounds, so reference and arm both vary in its interval. A
/// difference no larger than that of identical arms is undecided (`beside_same`).
pub fn compare(result: &StudyResult, reference: &str, margin_share: f64) -> ComparisonBody {
    let of = result.arm(reference);
    let others = result.arms.iter().filter(|arm| arm.compared_with.as_deref() == Some(reference));
    let subject = |arm: &ArmResult| {
        let is_same = arm.kind == ArmKind::Same;
        let measured = |of: &ArmResult, measure: CostMeasure| {
            let one = compared(result, of, arm, measure, margin_share)?;
            Some(if is_same { one } else { beside_same(result, one, margin_share) })
        };
        let all = || CostMeasure::OF_SLICES.into_iter().chain(CostMeasure::of_rounds());
        let measures: Vec<ComparedMeasure> =
            of.map_or_else(Vec::new, |of| all().filter_map(|one| measured(of, one)).collect());
        let is_other = |measure: &CostMeasure| measures.iter().all(|one| one.measure != *measure);
        let bounds: Vec<Bound> = all().filter(is_other).filter_map(|measure| bound(arm, measure)).collect();
        let bound_share = |bound: &Bound| {
            let level = result.ends_of_reference(arm, of?, bound.measure);
            let (low, high) = share_ends((bound.low, bound.high), level)?;
            Some(BoundShare { measure: bound.measure, low, high })
        };
        ComparedSubject {
            subject: SubjectName::of_arm(&arm.id),
            is_same,
            keys: Vec::new(),
            differences: None,
            answer_differences: of.map(|of| answer_differences(of, arm)).unwrap_or_default(),
            measures,
            bound_shares: bounds.iter().filter_map(bound_share).collect(),
            bounds,
        }
    };
    ComparisonBody {
        study: result.name.clone(),
        reference: SubjectName::of_arm(reference),
        margin_share,
        confidence: result.plan.confidence,
        rounds: result.plan.rounds_completed,
        wall_seconds: result.plan.wall_seconds,
        loads: result.plan.loads.clone(),
        subjects: others.map(subject).collect(),
    }
}

/// Returns the differences between the answers of an arm and of the reference; empty if either answer is not known.
pub(crate) fn answer_differences(reference: &ArmResult, arm: &ArmResult) -> Vec<String> {
    let both = reference.answer.as_ref().zip(arm.answer.as_ref());
    both.map(|(reference, answer)| reference.differences(answer)).unwrap_or_default()
}

/// The bounds of a difference that is not compared: those that the evidence leaves, or its interval, if its share of the reference is not
/// known. None if nothing is known about the difference.
fn bound(arm: &ArmResult, measure: CostMeasure) -> Option<Bound> {
    arm.bounds.cost(measure).cloned().or_else(|| {
        let difference = measure.interval(&arm.cost)?;
        Bound::new(BoundOf::Cost, measure, Some(difference.low), Some(difference.high))
    })
}

/// One measure of an arm compared with the reference. None if a number is missing or withheld.
fn compared(
    result: &StudyResult,
    reference: &ArmResult,
    arm: &ArmResult,
    measure: CostMeasure,
    margin_share: f64,
) -> Option<ComparedMeasure> {
    let level = result.level_of_reference(arm, reference, measure)?.estimate;
    if level <= 0.0 {
        return None;
    }
    let difference = measure.interval(&arm.cost)?;
    let difference_share = result.share_of_reference(arm, reference, measure, None)?;
    let contrast = Contrast { arm: &arm.id, other: Some(&reference.id) };
    let rounds = result.usable_rounds(contrast, measure, None);
    let confidence = result.plan.quantile_confidence();
    let freedom = result.degrees_of_freedom(&difference_share, contrast, measure, None);
    let decision = decide(&difference_share, freedom, confidence, margin_share)?;
    let needed = || {
        let resolution = match measure {
            CostMeasure::OfRounds(measure) => resolution(&result.rounds, &arm.id, measure),
            _ => None,
        };
        if resolution.is_some_and(|resolution| resolution / level > DECISIVE * margin_share) {
            return None;
        }
        // A study that measures until it is decided uses intervals with the confidence of looks.
        let basis = Basis { degrees_of_freedom: freedom, rounds };
        let half_width = half_width_at_looks(&difference_share, basis, confidence)?;
        let needed = rounds_needed(half_width, rounds, DECISIVE * margin_share)?;
        Some(rounds_to_complete(result, needed, rounds))
    };
    Some(ComparedMeasure {
        measure,
        reference: level,
        difference,
        difference_share,
        rounds,
        degrees_of_freedom: freedom,
        decision,
        rounds_until_decided: if decision == Decision::Undecided { needed() } else { None },
    })
}

/// Returns the number of rounds that must be completed so that `needed` of them count for a measure, if the same share is lost as so far:
/// of the completed rounds, `counting` count.
pub(crate) fn rounds_to_complete(result: &StudyResult, needed: u32, counting: u32) -> u32 {
    let completed = u64::from(result.plan.rounds_completed.max(counting));
    let rounds = (u64::from(needed) * completed).div_ceil(u64::from(counting.max(1)));
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{
        ArmRound, Cost, CostShare, Finding, HopUse, Interval, Measure, Measured, Opened, RoundMeasure,
        Severity, StudyRound, sample,
    };

    use super::*;
    use crate::fixture;

    /// A result with a baseline of 50 us and 20,000 requests/s, and the given costs of `same` and `lua` as shares.
    fn result(same: Option<Interval>, lua: Option<Interval>) -> StudyResult {
        let mut result = fixture::study();
        for arm in &mut result.arms {
            let share = match arm.id.as_str() {
                "same" => same,
                "lua" => lua,
                _ => None,
            };
            arm.cpu_us_per_request = Some(Interval::around(50.0, 1.0));
            arm.max_rate = Some(Interval::around(20_000.0, 100.0));
            arm.cost.cpu_share = share;
            arm.cost.cpu_us_per_request =
                share.map(|share| Interval::around(50.0 * share.estimate, 50.0 * share.half_width()));
        }
        result
    }

    fn measure(subject: &ComparedSubject, measure: CostMeasure) -> Option<&ComparedMeasure> {
        subject.measures.iter().find(|one| one.measure == measure)
    }

    #[test]
    fn arms_are_judged_by_their_share_of_the_reference() {
        let result = result(Some(Interval::around(0.001, 0.005)), Some(Interval::around(0.15, 0.01)));
        let found = compare(&result, "baseline", 0.02);
        let names: Vec<&str> = found.subjects.iter().map(|subject| subject.subject.arm.as_str()).collect();
        assert_eq!(names, ["same", "lua"]);
        assert!(!found.loads.is_empty() && found.loads == result.plan.loads, "{:?}", found.loads);
        assert!(found.subjects[0].is_same && !found.subjects[1].is_same);
        let [same, lua] = [0, 1].map(|index| measure(&found.subjects[index], CostMeasure::CpuUs).unwrap());
        assert_eq!(same.decision, Decision::Equivalent);
        assert_eq!((lua.decision, lua.rounds_until_decided), (Decision::Different, None));
        assert!((lua.difference.estimate - 7.5).abs() < 1e-9 && (lua.reference - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_wide_interval_is_undecided_and_says_how_many_rounds_it_takes() {
        let found = compare(&result(Some(Interval::around(0.01, 0.04)), None), "baseline", 0.02);
        let same = measure(&found.subjects[0], CostMeasure::CpuUs).unwrap();
        assert_eq!(same.decision, Decision::Undecided);
        let needed = same.rounds_until_decided.unwrap();
        // A quarter of the half-width takes sixteen times as many rounds, or fewer because Student's quantile shrinks.
        assert!((100..=160).contains(&needed), "{needed}");
    }

    #[test]
    fn no_number_of_rounds_decides_what_the_resolution_hides() {
        let memory = RoundMeasure::MEMORY_PER_CONNECTION;
        let needed = |connections: u64| {
            let mut result = result(None, None);
            for arm in &mut result.arms {
                let of_rounds = [(memory, Some(Interval::around(8_000.0, 410.0)))].into_iter().collect();
                arm.hops = vec![HopUse { of_rounds, ..HopUse::default() }];
                arm.cost.of_rounds.set(memory, Some(Interval::around(10.0, 410.0)));
            }
            let opened = Opened { connections, before_bytes: 0, after_bytes: 8_000 * connections };
            let once = ArmRound { opened: Some(opened), ..ArmRound::default() };
            let arms = || result.arms.iter().map(|arm| (arm.id.clone(), once.clone())).collect();
            result.rounds =
                (0..12).map(|round| StudyRound { round, arms: arms(), ..StudyRound::default() }).collect();
            let found = compare(&result, "baseline", 0.02);
            let same = measure(&found.subjects[0], CostMeasure::OfRounds(memory)).unwrap();
            assert_eq!(same.decision, Decision::Undecided);
            same.rounds_until_decided
        };
        assert_eq!(needed(50), None, "five pages are 410 bytes of each of fifty connections");
        assert!(needed(50_000).is_some());
    }

    #[test]
    fn rounds_that_do_not_count_are_made_up_for() {
        let mut result = result(None, None);
        result.plan.rounds_completed = 12;
        assert_eq!(rounds_to_complete(&result, 10, 6), 20, "half of the rounds count");
        assert_eq!(rounds_to_complete(&result, 25, 12), 25);
        assert_eq!(rounds_to_complete(&result, u32::MAX, 1), u32::MAX);
    }

    /// The maximum rate of `lua`, 2,000 less than the 20,000 of the baseline, compared; with the share of its rounds, if any.
    fn rate_of_lua(share: Option<CostShare>) -> ComparedMeasure {
        let mut result = result(None, Some(Interval::around(0.15, 0.01)));
        let cost = &mut fixture::arm(&mut result, "lua").cost;
        cost.max_rate = Some(Interval::around(-2_000.0, 100.0));
        cost.shares = share.into_iter().collect();
        let found = compare(&result, "baseline", 0.02);
        measure(&found.subjects[1], CostMeasure::MaxRate).unwrap().clone()
    }

    #[test]
    fn other_measures_are_decided_about_by_the_shares_of_their_rounds() {
        let share = Interval::around(-0.1, 0.15);
        let of = |share| CostShare { measure: CostMeasure::MaxRate, share };
        let rate = rate_of_lua(Some(of(share)));
        assert_eq!((rate.difference_share, rate.decision), (share, Decision::Undecided));
        assert!((rate.degrees_of_freedom - 9.0).abs() < 1e-12 && rate.rounds_until_decided > Some(100));
        let borrows = rate_of_lua(Some(of(share.with_freedom(12.5))));
        assert!((borrows.degrees_of_freedom - 12.5).abs() < 1e-12, "{borrows:?}");
    }

    #[test]
    fn a_number_of_one_of_three_sittings_is_decided_about_by_the_rounds_of_that_sitting() {
        // The interval of the two tests is 0.68 of the other with two degrees of freedom, 0.81 with nine, 0.84 with infinitely many.
        let decision = |degrees_of_freedom: Option<f64>| {
            let share = Interval { degrees_of_freedom, ..Interval::around(0.0, 0.027) };
            let mut result = result(Some(share), None);
            result.sittings = vec![sample::sitting(10); 3];
            let found = compare(&result, "baseline", 0.02);
            measure(&found.subjects[0], CostMeasure::CpuUs).unwrap().decision
        };
        assert_eq!(decision(None), Decision::Equivalent);
        assert_eq!([9.0, f64::INFINITY].map(|degrees| decision(Some(degrees))), [Decision::Undecided; 2]);
    }

    #[test]
    fn without_shares_of_rounds_the_errors_of_difference_and_level_both_count() {
        let rate = rate_of_lua(None);
        assert_eq!(rate.decision, Decision::Different);
        assert!((rate.difference_share.estimate + 0.1).abs() < 1e-12);
        // From -2,100 of 19,900.
        assert!((rate.difference_share.low + 2_100.0 / 19_900.0).abs() < 1e-12, "{rate:?}");
    }

    #[test]
    fn arms_that_are_compared_with_a_named_arm_have_decisions() {
        let mut result = result(None, Some(Interval::around(0.15, 0.01)));
        assert_eq!(with_named(&result, 0.02), []);
        fixture::arm(&mut result, "lua").compared_with = Some("same".to_owned());
        let found = with_named(&result, 0.02);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.reference.arm.as_str(), one.subjects[0].subject.arm.as_str()), ("same", "lua"));
        assert_eq!(measure(&one.subjects[0], CostMeasure::CpuUs).unwrap().decision, Decision::Different);
    }

    #[test]
    fn a_difference_no_larger_than_that_of_an_identical_arm_that_differs_is_undecided() {
        let decision = |lua: f64, same: f64, finding: Option<Measure>| {
            let mut result = result(Some(Interval::around(same, 0.01)), Some(Interval::around(lua, 0.01)));
            // A second identical arm, with which `lua` is compared.
            let mut named = fixture::arm(&mut result, "same").clone();
            (named.id, named.cost) = ("named".to_owned(), Cost::default());
            result.arms.push(named);
            fixture::arm(&mut result, "lua").compared_with = Some("named".to_owned());
            result.findings.extend(finding.map(|measure| {
                let nothing = Measured::percent(0.0, 0.0);
                let one = Finding::new("same-differs", Severity::Warn, nothing, String::new(), "");
                Finding { measures: vec![measure], ..one }
            }));
            let itself = &compare(&result, "baseline", 0.02).subjects[0];
            assert_eq!(measure(itself, CostMeasure::CpuUs).unwrap().decision, Decision::Different);
            let found = with_named(&result, 0.02);
            let [one] = found.as_slice() else { panic!("{found:?}") };
            let cpu = measure(&one.subjects[0], CostMeasure::CpuUs).unwrap();
            (cpu.decision, cpu.rounds_until_decided)
        };
        let differs = Some(Measure::Cpu);
        assert_eq!(decision(0.10, 0.11, differs), (Decision::Undecided, None));
        assert_eq!(decision(0.10, -0.11, differs), (Decision::Undecided, None));
        assert_eq!(decision(0.12, 0.11, differs), (Decision::Different, None));
        assert_eq!(decision(0.10, 0.11, None), (Decision::Different, None));
        assert_eq!(decision(0.10, 0.11, Some(Measure::MaxRate)), (Decision::Different, None));
        assert_eq!(decision(0.001, 0.11, differs), (Decision::Equivalent, None));
    }

    #[test]
    fn differences_that_only_bounds_hold_are_kept_and_not_decided_about() {
        let mut result = result(None, Some(Interval::around(0.15, 0.01)));
        let bound = |measure, low, high| Bound::new(BoundOf::Cost, measure, low, high).unwrap();
        let p99 = bound(CostMeasure::ResponseP99Us, Some(-20.0), None);
        let lua = fixture::arm(&mut result, "lua");
        lua.bounds.0.push(p99.clone());
        // The share of an unknown level is unknown.
        lua.cost.max_rate = Some(Interval::around(-2_000.0, 100.0));
        fixture::arm(&mut result, "baseline").max_rate = None;
        let found = compare(&result, "baseline", 0.02);
        let lua = &found.subjects[1];
        assert_eq!(lua.bounds, [bound(CostMeasure::MaxRate, Some(-2_100.0), Some(-1_900.0)), p99]);
        assert_eq!(lua.measures.len(), 1);
        assert!(measure(lua, CostMeasure::CpuUs).is_some() && found.subjects[0].bounds.is_empty());
        assert_eq!(lua.bound_shares, [], "nothing is known about the levels that they are shares of");
        let level = Bound::new(BoundOf::Level, CostMeasure::MaxRate, Some(10_000.0), Some(20_000.0)).unwrap();
        fixture::arm(&mut result, "baseline").bounds.0.push(level);
        let lua = &compare(&result, "baseline", 0.02).subjects[1];
        let (low, high) = (Some(-0.21), Some(-0.095));
        assert_eq!(lua.bound_shares, [BoundShare { measure: CostMeasure::MaxRate, low, high }]);
    }

    #[test]
    fn withheld_numbers_have_no_decision() {
        let found = compare(&result(None, None), "baseline", 0.02);
        assert!(found.subjects.iter().all(|subject| subject.measures.is_empty()));
        assert_eq!(compare(&result(None, None), "nothing", 0.02).subjects, []);
    }
}
