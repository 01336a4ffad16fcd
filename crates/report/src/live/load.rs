//! The view of a running load: its latest numbers and their course.

use std::collections::VecDeque;

use hoptax_load::trial::LiveLine;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style as CellStyle};
use ratatui_core::text::{Line, Span};

use super::{Room, Sheet, faint, progress_line};
use crate::numbers::{byte_rate, duration, grouped};

/// Maximum number of samples to keep, more than a terminal has columns.
const MOST: usize = 500;
/// Width of the name of a number, in columns.
const NAME: usize = 15;
/// Width of its value, in columns.
const VALUE: usize = 12;
/// Width of the maximum of its course, in columns.
const HIGHEST: usize = 19;
/// Minimum width of a course, in columns.
const SHORTEST: u16 = 10;
/// The characters of a course: blank, and each eighth of the height of a line.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The numbers of a load so far, one sample per half second.
#[derive(Clone, Debug, Default)]
pub struct LoadCourse {
    lines: VecDeque<LiveLine>,
}

impl LoadCourse {
    /// Adds the numbers of the latest half second.
    pub fn push(&mut self, line: LiveLine) {
        if self.lines.len() == MOST {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

/// A number with a course.
struct Series {
    name: &'static str,
    value: fn(&LiveLine) -> Option<f64>,
    /// The value of a line in words.
    text: fn(&LiveLine, f64) -> String,
}

const SERIES: [Series; 4] = [
    Series { name: "rate", value: |line| Some(line.rate), text: |_, rate| format!("{}/s", grouped(rate, 0)) },
    Series { name: "p50", value: |line| Some(line.p50_us), text: LiveLine::time_in_words },
    Series { name: "p99", value: |line| Some(line.p99_us), text: LiveLine::time_in_words },
    Series { name: "send lag p99", value: |line| line.send_lag_p99_us, text: LiveLine::time_in_words },
];

/// Numbers below the errors. A terminal with few lines drops them first.
const BELOW: [Series; 2] = [
    Series { name: "bodies", value: |line| line.body_bytes_per_s, text: |_, rate| byte_rate(rate) },
    Series {
        name: "connections",
        value: |line| line.connections.map(|count| count as f64),
        text: |_, count| grouped(count, 0),
    },
];

pub(super) fn view(course: &LoadCourse, room: Room) -> Buffer {
    let mut sheet = Sheet::new(room);
    let Some(now) = course.lines.back() else { return sheet.finished() };
    let of = format!("{} of {}", duration(now.elapsed_s), duration(now.total_s));
    let left = format!("{} left", duration(now.total_s - now.elapsed_s));
    let share = now.elapsed_s / now.total_s.max(f64::MIN_POSITIVE);
    sheet.line(&progress_line(&of, share, Some(&left), room.style.width));
    rows(&SERIES, now, course, &mut sheet);
    let colour = if now.errors > 0 { CellStyle::new().fg(Color::Red) } else { CellStyle::new() };
    let errors = format!("{:>VALUE$}", grouped(now.errors as f64, 0));
    sheet.line(&Line::from(vec![Span::raw(format!("{:<NAME$}", "errors")), Span::styled(errors, colour)]));
    rows(&BELOW, now, course, &mut sheet);
    sheet.finished()
}

/// A row for each known number.
fn rows(all: &[Series], now: &LiveLine, course: &LoadCourse, sheet: &mut Sheet) {
    for series in all {
        let Some(value) = (series.value)(now) else { continue };
        let lines = course.lines.iter();
        let values: Vec<(&LiveLine, f64)> =
            lines.filter_map(|line| (series.value)(line).map(|value| (line, value))).collect();
        if let Some(row) = sheet.row() {
            draw(series, (now, value), &values, row, &mut sheet.buffer);
        }
    }
}

/// Draws the name of a number, its latest value, and its course with its maximum if there is room.
fn draw(
    series: &Series,
    (now, value): (&LiveLine, f64),
    values: &[(&LiveLine, f64)],
    row: Rect,
    buffer: &mut Buffer,
) {
    let begin = format!("{:<NAME$}{:>VALUE$}", series.name, (series.text)(now, value));
    buffer.set_line(row.x, row.y, &Line::from(begin), row.width);
    let (x, others) = ((NAME + VALUE + 2) as u16, (NAME + VALUE + 2 + HIGHEST) as u16);
    let width = row.width.saturating_sub(others);
    if width < SHORTEST {
        return;
    }
    let shown = values.get(values.len().saturating_sub(usize::from(width))..).unwrap_or_default();
    let (at_highest, highest) =
        shown.iter().copied().fold((now, 0.0), |most, one| if one.1 > most.1 { one } else { most });
    let values: Vec<f64> = shown.iter().map(|(_, value)| *value).collect();
    let bars = Line::styled(bars(&values), CellStyle::new().fg(Color::Cyan));
    buffer.set_line(row.x + x, row.y, &bars, width);
    let highest = Line::styled(format!("  up to {}", (series.text)(at_highest, highest)), faint());
    buffer.set_line(row.x + x + width, row.y, &highest, HIGHEST as u16);
}

/// A bar for each value. Its height is the share of the maximum, rounded down.
fn bars(values: &[f64]) -> String {
    let values: Vec<u128> = values.iter().map(|value| u128::from(value.round() as u64)).collect();
    let highest = values.iter().copied().max().unwrap_or_default().max(1);
    values.iter().map(|value| BARS[(value * 8 / highest) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{load, tests::room};
    use super::*;

    fn line(elapsed_s: f64, p99_us: f64, errors: u64) -> LiveLine {
        LiveLine {
            elapsed_s,
            total_s: 31.0,
            rate: 4_312.4,
            responses: 2_156,
            p50_us: 87.0,
            p99_us,
            send_lag_p99_us: Some(12.0),
            errors,
            body_bytes_per_s: Some(2_400_000.0),
            connections: Some(64),
        }
    }

    fn course(lines: &[LiveLine]) -> LoadCourse {
        let mut course = LoadCourse::default();
        for line in lines {
            course.push(*line);
        }
        course
    }

    fn row(name: &str, value: &str, course: &str, highest: &str) -> String {
        format!("{name:<15}{value:>12}  {course:<42}  up to {highest}")
    }

    #[test]
    fn a_load_has_its_latest_numbers_and_their_course() {
        let course = course(&[line(11.0, 20_000.0, 0), line(11.5, 10_000.0, 0), line(12.0, 5_000.0, 1_024)]);
        let lines = load(&course, room(90, 20));
        assert_eq!(lines.len(), 8, "{lines:#?}");
        assert!(
            lines[0].starts_with("12 s of 31 s  ━") && lines[0].ends_with("─   38 %  19 s left"),
            "{lines:#?}"
        );
        assert_eq!(lines[1], row("rate", "4,312/s", "███", "4,312/s"));
        assert_eq!(lines[3], row("p99", "5,000 us", "█▄▂", "20.0 ms"));
        assert_eq!(lines[4], row("send lag p99", "12 us", "███", "12 us"));
        assert_eq!(lines[5], format!("{:<15}{:>12}", "errors", "1,024"));
        assert_eq!(lines[6], row("bodies", "2.4 MB/s", "███", "2.4 MB/s"));
        assert_eq!(lines[7], row("connections", "64", "███", "64"));
    }

    #[test]
    fn a_closed_loop_has_no_send_lag_and_a_load_that_begins_has_no_view() {
        let closed = course(&[LiveLine { send_lag_p99_us: None, ..line(1.0, 100.0, 0) }]);
        assert!(load(&closed, room(90, 20)).iter().all(|line| !line.contains("send lag")));
        assert!(load(&LoadCourse::default(), room(90, 20)).is_empty());
    }

    #[test]
    fn times_of_no_response_are_no_times() {
        let silent = LiveLine {
            rate: 0.0,
            responses: 0,
            p50_us: 0.0,
            send_lag_p99_us: Some(0.0),
            ..line(1.0, 0.0, 0)
        };
        let lines = load(&course(&[silent]), room(90, 20));
        for (number, name) in [(2, "p50"), (3, "p99"), (4, "send lag p99")] {
            assert_eq!(lines[number], row(name, "-", " ", "-"));
        }
        let later = load(&course(&[line(1.0, 100.0, 0), silent]), room(90, 20));
        assert_eq!(later[3], row("p99", "-", "█ ", "100 us"));
    }

    #[test]
    fn a_load_of_agents_has_neither_bytes_nor_connections() {
        let of_agents =
            course(&[LiveLine { body_bytes_per_s: None, connections: None, ..line(1.0, 100.0, 0) }]);
        let lines = load(&of_agents, room(90, 20));
        assert_eq!(lines.len(), 6, "{lines:#?}");
        assert!(lines.iter().all(|line| !line.starts_with("bodies") && !line.starts_with("connections")));
    }

    #[test]
    fn a_narrow_terminal_has_the_numbers_without_their_course_and_a_low_one_the_first_lines() {
        let course = course(&[line(12.0, 5_000.0, 0)]);
        for width in [1, 27, 40, 57] {
            let lines = load(&course, room(width, 20));
            assert!(lines.iter().all(|line| line.chars().count() <= usize::from(width)), "{lines:#?}");
            assert!(lines.iter().all(|line| !line.contains("up to")), "{lines:#?}");
        }
        let low = load(&course, room(90, 2));
        assert!(low.len() == 2 && low[1].starts_with("rate "), "{low:#?}");
    }

    #[test]
    fn a_course_that_is_longer_than_the_room_keeps_its_end() {
        let mut all = vec![line(0.0, 9_000_000.0, 0); MOST];
        all.extend([line(1.0, 100.0, 0); 60]);
        let course = course(&all);
        assert_eq!(course.lines.len(), MOST);
        let lines = load(&course, room(90, 20));
        assert_eq!(lines[3], row("p99", "100 us", &"█".repeat(42), "100 us"));
    }
}
