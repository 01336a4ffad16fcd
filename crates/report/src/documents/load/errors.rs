//! The requests without an answer as a table: their number and share by kind and reason.

use hoptax_result::LoadResult;

use super::flow::unsent;
use crate::document::Block;
use crate::numbers::{count, grouped};
use crate::table::{Cell, Column, Row, Table};

const PERCENT: f64 = 100.0;

/// Requests of one kind with the same reason.
struct Lost {
    kind: String,
    /// None if the reason is unknown for all requests of its kind.
    reason: Option<String>,
    requests: u64,
}

/// The table under its title; empty if there is no table.
pub(super) fn blocks(result: &LoadResult) -> Vec<Block> {
    let note = "The requests without an answer, by kind and, where known, reason, with their shares of these and of all \
                requests.";
    let table = table(result).map(Block::Table);
    table.map_or_else(Vec::new, |table| vec![Block::Note(note.to_owned()), table])
}

/// A row for each kind and reason, the most frequent first. None for results of other tools, whose counts may overlap, and if all requests
/// were answered.
fn table(result: &LoadResult) -> Option<Table> {
    let book = &result.book;
    let mut all = lost(result);
    all.sort_by_key(|one| std::cmp::Reverse(one.requests));
    let of_these: u64 = all.iter().map(|one| one.requests).sum();
    if result.imported.is_some() || of_these == 0 {
        return None;
    }
    let share = |requests: u64, of: u64| {
        let percent = PERCENT * requests as f64 / of.max(1) as f64;
        // Two significant digits, however small the share.
        let decimals = (1.0 - percent.log10().floor()).clamp(1.0, 12.0) as usize;
        Cell::words(grouped(percent, decimals))
    };
    let row = |one: Lost| {
        let shares = [share(one.requests, of_these), share(one.requests, book.planned)];
        let cells =
            [Cell::words(count(one.requests))].into_iter().chain(shares).chain([Cell::from(one.reason)]);
        Row::new(one.kind, cells.collect())
    };
    let columns = [
        Column::new("requests", 0),
        Column::new("% of these", 2),
        Column::new("% of all", 3),
        Column::text("reason", 1),
    ];
    let title = "requests without an answer, by kind and reason";
    Some(Table::new(title, "kind", columns, all.into_iter().map(row)))
}

/// The requests without an answer, by kind and reason.
fn lost(result: &LoadResult) -> Vec<Lost> {
    let book = &result.book;
    let of_a_kind: u64 = result.failures.values().sum();
    let failures = result.failures.iter().map(|(kind, failed)| (kind.as_str(), kind.as_str(), *failed));
    let open = [
        ("failed otherwise", "", book.failed.saturating_sub(of_a_kind)),
        ("timed out", "timed-out", book.timed_out),
        ("unfinished", "unfinished", book.unfinished),
    ];
    let sent =
        failures.chain(open).flat_map(|(name, kind, requests)| by_reason(result, name, kind, requests));
    let not_sent = result.unsent.iter().map(|(reason, requests)| Lost {
        kind: unsent(reason),
        reason: None,
        requests: *requests,
    });
    sent.chain(not_sent).filter(|one| one.requests > 0).collect()
}

/// The requests of one kind by reason. Those with an unknown reason are counted as others.
fn by_reason(result: &LoadResult, name: &str, kind: &str, requests: u64) -> Vec<Lost> {
    let known = result.reasons.by_frequency(kind);
    let of_known: u64 = known.iter().map(|(_, requests)| requests).sum();
    let one = |reason: Option<&str>, requests: u64| Lost {
        kind: name.to_owned(),
        reason: reason.map(str::to_owned),
        requests,
    };
    let others = one((!known.is_empty()).then_some("others"), requests.saturating_sub(of_known));
    known.iter().map(|(reason, requests)| one(Some(*reason), *requests)).chain([others]).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::Imported;

    use super::*;
    use crate::fixture;

    /// The rows, each with its name.
    fn rows(result: &LoadResult) -> Vec<String> {
        let table = table(result).unwrap();
        let text = |row: usize| format!("{}: {}", table.rows[row].name, table.texts(row).join(", "));
        (0..table.rows.len()).map(text).collect()
    }

    #[test]
    fn each_kind_and_reason_has_its_number_and_its_shares_the_most_frequent_first() {
        let mut result = fixture::load();
        result.reasons.add("timed-out", "no connection", 1);
        assert_eq!(
            rows(&result),
            [
                "unsent: no connection was free: 100, 66.7, 0.050, -",
                "status-5xx: 40, 26.7, 0.020, -",
                "reset: 5, 3.3, 0.0025, Connection reset by peer",
                "reset: 2, 1.3, 0.0010, Broken pipe",
                "reset: 1, 0.67, 0.00050, others",
                "timed out: 1, 0.67, 0.00050, no connection",
                "unfinished: 1, 0.67, 0.00050, -",
            ]
        );
    }

    #[test]
    fn the_rows_add_up_to_the_requests_without_an_answer() {
        let mut result = fixture::load();
        result.failures.remove("status-5xx");
        let sum: u64 = lost(&result).iter().map(|one| one.requests).sum();
        assert_eq!(sum, result.book.planned - result.book.answered);
        assert!(lost(&result).iter().any(|one| one.kind == "failed otherwise" && one.requests == 40));
    }

    #[test]
    fn a_load_whose_requests_were_all_answered_and_that_of_another_tool_have_no_table() {
        let mut imported = fixture::load();
        imported.imported = Some(Imported::default());
        assert!(table(&imported).is_none());
        let mut answered = fixture::load();
        (answered.book.failed, answered.book.timed_out, answered.book.unfinished) = (0, 0, 0);
        answered.failures.clear();
        answered.unsent.clear();
        assert!(table(&answered).is_none());
    }
}
