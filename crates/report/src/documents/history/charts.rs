//! The chart of a number over runs: each run, the levels, and the changes.

use hoptax_result::{HistoryChange, HistoryPoint, HistoryResult, HistorySeries};
use hoptax_stats::median;

use super::{date, digits, in_words, line, name, unit};
use crate::chart::{Axis, Chart, Group, Line, LineForm, Mark, Point, Series, Tone, drawn};
use crate::document::Section;

/// Space below the lowest run, as a share of the span. The axis does not begin at zero, because runs differ by little.
const ROOM: f64 = 0.15;
/// How far the line of a level extends beyond its first and last run.
const REACH: f64 = 0.4;

/// A chart for each series with at least two runs, in the order of the table; none if there is no such series.
pub(super) fn charts(result: &HistoryResult, series: &[&HistorySeries]) -> Option<Section> {
    let of = |one: &&HistorySeries| {
        let chart = chart(one, &result.number)?;
        Some(Group { name: format!("{}, on {}", name(one), one.machine), charts: vec![chart] })
    };
    let groups = series.iter().filter_map(of).collect();
    let note = "Points: runs, with their intervals where they have some. Dotted: the median of the runs of a level. Dashed: a lasting change. \
                The vertical axis does not begin at zero.";
    Section::of_charts("Runs and levels", note, Chart::groups(groups))
}

fn chart(series: &HistorySeries, number: &str) -> Option<Series> {
    if series.points.len() < 2 {
        return None;
    }
    let points: Vec<Point> =
        series.points.iter().enumerate().map(|(place, run)| point(series, place, run)).collect();
    let low = points.iter().filter_map(|point| point.low.or(point.y)).reduce(f64::min)?;
    let high = points.iter().filter_map(|point| point.high.or(point.y)).reduce(f64::max)?;
    let x = Axis { lowest: Some(0.0), ..Axis::linear("runs in their order", "") };
    let unit = unit(number);
    let words = in_words(number);
    let label = if unit.is_empty() { words.clone() } else { format!("{words}, {unit}") };
    let y = Axis { lowest: Some(drawn(low - ROOM * (high - low))), ..Axis::linear(label, unit) };
    let lines = vec![
        Line::joined("level", Tone::Third, levels(series)).in_form(LineForm::Computed),
        Line::joined("run", Tone::Own, points).in_form(LineForm::Scattered),
    ];
    let mark = |change: &HistoryChange| Mark {
        // Between the first run of the new level and the run before.
        x: place_of(change.point) - 0.5,
        text: line(series, change),
    };
    let marks = series.changes.iter().map(mark).collect();
    Some(Series { marks, ..Series::new(words, x, y, lines) })
}

/// The place of a run on the axis, which begins at 1.
fn place_of(number: usize) -> f64 {
    number as f64 + 1.0
}

fn point(series: &HistorySeries, place: usize, run: &HistoryPoint) -> Point {
    let proxy = run.proxy_version.as_ref().map_or_else(String::new, |version| format!(", proxy {version}"));
    let ends = run.low.zip(run.high);
    let interval = ends.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", digits(series, low), digits(series, high))
    });
    let text = format!("{}{interval}: run {} of {}{proxy}", digits(series, run.estimate), run.run, date(run));
    let (low, high) = (ends.map(|ends| drawn(ends.0)), ends.map(|ends| drawn(ends.1)));
    Point { low, high, text: Some(text), ..Point::at(place_of(place), Some(run.estimate)) }
}

/// The median of the runs between changes, with a gap at each change.
fn levels(series: &HistorySeries) -> Vec<Point> {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(series.changes.iter().map(|change| change.point));
    starts.push(series.points.len());
    let mut points = Vec::new();
    for ends in starts.windows(2) {
        let [from, to] = *ends else { continue };
        let values: Vec<f64> =
            series.points.get(from..to).unwrap_or_default().iter().map(|run| run.estimate).collect();
        let Some(middle) = median(&values) else { continue };
        let end = place_of(to) - 1.0 + REACH;
        points.push(Point::at(place_of(from) - REACH, Some(middle)));
        points.push(Point::at(end, Some(middle)));
        points.push(Point::at(end, None));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> HistorySeries {
        let run = |(number, estimate): (usize, &f64)| HistoryPoint {
            run: number as i64 + 40,
            started_at: "2026-11-12T01:02:03Z".to_owned(),
            proxy_version: Some("1.40.0".to_owned()),
            estimate: *estimate,
            low: Some(estimate - 1.0),
            high: Some(estimate + 1.0),
        };
        HistorySeries {
            name: "quick".to_owned(),
            machine: "a".to_owned(),
            points: values.iter().enumerate().map(run).collect(),
            ..HistorySeries::default()
        }
    }

    #[test]
    fn each_level_ends_where_the_next_begins() {
        let mut one = series(&[10.0, 11.0, 12.0, 20.0, 21.0, 22.0]);
        one.changes = vec![HistoryChange { run: 43, point: 3, before: 11.0, after: 21.0, chance: 0.01 }];
        let chart = chart(&one, "cpu_us").unwrap();
        let of: Vec<(f64, Option<f64>)> =
            chart.lines[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(
            of,
            [
                (0.6, Some(11.0)),
                (3.4, Some(11.0)),
                (3.4, None),
                (3.6, Some(21.0)),
                (6.4, Some(21.0)),
                (6.4, None)
            ]
        );
        assert!((chart.marks[0].x - 3.5).abs() < 1e-9 && chart.marks[0].text.starts_with("rose"));
        assert!(chart.y.lowest.is_some_and(|lowest| lowest < 9.0), "{:?}", chart.y);
        assert_eq!((chart.y.label.as_str(), chart.y.unit), ("cpu, us", "us"));
        let text = chart.lines[1].points[3].text.as_deref();
        assert_eq!(text, Some("20.0 (19.0 to 21.0): run 43 of 2026-11-12, proxy 1.40.0"));
    }

    #[test]
    fn one_run_has_no_chart() {
        assert!(chart(&series(&[10.0]), "cpu_us").is_none());
    }
}
