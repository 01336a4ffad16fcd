//! The workers of the generator, the division of the load among connections, and connections whose response times differ from the others.

use hoptax_result::{ByConnection, GeneratorWorker, LatencyBounds, LoadResult, Outliers, TimeOf};
use hoptax_stats::median;

use super::cells::cell;
use super::course::scale;
use crate::chart::{Axis, Chart, IntervalRow, Intervals, Line, Point, Scale, Series, Tone};
use crate::document::{Block, Section};
use crate::numbers::{count, counted, grouped, us};
use crate::quantity::{Form, Quantity};
use crate::table::Table;

/// The whole of a share, in percent.
const PERCENT: f64 = 100.0;

/// A row for each worker, a chart of their response times, curves of the requests and of the medians of connections, and a line for each
/// group of workers or connections whose response times differ from the others, or the sentence that no connection differs. None with one
/// worker, one connection and no such group.
pub(super) fn section(result: &LoadResult) -> Option<Section> {
    let workers = &result.generator.workers;
    let rows: Vec<_> = workers.iter().enumerate().map(row).collect();
    let connections = result.by_connection.as_ref();
    let divided = connections.map(divided).unwrap_or_default();
    let mut lines = connections.map(ranges).unwrap_or_default();
    lines.extend(result.apart.iter().map(apart).chain(even(result)));
    let header = ["worker", "requests", "p50 us", "p99 us", "CPU s", "run delay us"];
    let title = "response times and processor time of each worker";
    let all = (rows.len() > 1).then(|| Block::Table(Table::of_words(title, header, rows)));
    let lines = (!lines.is_empty()).then_some(Block::Lines(lines));
    let chart = times(result).map(|times| Block::chart(Chart::Intervals(times)));
    let blocks: Vec<Block> = all.into_iter().chain(chart).chain(divided).chain(lines).collect();
    (!blocks.is_empty()).then(|| Section {
        title: "Workers and connections".to_owned(),
        folded: true,
        blocks,
    })
}

fn row((number, worker): (usize, &GeneratorWorker)) -> (String, Vec<String>) {
    let response = &worker.response;
    let percentile =
        |of: f64| cell(response.known(&LatencyBounds::default(), TimeOf::Percentile(of)), response.count);
    let cells = vec![
        count(response.count),
        percentile(50.0),
        percentile(99.0),
        grouped(worker.cpu_seconds, 2),
        grouped(worker.run_delay_us, 0),
    ];
    (number.to_string(), cells)
}

/// The requests of the connections and their medians, each as a curve.
fn divided(connections: &ByConnection) -> Vec<Block> {
    let requests = Axis::linear("answered requests", "requests");
    let p50 = Axis::linear("p50 of the response time, us", "us");
    let (with_p50, total) = (count(u64::from(connections.with_p50)), count(u64::from(connections.total)));
    let curves = [
        curve("requests of a connection", requests, &connections.requests),
        curve(&format!("p50 of a connection ({with_p50} of {total} have one)"), p50, &connections.p50_us),
    ];
    curves.into_iter().flatten().map(|curve| Block::chart(Chart::Series(curve))).collect()
}

/// Values that ascend in equal steps of the connections; none of fewer than two.
fn curve(title: &str, y: Axis, values: &[f64]) -> Option<Series> {
    let steps = values.len().checked_sub(1).filter(|steps| *steps > 0)?;
    let point = |(step, value): (usize, &f64)| Point::at(PERCENT * step as f64 / steps as f64, Some(*value));
    let lines = vec![Line::joined(title, Tone::Own, values.iter().enumerate().map(point).collect())];
    let x = Axis::linear("share of the connections with at most this value, %", "%");
    let x = Axis { highest: Some(PERCENT), ..x };
    let y = y.on(scale(&lines)?);
    Some(Series::new(title, x, y, lines))
}

/// What the curves say, in words.
fn ranges(connections: &ByConnection) -> Vec<String> {
    let requests = range(&connections.requests, |requests| grouped(requests, 0))
        .map(|range| format!("answered requests of a connection: {range}"));
    let p50 = range(&connections.p50_us, us).map_or_else(
        // Of connections that have one, it is withheld.
        || (connections.with_p50 == 0).then(|| format!("p50 of a connection: {}", have_p50(connections))),
        |range| {
            let have_p50 = have_p50(connections);
            Some(format!("p50 of a connection, us: {range}, as recorded and to a tenth; {have_p50}"))
        },
    );
    requests.into_iter().chain(p50).collect()
}

/// How many connections have a median, and why the others have none.
fn have_p50(connections: &ByConnection) -> String {
    let total = counted(u64::from(connections.total), "connection");
    match connections.with_p50 {
        0 => format!("none of {total} has one, because each had fewer than 100 answered requests"),
        all if all == connections.total => format!("all {total} have one"),
        some => {
            let (number, verb) = (count(u64::from(some)), if some == 1 { "has" } else { "have" });
            format!("{number} of {total} {verb} one, and the others had fewer than 100 answered requests")
        }
    }
}

/// The range of ascending values; none without any.
fn range(values: &[f64], text: impl Fn(f64) -> String) -> Option<String> {
    let (least, middle, most) = (*values.first()?, median(values)?, *values.last()?);
    Some(format!("{} to {}, median {}", text(least), text(most), text(middle)))
}

/// The response times of several workers, and of each group of outliers beside the others; none without any.
fn times(result: &LoadResult) -> Option<Intervals> {
    let workers = &result.generator.workers;
    let several = if workers.len() > 1 { workers.as_slice() } else { &[] };
    let several = several.iter().enumerate().flat_map(of_worker);
    let rows = several.chain(result.apart.iter().flat_map(of_group)).collect();
    let title = "response times of workers and of those that differ";
    Some(Intervals { scale: Scale::Logarithmic, ..Intervals::new(title, "response time, us", rows)? })
}

/// The times that are known of a worker.
fn of_worker((number, worker): (usize, &GeneratorWorker)) -> Vec<IntervalRow> {
    let response = &worker.response;
    let requests = counted(response.count, "request");
    let row = |(kind, percentile, tone): (&'static str, f64, Tone)| {
        let known = response.known(&LatencyBounds::default(), TimeOf::Percentile(percentile));
        Some(time(format!("worker {number}"), kind, tone, known.value()?).with_note(requests.as_str()))
    };
    [("p50", 50.0, Tone::Own), ("p99", 99.0, Tone::Third)].into_iter().filter_map(row).collect()
}

/// The medians of a group of outliers and of the others.
fn of_group(group: &Outliers) -> [IntervalRow; 2] {
    let (number, total) = (group.numbers.len(), u64::from(group.total));
    let others = total.saturating_sub(number as u64);
    let row = |name: String, p50_us: f64| time(name, "p50", Tone::Own, p50_us);
    [
        row(format!("{number} of {}", counted(total, &group.of)), group.p50_us),
        row(format!("the other {}", counted(others, &group.of)), group.others_p50_us),
    ]
}

fn time(name: String, kind: &'static str, tone: Tone, time_us: f64) -> IntervalRow {
    IntervalRow { name, kind, tone, number: Quantity::point(time_us, "us", Form::Level), note: None }
}

/// The sentence that no connection differs. It has no numbers, because a result does not list the even connections, which may be thousands.
fn even(result: &LoadResult) -> Option<String> {
    // Other results were judged where they were made.
    let is_judged = result.imported.is_none() && result.merged.is_none() && result.agents.is_none();
    let (connections, has_groups) =
        (result.plan.connections, result.apart.iter().any(|group| group.of == "connection"));
    (is_judged && connections > 1 && result.book.answered > 0 && !has_groups).then(|| {
        format!(
            "a connection is listed only if it has 100 requests or more and its p50 is more than a fifth above the usual one: none of \
             {} is",
            grouped(f64::from(connections), 0)
        )
    })
}

/// A group of outliers as text.
fn apart(group: &Outliers) -> String {
    let numbers: Vec<String> = group.numbers.iter().map(u32::to_string).collect();
    format!(
        "{} of {} (number {}): p50 of {} us, and {} us of the others",
        numbers.len(),
        counted(u64::from(group.total), &group.of),
        numbers.join(", "),
        us(group.p50_us),
        us(group.others_p50_us)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::table::Cell;

    /// The names and the kinds of the rows of a chart.
    fn rows_of(chart: &Chart) -> Vec<String> {
        let Chart::Intervals(times) = chart else { panic!("a chart of numbers: {chart:?}") };
        times.rows.iter().map(|row| format!("{} {}", row.name, row.kind)).collect()
    }

    #[test]
    fn several_workers_have_a_row_each_and_one_alone_has_none() {
        let mut result = fixture::load();
        result.apart.clear();
        result.plan.connections = 1;
        result.generator.workers.truncate(1);
        assert!(section(&result).is_none());
        let mut other = result.generator.workers[0];
        (other.cpu_seconds, other.response.p99_us) = (0.5, None);
        result.generator.workers.push(other);
        let blocks = section(&result).unwrap().blocks;
        let [Block::Table(table), Block::Chart(chart)] = &blocks[..] else { panic!("a table and a chart") };
        assert_eq!(table.rows.len(), 2);
        let cells: Vec<String> = table.rows[1].cells.iter().map(Cell::text).collect();
        assert_eq!(cells[2..4], ["withheld", "0.50"]);
        // A time that is withheld is only in the table.
        assert_eq!(rows_of(chart), ["worker 0 p50", "worker 0 p99", "worker 1 p50"]);
    }

    #[test]
    fn a_load_whose_connections_are_alike_says_so_if_they_were_judged() {
        let mut result = fixture::load();
        result.generator.workers.truncate(1);
        let [Block::Lines(lines)] = &section(&result).unwrap().blocks[..] else { panic!("lines alone") };
        assert!(lines[..].len() == 1 && lines[0].contains("none of 16 is"), "{lines:?}");
        result.imported = Some(hoptax_result::Imported::default());
        assert!(section(&result).is_none());
    }

    #[test]
    fn connections_have_a_curve_of_their_requests_and_one_of_their_medians_if_two_have_one() {
        let mut result = fixture::load();
        result.generator.workers.truncate(1);
        let requests = vec![0.0, 40.0, 1_600.0];
        result.by_connection = Some(ByConnection { total: 3, requests, with_p50: 1, p50_us: vec![250.0] });
        let blocks = section(&result).unwrap().blocks;
        let [Block::Chart(chart), Block::Lines(lines)] = &blocks[..] else { panic!("a chart and lines") };
        let Chart::Series(curve) = chart.as_ref() else { panic!("a curve: {chart:?}") };
        let points: Vec<(f64, Option<f64>)> =
            curve.lines[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(0.0, Some(0.0)), (50.0, Some(40.0)), (100.0, Some(1_600.0))]);
        assert_eq!(curve.y.scale, Scale::Linear, "a logarithmic axis has no zero");
        assert_eq!(
            lines[..2],
            [
                "answered requests of a connection: 0 to 1,600, median 40",
                "p50 of a connection, us: 250.0 to 250.0, median 250.0, as recorded and to a tenth; \
                 1 of 3 connections has one, and the others had fewer than 100 answered requests"
            ]
        );
        let connections = result.body.by_connection.as_mut().unwrap();
        (connections.with_p50, connections.p50_us) = (3, vec![100.0, 110.0, 3_000.0]);
        let blocks = section(&result).unwrap().blocks;
        let [_, Block::Chart(chart), Block::Lines(_)] = &blocks[..] else { panic!("two charts and lines") };
        let Chart::Series(curve) = chart.as_ref() else { panic!("a curve: {chart:?}") };
        let title = "p50 of a connection (3 of 3 have one)";
        assert_eq!((curve.title.as_str(), curve.y.scale), (title, Scale::Logarithmic));
    }

    #[test]
    fn the_number_of_connections_with_a_median_is_stated_with_the_reason_for_the_others() {
        let of = |with_p50: u32, p50_us: Vec<f64>| {
            let requests = vec![0.0, 40.0, 1_600.0];
            ranges(&ByConnection { total: 3, requests, with_p50, p50_us }).split_off(1)
        };
        let stated = "p50 of a connection, us: 100.0 to 300.0, median 200.0, as recorded and to a tenth; ";
        assert_eq!(of(3, vec![100.0, 200.0, 300.0]), [format!("{stated}all 3 connections have one")]);
        let some = "2 of 3 connections have one, and the others had fewer than 100 answered requests";
        assert_eq!(of(2, vec![100.0, 300.0]), [format!("{stated}{some}")]);
        let none = "none of 3 connections has one, because each had fewer than 100 answered requests";
        assert_eq!(of(0, Vec::new()), [format!("p50 of a connection: {none}")]);
        assert_eq!(of(2, Vec::new()), [""; 0], "times are withheld");
    }

    #[test]
    fn connections_that_differ_are_named() {
        let mut result = fixture::load();
        result.generator.workers.truncate(1);
        result.apart = vec![Outliers {
            of: "connection".to_owned(),
            numbers: vec![3, 7],
            total: 64,
            p50_us: 410.0,
            others_p50_us: 98.5,
        }];
        let blocks = section(&result).unwrap().blocks;
        let [Block::Chart(chart), Block::Lines(lines)] = &blocks[..] else { panic!("a chart and lines") };
        assert_eq!(rows_of(chart), ["2 of 64 connections p50", "the other 62 connections p50"]);
        assert_eq!(
            lines[..],
            ["2 of 64 connections (number 3, 7): p50 of 410.0 us, and 98.5 us of the others"]
        );
    }
}
