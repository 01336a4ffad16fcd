//! Views of running work, for the lines of a terminal that are redrawn: functions from a state to cells.
//!
//! This uses only the buffers and texts of ratatui, without a backend. Ratatui's inline viewport asks the terminal for the cursor position:
//! Crossterm writes the query to stdout, which may be redirected to a file for a result, and reads the answer from the keyboard in raw mode
//! (<https://github.com/crossterm-rs/crossterm/issues/919>, <https://github.com/ratatui/ratatui/issues/2640>). Instead, [`Screen`] writes
//! the lines with relative cursor movements, so it needs no keyboard and leaves nothing to restore.

mod load;
mod screen;
mod search;
mod study;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style as CellStyle};
use ratatui_core::text::{Line, Span};

pub use load::LoadCourse;
pub use screen::Screen;
pub use search::{KnownRate, Search};
pub use study::{CostsSoFar, Study};

use crate::Style;
use crate::numbers::grouped;

/// The longest bar of a share, in columns.
const LONGEST_BAR: usize = 40;
/// The escape sequence that ends colours and emphasis.
const END: &str = "\u{1b}[0m";
/// The shortest bar that still shows something.
const SHORTEST_BAR: usize = 8;

/// The space for a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The width of its lines, and if they may have colours.
    pub style: Style,
    /// Maximum number of lines.
    pub height: u16,
}

/// The lines of a running load: rate, response times and send lag with their course, failed requests, remaining time.
pub fn load(course: &LoadCourse, room: Room) -> Vec<String> {
    text(&load::view(course, room), room.style.colour)
}

/// The lines of a running search: the number of trials, the current step, and the bounds of each searched rate.
pub fn search(search: &Search, room: Room) -> Vec<String> {
    text(&search::view(search, room), room.style.colour)
}

/// The lines of a running study: round, remaining time, and the costs so far.
pub fn study(study: &Study<'_>, room: Room) -> Vec<String> {
    text(&study::view(study, room), room.style.colour)
}

/// A step of work of unknown length, as a line.
pub fn step(step: &str, room: Room) -> Vec<String> {
    let mut sheet = Sheet::new(room);
    sheet.line(&Line::from(step));
    text(&sheet.finished(), room.style.colour)
}

/// A view that is filled from the top.
struct Sheet {
    buffer: Buffer,
    /// Number of filled lines.
    filled: u16,
}

impl Sheet {
    fn new(room: Room) -> Self {
        Self { buffer: Buffer::empty(Rect::new(0, 0, room.style.width, room.height)), filled: 0 }
    }

    /// The place of the next line; none if the view is full.
    fn row(&mut self) -> Option<Rect> {
        let area = self.buffer.area;
        (self.filled < area.height).then(|| {
            self.filled += 1;
            Rect { y: self.filled - 1, height: 1, ..area }
        })
    }

    /// Adds a line, truncated to the width. Leaves it out if the view is full.
    fn line(&mut self, line: &Line<'_>) {
        if let Some(row) = self.row() {
            self.buffer.set_line(row.x, row.y, line, row.width);
        }
    }

    /// Number of remaining lines.
    fn left(&self) -> u16 {
        self.buffer.area.height - self.filled
    }

    /// The view, truncated to its filled lines.
    fn finished(mut self) -> Buffer {
        let area = self.buffer.area;
        self.buffer.resize(Rect { height: self.filled, ..area });
        self.buffer
    }
}

/// A line of progress: its name, a bar of the completed share if there is room, the share, and the remaining time if known.
fn progress_line(now: &str, done_share: f64, left: Option<&str>, width: u16) -> Line<'static> {
    let share = done_share.clamp(0.0, 1.0);
    let behind = left.map_or_else(String::new, |left| format!("  {left}"));
    let percent = format!("{:>5} %{behind}", grouped((100.0 * share).floor(), 0));
    let others = now.chars().count() + 2 + percent.chars().count();
    let room = usize::from(width).saturating_sub(others).min(LONGEST_BAR);
    let mut spans = vec![Span::styled(now.to_owned(), bold())];
    if room >= SHORTEST_BAR {
        let filled = (share * room as f64).floor() as usize;
        spans.push(Span::raw("  "));
        spans.push(Span::styled("━".repeat(filled), CellStyle::new().fg(Color::Green)));
        spans.push(Span::styled("─".repeat(room - filled), faint()));
    }
    spans.push(Span::raw(percent));
    Line::from(spans)
}

fn bold() -> CellStyle {
    CellStyle::new().add_modifier(Modifier::BOLD)
}

fn faint() -> CellStyle {
    CellStyle::new().add_modifier(Modifier::DIM)
}

/// The lines of a view, without trailing blanks. With colour, styled cells have escape sequences (ECMA-48, SGR).
fn text(view: &Buffer, has_colour: bool) -> Vec<String> {
    let area = view.area;
    (area.top()..area.bottom())
        .map(|y| {
            let (mut line, mut current, mut skip) = (String::new(), String::new(), 0);
            for cell in (area.left()..area.right()).filter_map(|x| view.cell((x, y))) {
                // A wide character covers the following cells.
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                skip = Span::raw(cell.symbol()).width().saturating_sub(1);
                let codes = if has_colour { codes(cell.fg, cell.modifier) } else { String::new() };
                if codes != current {
                    // The zero resets earlier styles.
                    line += &format!("\u{1b}[0{codes}m");
                    current = codes;
                }
                line += cell.symbol();
            }
            let kept = line.trim_end().len();
            line.truncate(kept);
            if current.is_empty() { line } else { line + END }
        })
        .collect()
}

/// The codes of a colour and of modifiers, each after a semicolon.
fn codes(colour: Color, modifier: Modifier) -> String {
    let colour = match colour {
        Color::Red => ";31",
        Color::Green => ";32",
        Color::Yellow => ";33",
        Color::Cyan => ";36",
        _ => "",
    };
    let emphasis = [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2")];
    let emphasis = emphasis.iter().filter(|(one, _)| modifier.contains(*one)).map(|(_, code)| *code);
    emphasis.chain([colour]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room without colour.
    pub(super) fn room(width: u16, height: u16) -> Room {
        Room { style: Style { width, colour: false }, height }
    }

    #[test]
    fn a_line_of_progress_has_a_bar_where_there_is_room() {
        let line =
            |width: u16| progress_line("round 3 of 12", 0.25, Some("about 4 min left"), width).to_string();
        assert_eq!(
            line(79),
            format!("round 3 of 12  {}{}   25 %  about 4 min left", "━".repeat(9), "─".repeat(30))
        );
        assert_eq!(line(48), format!("round 3 of 12  {}{}   25 %  about 4 min left", "━━", "─".repeat(6)));
        assert_eq!(line(47), "round 3 of 12   25 %  about 4 min left", "too narrow for a bar");
        assert_eq!(progress_line("load", 7.0, None, 20).to_string(), "load  100 %");
    }

    #[test]
    fn what_has_no_room_is_left_out_and_lines_are_cut() {
        let mut sheet = Sheet::new(room(4, 2));
        for line in ["first", "two", "third"] {
            sheet.line(&Line::from(line));
        }
        assert_eq!(
            (text(&sheet.finished(), false), step("ab", room(4, 2))),
            (vec!["firs".to_owned(), "two".to_owned()], vec!["ab".to_owned()])
        );
    }

    #[test]
    fn colours_are_escape_sequences_and_are_left_out_where_they_may_not_be() {
        let mut sheet = Sheet::new(room(12, 1));
        let spans = vec![
            Span::styled("7", CellStyle::new().fg(Color::Red)),
            Span::raw(" of "),
            Span::styled("9", bold()),
        ];
        sheet.line(&Line::from(spans));
        let view = sheet.finished();
        assert_eq!(text(&view, false), ["7 of 9"]);
        assert_eq!(text(&view, true), ["\u{1b}[0;31m7\u{1b}[0m of \u{1b}[0;1m9\u{1b}[0m"]);
    }

    #[test]
    fn a_wide_letter_takes_the_place_of_two() {
        let mut sheet = Sheet::new(room(6, 1));
        sheet.line(&Line::from("a漢b"));
        assert_eq!(text(&sheet.finished(), false), ["a漢b"]);
    }
}
