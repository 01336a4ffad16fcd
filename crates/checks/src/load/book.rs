//! The accounts of requests must balance: no request may be lost.

use hoptax_result::{Finding, LoadResult, Measured, Severity, counted};

use crate::check::Check;

/// `planned = sent + unsent`; `sent = answered + failed + timed_out + unfinished`.
pub(super) const BALANCES: Check<LoadResult> = Check {
    id: "book",
    protects_from: "requests missing from the record, usually the slow ones",
    source: "own; several generators drop the requests in flight at the end",
    judge: |result, _| {
        let book = &result.book;
        if book.balances() {
            return Vec::new();
        }
        let accounted = book.answered + book.failed + book.timed_out + book.unfinished;
        let lost = (book.planned as f64 - (book.sent + book.unsent) as f64).abs()
            + (book.sent as f64 - accounted as f64).abs();
        vec![Finding::new(
            "book",
            Severity::Fail,
            Measured::count(lost, 0.0, "requests"),
            format!("unaccounted for: {}", counted(lost as u64, "request")),
            "this is a bug in hoptax: report it with the result file",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::Severity;

    use crate::load::tests::fired;

    #[test]
    fn a_lost_request_fires() {
        assert_eq!(fired("book", |result| result.book.sent += 1).0, Some(Severity::Fail));
        assert_eq!(fired("book", |result| result.book.unsent += 1).0, Some(Severity::Fail));
    }
}
