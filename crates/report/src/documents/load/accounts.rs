//! Accounts of the requests of a load: rates, counts by outcome, connections and TLS.

use std::collections::BTreeMap;
use std::fmt::Display;

use hoptax_result::{BodyBytes, LoadResult, TlsResult, why_unsent};

use super::imported;
use crate::document::{Block, Section};
use crate::numbers::{byte_rate, count, grouped, us};

/// The sizes of bodies and their bytes per second, worded to follow the statuses of their responses.
fn bodies(bytes: BodyBytes, result: &LoadResult) -> String {
    let BodyBytes { smallest, largest, total } = bytes;
    let sizes = if smallest == largest {
        count(smallest)
    } else {
        format!("{} to {}", count(smallest), count(largest))
    };
    // Merged runs may have recorded different times.
    let has_rate = result.merged.is_none() && result.rate.achieved.is_some() && result.recorded_s > 0.0;
    let rate =
        if has_rate { format!(", {}", byte_rate(total as f64 / result.recorded_s)) } else { String::new() };
    format!("; bodies of {sizes} bytes{rate}")
}

/// Rates and counts of requests. Leaves out how the requests divide, if a chart of the page shows it (`has_flow`).
pub(super) fn section(result: &LoadResult, has_flow: bool) -> Option<Section> {
    let lists = match &result.imported {
        Some(imported) => vec![Block::Lines(imported::accounts(result, imported))],
        None if result.book.is_empty() => vec![Block::Lines(others(result))],
        None => vec![
            Block::Lines(rates(result)),
            Block::Lines(parts(result)).unless_page(has_flow),
            Block::Lines(others(result)),
        ],
    };
    let is_empty = |block: &Block| matches!(block, Block::Lines(lines) if lines.is_empty());
    let blocks: Vec<Block> = lists.into_iter().filter(|block| !is_empty(block)).collect();
    (!blocks.is_empty()).then(|| Section::new("Accounts", blocks))
}

fn rates(result: &LoadResult) -> Vec<String> {
    let rate = |rate: f64| format!("{}/s", grouped(rate, 0));
    // Do not print a rate that was withheld, which could be computed from the count of responses below. The count is kept as evidence.
    let mut lines = vec![format!(
        "rate: {}sent {}{}{}",
        result.rate.achieved.map_or_else(String::new, |achieved| format!("answered {}, ", rate(achieved))),
        rate(result.rate.offered),
        result.rate.target.map_or_else(String::new, |target| format!(", planned {}", rate(target))),
        if result.rate.achieved.is_none() { " (rate of responses withheld)" } else { "" }
    )];
    // These rates do not cover requests that were due before the record and are still in the backlog.
    if let Some(sustained) = result.sustained_rate.filter(|_| result.unsent.contains_key("end")) {
        // As in the check of the offered load: a rate below 10/s has a decimal place.
        let digits = usize::from(sustained < 10.0);
        lines.push(format!("answered {}/s {}", grouped(sustained, digits), result.plan.sustained_since()));
    }
    lines
}

/// How the requests divide into outcomes.
fn parts(result: &LoadResult) -> Vec<String> {
    let book = &result.book;
    let mut lines = vec![
        format!(
            "requests: {} planned = {} sent + {} unsent",
            count(book.planned),
            count(book.sent),
            count(book.unsent)
        ),
        format!(
            "{} sent = {} answered + {} failed + {} timed out + {} unfinished",
            count(book.sent),
            count(book.answered),
            count(book.failed),
            count(book.timed_out),
            count(book.unfinished)
        ),
    ];
    lines.extend(unsent(result));
    lines.extend(failures(result));
    lines
}

/// Waits, responses, connections and TLS.
fn others(result: &LoadResult) -> Vec<String> {
    let book = &result.book;
    let mut lines = Vec::new();
    if book.sent_again > 0 {
        lines.push(format!(
            "again: {} sent again, because the server had handed them back unprocessed",
            count(book.sent_again)
        ));
    }
    // Requests that never got a connection have waited for one, too.
    if book.blocked > 0 || result.waiting.most > 0 {
        let until_end = result.unsent.get("end").copied().unwrap_or_default();
        lines.push(format!(
            "waiting: {} waited for a connection{}, at most {} at once, {} s in total",
            count(book.blocked + until_end),
            if until_end > 0 {
                format!(", {} of them until the end", count(until_end))
            } else {
                String::new()
            },
            count(result.waiting.most),
            grouped(result.waiting.total_s, 3)
        ));
    }
    if !result.statuses.is_empty() {
        let of_bodies = result.body_bytes.map(|bytes| bodies(bytes, result)).unwrap_or_default();
        lines.push(format!("statuses: {}{of_bodies}", counts(&result.statuses, " of ")));
    }
    if !result.deviations.is_empty() {
        lines.push(format!("deviations: {}", counts(&result.deviations, " with ")));
    }
    if let Some(lookups) = &result.lookups {
        lines.push(format!(
            "lookups: {}, {} failed, {} changed the addresses or their order",
            count(lookups.done),
            count(lookups.failed),
            count(lookups.changes)
        ));
    }
    if !result.drained.is_empty() {
        lines.push(format!("drained: connections drained by the server: {}", counts(&result.drained, " ")));
    }
    lines.extend(result.tls.as_ref().map(tls_line));
    lines
}

/// Unsent requests by reason; none if all were sent.
pub(super) fn unsent(result: &LoadResult) -> Option<String> {
    let each = |(reason, number): (&String, &u64)| format!("{} ({})", count(*number), why_unsent(reason));
    let all: Vec<String> = result.unsent.iter().map(each).collect();
    (!all.is_empty()).then(|| format!("unsent: {}", all.join(", ")))
}

/// Failed requests by kind, with reasons; none if none failed.
pub(super) fn failures(result: &LoadResult) -> Option<String> {
    (!result.failures.is_empty())
        .then(|| format!("failures: {}", result.reasons.listed(&result.failures, Vec::new(), count)))
}

/// Numbers and their names: `1,500 of 200, 3 of 503`.
fn counts<N: Display>(numbers: &BTreeMap<N, u64>, between: &str) -> String {
    let each = |(name, number): (&N, &u64)| format!("{}{between}{name}", count(*number));
    numbers.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// Version, cipher, group and handshakes.
fn tls_line(tls: &TlsResult) -> String {
    let quantiles =
        [("p50", tls.handshake.p50_us), ("p99", tls.handshake.p99_us), ("max", tls.handshake.max_us)];
    let took: Vec<String> =
        quantiles.iter().filter_map(|(name, time)| Some(format!("{name} {}", us((*time)?)))).collect();
    format!(
        "TLS: {} with {}{}{}; {} full handshakes{}, {} resumed; {} us",
        tls.version,
        tls.cipher,
        tls.key_exchange_group.as_ref().map_or_else(String::new, |group| format!(", {group}")),
        tls.alpn.as_ref().map_or_else(String::new, |alpn| format!(", {alpn}")),
        count(tls.full_handshakes),
        match tls.hello_retry_requests {
            0 => String::new(),
            retries => format!(" ({} after a hello retry request)", count(retries)),
        },
        count(tls.resumed_handshakes),
        took.join(", "),
    )
}
