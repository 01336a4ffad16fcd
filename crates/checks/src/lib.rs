//! Validity checks: conditions that a result must meet before its numbers are reported.
//!
//! A check is a pure function of a result: it reads the evidence that the trial recorded about itself and returns
//! findings. [`judge_load`] and [`judge_study`] run all checks, set the verdict, and withhold the numbers that a
//! finding invalidates. A finding names the arms, loads and measures in its scope; numbers outside of it are
//! unaffected. To add a check, write its file and add it to the list [`load::ALL`], [`study::ALL`] or
//! [`study::OF_SITTINGS`]; its test must make it fire.

pub mod about;
mod check;
pub mod fail_on;
pub mod load;
pub mod objective;
pub mod remedy;
pub mod study;
pub mod thresholds;
pub mod vague;

use hoptax_result::{Finding, LoadResult, StudyResult, Verdict};

use crate::check::Check;
use thresholds::Limits;

/// Runs all checks on a load result, sets findings and verdict, withholds invalid numbers, and leaves bounds of those that are only bounded.
/// It is void if nothing is left.
pub fn judge_load(result: &mut LoadResult, limits: &Limits) {
    result.loosened = limits.loosened();
    let findings = run_checks(load::ALL, result, limits);
    let is_void = load::is_void(result, &findings);
    result.verdict = Verdict::from_findings(&findings, is_void);
    result.findings = findings;
    if is_void {
        load::withhold_all(result);
    } else {
        load::bound_rows(result, limits);
        load::order_bounds(result);
    }
    load::state_bounds(result, |_| true);
}

/// Judges a result that was merged from several runs, with the thresholds that were loosened for them. See [`judge_merged_by`].
pub fn judge_merged(result: &mut LoadResult) {
    let limits = Limits::loosened_to(&result.loosened);
    judge_merged_by(result, &limits);
}

/// Judges a result that was merged from several runs and has their findings, sets the verdict, and withholds invalid numbers.
/// Evidence was judged run by run, and those findings stay. Quantiles are judged again, because they are those of all runs. The thresholds
/// may be tightened ones, which results do not keep.
pub fn judge_merged_by(result: &mut LoadResult, limits: &Limits) {
    let judged = run_checks(load::OF_MERGED, result, limits);
    let is_judged_again = |id: &str| load::OF_MERGED.iter().any(|check| check.id == id);
    result.findings.retain(|finding| !is_judged_again(&finding.id));
    bound_as_parts(result, limits);
    // Findings about the whole stand before those about its parts, and a missing part, which is about all numbers, before all others.
    result.findings.splice(..0, judged);
    let is_of_missing = |finding: &Finding| load::PART_MISSING.contains(&finding.id.as_str());
    result.findings.sort_by_key(|finding| (!is_of_missing(finding), std::cmp::Reverse(finding.severity)));
    let is_void = load::is_void(result, &result.findings);
    result.verdict = Verdict::from_findings(&result.findings, is_void);
    if is_void {
        load::withhold_all(result);
    } else {
        load::bound_rows(result, limits);
        load::order_bounds(result);
    }
    load::state_bounds(result, is_judged_again);
}

/// Leaves bounds of what a finding about a run leaves bounds of: times that contain a delay of one run are no better in the times of all.
/// Delays of the generators are in the merged histograms, by which `merged-lag` judges them, if all runs state them.
fn bound_as_parts(result: &mut LoadResult, limits: &Limits) {
    let has_own = |finding: &Finding| finding.id == load::SEND_LAG && result.without_generator.is_some();
    let of_runs: Vec<Finding> =
        result.findings.iter().filter(|finding| finding.bounds && !has_own(finding)).cloned().collect();
    for finding in of_runs {
        let check = load::ALL.iter().find(|check| check.id == finding.id);
        if let Some(withhold) = check.and_then(|check| check.withhold) {
            withhold(result, &finding, limits);
        }
    }
}

/// Runs all checks on a study result, sets findings and verdict, and withholds invalid numbers. The study is void if
/// nothing of its main question is left.
pub fn judge_study(result: &mut StudyResult, limits: &Limits) {
    result.loosened = limits.loosened();
    result.findings = Vec::new();
    let checks = if result.plan.timeline.is_some() { study::OF_TIMELINES } else { study::ALL };
    judge_by(checks, result, limits);
}

/// Judges the combined result of several sittings, which has the findings of each. Its combined numbers are judged by
/// the same checks as those of a single study, with the thresholds that were loosened for all sittings. A check of
/// evidence has judged each sitting. Further checks are about the sittings themselves ([`study::OF_SITTINGS`]).
pub fn judge_sittings(result: &mut StudyResult) {
    let limits = Limits::loosened_to(&result.loosened);
    // A warning about a number of one sitting says nothing about the combined number, which is judged here. Findings
    // that give the reason for a missing number stay.
    let is_judged_again = |finding: &Finding| study::OF_NUMBERS.iter().any(|check| check.id == finding.id);
    let is_reason = |finding: &Finding| finding.withholds || finding.id == Finding::VAGUE_LEVEL;
    result.findings.retain(|finding| is_reason(finding) || !is_judged_again(finding));
    let checks: Vec<Check<StudyResult>> =
        study::OF_NUMBERS.iter().chain(study::OF_SITTINGS).copied().collect();
    judge_by(&checks, result, &limits);
}

/// Adds the findings of `checks` to those of the result, sets the verdict, and withholds invalid numbers.
fn judge_by(checks: &[Check<StudyResult>], result: &mut StudyResult, limits: &Limits) {
    let before = study::bounds::Before::new(result);
    let findings = run_checks(checks, result, limits);
    result.for_each_number(&mut |place, number| {
        if findings.iter().any(|finding| finding.withholds_number(place)) {
            number.clear();
        }
    });
    study::derived::withhold(result, &findings);
    before.set_bounds(result, &findings);
    result.findings.extend(findings);
    result.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let is_withheld = result.findings.iter().any(|finding| finding.withholds) && !study::is_answered(result);
    let verdict = Verdict::from_findings(&result.findings, is_withheld && !study::is_bounded(result));
    // A bound is no answer to rely on, whatever the severity of the finding that left no more.
    result.verdict = if is_withheld && verdict == Verdict::Sound { Verdict::Caution } else { verdict };
}

/// The findings of `checks`, worst first and otherwise in the order of the list.
fn run_checks<R>(checks: &[Check<R>], result: &mut R, limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in checks {
        let mut found = (check.judge)(result, limits);
        name_thresholds(check, result, limits, &mut found);
        debug_assert!(
            found.iter().all(|finding| finding.id == check.id),
            "findings carry the id of their check"
        );
        findings.extend(found);
    }
    // Numbers are withheld only after all checks have run, so that all see the same evidence.
    for check in checks {
        if let Some(withhold) = check.withhold {
            for finding in findings.iter().filter(|finding| finding.id == check.id) {
                withhold(result, finding, limits);
            }
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Adds to the message of each finding the thresholds that were set and that changed it: with their defaults, the finding would be absent,
/// or have another severity or another limit.
fn name_thresholds<R>(check: &Check<R>, result: &R, limits: &Limits, found: &mut [Finding]) {
    if found.is_empty() {
        return;
    }
    let mut names = vec![String::new(); found.len()];
    // Not `==`: a value may be NaN.
    let parts = |finding: &Finding| {
        let of =
            (finding.arm.clone(), finding.load.clone(), finding.measures.clone(), finding.message.clone());
        let numbers = finding.numbers.clone();
        (of, numbers, finding.severity, finding.withholds, finding.threshold.to_bits())
    };
    for (threshold, value) in limits.changed() {
        let usual: Vec<_> = (check.judge)(result, &limits.without(threshold)).iter().map(parts).collect();
        let depends = |(finding, _): &(&Finding, &mut String)| !usual.contains(&parts(finding));
        for (_, names) in found.iter().zip(&mut names).filter(depends) {
            *names += &format!("; `{}` is set to {value}, not {}", threshold.name, threshold.default);
        }
    }
    for (finding, names) in found.iter_mut().zip(names) {
        finding.message += &names;
    }
}
