//! Loads beside each other: their percentile curves on one chart, and the differences between their response times.

use hoptax_result::{Interval, LoadResult};

use super::Named;
use super::decided::{Compared, Found, bounded, chart, decided, notes, table as differences};
use crate::chart::{Chart, Line};
use crate::document::{Block, Document, Section};
use crate::documents::load::{by_percentile, quantity, response_curve};
use crate::numbers::{counted, grouped};
use crate::quantity::{Basis, Quantity};
use crate::table::{Cell, Column, Row, Table};

/// The percentiles for which results have intervals.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9")];
/// The percentiles that a sentence names.
const IN_SENTENCE: [&str; 2] = ["p50", "p99"];

/// The document of loads. The first is the reference.
pub(super) fn overlaid(runs: &[Named<'_, LoadResult>]) -> Document {
    let mut document = Document::new("", "", Vec::new());
    document.plots.extend(curves(runs));
    document.table = Some(table(runs));
    let Some((reference, others)) = runs.split_first() else { return document };
    let mut all = Vec::new();
    for run in others {
        let of_run = compared(reference.result, run);
        document.answer.push(sentence(&reference.name, &run.name, &of_run));
        all.extend(of_run);
    }
    let reference = &reference.name;
    let axis = format!("difference of response time from {reference}, %");
    let of_run = |one: &Compared| one.run.clone();
    document.plots.extend(chart(&format!("Differences from {reference}"), axis, &all, of_run));
    let title = format!("differences of response time from {reference}");
    document.sections.extend(differences(title, "run", reference, Some("us"), &all));
    document.notes.extend(notes(reference));
    document
}

/// Response time by quantile, a line for each load.
fn curves(runs: &[Named<'_, LoadResult>]) -> Option<Section> {
    let line = |run: &Named<'_, LoadResult>| {
        let points = response_curve(run.result);
        (!points.is_empty()).then(|| Line::joined(run.name.clone(), run.tone, points))
    };
    let lines: Vec<Line> = runs.iter().filter_map(line).collect();
    let count = lines.len();
    (count > 0).then(|| {
        let note = "From the intended start of each request. A curve ends where its quantiles are only bounded or withheld; bounds are \
                    upright dashed lines.";
        let mut blocks = vec![
            Block::Note(note.to_owned()),
            Block::chart(Chart::Series(by_percentile("response time by percentile", lines))),
        ];
        if count < runs.len() {
            let without = counted((runs.len() - count) as u64, "run");
            let note = format!("{without} without a curve: no histogram, or every quantile is withheld.");
            blocks.insert(1, Block::Note(note));
        }
        Section::new("Response time by percentile", blocks)
    })
}

/// Rates, failures and response times, a row for each load.
fn table(runs: &[Named<'_, LoadResult>]) -> Table {
    let row = |run: &Named<'_, LoadResult>| {
        let result = run.result;
        let rate = match result.rate.achieved {
            Some(rate) => Cell::words(grouped(rate, 0)),
            None => Cell::Quantity(Quantity::unknown("withheld", "requests/s")),
        };
        let book = &result.book;
        let failed = match result.imported {
            None => Cell::words(grouped((book.failed + book.timed_out) as f64, 0)),
            Some(_) => Cell::Empty,
        };
        let withheld = || match result.latency.response.count {
            0 => Cell::Empty,
            _ => Cell::Quantity(Quantity::unknown("withheld", "us")),
        };
        let times = PERCENTILES
            .into_iter()
            .map(|(percentile, _)| quantity(result, percentile, true).map_or_else(withheld, Cell::Quantity));
        let cells = std::iter::once(rate).chain(times).chain([failed]).collect();
        Row::new(run.name.clone(), cells)
    };
    let columns =
        [("answered/s", 1), ("p50 us", 0), ("p90 us", 4), ("p99 us", 2), ("p99.9 us", 5), ("failed", 3)];
    let title = "rates, and response times with their intervals";
    let columns = columns.into_iter().map(|(heading, priority)| Column::new(heading, priority));
    Table::new(title, "run", columns, runs.iter().map(row))
}

/// The interval of a percentile; none if only its bounds are known.
fn interval(found: &Quantity) -> Option<Interval> {
    if found.basis != Basis::Measured {
        return None;
    }
    Some(Interval::new(found.estimate?, found.low?, found.high?))
}

/// The percentiles that have intervals in both loads, and those of whose difference at least a bound is known.
fn compared(reference: &LoadResult, run: &Named<'_, LoadResult>) -> Vec<Compared> {
    let one = |(percentile, name): (f64, &'static str)| {
        let of_reference = quantity(reference, percentile, true)?;
        let own = quantity(run.result, percentile, true)?;
        let found = match (interval(&of_reference), interval(&own)) {
            (Some(reference), Some(own)) => Found::Decided(decided(&reference, &own, &reference)?),
            _ => Found::Bounded(bounded(&of_reference, &own)?),
        };
        Some(Compared {
            run: run.name.clone(),
            part: name.to_owned(),
            measure: name.to_owned(),
            words: format!("{name} of response time, us"),
            unit: "us",
            reference: of_reference,
            found,
        })
    };
    PERCENTILES.into_iter().filter_map(one).collect()
}

/// One run against the reference.
fn sentence(reference: &str, run: &str, all: &[Compared]) -> String {
    let named = all.iter().filter(|one| IN_SENTENCE.contains(&one.part.as_str()));
    let each: Vec<String> = named.map(|one| format!("{} {}", one.part, one.in_words())).collect();
    if each.is_empty() {
        return format!(
            "no difference of p50 or p99 of response time is known between {run} and {reference}"
        );
    }
    format!("{run} against {reference}: {}", each.join("; "))
}
