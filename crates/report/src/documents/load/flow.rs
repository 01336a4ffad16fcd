//! The requests of a load, from planned to answered.

use hoptax_result::{LoadResult, Loop, why_unsent};

use crate::chart::{Flow, FlowPart, FlowRole};

/// Returns how the requests divide: planned into sent and unsent, and sent into outcomes. None for results of other tools, whose counts may
/// overlap, and if there are no requests.
pub(super) fn flow(result: &LoadResult) -> Option<Flow> {
    let book = &result.book;
    if result.imported.is_some() || book.planned == 0 {
        return None;
    }
    let part = |name: &str, of: Option<usize>, count: u64, role: FlowRole| FlowPart {
        name: name.to_owned(),
        of,
        count,
        role,
    };
    let mut parts = Vec::new();
    // A closed loop plans no requests, because it sends the next one after a response.
    if result.plan.loop_ == Loop::Open || book.unsent > 0 {
        parts.push(part("planned", None, book.planned, FlowRole::Planned));
    }
    let whole = (!parts.is_empty()).then_some(0);
    let sent = Some(parts.len());
    parts.push(part("sent", whole, book.sent, FlowRole::Sent));
    parts.push(part("answered", sent, book.answered, FlowRole::Answered));
    let mut some = |name: &str, of: Option<usize>, count: u64, role: FlowRole| {
        if count > 0 {
            parts.push(part(name, of, count, role));
        }
    };
    for (kind, count) in &result.failures {
        some(kind, sent, *count, FlowRole::Lost);
    }
    let of_a_kind: u64 = result.failures.values().sum();
    some("failed otherwise", sent, book.failed.saturating_sub(of_a_kind), FlowRole::Lost);
    some("timed out", sent, book.timed_out, FlowRole::Lost);
    some("unfinished", sent, book.unfinished, FlowRole::Lost);
    for (reason, count) in &result.unsent {
        some(&unsent(reason), whole, *count, FlowRole::Unsent);
    }
    Some(Flow { title: "where the requests went".to_owned(), unit: "requests", parts })
}

/// Returns the reason why a request was not sent, in a line of its own.
pub(super) fn unsent(reason: &str) -> String {
    format!("unsent: {}", why_unsent(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn result() -> LoadResult {
        let mut result = fixture::load();
        let book = &mut result.book;
        (book.planned, book.sent, book.unsent, book.answered) = (100, 90, 10, 80);
        (book.failed, book.timed_out, book.unfinished) = (7, 2, 1);
        result.unsent = [("busy".to_owned(), 10)].into();
        result.failures = [("reset".to_owned(), 7)].into();
        result
    }

    /// Sum of the parts of a part.
    fn sum(flow: &Flow, of: usize) -> u64 {
        flow.parts.iter().filter(|part| part.of == Some(of)).map(|part| part.count).sum()
    }

    #[test]
    fn the_parts_of_a_part_add_up_to_it_and_come_after_it() {
        let flow = flow(&result()).unwrap();
        let names: Vec<&str> = flow.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "planned",
                "sent",
                "answered",
                "reset",
                "timed out",
                "unfinished",
                "unsent: no connection was free"
            ]
        );
        assert_eq!((sum(&flow, 0), sum(&flow, 1)), (100, 90));
        assert!(flow.parts.iter().enumerate().all(|(place, part)| part.of.is_none_or(|of| of < place)));
    }

    #[test]
    fn failures_without_a_kind_are_not_lost_and_no_answer_is_shown_as_none() {
        let mut result = result();
        result.failures.clear();
        let one = flow(&result).unwrap();
        assert!(one.parts.iter().any(|part| part.name == "failed otherwise" && part.count == 7));
        result.book.answered = 0;
        assert!(flow(&result).unwrap().parts.iter().any(|part| part.name == "answered" && part.count == 0));
    }

    #[test]
    fn a_closed_loop_begins_with_what_it_sent() {
        let mut result = result();
        result.plan.loop_ = Loop::Closed;
        (result.book.planned, result.book.unsent) = (90, 0);
        result.unsent.clear();
        let flow = flow(&result).unwrap();
        assert_eq!((flow.parts[0].name.as_str(), flow.parts[0].of), ("sent", None));
        assert_eq!(sum(&flow, 0), 90);
    }
}
