//! Judges a study against stored results of the same study from earlier sittings.

use std::time::Duration;

use hoptax_result::{
    AnswerDifference, ArmKind, ArmResult, Contrast, CostMeasure, GateBody, GateLimit, GateOutcome,
    GateResult, Interval, ReferenceRun, StoredReference, StudyResult, Verdict,
};
use hoptax_stats::{FromReference, Sitting, from_reference};

use super::{Limit, unknown, with_other_work_failed};
use crate::comparison::answer_differences;
use crate::sittings::{differences_but_for_the_proxy, error_over_rounds};

/// Fewest runs of a reference. A single run does not show how much sittings differ.
const MIN_RUNS: usize = 2;

/// A stored run that may belong to the reference.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its number in the store.
    pub run: i64,
    /// Its result.
    pub result: StudyResult,
}

/// Judges `result` by the limits, compared with the stored runs `earlier` of the label `label`. Runs that are void, of another study
/// or machine, or under other loads are left out.
///
/// **Method.** [`from_reference`] for the logarithm of each measure, so that changes are shares. Each run is a sitting, and the
/// variance between sittings widens the interval. The confidence of each interval is that of Bonferroni for all of them, as side by
/// side.
///
/// # Errors
/// When fewer than two runs can be used; the message says why the others cannot.
pub fn judge_by_stored(
    result: &StudyResult,
    label: &str,
    earlier: Vec<Earlier>,
    limits: &[Limit],
) -> Result<GateResult, String> {
    let (mut used, mut left_out): (Vec<Earlier>, Vec<String>) = (Vec::new(), Vec::new());
    for one in earlier {
        match reason_against(result, &one.result) {
            Some(reason) => left_out.push(format!("run {}: {reason}", one.run)),
            None => used.push(one),
        }
    }
    if used.len() < MIN_RUNS {
        let reasons: String = left_out.iter().map(|reason| format!("\n  {reason}")).collect();
        return Err(format!(
            "{} of the runs labelled `{label}` can be compared with, and at least {MIN_RUNS} are needed, better five, hours apart: one \
             run does not show how much sittings on this machine differ{reasons}",
            used.len()
        ));
    }
    if limits.iter().any(|limit| limit.measure == CostMeasure::ResponseQuietP99Us) {
        let others = used.iter().filter(|one| !has_rule_of(&one.result, result));
        left_out.extend(
            others.map(|one| format!("run {}, in quiet p99: its rule for quiet slices differs", one.run)),
        );
    }
    used.sort_by(|a, b| a.result.environment.started_at.cmp(&b.result.environment.started_at));
    let arms: Vec<&ArmResult> = result.arms.iter().filter(|arm| has_proxy(arm)).collect();
    let comparisons = (limits.len() * arms.len()).max(1);
    let confidence = 1.0 - (1.0 - result.plan.confidence) / comparisons as f64;
    let limits = arms
        .iter()
        .flat_map(|arm| limits.iter().map(|limit| judged(result, &arm.id, &used, limit, confidence)))
        .collect();
    let version = result.environment.proxy_version.as_ref();
    let answers = arms.iter().map(|arm| AnswerDifference {
        arm: arm.id.clone(),
        differences: used.last().map(|last| differences_from(&last.result, arm)).unwrap_or_default(),
    });
    let answer_differences = answers.filter(|answer| !answer.differences.is_empty()).collect();
    let body = GateBody {
        study: result.name.clone(),
        candidate: version.map_or_else(|| result.name.clone(), |version| format!("Envoy {version}")),
        stored_reference: Some(StoredReference {
            label: label.to_owned(),
            shortest_gap_seconds: shortest_gap(&used).map(|gap| gap.as_secs_f64()),
            runs: used.iter().map(reference_run).collect(),
            left_out,
        }),
        confidence: result.plan.confidence,
        rounds: result.plan.rounds_completed,
        wall_seconds: result.plan.wall_seconds,
        loads: result.plan.loads.clone(),
        limits,
        same: Vec::new(),
        unchanged: Vec::new(),
        answer_differences,
    };
    Ok(with_other_work_failed(GateResult::new(result.environment.clone(), body).judged_as(result)))
}

/// Returns the differences between the answers of an arm in this run and in an earlier one.
fn differences_from(earlier: &StudyResult, arm: &ArmResult) -> Vec<String> {
    let reference = earlier.arm(&arm.id);
    reference.map(|reference| answer_differences(reference, arm)).unwrap_or_default()
}

/// Returns the reason why a result is not a sitting of the reference.
fn reason_against(result: &StudyResult, other: &StudyResult) -> Option<String> {
    if other.verdict == Verdict::Void {
        return Some("it is void".to_owned());
    }
    let differences = differences_but_for_the_proxy(result, other);
    (!differences.is_empty()).then(|| differences.join("; "))
}

/// Returns true if two studies classify quiet slices by the same rule. With different rules, their quiet p99 are not comparable.
fn has_rule_of(one: &StudyResult, other: &StudyResult) -> bool {
    one.plan.quiet_rule == other.plan.quiet_rule
}

/// Returns true if limits apply to an arm. Copies of the baseline are left out, since they would be judged twice.
fn has_proxy(arm: &ArmResult) -> bool {
    arm.kind != ArmKind::Same && !arm.hops.is_empty()
}

fn reference_run(earlier: &Earlier) -> ReferenceRun {
    let environment = &earlier.result.environment;
    ReferenceRun {
        run: earlier.run,
        started_at: environment.started_at.clone(),
        proxy_version: environment.proxy_version.clone(),
    }
}

/// The shortest time between the starts of two runs, which are in chronological order.
fn shortest_gap(runs: &[Earlier]) -> Option<Duration> {
    let start = |run: &Earlier| humantime::parse_rfc3339(&run.result.environment.started_at).ok();
    let starts: Vec<_> = runs.iter().map(start).collect::<Option<_>>()?;
    let gaps = starts.iter().zip(starts.iter().skip(1));
    gaps.map(|(one, next)| next.duration_since(*one).unwrap_or_default()).min()
}

fn judged(result: &StudyResult, arm: &str, earlier: &[Earlier], limit: &Limit, confidence: f64) -> GateLimit {
    let measure = limit.measure;
    let is_quiet = measure == CostMeasure::ResponseQuietP99Us;
    let is_alike = |one: &&Earlier| !is_quiet || has_rule_of(&one.result, result);
    let reference: Vec<Sitting> =
        earlier.iter().filter(is_alike).filter_map(|one| sitting(&one.result, arm, measure)).collect();
    let rounds = result.usable_rounds(Contrast { arm, other: None }, measure, None);
    let new = sitting(result, arm, measure);
    let found = new.and_then(|new| from_reference(&reference, new, rounds, confidence));
    let unknown_because = match new {
        None => unknown::reason(result, result.arm(arm), measure),
        Some(_) if reference.len() < MIN_RUNS => {
            let rule = if is_quiet { " by the same rule for quiet slices" } else { "" };
            let (known, all) = (reference.len(), earlier.len());
            Some(format!(
                "{known} of the {all} stored runs state it{rule}, and at least {MIN_RUNS} are needed"
            ))
        }
        Some(_) => None,
    };
    let change_share = found.as_ref().map(share);
    GateLimit {
        arm: arm.to_owned(),
        limit: limit.to_string(),
        measure,
        limit_share: limit.share,
        reference: found.map(|found| found.reference.exp()),
        change_share,
        between_sittings_share: found.map(|found| found.between_sittings.exp_m1()),
        unknown_because,
        outcome: change_share.as_ref().map_or(GateOutcome::Unknown, |change| limit.judge(change)),
        // More rounds do not narrow the variance between sittings.
        rounds_until_decided: None,
    }
}

/// The logarithm of a measure of an arm, with its standard error. None if it is withheld, or not positive.
fn sitting(result: &StudyResult, arm: &str, measure: CostMeasure) -> Option<Sitting> {
    let arm = result.arm(arm)?;
    let level = arm.level(measure).filter(|level| level.estimate > 0.0)?;
    let contrast = Contrast { arm: &arm.id, other: None };
    let freedom = result.degrees_of_freedom(&level, contrast, measure, None);
    let confidence = result.plan.quantile_confidence();
    let error = error_over_rounds(&level, freedom, confidence)?;
    Some(Sitting { estimate: level.estimate.ln(), standard_error: error / level.estimate })
}

/// A difference of logarithms as a share of the reference.
fn share(found: &FromReference) -> Interval {
    let Interval { estimate, low, high, .. } = found.difference;
    Interval::new(estimate.exp_m1(), low.exp_m1(), high.exp_m1())
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Finding, HopUse, Measured, QuietRule, RoundMeasure, Severity, sample};

    use super::*;
    use crate::fixture;

    /// A result whose arm `lua` takes `cpu_us`, an hour after the one before.
    fn run(hour: i64, cpu_us: f64) -> Earlier {
        let mut result = fixture::study();
        result.verdict = Verdict::Sound;
        result.environment.started_at = format!("2026-11-01T{hour:02}:00:00Z");
        result.environment.proxy_version = Some("1.40.0".to_owned());
        let arm = fixture::arm(&mut result, "lua");
        arm.cpu_us_per_request = Some(Interval::around(cpu_us, 0.2));
        Earlier { run: hour, result }
    }

    /// A reference of four runs that differ by some 2 %.
    fn reference() -> Vec<Earlier> {
        [50.0, 51.0, 49.5, 50.5].into_iter().zip(1..).map(|(cpu_us, hour)| run(hour, cpu_us)).collect()
    }

    fn judge(new: &StudyResult, earlier: Vec<Earlier>) -> GateResult {
        judge_by_stored(new, "nightly", earlier, &["cpu>+3%".parse().unwrap()]).unwrap()
    }

    fn limit(gate: &GateResult) -> &GateLimit {
        let arms: Vec<&str> = gate.limits.iter().map(|limit| limit.arm.as_str()).collect();
        assert_eq!(arms, ["baseline", "lua"], "the A/A arm is not judged");
        &gate.limits[1]
    }

    #[test]
    fn a_change_beyond_what_sittings_differ_fails_and_a_smaller_one_does_not() {
        let far = judge(&run(9, 60.0).result, reference());
        assert_eq!(limit(&far).outcome, GateOutcome::Failed);
        assert_eq!(limit(&judge(&run(9, 50.0).result, reference())).outcome, GateOutcome::Undecided);
        // Within the run, the interval is +-0.4 %. Sittings differ by more.
        let change = limit(&far).change_share.unwrap();
        assert!((change.estimate - 0.194).abs() < 0.002 && change.half_width() > 0.02, "{change:?}");
        let between = limit(&far).between_sittings_share.unwrap();
        assert!((0.01..0.015).contains(&between), "{between}");
    }

    #[test]
    fn a_gate_has_the_judgement_and_the_machine_of_its_study() {
        let mut new = run(9, 50.0).result;
        new.verdict = Verdict::Caution;
        new.findings = vec![Finding::new("steal", Severity::Warn, Measured::us(1.0, 0.0), String::new(), "")];
        let gate = judge(&new, reference());
        assert!(!gate.loads.is_empty() && gate.loads == new.plan.loads, "{:?}", gate.loads);
        assert_eq!(
            (gate.verdict, gate.findings, gate.environment),
            (new.verdict, new.findings, new.environment)
        );
    }

    #[test]
    fn the_reference_is_named_run_by_run() {
        let gate = judge(&run(9, 50.0).result, reference().into_iter().rev().collect());
        let stored = gate.stored_reference.clone().unwrap();
        assert_eq!(stored.runs.iter().map(|run| run.run).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(stored.shortest_gap_seconds, Some(3_600.0));
        assert_eq!((gate.candidate.as_str(), stored.left_out.len()), ("Envoy 1.40.0", 0));
    }

    #[test]
    fn runs_that_are_no_sittings_of_the_reference_are_left_out_with_the_reason() {
        let mut earlier = reference();
        earlier[0].result.verdict = Verdict::Void;
        earlier[1].result.environment.cpu_model = "another".to_owned();
        // A gate may compare another release of the proxy.
        earlier[2].result.environment.proxy_version = Some("1.39.3".to_owned());
        let stored = judge(&run(9, 50.0).result, earlier.clone()).body.stored_reference.unwrap();
        assert_eq!(stored.runs.len(), 2);
        assert!(stored.left_out[0].contains("run 1: it is void"), "{stored:?}");
        assert!(stored.left_out[1].contains("run 2: processor"), "{stored:?}");
        earlier[2].result.name = "other".to_owned();
        let limits = ["cpu>+3%".parse().unwrap()];
        let error = judge_by_stored(&run(9, 50.0).result, "nightly", earlier, &limits).unwrap_err();
        assert!(
            error.contains("1 of the runs labelled `nightly`") && error.contains("run 3: study"),
            "{error}"
        );
    }

    #[test]
    fn a_withheld_number_is_unknown() {
        let mut new = run(9, 50.0).result;
        fixture::arm(&mut new, "lua").cpu_us_per_request = None;
        assert_eq!(limit(&judge(&new, reference())).outcome, GateOutcome::Unknown);
        let mut earlier = reference();
        for one in earlier.iter_mut().skip(1) {
            fixture::arm(&mut one.result, "lua").cpu_us_per_request = None;
        }
        assert_eq!(limit(&judge(&run(9, 50.0).result, earlier)).outcome, GateOutcome::Unknown);
    }

    #[test]
    fn a_level_of_memory_has_the_degrees_of_freedom_that_its_proxy_states_and_not_those_of_sittings() {
        let error = |memory: Interval| {
            let mut result = run(1, 50.0).result;
            result.sittings = vec![sample::sitting(10); 3];
            let of_rounds = [(RoundMeasure::MEMORY, Some(memory))].into_iter().collect();
            fixture::arm(&mut result, "lua").hops = vec![HopUse { of_rounds, ..HopUse::default() }];
            let measure = CostMeasure::OfRounds(RoundMeasure::MEMORY);
            sitting(&result, "lua", measure).unwrap().standard_error
        };
        let memory = Interval::around(100.0, 2.0);
        // R: qt(0.975, 2) = 4.302653, qt(0.975, 9) = 2.262157.
        for (memory, critical) in [(memory, 4.302_653), (memory.with_freedom(9.0), 2.262_157)] {
            assert!((error(memory) - 0.02 / critical).abs() < 1e-8, "{memory:?}: {}", error(memory));
        }
    }

    #[test]
    fn a_quiet_p99_is_compared_with_runs_of_the_same_rule_alone() {
        let with = |mut earlier: Earlier, max_wait_share: f64| {
            earlier.result.plan.quiet_rule = Some(QuietRule { max_wait_share });
            fixture::arm(&mut earlier.result, "lua").response_us.quiet_p99 =
                Some(Interval::around(300.0, 1.0));
            earlier
        };
        let new = with(run(9, 50.0), 0.01).result;
        let of = |rules: [f64; 4]| {
            let earlier = reference().into_iter().zip(rules).map(|(one, rule)| with(one, rule)).collect();
            judge_by_stored(&new, "nightly", earlier, &["quiet-p99>+3%".parse().unwrap()]).unwrap()
        };
        let two = of([0.01, 0.02, 0.01, 0.02]);
        assert!(limit(&two).change_share.is_some() && limit(&two).unknown_because.is_none());
        let left_out = &two.stored_reference.as_ref().unwrap().left_out;
        assert_eq!(left_out.len(), 2);
        assert_eq!(left_out[0], "run 2, in quiet p99: its rule for quiet slices differs");
        let one = of([0.01, 0.02, 0.02, 0.02]);
        assert_eq!(
            limit(&one).unknown_because.as_deref(),
            Some(
                "1 of the 4 stored runs state it by the same rule for quiet slices, and at least 2 are needed"
            )
        );
    }
}
