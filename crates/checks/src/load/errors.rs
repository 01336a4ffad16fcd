//! Limits on errors: quantiles describe answered requests only.

use hoptax_result::{Finding, LoadResult, Measured, Severity, counted, percent};

use super::limits::{Ends, bound_by};
use crate::check::{Check, severity_above};
use crate::thresholds;

/// Too many unanswered requests.
pub(super) const ERRORS: Check<LoadResult> = Check {
    id: "errors",
    protects_from: "a subject that looks fast because it rejects requests",
    source: "RFC 9411: failed transactions below 0.001 %",
    judge: |result, limits| {
        let share = result.book.error_share();
        let limit = result.plan.max_error_share;
        let Some((severity, threshold)) =
            severity_above(share, limits.value(&thresholds::ERROR_SHARE).min(limit), limit)
        else {
            return Vec::new();
        };
        let (book, reasons) = (&result.book, &result.reasons);
        let number = hoptax_result::count;
        let others =
            [(book.timed_out, "timed-out", "timed out"), (book.unfinished, "unfinished", "unfinished")];
        let others = others.into_iter().filter(|(count, ..)| *count > 0);
        let others = others.map(|(count, kind, name)| reasons.words_as(kind, name, count, number)).collect();
        let kinds = reasons.listed(&result.failures, others, number);
        let most = result.failures.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| kind.as_str());
        let advice = if severity == Severity::Fail {
            format!("{}; if errors are part of the experiment, raise `--max-error-share`", first_step(most))
        } else {
            "quantiles cover answered requests only".to_owned()
        };
        let finding = Finding::new(
            "errors",
            severity,
            Measured::percent(share, threshold),
            format!("{} of the requests failed: {kinds}", percent(share, 3)),
            &advice,
        );
        vec![if severity == Severity::Fail { finding.bounding(&["times"]) } else { finding }]
    },
    // The failed ones may have taken any time.
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Both)),
};

/// Returns the advice for the first step if most failures are of this kind.
fn first_step(kind: Option<&str>) -> &'static str {
    match kind {
        Some("malformed" | "switched") => {
            "fix the violations that the reasons name; `curl -v` shows a response"
        }
        Some("protocol" | "tls") => {
            "check that the server offers `--protocol` and the TLS options at this port; the reasons name what is missing"
        }
        Some("refused") => {
            "check that the subject runs, and that its queue of new connections is long enough"
        }
        Some("status-4xx" | "status-5xx" | "grpc-status") => {
            "look at a response with curl, and at the subject's log"
        }
        _ => "check the subject's log",
    }
}

/// Violations of the protocol that fail no request by themselves, which clients may read differently.
pub(super) const DEVIATIONS: Check<LoadResult> = Check {
    id: "deviations",
    protects_from: "responses that this generator accepts, and that another client or a proxy rejects or reads differently",
    source: "RFC 9112, sections 6.1, 6.3, 9.2 and 9.8",
    judge: |result, _| {
        let count: u64 = result.deviations.values().sum();
        if count == 0 {
            return Vec::new();
        }
        let each: Vec<String> = result
            .deviations
            .iter()
            .map(|(what, count)| format!("{what} ({})", hoptax_result::count(*count)))
            .collect();
        vec![Finding::new(
            "deviations",
            Severity::Warn,
            Measured::count(count as f64, 0.0, "violations"),
            format!(
                "the server violated the protocol {}, which by itself fails no request but ends the connection: {}",
                if count == 1 { "once".to_owned() } else { counted(count, "time") },
                each.join(", ")
            ),
            "correct the subject: other clients and proxies may reject such responses, or read them differently",
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
        let max = limits.value(&thresholds::MISMATCH_SHARE);
        if share <= max {
            return Vec::new();
        }
        vec![
            Finding::new(
                "wrong-answers",
                Severity::Fail,
                Measured::percent(share, max),
                format!(
                    "{} ({}) did not match {}",
                    counted(count, "response"),
                    percent(share, 3),
                    expected(&result.plan.expect)
                ),
                "inspect a response with curl; correct the subject or `--expect`",
            )
            .bounding(&["times"]),
        ]
    },
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Both)),
};

/// The expectation, which by default is a status below 400.
fn expected(expect: &str) -> String {
    if expect.is_empty() { "a status below 400".to_owned() } else { format!("`{expect}`") }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, Verdict};

    use crate::load::tests::{failing, fired};

    #[test]
    fn errors_above_the_limit_fail_and_below_it_warn() {
        assert_eq!(fired("errors", failing("reset", 1)).0, None);
        assert_eq!(fired("errors", failing("reset", 10)).0, Some(Severity::Warn));
        let (severity, result) = fired("errors", failing("reset", 300));
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        assert_eq!(result.usable(), "counts and rates are sound; times are only bounded");
        assert!(result.findings[0].message.contains("300 reset"), "{}", result.findings[0].message);
    }

    #[test]
    fn failures_are_named_with_their_reasons_and_what_to_do_about_the_most_frequent() {
        let (severity, result) = fired("errors", |result| {
            failing("reset", 10)(result);
            (result.book.answered, result.book.failed) = (result.book.answered - 990, 1_000);
            result.failures.insert("malformed".to_owned(), 990);
            result.reasons.add("malformed", "two different lengths", 900);
        });
        assert_eq!(severity, Some(Severity::Fail));
        let finding = &result.findings[0];
        let expected = "990 malformed: two different lengths (900), others (90); 10 reset";
        assert!(finding.message.ends_with(expected), "{}", finding.message);
        assert!(finding.advice.starts_with("fix the violations that the reasons name"), "{}", finding.advice);
    }

    #[test]
    fn requests_that_were_never_sent_are_named_with_what_they_waited_for() {
        let (_, result) = fired("errors", |result| {
            (result.book.answered, result.book.timed_out) = (result.book.answered - 300, 300);
            result.reasons.add("timed-out", "never sent: the handshake was not complete", 200);
        });
        let expected = ": 300 timed out: never sent: the handshake was not complete (200), others (100)";
        let finding = result.findings.iter().find(|finding| finding.id == "errors").unwrap();
        assert!(finding.message.ends_with(expected), "{}", finding.message);
    }

    #[test]
    fn responses_that_deviate_from_the_protocol_are_a_warning() {
        let (severity, result) = fired("deviations", |result| {
            result.deviations.insert("two ends".to_owned(), 3);
        });
        assert_eq!(severity, Some(Severity::Warn));
        let message = &result.findings[0].message;
        assert!(
            message.starts_with("the server violated the protocol 3 times")
                && message.ends_with("two ends (3)")
        );
        assert!(!message.contains("answered"), "such a response may have failed for its status: {message}");
    }

    #[test]
    fn a_limit_of_zero_tolerates_no_error() {
        let (severity, _) = fired("errors", |result| {
            result.plan.max_error_share = 0.0;
            failing("reset", 1)(result);
        });
        assert_eq!(severity, Some(Severity::Fail));
    }

    #[test]
    fn wrong_responses_fire_even_if_errors_are_tolerated() {
        let (severity, result) = fired("wrong-answers", |result| {
            result.plan.max_error_share = 1.0;
            failing("mismatch", 10)(result);
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        assert_eq!(result.latency.response.p50_us, None);
    }
}
