//! Judges a candidate, such as a new release of Envoy, by limits: the study that measures it side by side with the reference that it would
//! replace, and the verdict on the result.

mod candidate;
mod limit;
mod side_by_side;
mod stored;
mod unknown;

use hoptax_plan::file::{LoopWord, StudyFile};
use hoptax_result::{
    AnswerDifference, ComparedSubject, ComparisonBody, GateBody, GateLimit, GateOutcome, GateResult,
    StudyResult,
};
use hoptax_stats::{rounds_needed, simultaneous};

use crate::comparison::{compare, rounds_to_complete};
use crate::precision::{Basis, half_width_of_rounds};

pub use candidate::Candidate;
pub use limit::Limit;
pub use side_by_side::{Pair, SideBySide, side_by_side};
pub use stored::{Earlier, judge_by_stored};

/// Checks that the loads of a study measure the numbers that the limits are about.
///
/// # Errors
/// All limits on numbers that no load measures, each with the kind of load that would measure it.
pub fn check_limits(file: &StudyFile, limits: &[Limit]) -> Result<(), String> {
    let has = |loop_: LoopWord| file.loads.iter().any(|load| load.loop_ == loop_);
    let problem = |limit: &Limit| {
        let (loop_, word) = limit.needed_load()?;
        (!has(loop_)).then(|| {
            format!(
                "`{limit}` needs a load in {word} loop, and `{}` has none: add `{{name: gate, loop: {word}}}` to its loads",
                file.name
            )
        })
    };
    let problems: Vec<String> = limits.iter().filter_map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Judges the result of the study `side_by_side` by the limits.
///
/// **Method.** A limit is exceeded if the whole interval of the change lies beyond it, and held if the whole interval lies within. The
/// intervals of all limits of all arms hold simultaneously ([`simultaneous`]), so a gate with many limits does not fail more often by
/// chance. The intervals of the A/A arm are computed in the same way and decide nothing. A candidate whose answers differ from those of the
/// reference does other work, so it fails all limits.
pub fn judge(
    result: &StudyResult,
    candidate: &Candidate,
    side_by_side: &SideBySide,
    limits: &[Limit],
) -> GateResult {
    let found: Vec<(&Pair, String, ComparedSubject)> = side_by_side
        .pairs
        .iter()
        .flat_map(|pair| measured(result, pair).into_iter().map(move |(arm, subject)| (pair, arm, subject)))
        .collect();
    let comparisons = limits.len() * found.iter().filter(|(pair, ..)| !pair.is_same).count();
    let limits_of = |is_same: bool| {
        let rows = found.iter().filter(|(pair, ..)| pair.is_same == is_same);
        rows.flat_map(|(_, arm, subject)| {
            limits.iter().map(|limit| judged(result, arm, subject, limit, comparisons))
        })
        .collect::<Vec<_>>()
    };
    let answers = found.iter().filter(|(pair, ..)| !pair.is_same).map(|(_, arm, subject)| AnswerDifference {
        arm: arm.clone(),
        differences: subject.answer_differences.clone(),
    });
    let body = GateBody {
        study: result.name.clone(),
        candidate: candidate.as_str().to_owned(),
        stored_reference: None,
        confidence: result.plan.confidence,
        rounds: result.plan.rounds_completed,
        wall_seconds: result.plan.wall_seconds,
        loads: result.plan.loads.clone(),
        limits: limits_of(false),
        same: limits_of(true),
        unchanged: side_by_side.unchanged.clone(),
        answer_differences: answers.filter(|answer| !answer.differences.is_empty()).collect(),
    };
    with_other_work_failed(GateResult::new(result.environment.clone(), body).judged_as(result))
}

/// Marks as failed all limits of arms whose candidate does other work than the reference.
fn with_other_work_failed(mut gate: GateResult) -> GateResult {
    let is_other: Vec<bool> = gate.limits.iter().map(|limit| gate.does_other_work(&limit.arm)).collect();
    for (limit, _) in gate.limits.iter_mut().zip(is_other).filter(|(_, is_other)| *is_other) {
        (limit.outcome, limit.rounds_until_decided) = (GateOutcome::Failed, None);
    }
    gate
}

/// The arms of a pair compared with their references: one for each combination of the conditions of the study.
fn measured(result: &StudyResult, pair: &Pair) -> Vec<(String, ComparedSubject)> {
    let conditions = |id: &str| {
        let rest = id.strip_prefix(&pair.other)?;
        (rest.is_empty() || rest.starts_with([' ', '{'])).then(|| rest.to_owned())
    };
    let arms = result.arms.iter().filter_map(|arm| Some((arm, conditions(&arm.id)?)));
    let compared = |(arm, conditions): (&hoptax_result::ArmResult, String)| {
        let reference = arm.compared_with.as_deref()?;
        // The margin only matters for decisions that a gate does not use.
        let comparison = compare(result, reference, ComparisonBody::USUAL_MARGIN_SHARE);
        let subject = comparison.subjects.into_iter().find(|subject| subject.subject.arm == arm.id)?;
        Some((format!("{}{conditions}", pair.arm), subject))
    };
    arms.filter_map(compared).collect()
}

fn judged(
    result: &StudyResult,
    arm: &str,
    subject: &ComparedSubject,
    limit: &Limit,
    comparisons: usize,
) -> GateLimit {
    let confidence = result.plan.quantile_confidence();
    let found = subject.measures.iter().find(|one| one.measure == limit.measure);
    let rounds = found.map_or(0, |one| one.rounds);
    let freedom = found.map_or(0.0, |one| one.degrees_of_freedom);
    let change = found.and_then(|one| simultaneous(&one.difference_share, freedom, confidence, comparisons));
    let outcome = change.as_ref().map_or(GateOutcome::Unknown, |change| limit.judge(change));
    let needed = |change: hoptax_result::Interval| {
        let half_width =
            half_width_of_rounds(&change, Basis { degrees_of_freedom: freedom, rounds }, confidence)?;
        // If the estimate is right, the interval excludes the limit once its half-width is less than the distance between estimate and
        // limit.
        let needed = rounds_needed(half_width, rounds, (change.estimate - limit.share).abs())?;
        Some(rounds_to_complete(result, needed, rounds))
    };
    GateLimit {
        arm: arm.to_owned(),
        limit: limit.to_string(),
        measure: limit.measure,
        limit_share: limit.share,
        reference: found.map(|one| one.reference),
        change_share: change,
        between_sittings_share: None,
        outcome,
        unknown_because: if change.is_some() { None } else { reason_of(result, &subject.subject.arm, limit) },
        rounds_until_decided: change.filter(|_| outcome == GateOutcome::Undecided).and_then(needed),
    }
}

/// The reason why a limited measure of an arm, or of its reference, is not known.
fn reason_of(result: &StudyResult, arm: &str, limit: &Limit) -> Option<String> {
    let own = result.arm(arm)?;
    let reference = result.reference_of(own);
    unknown::reason(result, std::iter::once(own).chain(reference), limit.measure)
        .or_else(|| unknown::reason_of_share(result, own, reference?, limit.measure))
}

#[cfg(test)]
mod tests {
    use hoptax_plan::file;
    use hoptax_result::{CostMeasure, HopUse, Interval, RoundMeasure};

    use super::*;
    use crate::fixture;
    use crate::summary::{Conditions, summarise};

    /// A gate of two arms whose candidates change CPU time by these shares, after ten rounds.
    fn gate(limits: &[&str], shares: [Option<Interval>; 2]) -> GateResult {
        let text = "name: x\narms: [baseline, lua]\nloads: [{name: all, loop: closed}]\n";
        gate_of(text, limits, |result| {
            for arm in &mut result.arms {
                arm.cpu_us_per_request = Some(Interval::around(50.0, 1.0));
                let share = match arm.id.as_str() {
                    "baseline.candidate" => shares[0],
                    "lua.candidate" => shares[1],
                    "baseline.again" => Some(Interval::around(0.0, 0.01)),
                    _ => None,
                };
                arm.cost.cpu_share = share;
                arm.cost.cpu_us_per_request =
                    share.map(|share| Interval::around(50.0 * share.estimate, 50.0 * share.half_width()));
            }
        })
    }

    /// A gate of a study after ten rounds, with these numbers.
    fn gate_of(text: &str, limits: &[&str], set: impl FnOnce(&mut StudyResult)) -> GateResult {
        let (file, _) = file::read("x.yaml", text).unwrap();
        let candidate: Candidate = "envoy=1.41.0".parse().unwrap();
        let side_by_side = side_by_side(&file, &candidate).unwrap();
        let (text, _) = file::write(&side_by_side.file).unwrap();
        let mut result = summarise(&fixture::plan(&text), &[], Conditions::default());
        result.plan.rounds_completed = 10;
        set(&mut result);
        let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        judge(&result, &candidate, &side_by_side, &limits)
    }

    fn outcomes(result: &GateResult) -> Vec<(&str, GateOutcome)> {
        result.limits.iter().map(|one| (one.arm.as_str(), one.outcome)).collect()
    }

    #[test]
    fn each_arm_has_its_own_outcome() {
        let result =
            gate(&["cpu>+3%"], [Some(Interval::around(0.05, 0.01)), Some(Interval::around(0.0, 0.01))]);
        assert_eq!(outcomes(&result), [("baseline", GateOutcome::Failed), ("lua", GateOutcome::Passed)]);
        assert!(result.has_failed() && !result.is_unknown());
        assert_eq!(result.loads.iter().map(|load| load.name.as_str()).collect::<Vec<_>>(), ["all"]);
        let [same] = result.same.as_slice() else { panic!("{result:?}") };
        assert_eq!(
            (same.arm.as_str(), same.measure, same.outcome),
            ("baseline", CostMeasure::CpuUs, GateOutcome::Passed)
        );
    }

    #[test]
    fn intervals_hold_together() {
        // As a single comparison, the interval of 2 +-1.9 % excludes zero. Two arms with two limits widen it.
        let change = Some(Interval::around(0.02, 0.019));
        let result = gate(&["cpu>+0%", "rate<-5%"], [change, None]);
        let first = &result.limits[0];
        assert!(first.change_share.unwrap().low < 0.0, "{first:?}");
        assert_eq!(first.outcome, GateOutcome::Undecided);
        let needed = first.rounds_until_decided.unwrap();
        assert!((11..40).contains(&needed), "{needed}");
    }

    #[test]
    fn a_withheld_number_is_unknown_and_passes_nothing() {
        let result = gate(&["cpu>+3%", "p99>+10%"], [None, None]);
        assert!(result.is_unknown() && !result.has_failed());
        assert!(result.limits.iter().all(|limit| limit.change_share.is_none()));
    }

    #[test]
    fn a_quiet_p99_that_the_study_does_not_tell_is_unknown_with_the_reason() {
        let text = "name: x\narms: [baseline, lua]\nloads: [{name: all, loop: open, rate: 100}]\n";
        let result = gate_of(text, &["p99>+10%", "quiet-p99>+10%"], |_| ());
        let reasons: Vec<Option<&str>> =
            result.limits.iter().map(|limit| limit.unknown_because.as_deref()).collect();
        let [None, Some(baseline), None, Some(lua)] = reasons.as_slice() else { panic!("{reasons:?}") };
        assert!(baseline.starts_with("`baseline.candidate` has no quiet slices: "), "{baseline}");
        assert!(lua.starts_with("`lua.candidate` has no quiet slices: "), "{lua}");
    }

    #[test]
    fn a_change_from_a_level_that_may_be_zero_is_unknown_with_the_reason() {
        let memory = RoundMeasure::MEMORY_PER_CONNECTION;
        let text = "name: x\narms: [baseline]\nloads: [{name: all, loop: closed}]\n";
        let of = |half_width: f64| {
            let gate = gate_of(text, &["memory-per-connection>+5%"], |result| {
                for arm in &mut result.arms {
                    let level = Some(Interval::around(400.0, half_width));
                    let of_rounds = [(memory, level)].into_iter().collect();
                    arm.hops = vec![HopUse { of_rounds, ..HopUse::default() }];
                    arm.cost.of_rounds.set(memory, Some(Interval::around(300.0, 10.0)));
                }
            });
            (gate.limits[0].outcome, gate.limits[0].unknown_because.clone())
        };
        let (outcome, why) = of(410.0);
        assert_eq!(outcome, GateOutcome::Unknown);
        let expected =
            "the memory per connection of `baseline.reference` may be zero, so no change is a share of it";
        assert_eq!(why.as_deref(), Some(expected));
        assert_eq!(of(10.0), (GateOutcome::Failed, None));
    }

    #[test]
    fn a_limit_on_what_no_load_measures_is_refused() {
        let check = |loops: &str, limits: &[&str]| {
            let text = format!("name: x\narms: [baseline, lua]\nloads: [{loops}]\n");
            let (file, _) = file::read("x.yaml", &text).unwrap();
            let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
            check_limits(&file, &limits)
        };
        let (closed, open) = ("{name: all, loop: closed}", "{name: some, loop: open, rate: 100}");
        let error = check(closed, &["cpu>+3%", "p99>+10%", "memory>+5%", "p50>+1%"]).unwrap_err();
        assert!(error.starts_with("`p99>+10%` needs a load in open loop, and `x` has none"), "{error}");
        assert!(
            error.contains("`p50>+1%`") && !error.contains("cpu") && !error.contains("memory"),
            "{error}"
        );
        assert!(check(open, &["rate<-5%"]).unwrap_err().contains("closed loop"));
        assert_eq!(check(&format!("{closed}, {open}"), &["cpu>+3%", "p99>+10%", "rate<-5%"]), Ok(()));
    }

    #[test]
    fn candidates_are_an_envoy_or_a_configuration() {
        let config: Candidate = "config = new.yaml".parse().unwrap();
        assert_eq!(
            config.clone().with_absolute_path(|path| format!("/here/{path}")).config.as_deref(),
            Some("/here/new.yaml")
        );
        assert_eq!(config.as_str(), "config = new.yaml");
        for text in ["", "envoy", "envoy=", "nginx=1.2"] {
            let error = text.parse::<Candidate>().unwrap_err();
            assert!(error.contains("`envoy=1.41.0` or `config=new.yaml`"), "{error}");
        }
    }
}
