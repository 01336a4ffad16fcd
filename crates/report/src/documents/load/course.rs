//! The course of a load: its response times, its requests per second and its errors over the recorded time.

use hoptax_result::{Histogram, LoadResult, Loop, Window};

use crate::chart::{Axis, Bin, Chart, Column, Heat, Line, Point, Series, Tone, drawn};
use crate::document::{Block, Section};
use crate::histograms::{binned, recorded};

/// Windows of a load that its plan divides it into.
const WINDOWS: f64 = 100.0;
const PERCENT: f64 = 100.0;
/// The horizontal axis of all charts, which are below each other.
const TIME: &str = "time since the start of the record, s";

/// The charts below each other; none without any.
pub(super) fn section(result: &LoadResult) -> Option<Section> {
    let heat = heat(result).map(Chart::Heat);
    let rates = rates(result).map(Chart::Series);
    if heat.is_none() && rates.is_none() {
        return None;
    }
    let note = "Response times as they were recorded, with what the generator may have delayed; below, the requests by when they were due.";
    let has_rates = rates.is_some();
    let mut blocks = vec![Block::Note(note.to_owned())];
    blocks.extend(heat.into_iter().chain(rates).map(Block::chart));
    if has_rates {
        let none = "No request that was due in a complete window stayed without an answer.";
        blocks.push(
            errors(result)
                .map_or_else(|| Block::Note(none.to_owned()), |errors| Block::chart(Chart::Series(errors))),
        );
    }
    Some(Section::new("Course of the load", blocks))
}

/// Response times over the recorded time.
fn heat(result: &LoadResult) -> Option<Heat> {
    let batches = &result.histograms.as_ref()?.batches;
    let length_s = result.recorded_s / batches.len().max(1) as f64;
    let column = |(place, encoded): (usize, &Option<Histogram>)| Column {
        from: drawn(place as f64 * length_s),
        to: drawn((place + 1) as f64 * length_s),
        bins: binned(&recorded(encoded.as_ref())).into_iter().filter(|bin: &Bin| bin.count > 0).collect(),
    };
    let columns: Vec<Column> = batches.iter().enumerate().map(column).collect();
    columns.iter().any(|column| !column.bins.is_empty()).then(|| Heat {
        title: "response times over time".to_owned(),
        x: TIME.to_owned(),
        y: "response time, us".to_owned(),
        columns,
    })
}

/// Length of a window, seconds; none if a line over windows would say nothing.
fn window_s(result: &LoadResult) -> Option<f64> {
    let length_s = result.plan.duration_s / WINDOWS;
    (result.windows.len() > 1 && length_s > 0.0).then_some(length_s)
}

/// A line with a value of each window at its middle.
fn line(
    result: &LoadResult,
    length_s: f64,
    (name, tone): (&str, Tone),
    of: impl Fn(&Window) -> Option<f64>,
) -> Line {
    let point = |(place, window): (usize, &Window)| Point::at((place as f64 + 0.5) * length_s, of(window));
    Line::joined(name, tone, result.windows.iter().enumerate().map(point).collect())
}

/// The axis of the recorded time: all of it, so that charts below each other have the same.
fn time(result: &LoadResult) -> Axis {
    Axis { highest: Some(drawn(result.recorded_s)), ..Axis::linear(TIME, "s") }
}

/// Requests per second over the recorded time: due, and answered.
fn rates(result: &LoadResult) -> Option<Series> {
    let length_s = window_s(result)?;
    // A closed loop plans no request: it sends the next when one is answered.
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

/// The share of the requests without an answer over the recorded time; none if all were answered.
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
            matches!(blocks.last(), Some(Block::Note(note)) if note.starts_with("No request"))
        };
        assert!(has_note(&result));
        result.windows[3].answered = 150;
        (result.windows[4].planned, result.windows[4].answered) = (0, 0);
        let chart = errors(&result).unwrap();
        let of: Vec<Option<f64>> = chart.lines[0].points[2..5].iter().map(|point| point.y).collect();
        assert_eq!(of, [Some(0.0), Some(25.0), None]);
        assert!(!has_note(&result));
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
    fn a_closed_loop_has_no_requests_that_were_due() {
        let mut result = fixture::load();
        let name = |result: &LoadResult| rates(result).unwrap().lines[0].name.clone();
        assert_eq!(name(&result), "due");
        result.plan.loop_ = Loop::Closed;
        assert_eq!(name(&result), "sent");
    }
}
