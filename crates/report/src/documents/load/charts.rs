//! The charts of a load: its times by quantile, their distribution, its course, and the outcomes of its requests.

use hoptax_result::{Finding, Histogram, Known, LoadHistograms, LoadResult, Severity, TimeOf};
use hoptax_text::list::listed;

use super::counts::{Counts, LEAST_ABOVE, NS_PER_US};
use super::{bands, course, errors, flow, phases, quantity};
use crate::chart::{Axis, Chart, Distribution, Distributions, Line, Point, Scale, Series, Tone, drawn};
use crate::document::{Block, Section};
use crate::histograms::{binned, recorded};
use crate::numbers::grouped;
use crate::quantity::Quantity;
use crate::words::capitalised;

/// Quantiles of a curve: tenths, then nines with values halfway between them.
const QUANTILES: [f64; 21] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999,
    0.99995, 0.99999, 0.999_999,
];
/// The percentiles that results state or bound, each as a quantile.
const STATED: [(f64, f64); 4] = [(50.0, 0.5), (90.0, 0.9), (99.0, 0.99), (99.9, 0.999)];

/// The times of a request that are shown together, in the same colours in all charts.
const TIMES: [(&str, Tone); 3] =
    [("response time", Tone::Own), ("service time", Tone::Other), ("send lag", Tone::Third)];

/// The sections of the charts of a load; those without numbers are left out.
pub(super) fn charts(result: &LoadResult) -> Vec<Section> {
    let note = "As recorded, including delays that the generator may have caused.";
    let all = result.histograms.as_ref().and_then(distributions).map(Chart::Distributions);
    let distributions = Section::of_charts("Distribution of the times", note, all);
    let note = "Of answered requests, as recorded: on average, and over the recorded time. The send lag is the wait until the generator \
                sent a request, including the time to open a connection for it. A quantile is drawn where ten times or more are above it.";
    let over_time = phases::over_time(result).into_iter().map(Chart::Series);
    let phases = phases::phases(result).map(Chart::Bars).into_iter().chain(over_time);
    let phases = Section::of_charts("Phases of a request", note, phases);
    let note = "Each part with its share of the requests that it divides.";
    let mut flow = Section::of_charts("Where the requests went", note, flow::flow(result).map(Chart::Flow));
    if let Some(section) = &mut flow {
        section.blocks.extend(errors::blocks(result));
    }
    let note = "By the limits of response time in `--fail-on`. Times are as recorded, including delays that the generator may have caused, and \
                known to 0.1 %.";
    let bands = Section::of_charts("Requests within the limits", note, bands::bands(result).map(Chart::Flow));
    let sections = [times(result), bands, distributions, course::section(result), phases, flow];
    sections.into_iter().flatten().collect()
}

/// Returns true if a chart draws response or service time by quantile. It then has all quantiles that the result states.
pub(super) fn has_times(sections: &[Section]) -> bool {
    let mut blocks = sections.iter().flat_map(|section| &section.blocks);
    let [(response, _), (service, _), _] = TIMES;
    blocks.any(|block| {
        let Block::Chart(chart) = block else { return false };
        matches!(chart.as_ref(), Chart::Series(of) if of.lines.iter().any(|line| line.name == response || line.name == service))
    })
}

/// The curves, and the reasons why some are missing.
fn times(result: &LoadResult) -> Option<Section> {
    let curves = curves(result);
    let is_drawn = |name: &str| curves.iter().flat_map(|curves| &curves.lines).any(|line| line.name == name);
    let missing = missing(result, is_drawn);
    let note = "Of answered requests. Response time is counted from the intended start of a request, and includes the send lag: \
                the wait until it was sent. Service time is counted from the send. A curve ends where its quantiles are only bounded or \
                withheld. A solid upright line is a 95 % interval. Bounds are dashed; one without a second end reaches the edge of the \
                chart.";
    let note = curves.is_some().then(|| Block::Note(note.to_owned()));
    let chart = curves.map(|curves| Block::chart(Chart::Series(curves)));
    let blocks: Vec<Block> = note.into_iter().chain(missing.map(Block::Note)).chain(chart).collect();
    (!blocks.is_empty()).then(|| Section::new("Times by percentile", blocks))
}

/// Explains which times are withheld, and by which checks; none if all existing times are drawn.
fn missing(result: &LoadResult, is_drawn: impl Fn(&str) -> bool) -> Option<String> {
    let latency = &result.latency;
    let counts = [latency.response.count, latency.service.count];
    let withheld = TIMES.into_iter().zip(counts).filter(|((name, _), count)| *count > 0 && !is_drawn(name));
    let names: Vec<&str> = withheld.map(|((name, _), _)| name).collect();
    let by = withheld_by(result);
    let verb = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| format!("{} {verb} withheld{by}.", capitalised(&listed(&names))))
}

/// The checks that withhold times, worded to follow `are withheld`; empty if none is known.
pub(super) fn withheld_by(result: &LoadResult) -> String {
    let is_about_times = |finding: &&Finding| {
        let is_time = |number: &String| number == "times" || number.starts_with('p');
        finding.severity > Severity::Info && (finding.withholds || finding.numbers.iter().any(is_time))
    };
    let mut checks: Vec<String> = Vec::new();
    for finding in result.findings.iter().filter(is_about_times) {
        let check = format!("`{}`", finding.id);
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
    match checks.as_slice() {
        [] => String::new(),
        checks => format!(" by {}: the findings say why, and what to do", listed(checks)),
    }
}

/// The recorded times of [`TIMES`]; empty if they were not kept.
fn of_times(histograms: Option<&LoadHistograms>) -> [Counts; 3] {
    let times = |of: fn(&LoadHistograms) -> Option<&Histogram>| recorded(histograms.and_then(of));
    [
        times(|all| all.response.as_ref()),
        times(|all| all.service.as_ref()),
        times(|all| all.send_lag.as_ref()),
    ]
}

/// Response time, service time and send lag by quantile, as far as the result states them.
fn curves(result: &LoadResult) -> Option<Series> {
    let [response, service, send_lag] = of_times(result.histograms.as_ref());
    let response = response_points(result, &response);
    let to = stated_to(|of| result.service(of));
    let service = with_stated(curve(&service, to), to, |percentile| quantity(result, percentile, false));
    let points = [response, service, curve(&send_lag, 1.0)];
    let lines = TIMES.into_iter().zip(points).filter(|(_, points)| !points.is_empty());
    let lines: Vec<Line> = lines.map(|((name, tone), points)| Line::joined(name, tone, points)).collect();
    (!lines.is_empty()).then(|| by_percentile("times by percentile", lines))
}

/// A chart of times by the share of requests that took at most this time.
pub(in crate::documents) fn by_percentile(title: &str, lines: Vec<Line>) -> Series {
    let x = Axis::linear("share of the requests that took at most this long", "").on(Scale::Nines);
    let y = Axis::linear("time, us", "us").on(Scale::Logarithmic);
    Series::new(title, x, y, lines)
}

/// Response time by quantile, with the intervals and bounds in the result; empty for a result without histograms.
pub(in crate::documents) fn response_curve(result: &LoadResult) -> Vec<Point> {
    let histogram = result.histograms.as_ref().and_then(|histograms| histograms.response.as_ref());
    let counts = recorded(histogram);
    if counts.is_empty() { Vec::new() } else { response_points(result, &counts) }
}

fn response_points(result: &LoadResult, counts: &Counts) -> Vec<Point> {
    let to = stated_to(|of| result.response(of));
    with_stated(curve(counts, to), to, |percentile| quantity(result, percentile, true))
}

/// The share up to which quantiles are measured, not only bounded or withheld; zero if even the median is not measured.
fn stated_to(known: impl Fn(TimeOf) -> Known) -> f64 {
    let is_measured =
        |(percentile, _): &(f64, f64)| matches!(known(TimeOf::Percentile(*percentile)), Known::Measured(_));
    let measured: Vec<(f64, f64)> = STATED.into_iter().take_while(is_measured).collect();
    if measured.len() == STATED.len() { 1.0 } else { measured.last().map_or(0.0, |(_, share)| *share) }
}

/// The curve with the stated percentiles and their intervals, continued beyond its end by the bounds of percentiles that have only bounds.
fn with_stated(mut points: Vec<Point>, to: f64, stated: impl Fn(f64) -> Option<Quantity>) -> Vec<Point> {
    for (percentile, share) in STATED {
        let Some(of) = stated(percentile) else { continue };
        let text = of.with_unit();
        if let Some(estimate) = of.estimate {
            let (low, high, text) = (of.low.map(drawn), of.high.map(drawn), Some(text));
            let point = Point { x: share, low, high, text, ..Point::at(0.0, Some(estimate)) };
            match points.iter_mut().find(|point| (point.x - share).abs() < 1e-9) {
                Some(found) => *found = point,
                None => points.push(point),
            }
        } else if share > to {
            points.push(Point { x: share, ..Point::bounded(0.0, of.low, of.high, text) });
        }
    }
    points
}

/// The quantiles up to a share, which has enough times above it.
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

/// The distributions of response time, service time and send lag on common scales.
fn distributions(histograms: &LoadHistograms) -> Option<Distributions> {
    let one = |((name, tone), counts): ((&str, Tone), Counts)| {
        let count: u64 = counts.iter().map(|time| time.count).sum();
        let words = format!("{} answered requests", grouped(count as f64, 0));
        (count > 0).then(|| Distribution { name: name.to_owned(), words, tone, bins: binned(&counts) })
    };
    let items: Vec<Distribution> =
        TIMES.into_iter().zip(of_times(Some(histograms))).filter_map(one).collect();
    let from = items.iter().filter_map(|item| item.bins.first()).map(|bin| bin.from).reduce(f64::min)?;
    let to = items.iter().filter_map(|item| item.bins.last()).map(|bin| bin.to).reduce(f64::max)?;
    let (title, axis) = ("times of the requests".to_owned(), "time, us".to_owned());
    Some(Distributions { title, axis, from, to, items })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{CountedTime, Latency, LoadBounds, Measured};

    use super::*;
    use crate::fixture;

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
    fn a_curve_has_the_intervals_of_the_result_and_its_bounds_behind_its_end() {
        let counts: Counts = (1..=1_000).map(|us| CountedTime::new(us * 1_000, 1)).collect();
        let stated = |percentile: f64| match percentile {
            50.0 => Some(Quantity::estimated(500.0, Some(490.0), Some(510.0), "us")),
            90.0 => Some(Quantity::estimated(900.0, None, None, "us")),
            99.0 => Some(Quantity::bounded(Some(980.0), Some(1_100.0), "us", crate::quantity::Form::Level)),
            _ => Some(Quantity::bounded(Some(1_000.0), None, "us", crate::quantity::Form::Level)),
        };
        let points = with_stated(curve(&counts, 0.9), 0.9, stated);
        let at = |share: f64| points.iter().find(|point| (point.x - share).abs() < 1e-9).unwrap();
        let p50 = at(0.5);
        assert_eq!((p50.y, p50.low, p50.high), (Some(500.0), Some(490.0), Some(510.0)));
        assert_eq!(p50.text.as_deref(), Some("500 ±10 us"));
        assert_eq!((at(0.9).y, at(0.9).low), (Some(900.0), None));
        let p99 = at(0.99);
        assert_eq!((p99.y, p99.low, p99.high), (None, Some(980.0), Some(1_100.0)));
        // A bound with one end has a place, too.
        let last = points.last().unwrap();
        assert_eq!((last.x, last.y, last.low, last.high), (0.999, None, Some(1_000.0), None));
        assert_eq!(last.text.as_deref(), Some("≥ 1,000 us"));
    }

    #[test]
    fn a_percentile_that_is_stated_is_drawn_where_too_few_times_were_kept() {
        let stated = |percentile: f64| Some(Quantity::estimated(10.0 * percentile, None, None, "us"));
        let points = with_stated(Vec::new(), 1.0, stated);
        let drawn: Vec<(f64, Option<f64>)> = points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(
            drawn,
            [(0.5, Some(500.0)), (0.9, Some(900.0)), (0.99, Some(990.0)), (0.999, Some(999.0))]
        );
    }

    #[test]
    fn times_that_are_withheld_are_said_with_the_checks_that_withhold_them() {
        let mut result = fixture::load();
        assert_eq!(missing(&result, |_| true), None);
        let all = missing(&result, |_| false).unwrap();
        assert!(all.starts_with("Response time and service time are withheld"), "{all}");
        let finding = Finding::new("send-lag", Severity::Fail, Measured::us(9.0, 1.0), "late".to_owned(), "");
        let note = Finding { severity: Severity::Info, id: "kernel".to_owned(), ..finding.clone() };
        result.findings = vec![finding.about(&["times"]).keeping(), note];
        assert_eq!(
            missing(&result, |name| name != "response time").unwrap(),
            "Response time is withheld by `send-lag`: the findings say why, and what to do."
        );
        let other = Finding { id: "steal".to_owned(), ..result.findings[0].clone() };
        result.findings.extend([other, result.findings[0].clone()]);
        assert_eq!(
            missing(&result, |name| name != "response time").unwrap(),
            "Response time is withheld by `send-lag` and `steal`: the findings say why, and what to do."
        );
        result.latency.response.count = 0;
        assert_eq!(missing(&result, |name| name != "response time"), None, "another tool has none");
    }

    #[test]
    fn the_times_of_a_load_are_in_its_charts_or_in_its_table() {
        let mut result = fixture::load();
        let document = crate::documents::load(&result);
        assert!(document.is_table_plotted && has_times(&document.plots));
        let latency = &mut result.latency;
        for withheld in [&mut latency.response, &mut latency.service] {
            *withheld = Latency { count: withheld.count, ..Latency::default() };
        }
        result.bounds = LoadBounds::default();
        result.percentiles.clear();
        let document = crate::documents::load(&result);
        assert!(!document.is_table_plotted && document.plots[0].title == "Times by percentile");
        let [Block::Note(why)] = &document.plots[0].blocks[..] else { panic!("{:?}", document.plots[0]) };
        assert!(why.starts_with("Response time and service time are withheld"), "{why}");
    }
}
