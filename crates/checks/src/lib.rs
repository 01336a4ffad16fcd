//! Validity checks: what a result must pass before its numbers are believed.
//!
//! A check is a pure function of a result: it reads the evidence that the trial recorded about itself and
//! returns findings. [`judge_load`] and [`judge_study`] run all checks, set the verdict, and withhold the
//! numbers that a finding leaves without support: a finding names the arms, loads and measures in its scope, and what is
//! outside of it stands. To add a check, write its file and put it in the list of
//! [`load::ALL`] or [`study::ALL`]; its test must make it fire.

pub mod fail_on;
pub mod load;
pub mod study;
pub mod thresholds;

use hoptax_result::{Finding, LoadResult, Severity, StudyResult, Verdict};

use thresholds::Limits;

/// One validity check of a result of type `R`.
#[derive(Clone, Copy, Debug)]
pub struct Check<R> {
    /// Its name in findings.
    pub id: &'static str,
    /// What it protects from, in a sentence.
    pub protects_from: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Reads the evidence.
    pub judge: fn(&R, &Limits) -> Vec<Finding>,
    /// Takes away the numbers that a finding of this check leaves without support, where that is less than
    /// everything in the finding's scope.
    pub withhold: Option<fn(&mut R, &Finding, &Limits)>,
}

/// Runs all checks on a load result, sets findings and verdict, and withholds what is not supported. A load has one
/// question, so any failure leaves nothing of it.
pub fn judge_load(result: &mut LoadResult, limits: &Limits) {
    result.loosened = limits.loosened();
    let findings = run_checks(load::ALL, result, limits);
    let is_void = findings.iter().any(|finding| finding.severity == Severity::Fail);
    result.verdict = Verdict::of(&findings, is_void);
    result.findings = findings;
    if is_void {
        load::withhold_all(result);
    }
}

/// Runs all checks on a study result, sets findings and verdict, and withholds the numbers that findings take away. The
/// study is void when that leaves nothing of its main question.
pub fn judge_study(result: &mut StudyResult) {
    let findings = run_checks(study::ALL, result, &Limits::default());
    result.for_each_number(&mut |place, number| {
        if findings.iter().any(|finding| finding.takes_away(place)) {
            number.clear();
        }
    });
    let is_void = findings.iter().any(|finding| finding.withholds) && !study::is_answered(result);
    result.verdict = Verdict::of(&findings, is_void);
    result.findings = findings;
}

/// The findings of `checks`, worst first and otherwise in the order of the list.
fn run_checks<R>(checks: &[Check<R>], result: &mut R, limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in checks {
        let found = (check.judge)(result, limits);
        debug_assert!(
            found.iter().all(|finding| finding.id == check.id),
            "findings carry the id of their check"
        );
        findings.extend(found);
    }
    // Withholding comes after all judging: a check must see what the others saw.
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

/// A finding about a whole result. A failure withholds what is in its scope: everything, unless arm, load or measures are set.
fn finding(id: &str, severity: Severity, measured: Measured, message: String, advice: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        arm: None,
        load: None,
        measures: Vec::new(),
        withholds: severity == Severity::Fail,
        costs_alone: false,
        message,
        value: measured.value,
        threshold: measured.threshold,
        unit: measured.unit.to_owned(),
        advice: advice.to_owned(),
    }
}

/// What was measured against what.
#[derive(Clone, Copy)]
struct Measured {
    value: f64,
    threshold: f64,
    unit: &'static str,
}

impl Measured {
    fn us(value: f64, threshold: f64) -> Self {
        Self { value, threshold, unit: "us" }
    }

    /// Shares from 0 to 1, reported in percent.
    fn percent(value: f64, threshold: f64) -> Self {
        Self { value: value * 100.0, threshold: threshold * 100.0, unit: "%" }
    }

    fn count(value: f64, threshold: f64, unit: &'static str) -> Self {
        Self { value, threshold, unit }
    }
}

/// Fail above `fail`, warn above `warn`; None below both. A value that is not a number fails.
fn severity_above(value: f64, warn: f64, fail: f64) -> Option<(Severity, f64)> {
    if value.is_nan() || value > fail {
        Some((Severity::Fail, fail))
    } else if value > warn {
        Some((Severity::Warn, warn))
    } else {
        None
    }
}
