//! Loads beside each other: their percentile curves on one chart, and the differences of their response times.

use hoptax_result::{Interval, LoadResult};

use super::Named;
use super::decided::{Decided, MARGIN_SHARE, PERCENT, decided, notes};
use crate::chart::{Chart, DifferenceRow, Differences, Line};
use crate::document::{Block, Document, Section};
use crate::documents::load::{by_percentile, quantity, response_curve};
use crate::numbers::{counted, decimals, grouped};
use crate::quantity::{Basis, Quantity};
use crate::table::{Cell, Column, Row, Table};

/// The percentiles that results state with intervals.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9")];
/// Those that a sentence names.
const IN_SENTENCE: [&str; 2] = ["p50", "p99"];

/// A percentile of a load, compared with that of the reference.
struct Compared {
    /// The run.
    run: String,
    /// The percentile.
    name: &'static str,
    /// That of the reference, us.
    reference: Interval,
    /// The difference.
    found: Decided,
}

/// The document of loads, of which the first is the reference.
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
    document.plots.extend(chart(&reference.name, &all));
    document
        .sections
        .extend((!all.is_empty()).then(|| Section::of_table(differences(&reference.name, &all))));
    document.notes.extend(notes(&reference.name));
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
                    dashed.";
        let mut blocks = vec![
            Block::Note(note.to_owned()),
            Block::chart(Chart::Series(by_percentile("response time by percentile", lines))),
        ];
        if count < runs.len() {
            let without = counted((runs.len() - count) as u64, "run");
            let note = format!("{without} without a curve: no histogram, or no quantile that is not withheld.");
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
    Table {
        title: "rates, and response times with their intervals".to_owned(),
        names: "run".to_owned(),
        columns: columns.into_iter().map(|(heading, priority)| Column::new(heading, priority)).collect(),
        rows: runs.iter().map(row).collect(),
    }
}

/// A percentile of response time with its interval; none if only bounds are known of it.
fn interval(result: &LoadResult, percentile: f64) -> Option<Interval> {
    let found = quantity(result, percentile, true).filter(|found| found.basis == Basis::Measured)?;
    Some(Interval { estimate: found.estimate?, low: found.low?, high: found.high? })
}

/// The percentiles that both loads have with an interval.
fn compared(reference: &LoadResult, run: &Named<'_, LoadResult>) -> Vec<Compared> {
    let one = |(percentile, name): (f64, &'static str)| {
        let of_reference = interval(reference, percentile)?;
        let found = decided(&of_reference, &interval(run.result, percentile)?, of_reference.estimate)?;
        Some(Compared { run: run.name.clone(), name, reference: of_reference, found })
    };
    PERCENTILES.into_iter().filter_map(one).collect()
}

/// One run against the reference.
fn sentence(reference: &str, run: &str, all: &[Compared]) -> String {
    let named = all.iter().filter(|one| IN_SENTENCE.contains(&one.name));
    let each: Vec<String> = named.map(|one| format!("{} {}", one.name, one.found.in_words())).collect();
    if each.is_empty() {
        return format!("no p50 or p99 of response time has an interval in both {run} and {reference}");
    }
    format!("{run} against {reference}: {}", each.join("; "))
}

/// The differences as a chart; none without one.
fn chart(reference: &str, all: &[Compared]) -> Option<Section> {
    let row = |one: &Compared| {
        let difference = Quantity::difference(&one.found.difference, "us");
        let digits = decimals(one.found.difference.half_width());
        DifferenceRow {
            subject: one.run.clone(),
            measure: one.name.to_owned(),
            share: one.found.percent(),
            text: format!(
                "{} of response time: {} from {} us",
                one.name,
                difference.with_unit(),
                grouped(one.reference.estimate, digits)
            ),
            limit: None,
            outcome: one.found.decision.into(),
        }
    };
    let title = format!("Differences from {reference}");
    (!all.is_empty()).then(|| {
        let chart = Chart::Differences(Differences {
            title: title.clone(),
            axis: format!("difference of response time from {reference}, %"),
            margin: Some(PERCENT * MARGIN_SHARE),
            rows: all.iter().map(row).collect(),
        });
        Section::new(title, vec![Block::chart(chart)])
    })
}

/// The same as a table.
fn differences(reference: &str, all: &[Compared]) -> Table {
    let row = |one: &Compared| {
        let cells = vec![
            Cell::level(Some(&one.reference), "us"),
            Cell::Quantity(Quantity::difference(&one.found.difference, "us")),
            Cell::Quantity(one.found.percent()),
            Cell::words(one.found.decision.as_str()),
        ];
        Row::new(format!("{}: {}", one.run, one.name), cells)
    };
    Table {
        title: format!("differences of response time from {reference}"),
        names: "run".to_owned(),
        columns: vec![
            Column::new(format!("{reference} us"), 2),
            Column::new("difference us", 3),
            Column::new("relative %", 1),
            Column::text("decision", 0),
        ],
        rows: all.iter().map(row).collect(),
    }
}
