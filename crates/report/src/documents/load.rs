//! The document of a load: requests answered, their rate, and response times with their intervals or bounds.

mod accounts;
mod agents;
mod bands;
mod by_request;
mod cells;
mod charts;
mod counts;
mod course;
mod errors;
mod flow;
mod heading;
mod headlines;
mod imported;
mod intervals;
mod merged;
mod next_step;
mod phases;
mod workers;

use hoptax_result::{
    EndedBy, FailOnOutcome, Known, Latency, LatencyBounds, LoadResult, Loop, QuantileIntervals, Range, TimeOf,
};

use crate::document::{Block, CheckText, Document, FindingText, Judgement, Section};
use crate::numbers::{count, decimals, grouped, percent, us};
use crate::quantity::{Form, Quantity};
use crate::rows::MIB;
use crate::same_load::GivenOptions;
use crate::table::{Cell, Column, Row, Table};
use crate::{account, environment, words};
use cells::{cell, rate};

const US_PER_MS: f64 = 1_000.0;

pub(super) use charts::{by_percentile, response_curve};

/// The document of a load whose other options are unknown.
pub fn load(result: &LoadResult) -> Document {
    load_of(result, GivenOptions::default())
}

/// The document of a load that was sent with these options.
pub fn load_of(result: &LoadResult, given: GivenOptions<'_>) -> Document {
    let (subject, how) = heading::heading(result);
    let load = Block::Lines(vec![subject.clone(), how.clone()]).unless_page(true);
    let mut document = Document::of(result, subject, how, answer(result));
    // The machine of the result is that of the first of its runs.
    let are_alike = result.merged.as_ref().is_none_or(|merged| merged.differences.is_empty());
    document.measured = document.measured.filter(|_| are_alike);
    document.verdict = Some(Judgement { verdict: result.verdict, usable: result.usable() });
    document.table = (!result.book.is_empty()).then(|| times(result));
    document.headlines = headlines::headlines(result);
    document.notes = fail_on(result);
    document.notes.extend(intervals::note(result));
    document.notes.extend(by_request::slowest(result));
    document.only_in_details = (!result.by_request.is_empty()).then_some("times of each request");
    document.notes.extend(accounts::failures(result));
    document.notes.extend(accounts::unsent(result));
    document.notes.extend(words::loosened(&result.loosened));
    document.next = next_step::next(result, given);
    document.findings = FindingText::all(&result.findings);
    document.checks_without_finding = checks_without_finding(result);
    document.plots = charts::charts(result);
    document.is_table_plotted = charts::has_times(&document.plots);
    document.sections.push(Section::new("Load", vec![load]));
    document.sections.extend(accounts::section(result, flow::flow(result).is_some()));
    document.sections.extend(by_request::section(result));
    document.sections.push(Section::folded(latencies(result)));
    document.sections.extend(percentiles(result).map(Section::of_table));
    document.sections.extend(Section::of_lines("About the response times", coverage(result)));
    document.sections.extend(stages(result));
    document.sections.extend(result.agents.as_ref().map(agents::section));
    document.sections.extend(result.merged.as_ref().map(|merged| Section::of_table(merged::runs(merged))));
    let processes: Vec<String> = result.account.iter().map(account::line).chain(generator(result)).collect();
    document.sections.extend(Section::of_lines("Processes", processes));
    document.sections.extend(workers::section(result));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The checks that found nothing. Empty for a load of another tool, which was not judged, and for merged files, each of which was judged by
/// the program that made it.
fn checks_without_finding(result: &LoadResult) -> Vec<CheckText> {
    let is_judged_here = match (&result.imported, &result.merged) {
        (Some(_), _) => false,
        // The controller of agents judges each agent's part.
        (None, Some(_)) => result.agents.is_some(),
        (None, None) => true,
    };
    if is_judged_here {
        CheckText::without_finding("load", &result.program, &result.findings)
    } else {
        Vec::new()
    }
}

/// The requests answered and their rate, then response time.
fn answer(result: &LoadResult) -> Vec<String> {
    let book = &result.book;
    if book.is_empty() && result.ended_by == EndedBy::Interrupt {
        return vec!["The load was interrupted before the first measured request".to_owned()];
    }
    let rate = result.rate.achieved.map_or_else(String::new, |rate| format!(", {}/s", grouped(rate, 0)));
    let requests = if let Some(imported) = &result.imported {
        imported::answer(result, imported)
    } else {
        // A closed loop plans no requests, because it sends the next one after a response. The plan of a load that was interrupted had more
        // than the book counts.
        let (all, planned, due) = match (result.plan.loop_, result.ended_by) {
            (Loop::Open, EndedBy::Interrupt) => (book.planned, "", " due before the interruption"),
            (Loop::Open, _) => (book.planned, " planned", ""),
            (Loop::Closed, _) => (book.sent, "", ""),
        };
        let arrivals = heading::arrivals(result).unwrap_or_default();
        let of_parts = match &result.agents {
            Some(agents) => agents::incomplete(agents),
            None => result.merged.as_ref().and_then(merged::incomplete),
        };
        let of_parts = of_parts.unwrap_or_default();
        let were = if book.answered == 1 { "was" } else { "were" };
        format!(
            "{} of {}{planned} requests{of_parts}{due} {were} answered{rate}{arrivals}",
            count(book.answered),
            count(all)
        )
    };
    let (name, of_response) = match result.latency.response.count {
        0 => ("service time", false),
        _ => ("response time", true),
    };
    let quantile = |percentile: f64| {
        let text = quantity(result, percentile, of_response)?.text();
        Some(format!("p{percentile} {text} us"))
    };
    let percentiles = [50.0, 99.0];
    let is_without = |percentile: f64| of_response && intervals::is_without(result, percentile);
    let mark = if percentiles.into_iter().any(is_without) { ", without intervals" } else { "" };
    let times: Vec<String> = percentiles.into_iter().filter_map(quantile).collect();
    let times =
        (!times.is_empty()).then(|| format!("{}{mark}: {}", words::capitalised(name), times.join(", ")));
    std::iter::once(requests).chain(times).collect()
}

/// A quantile with its interval or its bounds; none if nothing is known about it.
pub(super) fn quantity(result: &LoadResult, percentile: f64, of_response: bool) -> Option<Quantity> {
    let of = TimeOf::Percentile(percentile);
    // For another tool, only the bucket of a service time may be known.
    let mut buckets = result.imported.iter().flat_map(|imported| &imported.ranges).filter(|_| !of_response);
    if let Some(bucket) = buckets.find(|bucket| (bucket.percentile - percentile).abs() < 1e-9) {
        return Some(Quantity::bounded(Some(bucket.low_us), Some(bucket.high_us), "us", Form::Level));
    }
    let known = if of_response { result.response(of) } else { result.service(of) };
    let interval = interval(&result.response_intervals, percentile).filter(|_| of_response);
    stated(known, interval)
}

/// The interval of a standard percentile.
fn interval(all: &QuantileIntervals, percentile: f64) -> Option<Range> {
    match percentile {
        50.0 => all.p50_us,
        90.0 => all.p90_us,
        99.0 => all.p99_us,
        99.9 => all.p99_9_us,
        _ => None,
    }
}

/// A time with its interval or its bounds; none if nothing is known about it.
fn stated(known: Known, interval: Option<Range>) -> Option<Quantity> {
    Some(match (known, known.ends()) {
        (Known::Unknown, _) => return None,
        (Known::Measured(estimate), _) => {
            let (low, high) = (interval.map(|range| range.low), interval.map(|range| range.high));
            Quantity::estimated(estimate, low, high, "us")
        }
        (_, (low, high)) => {
            let low = low.filter(|low| *low >= least_us(*low, high));
            low.or(high)?;
            Quantity::bounded(low, high, "us", Form::Level)
        }
    })
}

/// The smallest lower bound of a time to print: one that would round to zero says nothing.
fn least_us(low_us: f64, high_us: Option<f64>) -> f64 {
    let places = high_us.map_or(2, |high_us| decimals((high_us - low_us) / 2.0));
    10.0_f64.powi(-(places as i32))
}

/// Quantiles of response and service time.
fn times(result: &LoadResult) -> Table {
    let cells = |of_response: bool| -> Vec<Cell> {
        let count = if of_response { result.latency.response.count } else { result.latency.service.count };
        let unknown =
            || if count == 0 { Cell::Empty } else { Cell::Quantity(Quantity::unknown("withheld", "us")) };
        let quantiles = [50.0, 90.0, 99.0, 99.9];
        quantiles
            .into_iter()
            .map(|percentile| quantity(result, percentile, of_response).map_or_else(unknown, Cell::Quantity))
            .collect()
    };
    let rows = [("response time", true), ("service time", false)];
    let columns = [("p50", 0), ("p90", 2), ("p99", 1), ("p99.9", 3)]
        .into_iter()
        .map(|(heading, priority)| Column::new(heading, priority));
    let title = "times, us (response: from the intended start; service: from the send)";
    let rows = rows.into_iter().map(|(name, of_response)| Row::new(name, cells(of_response)));
    Table::new(title, "us", columns, rows)
}

fn generator(result: &LoadResult) -> Option<String> {
    let generator = &result.generator;
    result.imported.is_none().then(|| {
        format!(
            "generator: {} s of CPU, {} ms of waiting for a processor in {} s",
            grouped(generator.cpu_seconds, 2),
            grouped(generator.run_delay_us / US_PER_MS, 1),
            grouped(generator.wall_seconds, 2)
        )
    })
}

/// The distributions. Response time covers answered requests and requests whose response was still pending.
fn latencies(result: &LoadResult) -> Table {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |name: &str, cells: Vec<String>| rows.push((name.to_owned(), cells));
    let latency = &result.latency;
    add("response time", statistics(&latency.response, &result.bounds.response));
    let intervals = &result.response_intervals;
    let ranges = [intervals.p50_us, intervals.p90_us, intervals.p99_us, intervals.p99_9_us];
    let known = [
        latency.response.p50_us,
        latency.response.p90_us,
        latency.response.p99_us,
        latency.response.p99_9_us,
    ];
    if ranges.iter().zip(known).any(|(range, known)| range.is_some() && known.is_some()) {
        for (name, end) in [("  95 % from", 0), ("       to", 1)] {
            let cells =
                ranges.iter().zip(known).map(|(range, known)| match range.filter(|_| known.is_some()) {
                    Some(range) => us(if end == 0 { range.low } else { range.high }),
                    None => String::new(),
                });
            let empty = || std::iter::repeat_n(String::new(), 2);
            add(name, empty().chain(cells).chain(std::iter::once(String::new())).collect());
        }
    }
    add("service time", service(result));
    add("send lag", quantiles(&latency.send_lag));
    add("first byte", quantiles(&latency.first_byte));
    add("last byte", quantiles(&latency.last_byte));
    if latency.connect.count > 0 {
        add("connect", quantiles(&latency.connect));
    }
    if let Some(messages) = &result.messages {
        add("per message", quantiles(messages));
    }
    for (outcome, failed) in result.outcomes.iter().filter(|(outcome, _)| *outcome != "answered") {
        add(outcome, quantiles(failed));
    }
    if let Some(kernel) = &result.kernel {
        add("write to wire", quantiles(&kernel.to_wire));
        add("on the wire", quantiles(&kernel.on_wire));
        add("wire to read", quantiles(&kernel.from_wire));
    }
    let headings = ["us", "min", "mean", "p50", "p90", "p99", "p99.9", "max"];
    Table::of_words("all times, us", headings, rows)
}

/// The requested percentiles.
fn percentiles(result: &LoadResult) -> Option<Table> {
    let count = result.latency.response.count;
    let row = |one: &hoptax_result::Percentile| {
        let of = TimeOf::Percentile(one.percentile);
        let cells = vec![cell(result.response(of), count), cell(result.service(of), count)];
        (format!("p{}", one.percentile), cells)
    };
    let rows: Vec<(String, Vec<String>)> = result.percentiles.iter().map(row).collect();
    let headings = ["us", "response time", "service time"];
    (!rows.is_empty()).then(|| Table::of_words("requested percentiles, us", headings, rows))
}

/// The conditions of `--fail-on`.
fn fail_on(result: &LoadResult) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &result.fail_on {
        let unit = |value: f64| match one.unit.as_str() {
            "us" => format!("{} us", us(value)),
            "%" => format!("{} %", grouped(value, 3)),
            "/s" => format!("{}/s", grouped(value, 0)),
            "bytes" => format!("{} MiB", grouped(value / MIB, 1)),
            unit => format!("{} {unit}", grouped(value, 0)),
        };
        let value = match (one.value, one.at_least, one.at_most) {
            (Some(value), ..) => unit(value),
            (None, Some(low), Some(high)) => format!("{} to {}", unit(low), unit(high)),
            (None, Some(low), None) => format!("at least {}", unit(low)),
            (None, None, Some(high)) => format!("at most {}", unit(high)),
            (None, None, None) => "no value".to_owned(),
        };
        let outcome = match one.outcome {
            FailOnOutcome::Passed => "passed",
            FailOnOutcome::Failed => "FAILED",
            FailOnOutcome::Unknown => "UNKNOWN",
        };
        lines.push(format!("fail-on `{}`: {outcome}: {value}", one.condition));
    }
    lines
}

/// The requests that response time covers, and its ratio to the latency floor.
fn coverage(result: &LoadResult) -> Vec<String> {
    let answered = result.book.answered;
    let awaited = result.latency.response.count.saturating_sub(answered);
    let mut lines = Vec::new();
    let is_withheld = result.response(TimeOf::Percentile(50.0)) == Known::Unknown;
    if result.imported.is_none() && !is_withheld {
        let and = if awaited > 0 {
            format!(", and {} unanswered ones up to the end of the wait", count(awaited))
        } else {
            String::new()
        };
        lines.push(format!("from the intended start: {} answered requests{and}", count(answered)));
    }
    if let (Some(calibration), Some(p50_us), Some(rate)) =
        (&result.environment.calibration, result.latency.response.p50_us, result.rate.target)
        && let Some(floor_us) = calibration.floor_p50_us_at(rate)
    {
        lines.push(format!(
            "p50 is {} times the latency floor ({} us at this rate, calibrated {})",
            grouped(p50_us / floor_us, 1),
            us(floor_us),
            calibration.measured_at
        ));
    }
    lines.extend(shape(result));
    lines
}

/// The modes, if there is more than one.
fn shape(result: &LoadResult) -> Option<String> {
    if result.modes.len() < 2 {
        return None;
    }
    let modes = result
        .modes
        .iter()
        .map(|mode| format!("{} around {} us", percent(mode.share, 1), us(mode.peak_us)))
        .collect::<Vec<_>>();
    Some(format!("modes: {}", modes.join(", ")))
}

fn stages(result: &LoadResult) -> Option<Section> {
    if result.stages.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for stage in &result.stages {
        let name = if (stage.from_rate - stage.to_rate).abs() < f64::EPSILON {
            format!("{}/s", rate(stage.to_rate))
        } else {
            format!("{} to {}/s", rate(stage.from_rate), rate(stage.to_rate))
        };
        let response = &stage.latency.response;
        let percentile =
            |of: f64| cell(response.known(&stage.bounds.response, TimeOf::Percentile(of)), response.count);
        let book = &stage.book;
        let cells = vec![
            grouped(
                stage.duration_s,
                usize::from((stage.duration_s - stage.duration_s.round()).abs() > 0.05),
            ),
            stage.rate.achieved.map_or("withheld".to_owned(), rate),
            count(book.sent - book.answered),
            count(book.unsent),
            percentile(50.0),
            percentile(99.0),
            percentile(99.9),
        ];
        rows.push((name, cells));
    }
    let header = ["stage", "for s", "answered/s", "errors", "unsent", "p50 us", "p99 us", "p99.9 us"];
    let mut section = Section::of_table(Table::of_words("stages", header, rows));
    let planned = result.plan.stages.as_deref().map_or(0, |stages| stages.split(',').count());
    let lacking = match planned.saturating_sub(result.stages.len()) {
        0 => return Some(section),
        1 => "the last stage did not start".to_owned(),
        more => format!("the last {more} stages did not start"),
    };
    section.blocks.push(Block::Note(lacking));
    Some(section)
}

/// The quantiles of service time. An imported result may have only the range of a bucket.
fn service(result: &LoadResult) -> Vec<String> {
    // Service time is never withheld from imported results: if it is missing, the other tool did not report it.
    let count = if result.imported.is_some() { 0 } else { result.latency.service.count };
    let mut cells = statistics(&Latency { count, ..result.latency.service }, &result.bounds.service);
    // Skip the minimum and the mean.
    let columns = [50.0, 90.0, 99.0, 99.9].into_iter().zip(cells.iter_mut().skip(2));
    for (percentile, cell) in columns {
        let mut ranges = result.imported.iter().flat_map(|imported| &imported.ranges);
        if let Some(range) = ranges.find(|range| (range.percentile - percentile).abs() < 1e-9) {
            *cell = format!("{} to {}", us(range.low_us), us(range.high_us));
        }
    }
    cells
}

fn quantiles(latency: &Latency) -> Vec<String> {
    statistics(latency, &LatencyBounds::default())
}

/// All statistics of a distribution, or their bounds.
fn statistics(latency: &Latency, bounds: &LatencyBounds) -> Vec<String> {
    let percentiles = [50.0, 90.0, 99.0, 99.9].map(TimeOf::Percentile);
    let all = [TimeOf::Min, TimeOf::Mean].into_iter().chain(percentiles).chain([TimeOf::Max]);
    all.map(|of| cell(latency.known(bounds, of), latency.count)).collect()
}

#[cfg(test)]
mod tests;
