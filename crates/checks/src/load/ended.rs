//! A trial that ended early describes only the time that it recorded.

use hoptax_result::{EndedBy, LoadResult, Severity};

use crate::{Check, Measured, finding};

/// Interrupted trials.
pub(super) const INTERRUPTED: Check<LoadResult> = Check {
    id: "interrupted",
    protects_from: "a part of a trial being read as all of it",
    source: "our own",
    judge: |result, _| {
        if result.ended_by != EndedBy::Interrupt {
            return Vec::new();
        }
        let (recorded_s, planned_s) = (result.recorded_s, result.plan.duration_s);
        vec![finding(
            "interrupted",
            Severity::Warn,
            Measured::count(recorded_s, planned_s, "s"),
            format!(
                "the load was interrupted: the numbers are of {recorded_s:.1} s, and {planned_s} s were planned"
            ),
            "run it to its end before comparing it with others",
        )]
    },
    withhold: None,
};

/// Trials that ended because the backlog could never have been sent.
pub(super) const BACKLOG: Check<LoadResult> = Check {
    id: "hopeless-backlog",
    protects_from: "a rate that nobody can take, and a run that goes on planning it",
    source: "our own: more waits than ten times the rate so far, and 100,000/s at least, would send in the whole run",
    judge: |result, _| {
        if result.ended_by != EndedBy::Backlog {
            return Vec::new();
        }
        vec![finding(
            "hopeless-backlog",
            Severity::Fail,
            Measured::count(result.waiting.most as f64, 0.0, "requests"),
            format!(
                "the load was ended after {:.1} of {} recorded seconds: {} requests waited for a connection, more than \
                 could ever have been sent in the time planned",
                result.recorded_s, result.plan.duration_s, result.waiting.most
            ),
            "lower the rate, raise --connections or --workers, or have requests skipped with --when-busy skip",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{EndedBy, Severity};

    use crate::load::tests::fired;

    #[test]
    fn an_interrupted_trial_says_of_how_long_it_speaks() {
        let (severity, result) = fired("interrupted", |result| {
            (result.ended_by, result.recorded_s) = (EndedBy::Interrupt, 2.06);
        });
        assert_eq!(severity, Some(Severity::Warn));
        assert!(
            result.findings[0].message.contains("of 2.1 s, and 10 s were planned"),
            "{}",
            result.findings[0].message
        );
        assert!(result.latency.response.p50_us.is_some(), "what was recorded stands");
    }

    #[test]
    fn a_hopeless_backlog_is_void() {
        let (severity, result) = fired("hopeless-backlog", |result| {
            (result.ended_by, result.recorded_s, result.waiting.most) = (EndedBy::Backlog, 0.5, 3_000_000);
        });
        assert_eq!(severity, Some(Severity::Fail));
        assert!(
            result.findings[0].message.contains("3000000 requests waited"),
            "{}",
            result.findings[0].message
        );
    }
}
