//! Trials that ended early: their numbers cover only the recorded time.

use hoptax_result::{EndedBy, Finding, LoadResult, Measured, Severity, count, counted, grouped};

use super::limits::{Ends, bound_by};
use crate::check::Check;

/// Interrupted trials.
pub(super) const INTERRUPTED: Check<LoadResult> = Check {
    id: "interrupted",
    protects_from: "part of a trial read as the whole",
    source: "own",
    judge: |result, _| {
        if result.ended_by != EndedBy::Interrupt {
            return Vec::new();
        }
        let (part, covered) = recorded_part(result);
        let (severity, message) = if result.book.is_empty() {
            (Severity::Fail, "interrupted before the first measured request".to_owned())
        } else {
            (Severity::Warn, format!("interrupted after {covered}: the numbers cover that part only"))
        };
        vec![Finding::new(
            "interrupted",
            severity,
            part,
            message,
            "repeat the run to its end before you compare it with others",
        )]
    },
    withhold: None,
};

/// The part that was recorded, also in words: of the requests if their number is limited, and of the time otherwise.
fn recorded_part(result: &LoadResult) -> (Measured, String) {
    let (recorded_s, planned_s, sent) = (result.recorded_s, result.plan.duration_s, result.book.sent);
    match result.plan.request_limit {
        Some(limit) => (
            Measured::count(sent as f64, limit as f64, "requests"),
            format!("{} of {}", count(sent), counted(limit, "request")),
        ),
        None => (
            Measured::count(recorded_s, planned_s, "s"),
            format!("{} s of {planned_s} s", grouped(recorded_s, 1)),
        ),
    }
}

/// Trials that ended because the backlog could never have been sent.
pub(super) const BACKLOG: Check<LoadResult> = Check {
    id: "hopeless-backlog",
    protects_from: "a run that keeps planning requests which can never be sent",
    source: "own: the backlog exceeds the requests that ten times the rate so far, and at least 100,000/s, would send in the whole run",
    judge: |result, _| {
        if result.ended_by != EndedBy::Backlog {
            return Vec::new();
        }
        vec![Finding::new(
            "hopeless-backlog",
            Severity::Fail,
            Measured::count(result.waiting.most as f64, 0.0, "requests"),
            format!(
                "ended after {} s of {} s: {} requests waited for a connection, more than could be sent in the planned time{}",
                grouped(result.recorded_s, 1),
                result.plan.duration_s,
                count(result.waiting.most),
                super::offered::sustained(result)
            ),
            "lower the rate, raise `--connections` or `--workers`, or skip requests with `--when-busy skip`",
        )
        .bounding(&["times"])]
    },
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Lower)),
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Book, EndedBy, Severity, TimeOf, Verdict};

    use crate::load::tests::fired;

    #[test]
    fn an_interrupted_trial_reports_the_time_that_its_numbers_cover() {
        let (severity, result) = fired("interrupted", |result| {
            (result.ended_by, result.recorded_s) = (EndedBy::Interrupt, 2.06);
        });
        assert_eq!(severity, Some(Severity::Warn));
        assert!(result.findings[0].message.contains("after 2.1 s of 10 s"), "{}", result.findings[0].message);
        assert!(result.latency.response.p50_us.is_some(), "recorded numbers are kept");
    }

    #[test]
    fn an_interrupted_trial_of_some_requests_reports_how_many_it_sent() {
        let (_, result) = fired("interrupted", |result| {
            (result.ended_by, result.plan.request_limit) = (EndedBy::Interrupt, Some(5_000_000));
        });
        let found = result.findings.iter().find(|finding| finding.id == "interrupted").unwrap();
        let sent = hoptax_result::count(result.book.sent);
        assert!(
            found.message.contains(&format!("after {sent} of 5,000,000 requests: ")),
            "{}",
            found.message
        );
        assert_eq!((found.threshold, found.unit.as_str()), (5_000_000.0, "requests"));
    }

    #[test]
    fn a_trial_that_is_interrupted_before_its_first_measured_request_is_void() {
        let (severity, result) = fired("interrupted", |result| {
            (result.ended_by, result.recorded_s, result.book) = (EndedBy::Interrupt, 0.0, Book::default());
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Void));
        assert_eq!(result.rate.achieved, None);
        assert!(result.findings.iter().all(|finding| finding.id != "offered"), "{:?}", result.findings);
        let found = result.findings.iter().find(|finding| finding.id == "interrupted").unwrap();
        assert_eq!(found.message, "interrupted before the first measured request");
    }

    #[test]
    fn a_hopeless_backlog_leaves_lower_bounds_of_times() {
        let (severity, result) = fired("hopeless-backlog", |result| {
            (result.ended_by, result.recorded_s, result.waiting.most) = (EndedBy::Backlog, 0.5, 3_000_000);
        });
        assert_eq!((severity, result.verdict), (Some(Severity::Fail), Verdict::Caution));
        assert_eq!(result.response(TimeOf::Percentile(50.0)).ends(), (Some(96.0), None));
        assert!(
            result.findings[0].message.contains("3,000,000 requests waited"),
            "{}",
            result.findings[0].message
        );
    }
}
