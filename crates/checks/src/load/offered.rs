//! What was planned must have been offered.

use hoptax_result::{LoadResult, Severity};

use crate::thresholds::OFFERED_SHARE;
use crate::{Check, Measured, finding};

/// Requests that were never sent are waits that were never measured.
pub(super) const OFFERED: Check<LoadResult> = Check {
    id: "offered",
    protects_from: "a generator that quietly offers less than it was asked to",
    source: "Lancet (ATC 2019), check of the rate; RFC 9411, sustained rate",
    judge: |result| {
        let book = &result.book;
        if book.planned == 0 {
            return vec![finding(
                "offered",
                Severity::Fail,
                Measured::percent(0.0, OFFERED_SHARE),
                "no request was planned in the recorded time".to_owned(),
                "raise the rate or the duration",
            )];
        }
        let share = book.sent as f64 / book.planned as f64;
        if share >= OFFERED_SHARE {
            return Vec::new();
        }
        vec![finding(
            "offered",
            Severity::Fail,
            Measured::percent(share, OFFERED_SHARE),
            format!(
                "{} of {} planned requests were sent ({:.1} %): {} found no free connection before the end",
                book.sent,
                book.planned,
                share * 100.0,
                book.unsent
            ),
            "the subject cannot take this rate on these connections: lower the rate or raise the connections",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::Severity;

    use crate::load::tests::fired;

    #[test]
    fn unsent_requests_fire() {
        let (severity, _) = fired("offered", |result| {
            (result.book.sent, result.book.answered, result.book.unsent) = (197_000, 197_000, 3_000);
        });
        assert_eq!(severity, Some(Severity::Fail));
    }

    #[test]
    fn an_empty_trial_fires() {
        assert_eq!(
            fired("offered", |result| result.book = hoptax_result::Book::default()).0,
            Some(Severity::Fail)
        );
    }
}
