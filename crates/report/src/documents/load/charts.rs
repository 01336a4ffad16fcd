//! The charts of a load: its times by quantile, their distribution, its course, and where its requests went.

use hoptax_result::{CountedTime, Interval, Known, LoadHistograms, LoadResult, TimeOf};

use super::{course, flow, quantity};
use crate::chart::{Axis, Chart, Distribution, Distributions, Line, Point, Scale, Series, Tone};
use crate::document::{Block, Section};
use crate::histograms::{binned, recorded};
use crate::numbers::grouped;
use crate::quantity::Quantity;

/// Quantiles of a curve: tenths, then the nines with their halves.
const QUANTILES: [f64; 21] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999,
    0.99995, 0.99999, 0.999_999,
];
/// Responses above a quantile that a curve must rest on.
const LEAST_ABOVE: f64 = 10.0;
/// The percentiles that results state or bound, each with its place among the quantiles.
const STATED: [(f64, f64); 4] = [(50.0, 0.5), (90.0, 0.9), (99.0, 0.99), (99.9, 0.999)];
const NS_PER_US: f64 = 1_000.0;

/// Times with their counts, ascending.
type Counts = Vec<CountedTime>;

/// The times of a request that are shown together, in the colours that they have in every chart.
const TIMES: [(&str, Tone); 3] =
    [("response time", Tone::Own), ("service time", Tone::Other), ("send lag", Tone::Third)];

/// The sections of the charts of a load; those without numbers are left out.
pub(super) fn charts(result: &LoadResult) -> Vec<Section> {
    let section = |title: &str, note: &str, charts: Vec<Chart>| {
        let blocks = charts.into_iter().map(Block::chart);
        Section::new(title, std::iter::once(Block::Note(note.to_owned())).chain(blocks).collect())
    };
    let mut sections = Vec::new();
    if let Some(histograms) = &result.histograms {
        let note = "Of answered requests. Response time is counted from the intended start of a request, and includes the send lag: \
                    the wait until it was sent. Service time is counted from the send. A curve ends where its quantiles are only bounded or \
                    withheld; bounds are dashed.";
        sections.extend(
            curves(result, histograms)
                .map(|curves| section("Times by percentile", note, vec![Chart::Series(curves)])),
        );
        let note = "As they were recorded, with what the generator may have delayed.";
        sections.extend(
            distributions(histograms)
                .map(|all| section("Distribution of the times", note, vec![Chart::Distributions(all)])),
        );
    }
    sections.extend(course::section(result));
    let note = "Each part with its share of the requests that it divides.";
    sections.extend(
        flow::flow(result).map(|flow| section("Where the requests went", note, vec![Chart::Flow(flow)])),
    );
    sections
}

/// The histograms of [`TIMES`].
fn of_times(histograms: &LoadHistograms) -> [Counts; 3] {
    [&histograms.response, &histograms.service, &histograms.send_lag].map(|one| recorded(one.as_ref()))
}

/// Response time, service time and send lag by quantile, as far as the result states them.
fn curves(result: &LoadResult, histograms: &LoadHistograms) -> Option<Series> {
    let [response, service, send_lag] = of_times(histograms);
    let response = response_points(result, &response);
    let to = stated_to(|of| result.service(of));
    let service = with_stated(curve(&service, to), to, |percentile| quantity(result, percentile, false));
    let points = [response, service, curve(&send_lag, 1.0)];
    let lines = TIMES.into_iter().zip(points).filter(|(_, points)| !points.is_empty());
    let lines: Vec<Line> = lines.map(|((name, tone), points)| Line::joined(name, tone, points)).collect();
    (!lines.is_empty()).then(|| by_percentile("times by percentile", lines))
}

/// Lines of times over the share of the requests that took at most so long.
pub(in crate::documents) fn by_percentile(title: &str, lines: Vec<Line>) -> Series {
    let x = Axis::linear("share of the requests that took at most this long", "").on(Scale::Nines);
    let y = Axis::linear("time, us", "us").on(Scale::Logarithmic);
    Series::new(title, x, y, lines)
}

/// Response time by quantile, with the intervals and bounds that the result states; empty for a result without histograms.
pub(in crate::documents) fn response_curve(result: &LoadResult) -> Vec<Point> {
    let histogram = result.histograms.as_ref().and_then(|histograms| histograms.response.as_ref());
    let counts = recorded(histogram);
    if counts.is_empty() { Vec::new() } else { response_points(result, &counts) }
}

fn response_points(result: &LoadResult, counts: &Counts) -> Vec<Point> {
    let to = stated_to(|of| result.response(of));
    with_stated(curve(counts, to), to, |percentile| quantity(result, percentile, true))
}

/// The share up to which quantiles are measured, and not only bounded or withheld: zero if not even the median is.
fn stated_to(known: impl Fn(TimeOf) -> Known) -> f64 {
    let is_measured =
        |(percentile, _): &(f64, f64)| matches!(known(TimeOf::Percentile(*percentile)), Known::Measured(_));
    let measured: Vec<(f64, f64)> = STATED.into_iter().take_while(is_measured).collect();
    if measured.len() == STATED.len() { 1.0 } else { measured.last().map_or(0.0, |(_, share)| *share) }
}

/// The curve with the intervals of the percentiles that the result states, and behind its end with the bounds of those that have only these.
fn with_stated(mut points: Vec<Point>, to: f64, stated: impl Fn(f64) -> Option<Quantity>) -> Vec<Point> {
    for (percentile, share) in STATED {
        let Some(of) = stated(percentile) else { continue };
        match (of.estimate, of.low, of.high) {
            (Some(estimate), Some(low), Some(high)) => {
                let is_it = |point: &&mut Point| (point.x - share).abs() < 1e-9;
                if let Some(point) = points.iter_mut().find(is_it) {
                    let interval = Interval { estimate, low, high };
                    *point = Point { x: share, ..Point::with_interval(0.0, &interval, of.with_unit()) };
                }
            }
            (None, Some(low), Some(high)) if share > to => {
                points.push(Point { x: share, ..Point::between(0.0, low, high, of.with_unit()) });
            }
            _ => {}
        }
    }
    points
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

/// The distributions of response time, service time and send lag on common scales.
fn distributions(histograms: &LoadHistograms) -> Option<Distributions> {
    let one = |((name, tone), counts): ((&str, Tone), Counts)| {
        let count: u64 = counts.iter().map(|time| time.count).sum();
        let words = format!("{} answered requests", grouped(count as f64, 0));
        (count > 0).then(|| Distribution { name: name.to_owned(), words, tone, bins: binned(&counts) })
    };
    let items: Vec<Distribution> = TIMES.into_iter().zip(of_times(histograms)).filter_map(one).collect();
    let from = items.iter().filter_map(|item| item.bins.first()).map(|bin| bin.from).reduce(f64::min)?;
    let to = items.iter().filter_map(|item| item.bins.last()).map(|bin| bin.to).reduce(f64::max)?;
    let (title, axis) = ("times of the requests".to_owned(), "time, us".to_owned());
    Some(Distributions { title, axis, from, to, items })
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
        let last = points.last().unwrap();
        assert_eq!((last.x, last.y, last.low, last.high), (0.99, None, Some(980.0), Some(1_100.0)));
    }
}
