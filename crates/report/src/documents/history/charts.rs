//! The chart of a number over runs, by their dates: each run, the levels, the changes, and the releases of the proxy.

use std::time::SystemTime;

use hoptax_result::{HistoryChange, HistoryPoint, HistoryResult, HistorySeries};
use hoptax_stats::median;

use super::{date, digits, in_words, line, name, release, unit};
use crate::chart::{Axis, Chart, Group, Line, LineForm, Mark, Point, Series, Tone, drawn};
use crate::document::Section;

/// Space below the lowest run, as a share of the span. The axis does not begin at zero, because runs differ by little.
const ROOM: f64 = 0.15;
/// How far the line of a level extends beyond its first and last run, in places of runs in their order.
const REACH: f64 = 0.4;
/// The same on an axis of time, as a share of the time between the first run and the last.
const REACH_SHARE: f64 = 0.01;
/// The units of time of an axis, with their seconds, the longest first.
const TIMES: [(&str, &str, f64); 4] =
    [("days", "d", 86_400.0), ("hours", "h", 3_600.0), ("minutes", "min", 60.0), ("seconds", "s", 1.0)];
/// The least time from the first run to the last in a unit. Below it, most ticks would be fractions.
const LEAST_UNITS: f64 = 2.0;

/// A chart for each series with at least two runs, in the order of the table; none if there is no such series.
pub(super) fn charts(result: &HistoryResult, series: &[&HistorySeries]) -> Option<Section> {
    let of = |one: &&HistorySeries| {
        let chart = chart(one, &result.number)?;
        Some(Group { name: format!("{}, on {}", name(one), one.machine), charts: vec![chart] })
    };
    let groups = series.iter().filter_map(of).collect();
    let note = "Points: runs, with their intervals where they have some. Dotted: the median of the runs of a level. Dashed: a lasting \
                change, or another release of the proxy. The vertical axis does not begin at zero.";
    Section::of_charts("Runs and levels", note, Chart::groups(groups))
}

fn chart(series: &HistorySeries, number: &str) -> Option<Series> {
    if series.points.len() < 2 {
        return None;
    }
    let places = Places::new(&series.points);
    let points: Vec<Point> =
        series.points.iter().enumerate().map(|(number, run)| point(series, places.at(number), run)).collect();
    let low = points.iter().filter_map(|point| point.low.or(point.y)).reduce(f64::min)?;
    let high = points.iter().filter_map(|point| point.high.or(point.y)).reduce(f64::max)?;
    let unit = unit(number);
    let words = in_words(number);
    // The title says what the axis does, which therefore has no label of its own.
    let title = if unit.is_empty() { words } else { format!("{words}, {unit}") };
    let y = Axis { lowest: Some(drawn(low - ROOM * (high - low))), ..Axis::linear(title.clone(), unit) };
    let lines = vec![
        Line::joined("level", Tone::Third, levels(series, &places)).in_form(LineForm::Computed),
        Line::joined("run", Tone::Own, points).in_form(LineForm::Scattered),
    ];
    let marks = marks(series, &places);
    Some(Series { marks, ..Series::new(title, places.axis, y, lines) })
}

/// The places of runs on the horizontal axis.
struct Places {
    axis: Axis,
    of_runs: Vec<f64>,
    /// How far the line of a level extends beyond its first and last run, if no other level is nearer.
    reach: f64,
}

impl Places {
    /// The time since the first run. Runs in their order from 1, if a run has no date, or if all began at one time.
    fn new(runs: &[HistoryPoint]) -> Self {
        let Some((of_runs, span_s)) = times_s(runs) else {
            let axis = Axis { lowest: Some(0.0), ..Axis::linear("runs in their order", "") };
            return Self {
                axis,
                of_runs: (1..=runs.len()).map(|place| place as f64).collect(),
                reach: REACH,
            };
        };
        let is_long = |(_, _, unit_s): &(&str, &str, f64)| span_s >= LEAST_UNITS * unit_s;
        let (words, unit, unit_s) = TIMES.into_iter().find(is_long).unwrap_or(("seconds", "s", 1.0));
        let reach = REACH_SHARE * span_s / unit_s;
        let label = format!("{words} since the first run, {}", runs.first().map_or("", date));
        Self {
            axis: Axis { lowest: Some(drawn(-reach)), ..Axis::linear(label, unit) },
            of_runs: of_runs.into_iter().map(|time_s| time_s / unit_s).collect(),
            reach,
        }
    }

    /// The place of a run.
    fn at(&self, number: usize) -> f64 {
        self.of_runs.get(number).copied().unwrap_or_default()
    }

    /// The middle between a run and the run before; none without one of them.
    fn before(&self, number: usize) -> Option<f64> {
        let earlier = self.of_runs.get(number.checked_sub(1)?)?;
        Some(f64::midpoint(*earlier, *self.of_runs.get(number)?))
    }
}

/// The times of runs since the first, and that of the last, seconds. None if a run has no date, or a date before that of the run before it,
/// and if all have the same.
fn times_s(runs: &[HistoryPoint]) -> Option<(Vec<f64>, f64)> {
    let started = |run: &HistoryPoint| humantime::parse_rfc3339_weak(&run.started_at).ok();
    let all: Vec<SystemTime> = runs.iter().map(started).collect::<Option<_>>()?;
    let first = *all.first()?;
    let since = |at: &SystemTime| Some(at.duration_since(first).ok()?.as_secs_f64());
    let times_s: Vec<f64> = all.iter().map(since).collect::<Option<_>>()?;
    let last_s = *times_s.last()?;
    (times_s.is_sorted() && last_s > 0.0).then_some((times_s, last_s))
}

/// The changes and the other releases, each between its first run and the run before. A change names its release itself.
fn marks(series: &HistorySeries, places: &Places) -> Vec<Mark> {
    let mark = |point: usize, text: String| Some(Mark { x: drawn(places.before(point)?), text });
    let of_change = |change: &HistoryChange| mark(change.point, line(series, change));
    let is_change = |point: &usize| series.changes.iter().any(|change| change.point == *point);
    let of_release = |point: usize| mark(point, format!("proxy {}", release(series, point)?));
    let releases = (1..series.points.len()).filter(|point| !is_change(point)).filter_map(of_release);
    let mut marks: Vec<Mark> = series.changes.iter().filter_map(of_change).chain(releases).collect();
    marks.sort_by(|one, other| one.x.total_cmp(&other.x));
    marks
}

fn point(series: &HistorySeries, place: f64, run: &HistoryPoint) -> Point {
    let proxy = run.proxy_version.as_ref().map_or_else(String::new, |version| format!(", proxy {version}"));
    let ends = run.low.zip(run.high);
    let interval = ends.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", digits(series, low), digits(series, high))
    });
    let text = format!("{}{interval}: run {} of {}{proxy}", digits(series, run.estimate), run.run, date(run));
    let (low, high) = (ends.map(|ends| drawn(ends.0)), ends.map(|ends| drawn(ends.1)));
    Point { low, high, text: Some(text), ..Point::at(place, Some(run.estimate)) }
}

/// The median of the runs between changes, with a gap at each change.
fn levels(series: &HistorySeries, places: &Places) -> Vec<Point> {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(series.changes.iter().map(|change| change.point));
    starts.push(series.points.len());
    let mut points = Vec::new();
    for ends in starts.windows(2) {
        let [from, to] = *ends else { continue };
        let values: Vec<f64> =
            series.points.get(from..to).unwrap_or_default().iter().map(|run| run.estimate).collect();
        let Some(middle) = median(&values) else { continue };
        let (first, last) = (places.at(from) - places.reach, places.at(to.saturating_sub(1)) + places.reach);
        // The level before and the one after may be nearer.
        let start = places.before(from).map_or(first, |nearest| first.max(nearest));
        let end = places.before(to).map_or(last, |nearest| last.min(nearest));
        points.push(Point::at(start, Some(middle)));
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
        assert_eq!(chart.title, chart.y.label, "the page states it once");
        let text = chart.lines[1].points[3].text.as_deref();
        assert_eq!(text, Some("20.0 (19.0 to 21.0): run 43 of 2026-11-12, proxy 1.40.0"));
    }

    #[test]
    fn runs_with_dates_are_at_their_days_with_the_changes_and_the_other_releases_between_them() {
        let mut one = series(&[10.0, 11.0, 12.0, 20.0, 21.0, 22.0]);
        for (run, day) in one.points.iter_mut().zip([1, 2, 3, 13, 14, 15]) {
            run.started_at = format!("2026-11-{day:02}T06:00:00Z");
        }
        for run in &mut one.points[3..] {
            run.proxy_version = Some("1.41.0".to_owned());
        }
        one.points[5].proxy_version = Some("1.42.0".to_owned());
        one.changes = vec![HistoryChange { run: 43, point: 3, before: 11.0, after: 21.0, chance: 0.01 }];
        let chart = chart(&one, "cpu_us").unwrap();
        assert_eq!((chart.x.label.as_str(), chart.x.unit), ("days since the first run, 2026-11-01", "d"));
        let are_at = |line: usize, expected: [f64; 6]| {
            let found = chart.lines[line].points.iter().map(|point| point.x);
            assert!(found.zip(expected).all(|(at, one)| (at - one).abs() < 1e-9), "{:?}", chart.lines[line]);
        };
        are_at(1, [0.0, 1.0, 2.0, 12.0, 13.0, 14.0]);
        are_at(0, [-0.14, 2.14, 2.14, 11.86, 14.14, 14.14]);
        let [change, release] = &chart.marks[..] else { panic!("{:?}", chart.marks) };
        assert!((change.x - 7.0).abs() < 1e-9 && (release.x - 13.5).abs() < 1e-9, "{change:?} {release:?}");
        assert!(change.text.contains("proxy 1.40.0 -> 1.41.0"), "{change:?}");
        assert_eq!(release.text, "proxy 1.41.0 -> 1.42.0");
    }

    #[test]
    fn levels_of_runs_that_are_near_each_other_do_not_overlap() {
        let mut one = series(&[10.0, 11.0, 20.0, 21.0]);
        for (run, time) in one.points.iter_mut().zip(["01T00:00", "11T00:00", "11T01:00", "21T00:00"]) {
            run.started_at = format!("2026-11-{time}:00Z");
        }
        one.changes = vec![HistoryChange { run: 42, point: 2, before: 10.5, after: 20.5, chance: 0.01 }];
        let chart = chart(&one, "cpu_us").unwrap();
        assert!(chart.lines[0].points.is_sorted_by_key(|point| point.x), "{:?}", chart.lines[0]);
    }

    #[test]
    fn runs_of_one_day_are_at_their_hours_and_those_without_a_date_are_in_their_order() {
        let mut one = series(&[10.0, 11.0, 12.0]);
        let axis = |one: &HistorySeries| chart(one, "cpu_us").unwrap().x;
        assert_eq!(axis(&one).label, "runs in their order", "all began at one time");
        one.points[2].started_at = "2026-11-12T05:02:03Z".to_owned();
        assert_eq!(
            (axis(&one).label.as_str(), axis(&one).unit),
            ("hours since the first run, 2026-11-12", "h")
        );
        for (last, expected) in [("03:02:02", "minutes"), ("01:04:02", "seconds"), ("01:02:04", "seconds")] {
            one.points[2].started_at = format!("2026-11-12T{last}Z");
            let expected = format!("{expected} since the first run, 2026-11-12");
            assert_eq!(axis(&one).label, expected, "{last}");
        }
        one.points[1].started_at.clear();
        assert_eq!(axis(&one).label, "runs in their order", "a run has no date");
        one.points[1].started_at = "2026-11-13T00:00:00Z".to_owned();
        assert_eq!(axis(&one).label, "runs in their order", "the dates do not ascend");
    }

    #[test]
    fn one_run_has_no_chart() {
        assert!(chart(&series(&[10.0]), "cpu_us").is_none());
    }
}
