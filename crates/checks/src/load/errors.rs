//! Limits on errors: quantiles describe answered requests only.

use hoptax_result::{Finding, LoadResult, Measured, Severity};

use crate::thresholds;
use crate::{Check, severity_above};

/// Too many unanswered requests.
pub(super) const ERRORS: Check<LoadResult> = Check {
    id: "errors",
    protects_from: "a subject that looks fast because it rejects requests",
    source: "RFC 9411: failed transactions below 0.001 %",
    judge: |result, limits| {
        let share = result.book.error_share();
        let limit = result.plan.max_error_share;
        let Some((severity, threshold)) =
            severity_above(share, limits.of(&thresholds::ERROR_SHARE).min(limit), limit)
        else {
            return Vec::new();
        };
        let mut kinds: Vec<String> =
            result.failures.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        for (count, kind) in [(result.book.timed_out, "timed out"), (result.book.unfinished, "unfinished")] {
            if count > 0 {
                kinds.push(format!("{count} {kind}"));
            }
        }
        let advice = if severity == Severity::Fail {
            "check the subject's log; if errors are part of the experiment, raise --max-error-share"
        } else {
            "quantiles cover answered requests only"
        };
        vec![Finding::new(
            "errors",
            severity,
            Measured::percent(share, threshold),
            format!("{:.3} % of the requests were not answered: {}", share * 100.0, kinds.join(", ")),
            advice,
        )]
    },
    withhold: None,
};

/// Responses that do not match the request.
pub(super) const MISMATCHES: Check<LoadResult> = Check {
    id: "wrong-answers",
    protects_from: "a subject that looks fast because it does not do the work",
    source: "RFC 9411; --expect defines a correct response",
    judge: |result, limits| {
        let count = result.failures.get("mismatch").copied().unwrap_or(0);
        let share = count as f64 / result.book.sent.max(1) as f64;
        let max = limits.of(&thresholds::MISMATCH_SHARE);
        if share <= max {
            return Vec::new();
        }
        vec![Finding::new(
            "wrong-answers",
            Severity::Fail,
            Measured::percent(share, max),
            format!(
                "{count} responses ({:.3} %) did not match {}",
                share * 100.0,
                expected(&result.plan.expect)
            ),
            "inspect a response with curl; correct the subject or --expect",
        )]
    },
    withhold: None,
};

/// The expectation, which by default is a status below 400.
fn expected(expect: &str) -> String {
    if expect.is_empty() { "a status below 400".to_owned() } else { format!("`{expect}`") }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{LoadResult, Severity};

    use crate::load::tests::fired;

    fn fail(count: u64) -> impl FnOnce(&mut LoadResult) {
        move |result| {
            result.book.answered -= count;
            result.book.failed += count;
            result.failures.insert("reset".to_owned(), count);
        }
    }

    #[test]
    fn errors_above_the_limit_fail_and_below_it_warn() {
        assert_eq!(fired("errors", fail(1)).0, None);
        assert_eq!(fired("errors", fail(10)).0, Some(Severity::Warn));
        let (severity, result) = fired("errors", fail(300));
        assert_eq!(severity, Some(Severity::Fail));
        assert!(result.findings[0].message.contains("300 reset"), "{}", result.findings[0].message);
    }

    #[test]
    fn a_limit_of_zero_tolerates_no_error() {
        let (severity, _) = fired("errors", |result| {
            result.plan.max_error_share = 0.0;
            fail(1)(result);
        });
        assert_eq!(severity, Some(Severity::Fail));
    }

    #[test]
    fn wrong_responses_fire_even_if_errors_are_tolerated() {
        let (severity, _) = fired("wrong-answers", |result| {
            result.plan.max_error_share = 1.0;
            result.book.answered -= 10;
            result.book.failed += 10;
            result.failures.insert("mismatch".to_owned(), 10);
        });
        assert_eq!(severity, Some(Severity::Fail));
    }
}
