//! Requests that share a connection: the number that the server allows on it, and the requests that it hands back.

use hoptax_result::{Finding, LoadResult, Measured, Severity, counted, percent};

use crate::check::Check;
use crate::thresholds;

/// Many requests that the server handed back unprocessed.
pub(super) const SENT_AGAIN: Check<LoadResult> = Check {
    id: "sent-again",
    protects_from: "response times of two tries taken for those of one",
    source: "RFC 9113, sections 6.8 and 8.7: such requests were not processed, so a client may send them again",
    judge: |result, limits| {
        let book = &result.book;
        let share = book.sent_again as f64 / book.sent.max(1) as f64;
        let max = limits.value(&thresholds::SENT_AGAIN);
        if share <= max {
            return Vec::new();
        }
        let drained: u64 = result.drained.values().sum();
        let refused = result.closed.get("refused").copied().unwrap_or(0);
        let ended = match (drained, refused) {
            (0, 0) => String::new(),
            (drained, 0) => format!(", and drained {}", counted(drained, "connection")),
            (0, refused) => format!(", on {} that it did not drain", counted(refused, "connection")),
            (drained, refused) => {
                let drained = counted(drained, "connection");
                format!(", and drained {drained}; {refused} others it did not drain")
            }
        };
        vec![Finding::new(
            "sent-again",
            Severity::Warn,
            Measured::percent(share, max),
            format!(
                "the server handed back {} unprocessed, {} of those sent{ended}: each was sent again on another connection, and its \
                 response time counts from the first try",
                counted(book.sent_again, "request"),
                percent(share, 1)
            ),
            if refused > drained {
                "the server refuses single requests (REFUSED_STREAM): use fewer `--streams` or a lower rate, or raise the server's limit on \
                 concurrent requests, or that of its own queue"
            } else {
                "raise the number of requests that the server accepts on a connection (nginx: keepalive_requests), or replace connections \
                 before it does, with `--requests-per-connection`"
            },
        )]
    },
    withhold: None,
};

/// A server that allows fewer concurrent requests on a connection than requested.
pub(super) const STREAM_LIMIT: Check<LoadResult> = Check {
    id: "stream-limit",
    protects_from: "requests that the client held back, reported as a slow subject",
    source: "RFC 9113, section 5.1.2; RFC 9000, section 4.6",
    judge: |result, _| {
        let Some(limit) = result.stream_limit else { return Vec::new() };
        let plan = &result.plan;
        vec![Finding::new(
            "stream-limit",
            Severity::Warn,
            Measured::count(f64::from(limit), f64::from(plan.streams), "streams"),
            format!(
                "the server's limit on concurrent requests of a connection was at times {limit}, below the {} streams of the load: {} of {} \
                 requests waited",
                plan.streams, result.book.blocked, result.book.sent
            ),
            "response time includes that wait, service time does not; use `--streams` within the limit and more `--connections`",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::Severity;

    use crate::load::tests::fired;

    #[test]
    fn many_requests_sent_again_warn_and_few_do_not() {
        let sent_again = |count: u64| fired("sent-again", |result| result.book.sent_again = count);
        assert_eq!(sent_again(2_000).0, None);
        let (severity, result) = sent_again(2_001);
        assert_eq!(severity, Some(Severity::Warn));
        assert!(result.rate.achieved.is_some(), "the numbers are kept");
        assert!(result.findings[0].message.contains("handed back 2,001 requests"), "{:?}", result.findings);
    }

    #[test]
    fn requests_refused_one_by_one_are_told_from_drained_connections() {
        let finding = |drained: u64, refused: u64| {
            let (_, mut result) = fired("sent-again", |result| {
                result.book.sent_again = 9_000;
                result.drained.insert("no-error".to_owned(), drained);
                result.closed.insert("refused".to_owned(), refused);
            });
            let finding = result.findings.swap_remove(0);
            (finding.message, finding.advice)
        };
        let (message, advice) = finding(9, 0);
        assert!(message.contains(", and drained 9 connections: ") && advice.contains("keepalive_requests"));
        let (message, advice) = finding(0, 9);
        assert!(message.contains(", on 9 connections that it did not drain: "), "{message}");
        assert!(advice.starts_with("the server refuses single requests"), "{advice}");
    }

    #[test]
    fn a_limit_below_the_number_of_streams_warns() {
        let (severity, result) = fired("stream-limit", |result| {
            (result.stream_limit, result.plan.streams) = (Some(1), 8);
        });
        assert_eq!(severity, Some(Severity::Warn));
        assert!(result.findings[0].message.contains("was at times 1, below the 8 streams of the load"));
    }
}
