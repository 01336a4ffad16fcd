//! The charts of a load: where its requests went, its times by quantile, their distribution, and its course.

use hoptax_load::encoded;
use hoptax_result::{CountedTime, Histogram, Known, LoadHistograms, LoadResult, TimeOf, Window};

use crate::chart::{
    Axis, BarPiece, BarRow, Bars, Bin, Chart, Column, Distribution, Distributions, Heat, Line, Point, Scale,
    Series, Tone, drawn,
};
use crate::document::{Block, Section};
use crate::histograms::binned;
use crate::numbers::grouped;

/// Quantiles of a curve: tenths, then the nines with their halves.
const QUANTILES: [f64; 21] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999,
    0.99995, 0.99999, 0.999_999,
];
/// Responses above a quantile that a curve must rest on.
const LEAST_ABOVE: f64 = 10.0;
/// The percentiles that results state or bound.
const STATED: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
const NS_PER_US: f64 = 1_000.0;

/// Times with their counts, ascending.
type Counts = Vec<CountedTime>;

/// The sections of the charts of a load; those without numbers are left out.
pub(super) fn charts(result: &LoadResult) -> Vec<Section> {
    let section = |title: &str, note: &str, charts: Vec<Chart>| {
        let note = (!note.is_empty()).then(|| Block::Note(note.to_owned()));
        let blocks: Vec<Block> = note.into_iter().chain(charts.into_iter().map(Block::chart)).collect();
        Section::new(title, blocks)
    };
    let mut sections = Vec::new();
    if let Some(histograms) = &result.histograms {
        let note = "Of answered requests. Response time is counted from the intended start of a request, and includes the send lag: \
                    the wait until it was sent. Service time is counted from the send. A curve ends where its quantiles are only bounded or withheld.";
        sections.extend(
            curves(result, histograms)
                .map(|curves| section("Times by percentile", note, vec![Chart::Series(curves)])),
        );
        let distribution = distribution(histograms.response.as_ref());
        sections.extend(distribution.map(|chart| {
            section(
                "Distribution of the response times",
                "As they were recorded, with what the generator may have delayed.",
                vec![Chart::Distributions(chart)],
            )
        }));
    }
    let course: Vec<Chart> =
        [heat(result).map(Chart::Heat), rates(result).map(Chart::Series)].into_iter().flatten().collect();
    if !course.is_empty() {
        let note = "Response times as they were recorded, with what the generator may have delayed; below, the requests per second by when \
                    they were due.";
        sections.push(section("Course of the load", note, course));
    }
    sections.extend(flow(result).map(|bars| section("Where the requests went", "", vec![Chart::Bars(bars)])));
    sections
}

fn counts(encoded: Option<&Histogram>) -> Counts {
    let times = encoded.and_then(encoded::decode::<u64>);
    times
        .iter()
        .flat_map(|times| times.iter_recorded())
        .map(|one| CountedTime::new(one.value_iterated_to(), one.count_at_value()))
        .collect()
}

/// Response time, service time and send lag by quantile, as far as the result states them.
fn curves(result: &LoadResult, histograms: &LoadHistograms) -> Option<Series> {
    let all = [
        ("response time", Tone::Own, &histograms.response, stated_to(|of| result.response(of))),
        ("service time", Tone::Other, &histograms.service, stated_to(|of| result.service(of))),
        ("send lag", Tone::Third, &histograms.send_lag, 1.0),
    ];
    let line = |(name, tone, encoded, to): (&str, Tone, &Option<Histogram>, f64)| {
        let points = curve(&counts(encoded.as_ref()), to);
        (!points.is_empty()).then(|| Line { name: name.to_owned(), tone, points })
    };
    let lines: Vec<Line> = all.into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Series {
        title: "times by percentile".to_owned(),
        x: Axis {
            scale: Scale::Nines,
            ..Axis::linear("share of the requests that took at most this long", "")
        },
        y: Axis { scale: Scale::Logarithmic, ..Axis::linear("time, us", "us") },
        lines,
        marks: Vec::new(),
    })
}

/// The share up to which quantiles are measured, and not only bounded or withheld: zero if not even the median is.
fn stated_to(known: impl Fn(TimeOf) -> Known) -> f64 {
    let is_measured = |percentile: &f64| matches!(known(TimeOf::Percentile(*percentile)), Known::Measured(_));
    let measured: Vec<f64> = STATED.into_iter().take_while(is_measured).collect();
    if measured.len() == STATED.len() {
        1.0
    } else {
        measured.last().map_or(0.0, |percentile| percentile / 100.0)
    }
}

/// The quantiles up to a share that enough times are above.
fn curve(counts: &Counts, to: f64) -> Vec<Point> {
    let total: u64 = counts.iter().map(|time| time.count).sum();
    if total == 0 || to <= 0.0 {
        return Vec::new();
    }
    let is_supported =
        |share: &f64| *share <= to && (*share <= 0.5 || (1.0 - share) * total as f64 >= LEAST_ABOVE);
    let mut points = Vec::new();
    let mut rest = counts.iter();
    let mut reached = 0;
    let mut value = 0;
    for share in QUANTILES.into_iter().filter(is_supported) {
        let wanted = ((share * total as f64).ceil() as u64).max(1);
        while reached < wanted
            && let Some(time) = rest.next()
        {
            reached += time.count;
            value = time.ns;
        }
        points.push(Point { x: share, ..Point::at(0.0, Some(value as f64 / NS_PER_US)) });
    }
    points
}

fn distribution(response: Option<&Histogram>) -> Option<Distributions> {
    let bins = binned(&counts(response));
    let (first, last) = (bins.first()?, bins.last()?);
    Some(Distributions {
        title: "response times".to_owned(),
        axis: "response time, us".to_owned(),
        from: first.from,
        to: last.to,
        items: vec![Distribution { name: String::new(), words: String::new(), bins: bins.clone() }],
    })
}

/// Response times over the recorded time.
fn heat(result: &LoadResult) -> Option<Heat> {
    let batches = &result.histograms.as_ref()?.batches;
    let length_s = result.recorded_s / batches.len().max(1) as f64;
    let column = |(place, encoded): (usize, &Option<Histogram>)| Column {
        from: drawn(place as f64 * length_s),
        to: drawn((place + 1) as f64 * length_s),
        bins: binned(&counts(encoded.as_ref())).into_iter().filter(|bin: &Bin| bin.count > 0).collect(),
    };
    let columns: Vec<Column> = batches.iter().enumerate().map(column).collect();
    columns.iter().any(|column| !column.bins.is_empty()).then(|| Heat {
        title: "response times over time".to_owned(),
        x: "time since the start of the record, s".to_owned(),
        y: "response time, us".to_owned(),
        columns,
    })
}

/// Requests per second over the recorded time: due, answered, and not answered.
fn rates(result: &LoadResult) -> Option<Series> {
    let windows = &result.windows;
    let length_s = result.plan.duration_s / 100.0;
    if windows.len() < 2 || length_s <= 0.0 {
        return None;
    }
    let line = |name: &str, tone: Tone, of: &dyn Fn(&Window) -> u64| Line {
        name: name.to_owned(),
        tone,
        points: windows
            .iter()
            .enumerate()
            .map(|(place, window)| {
                Point::at((place + 1) as f64 * length_s, Some(of(window) as f64 / length_s))
            })
            .collect(),
    };
    let due = |window: &Window| window.planned;
    let answered = |window: &Window| window.answered;
    let lost = |window: &Window| window.planned.saturating_sub(window.answered);
    Some(Series {
        title: "requests per second".to_owned(),
        x: Axis::linear("time since the start of the record, s", "s"),
        y: Axis::linear("requests per second", "requests/s"),
        lines: vec![
            line("due", Tone::Other, &due),
            line("of these answered", Tone::Own, &answered),
            line("of these not answered", Tone::Failed, &lost),
        ],
        marks: Vec::new(),
    })
}

/// Returns the outcomes of the requests, step by step: each bar has the length of the part before it that it divides. None for results of
/// other tools, whose counts may overlap.
fn flow(result: &LoadResult) -> Option<Bars> {
    let book = &result.book;
    if result.imported.is_some() || book.planned == 0 {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut row = |label: &str, parts: &[(&str, u64)]| {
        let mut pieces = Vec::new();
        for (name, count) in parts.iter().filter(|(_, count)| *count > 0) {
            let piece = names.iter().position(|other| other == name).unwrap_or_else(|| {
                names.push((*name).to_owned());
                names.len() - 1
            });
            pieces.push(BarPiece { piece, length: *count as f64, text: grouped(*count as f64, 0) });
        }
        let sum: u64 = parts.iter().map(|(_, count)| count).sum();
        BarRow { label: label.to_owned(), value: grouped(sum as f64, 0), pieces }
    };
    let mut sent = vec![("sent", book.sent)];
    sent.extend(result.unsent.iter().map(|(reason, count)| (unsent(reason), *count)));
    let mut ended = vec![("answered", book.answered)];
    ended.extend(result.failures.iter().map(|(kind, count)| (kind.as_str(), *count)));
    ended.extend([("timed out", book.timed_out), ("unfinished", book.unfinished)]);
    let rows =
        vec![row("planned", &[("planned", book.planned)]), row("sent?", &sent), row("answered?", &ended)];
    Some(Bars {
        title: "Where the requests went".to_owned(),
        axis: "requests".to_owned(),
        unit: "requests",
        pieces: names,
        rows,
    })
}

/// Returns the reason why a request was not sent, in words.
fn unsent(reason: &str) -> &'static str {
    match reason {
        "busy" => "unsent: no connection was free",
        "late" => "unsent: too late",
        "end" => "unsent: at the end",
        _ => "unsent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_too_few_times_are_above() {
        let counts: Counts = (1..=1_000).map(|us| CountedTime::new(us * 1_000, 1)).collect();
        let points = curve(&counts, 1.0);
        let at =
            |share: f64| points.iter().find(|point| (point.x - share).abs() < 1e-9).and_then(|point| point.y);
        assert_eq!((at(0.0), at(0.5), at(0.99)), (Some(1.0), Some(500.0), Some(990.0)));
        assert_eq!(points.iter().filter(|point| point.x > 0.99).count(), 0, "ten times are above it");
        assert!(curve(&Vec::new(), 1.0).is_empty() && curve(&counts, 0.0).is_empty());
        assert!(curve(&counts, 0.9).iter().all(|point| point.x <= 0.9));
    }

    #[test]
    fn a_curve_ends_before_the_first_percentile_that_is_only_bounded() {
        let measured = |_| Known::Measured(1.0);
        assert!((stated_to(measured) - 1.0).abs() < 1e-9);
        let to_p90 = |of| match of {
            TimeOf::Percentile(percentile) if percentile < 95.0 => Known::Measured(1.0),
            _ => Known::Unknown,
        };
        assert!((stated_to(to_p90) - 0.9).abs() < 1e-9);
        assert!(stated_to(|_| Known::Unknown).abs() < 1e-9);
    }

    #[test]
    fn each_step_of_the_flow_divides_a_part_of_the_one_before() {
        let mut result = crate::fixture::load();
        let book = &mut result.book;
        (book.planned, book.sent, book.unsent, book.answered) = (100, 90, 10, 80);
        (book.failed, book.timed_out, book.unfinished) = (7, 2, 1);
        result.unsent = [("busy".to_owned(), 10)].into();
        result.failures = [("reset".to_owned(), 7)].into();
        let bars = flow(&result).unwrap();
        let lengths: Vec<f64> =
            bars.rows.iter().map(|row| row.pieces.iter().map(|piece| piece.length).sum()).collect();
        assert_eq!(lengths, [100.0, 100.0, 90.0]);
        assert_eq!(
            bars.pieces,
            [
                "planned",
                "sent",
                "unsent: no connection was free",
                "answered",
                "reset",
                "timed out",
                "unfinished"
            ]
        );
    }
}
