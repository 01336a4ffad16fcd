//! The course of a load: its response times, its requests and bytes per second, its requests in flight, its connections and its errors over
//! the recorded time.

use hoptax_result::{Histogram, LoadResult, Loop, Window};

use super::counts::{Counts, LEAST_ABOVE, NS_PER_US};
use crate::chart::{Axis, Bin, Chart, Column, Heat, Line, Point, Scale, Series, Tone, drawn};
use crate::document::{Block, Section};
use crate::histograms::{binned, quantile_ns, recorded};

/// Number of windows into which the planned time of a load is divided. A load that ends after a number of requests may have another one.
const WINDOWS: f64 = 100.0;
const PERCENT: f64 = 100.0;
/// Bytes of the units of byte rates.
const KILO: f64 = 1e3;
const MEGA: f64 = 1e6;
/// Percentiles of the response time that are drawn over the recorded time.
const PERCENTILES: [(&str, f64, Tone); 3] =
    [("p50", 0.5, Tone::Own), ("p90", 0.9, Tone::Third), ("p99", 0.99, Tone::Fourth)];
/// Ratio of the largest to the smallest of them above which a logarithmic axis is used. On a linear axis, only the largest would be
/// visible.
const FAR: f64 = 20.0;
/// The common horizontal axis of all charts, which are drawn below each other.
const TIME: &str = "time since the start of the record, s";

/// The charts, below each other; none if there are none.
pub(super) fn section(result: &LoadResult) -> Option<Section> {
    let parts = parts(result);
    let percentiles = percentiles(result, &parts).map(Chart::Series);
    let heat = heat(&parts).map(Chart::Heat);
    let rates = rates(result).map(Chart::Series);
    let bytes = bytes(result).map(Chart::Series);
    let in_flight = in_flight(result).map(Chart::Series);
    if heat.is_none() && rates.is_none() && bytes.is_none() && in_flight.is_none() {
        return None;
    }
    let of_times = "Response times as recorded, including delays that the generator may have caused. A percentile is drawn where ten \
                    responses or more are above it. Below: the requests, by when they were due.";
    let of_bytes = "Bytes are those of bodies: of responses when they were complete, and of requests when they were written.";
    let of_in_flight = "Requests in flight are means of what was observed at random moments.";
    let also = [(bytes.is_some(), of_bytes), (in_flight.is_some(), of_in_flight)];
    let also = also.into_iter().filter_map(|(is_drawn, note)| is_drawn.then_some(note));
    let note: Vec<&str> = [of_times].into_iter().chain(also).collect();
    let has_rates = rates.is_some();
    let connections = connections(result).map(Chart::Series);
    let mut blocks = vec![Block::Note(note.join(" "))];
    let below = rates.into_iter().chain(bytes).chain(in_flight).chain(connections);
    let charts = percentiles.into_iter().chain(heat).chain(below);
    blocks.extend(charts.map(Block::chart));
    if has_rates {
        let none = "Every request that was due in a complete window was answered.";
        blocks.push(
            errors(result)
                .map_or_else(|| Block::Note(none.to_owned()), |errors| Block::chart(Chart::Series(errors))),
        );
    }
    Some(Section::new("Course of the load", blocks))
}

/// The response times in a part of the recorded time.
pub(super) struct Part {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) times: Counts,
}

/// The parts of the recorded time; none without histograms.
fn parts(result: &LoadResult) -> Vec<Part> {
    let Some(histograms) = &result.histograms else { return Vec::new() };
    let batches = &histograms.batches;
    let number = batches.len().max(1);
    // All parts have the same number of windows.
    let of_windows = |window_s: f64| (result.windows.len() / number) as f64 * window_s;
    parts_of(batches, result.window_s.map_or(result.recorded_s / number as f64, of_windows))
}

/// The parts with these histograms, each of this length.
pub(super) fn parts_of(batches: &[Option<Histogram>], length_s: f64) -> Vec<Part> {
    let part = |(place, encoded): (usize, &Option<Histogram>)| Part {
        from_s: place as f64 * length_s,
        to_s: (place + 1) as f64 * length_s,
        times: recorded(encoded.as_ref()),
    };
    batches.iter().enumerate().map(part).collect()
}

/// Percentiles of the response time over the recorded time; none if no part of it has enough responses.
pub(super) fn percentiles(result: &LoadResult, parts: &[Part]) -> Option<Series> {
    let line = |(name, share, tone): (&str, f64, Tone)| {
        let point =
            |part: &Part| Point::at(f64::midpoint(part.from_s, part.to_s), supported_us(&part.times, share));
        Line::joined(name, tone, parts.iter().map(point).collect())
    };
    let mut lines: Vec<Line> = PERCENTILES.into_iter().map(line).collect();
    lines.retain(|line| line.points.iter().any(|point| point.y.is_some()));
    let y = Axis::linear("response time, us", "us").on(scale(&lines)?);
    Some(Series::new("percentiles of the response time over time", time(result), y, lines))
}

/// A quantile of times, us; none unless enough times are above it.
pub(super) fn supported_us(times: &Counts, share: f64) -> Option<f64> {
    let count: u64 = times.iter().map(|time| time.count).sum();
    // Floating-point rounding may make the product slightly less than ten.
    let is_supported = (1.0 - share) * count as f64 + 1e-6 >= LEAST_ABOVE;
    quantile_ns(times, share).filter(|_| is_supported).map(|ns| ns as f64 / NS_PER_US)
}

/// The scale of times on which all of these lines can be distinguished from zero; none without a value.
pub(super) fn scale(lines: &[Line]) -> Option<Scale> {
    let values = || lines.iter().flat_map(|line| &line.points).filter_map(|point| point.y);
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    Some(if least > 0.0 && most > FAR * least { Scale::Logarithmic } else { Scale::Linear })
}

/// Response times over the recorded time.
fn heat(parts: &[Part]) -> Option<Heat> {
    let column = |part: &Part| Column {
        from: drawn(part.from_s),
        to: drawn(part.to_s),
        bins: binned(&part.times).into_iter().filter(|bin: &Bin| bin.count > 0).collect(),
    };
    let columns: Vec<Column> = parts.iter().map(column).collect();
    columns.iter().any(|column| !column.bins.is_empty()).then(|| Heat {
        title: "response times over time".to_owned(),
        x: TIME.to_owned(),
        y: "response time, us".to_owned(),
        columns,
    })
}

/// Length of a window, seconds; none if there are too few windows for a line.
fn window_s(result: &LoadResult) -> Option<f64> {
    let length_s = result.window_s.unwrap_or(result.plan.duration_s / WINDOWS);
    (result.windows.len() > 1 && length_s > 0.0).then_some(length_s)
}

/// A line with the value of each window at the middle of the window.
fn line(
    result: &LoadResult,
    length_s: f64,
    (name, tone): (&str, Tone),
    of: impl Fn(&Window) -> Option<f64>,
) -> Line {
    let point = |(place, window): (usize, &Window)| Point::at((place as f64 + 0.5) * length_s, of(window));
    Line::joined(name, tone, result.windows.iter().enumerate().map(point).collect())
}

/// The axis of the whole recorded time, so that charts below each other share it.
pub(super) fn time(result: &LoadResult) -> Axis {
    Axis { highest: Some(drawn(result.recorded_s)), ..Axis::linear(TIME, "s") }
}

/// Due and answered requests per second over the recorded time.
fn rates(result: &LoadResult) -> Option<Series> {
    let length_s = window_s(result)?;
    // A closed loop plans no requests, because it sends the next one after a response.
    let due = match result.plan.loop_ {
        Loop::Open => "due",
        Loop::Closed => "sent",
    };
    let lines = vec![
        line(result, length_s, (due, Tone::Other), |window| Some(window.planned as f64 / length_s)),
        line(result, length_s, ("of these answered", Tone::Own), |window| {
            Some(window.answered as f64 / length_s)
        }),
    ];
    let y = Axis::linear("requests per second", "requests/s");
    Some(Series::new("requests per second", time(result), y, lines))
}

/// Bytes of bodies per second over the recorded time, received and sent; none if no body had any, or if they were not recorded.
fn bytes(result: &LoadResult) -> Option<Series> {
    let of = result.bytes_over_time.as_ref().filter(|of| of.part_s > 0.0)?;
    let all = [("received", Tone::Own, of.received.as_slice()), ("sent", Tone::Third, of.sent.as_slice())];
    let most = all.iter().flat_map(|(_, _, parts)| parts.iter()).copied().max()?;
    let (unit, of_unit) = if (most as f64) < MEGA * of.part_s { ("kB/s", KILO) } else { ("MB/s", MEGA) };
    let line = |(name, tone, parts): (&str, Tone, &[u64])| {
        let point = |(place, bytes): (usize, &u64)| {
            Point::at((place as f64 + 0.5) * of.part_s, Some(*bytes as f64 / of.part_s / of_unit))
        };
        Line::joined(name, tone, parts.iter().enumerate().map(point).collect())
    };
    let lines = all.into_iter().filter(|(_, _, parts)| !parts.is_empty()).map(line).collect();
    let y = Axis::linear(format!("bytes of bodies, {unit}"), unit);
    Some(Series::new("bytes of bodies per second", time(result), y, lines))
}

/// Mean number of requests in flight over the recorded time; none if it was not recorded.
fn in_flight(result: &LoadResult) -> Option<Series> {
    let of = result.in_flight_over_time.as_ref().filter(|of| of.part_s > 0.0 && of.means.len() > 1)?;
    let point = |(place, mean): (usize, &Option<f64>)| Point::at((place as f64 + 0.5) * of.part_s, *mean);
    let points = of.means.iter().enumerate().map(point).collect();
    let y = Axis::linear("requests in flight", "requests");
    let lines = vec![Line::joined("in flight", Tone::Own, points)];
    Some(Series::new("requests in flight", time(result), y, lines))
}

/// Open connections over the recorded time; none if they were as many all the time, or not recorded.
fn connections(result: &LoadResult) -> Option<Series> {
    let length_s = window_s(result)?;
    let open = || result.windows.iter().filter_map(|window| window.connections);
    if open().min() == open().max() {
        return None;
    }
    // Connections are counted at the start of each window.
    let point = |(place, window): (usize, &Window)| {
        Point::at(place as f64 * length_s, window.connections.map(|count| count as f64))
    };
    let points = result.windows.iter().enumerate().map(point).collect();
    let lines = vec![Line::joined("open connections", Tone::Own, points)];
    let y = Axis::linear("open connections", "connections");
    Some(Series::new("open connections", time(result), y, lines))
}

/// The share of requests without an answer over the recorded time; none if all were answered.
fn errors(result: &LoadResult) -> Option<Series> {
    let length_s = window_s(result)?;
    let lost = |window: &Window| window.planned.saturating_sub(window.answered);
    if result.windows.iter().all(|window| lost(window) == 0) {
        return None;
    }
    let share =
        |window: &Window| (window.planned > 0).then(|| PERCENT * lost(window) as f64 / window.planned as f64);
    let lines = vec![line(result, length_s, ("without an answer", Tone::Failed), share)];
    let y = Axis::linear("share of those due, %", "%");
    Some(Series::new("requests without an answer, %", time(result), y, lines))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{BytesOverTime, CountedTime, InFlightOverTime};

    use super::*;
    use crate::fixture;

    #[test]
    fn errors_are_shares_of_what_was_due_in_each_window_and_have_no_chart_without_any() {
        let mut result = fixture::load();
        for window in &mut result.windows {
            (window.planned, window.answered) = (200, 200);
        }
        assert!(errors(&result).is_none());
        let has_note = |result: &LoadResult| {
            let blocks = section(result).unwrap().blocks;
            matches!(blocks.last(), Some(Block::Note(note)) if note.starts_with("Every request"))
        };
        assert!(has_note(&result));
        result.windows[3].answered = 150;
        (result.windows[4].planned, result.windows[4].answered) = (0, 0);
        let chart = errors(&result).unwrap();
        let of: Vec<Option<f64>> = chart.lines[0].points[2..5].iter().map(|point| point.y).collect();
        assert_eq!(of, [Some(0.0), Some(25.0), None]);
        assert!(!has_note(&result));
    }

    /// A second with a response at each of these microseconds.
    fn part(second: u32, times_us: std::ops::RangeInclusive<u64>) -> Part {
        let times = times_us.map(|us| CountedTime::new(us * 1_000, 1)).collect();
        Part { from_s: f64::from(second), to_s: f64::from(second + 1), times }
    }

    #[test]
    fn a_percentile_is_drawn_where_ten_responses_are_above_it() {
        let parts = [part(0, 1..=1_000), part(1, 1..=100), part(2, 1..=19)];
        let chart = percentiles(&fixture::load(), &parts).unwrap();
        let lines: Vec<(&str, Vec<Option<f64>>)> = chart
            .lines
            .iter()
            .map(|line| (line.name.as_str(), line.points.iter().map(|point| point.y).collect()))
            .collect();
        assert_eq!(
            lines,
            [
                ("p50", vec![Some(500.0), Some(50.0), None]),
                ("p90", vec![Some(900.0), Some(90.0), None]),
                ("p99", vec![Some(990.0), None, None])
            ]
        );
        let xs: Vec<f64> = chart.lines[0].points.iter().map(|point| point.x).collect();
        assert_eq!(xs, [0.5, 1.5, 2.5]);
        assert_eq!((chart.y.scale, chart.x.highest), (Scale::Linear, Some(10.0)));
    }

    #[test]
    fn percentiles_that_are_far_from_each_other_have_a_logarithmic_axis_and_few_responses_no_chart() {
        let result = fixture::load();
        let spike = [part(0, 1..=100), part(1, 10_001..=10_100)];
        assert_eq!(percentiles(&result, &spike).unwrap().y.scale, Scale::Logarithmic);
        let few = [part(0, 1..=100), part(1, 1..=19)];
        let names: Vec<String> =
            percentiles(&result, &few).unwrap().lines.into_iter().map(|line| line.name).collect();
        assert_eq!(names, ["p50", "p90"], "a line without a value is left out");
        assert!(percentiles(&result, &[part(0, 1..=19)]).is_none());
        assert!(percentiles(&result, &[]).is_none());
    }

    #[test]
    fn charts_below_each_other_have_one_axis() {
        let mut result = fixture::load();
        result.windows[0].answered = 0;
        let ends = [rates(&result), errors(&result)].map(|chart| chart.unwrap().x.highest);
        assert_eq!(ends, [Some(result.recorded_s); 2]);
        let xs: Vec<f64> = rates(&result).unwrap().lines[0].points.iter().map(|point| point.x).collect();
        assert!(xs.iter().all(|x| (0.0..result.recorded_s).contains(x)), "{xs:?}");
    }

    #[test]
    fn connections_are_drawn_if_they_were_not_as_many_all_the_time() {
        let mut result = fixture::load();
        assert!(connections(&result).is_none(), "16 all the time");
        result.windows[0].connections = Some(4);
        result.windows[2].connections = None;
        let chart = connections(&result).unwrap();
        let points: Vec<(f64, Option<f64>)> =
            chart.lines[0].points.iter().take(3).map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(0.0, Some(4.0)), (0.1, Some(16.0)), (0.2, None)]);
        for window in &mut result.windows {
            window.connections = None;
        }
        assert!(connections(&result).is_none());
    }

    #[test]
    fn bytes_are_drawn_per_second_beside_the_rate_if_any_body_was_recorded() {
        type Lines = Vec<(String, Vec<Option<f64>>)>;
        let mut result = fixture::load();
        let titles = |result: &LoadResult| -> Vec<String> {
            let blocks = section(result).unwrap().blocks;
            let title = |block: &Block| {
                let Block::Chart(chart) = block else { return None };
                let Chart::Series(series) = chart.as_ref() else { return None };
                Some(series.title.clone())
            };
            blocks.iter().filter_map(title).collect()
        };
        assert!(!titles(&result).iter().any(|title| title.starts_with("bytes")), "an older result has none");
        result.bytes_over_time = BytesOverTime::new(0.1, vec![0, 50_000, 25_000], Vec::new());
        let found = titles(&result);
        let of_rate = found.iter().position(|title| title == "requests per second").unwrap();
        assert_eq!(found[of_rate + 1], "bytes of bodies per second");
        let values = |result: &LoadResult| -> (&'static str, Lines) {
            let chart = bytes(result).unwrap();
            let of = |line: Line| (line.name, line.points.iter().map(|point| point.y).collect());
            (chart.y.unit, chart.lines.into_iter().map(of).collect())
        };
        let received = ("received".to_owned(), vec![Some(0.0), Some(500.0), Some(250.0)]);
        assert_eq!(values(&result), ("kB/s", vec![received]));
        let xs: Vec<f64> = bytes(&result).unwrap().lines[0].points.iter().map(|point| point.x).collect();
        assert_eq!(xs, [0.05, 0.15, 0.25]);
        result.bytes_over_time = BytesOverTime::new(0.5, vec![1_000_000], vec![500_000]);
        let both = [("received", 2.0), ("sent", 1.0)].map(|(name, rate)| (name.to_owned(), vec![Some(rate)]));
        assert_eq!(values(&result), ("MB/s", both.to_vec()));
    }

    #[test]
    fn requests_in_flight_are_drawn_at_the_middle_of_each_part_with_gaps_where_nobody_looked() {
        let mut result = fixture::load();
        let note = |result: &LoadResult| {
            let blocks = section(result).unwrap().blocks;
            let Some(Block::Note(note)) = blocks.first() else { panic!("{blocks:?}") };
            note.clone()
        };
        assert!(in_flight(&result).is_none() && !note(&result).contains("in flight"), "an older result");
        result.in_flight_over_time = InFlightOverTime::new(0.1, vec![Some(2.0), None, Some(40.5)]);
        let chart = in_flight(&result).unwrap();
        let points: Vec<(f64, Option<f64>)> =
            chart.lines[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(0.05, Some(2.0)), (0.15, None), (0.25, Some(40.5))]);
        assert_eq!(chart.x.highest, Some(result.recorded_s), "it shares the axis of the charts above it");
        assert!(note(&result).ends_with("observed at random moments."), "{}", note(&result));
        // Merged runs have no windows.
        (result.windows, result.histograms) = (Vec::new(), None);
        assert!(section(&result).is_some());
        result.in_flight_over_time = InFlightOverTime::new(0.1, vec![Some(2.0)]);
        assert!(section(&result).is_none(), "one point is no line");
    }

    #[test]
    fn a_closed_loop_has_no_requests_that_were_due() {
        let mut result = fixture::load();
        let name = |result: &LoadResult| rates(result).unwrap().lines[0].name.clone();
        assert_eq!(name(&result), "due");
        result.plan.loop_ = Loop::Closed;
        assert_eq!(name(&result), "sent");
    }
}
