//! A table on a terminal, as wide and as long as there is room.

use std::collections::BTreeSet;

use comfy_table::{CellAlignment, Table as Lines, presets};

use crate::Style;
use crate::style::Paint;
use crate::table::{Cell, Row, Table};

/// Longest name that is never shortened, in characters.
const LONGEST_NAME: usize = 44;
/// The end of a longer one that stays.
const KEPT_END: usize = 12;

/// Text in place of the mark of an uncertain sign. A space at the end of a cell would be trimmed.
const NO_MARK: &str = "\u{a0}\u{a0}";

/// The names without the middle of long ones; unchanged if two would be the same.
fn short_names(names: Vec<String>) -> Vec<String> {
    let short = |name: &String| {
        let length = name.chars().count();
        if length <= LONGEST_NAME {
            return name.clone();
        }
        let begin: String = name.chars().take(LONGEST_NAME - KEPT_END - 3).collect();
        let end: String = name.chars().skip(length - KEPT_END).collect();
        format!("{begin}...{end}")
    };
    let short: Vec<String> = names.iter().map(short).collect();
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() == short.len() { short } else { names }
}

/// The most rows of a table.
#[derive(Clone, Copy)]
pub(super) struct MostRows<'a> {
    /// Their number, with the line for the rest.
    pub(super) rows: usize,
    /// The option that prints the rest.
    pub(super) details: &'a str,
}

/// The table with as many columns as fit, and with all rows if it has no limit.
pub(super) fn text(table: &Table, style: Style, most: Option<MostRows<'_>>) -> String {
    let most = most.filter(|most| table.rows.len() > most.rows);
    let shown = most.map_or(table.rows.len(), |most| most.rows - 1);
    let mut table = table.clone();
    let rest = table.rows.split_off(shown);
    let mut left_out: Vec<String> = Vec::new();
    let lines = loop {
        let lines = render(&table);
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let droppable = table.columns.iter().enumerate().max_by_key(|(_, column)| column.priority);
        match droppable.filter(|(_, column)| column.priority > 0 && width > usize::from(style.width)) {
            None => break lines,
            Some((place, column)) => {
                left_out.push(column.heading.clone());
                let kept: Vec<bool> = (0..table.columns.len()).map(|other| other != place).collect();
                table.keep(&kept);
            }
        }
    };
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        let row = place.checked_sub(1).and_then(|place| table.rows.get(place));
        text += &format!("{}\n", painted(line, row, style));
    }
    if let Some(MostRows { details, .. }) = most {
        text += &format!("and {} more: {details}\n", rest.len());
    }
    if !left_out.is_empty() {
        left_out.reverse();
        text += &format!("{}\n", style.cut(&format!("no room for: {}", left_out.join(", "))));
    }
    text
}

fn render(table: &Table) -> Vec<String> {
    let mut lines = Lines::new();
    let header = std::iter::once(table.names.clone());
    lines
        .load_style(presets::NOTHING)
        .set_header(header.chain(table.columns.iter().map(|column| column.heading.clone())));
    let names = short_names(table.rows.iter().map(|row| row.name.clone()).collect());
    // Numbers stay below each other where some of a column have a mark behind them.
    let has_mark =
        |place: usize| table.rows.iter().any(|row| row.cells.get(place).is_some_and(Cell::has_mark));
    let marked: Vec<bool> = (0..table.columns.len()).map(has_mark).collect();
    let padded = |(cell, marked): (&Cell, &bool)| {
        let text = cell.text();
        if *marked && !cell.has_mark() { text + NO_MARK } else { text }
    };
    for (name, row) in names.into_iter().zip(&table.rows) {
        lines.add_row(std::iter::once(name).chain(row.cells.iter().zip(&marked).map(padded)));
    }
    for (place, layout) in lines.column_iter_mut().enumerate() {
        layout.set_padding((0, 2));
        let column = place.checked_sub(1).and_then(|place| table.columns.get(place));
        if column.is_some_and(|column| !column.is_text) {
            layout.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines.lines().map(|line| line.trim_end().replace('\u{a0}', " ")).collect()
}

/// The line with bounded and unknown numbers in grey.
fn painted(line: &str, row: Option<&Row>, style: Style) -> String {
    let Some(row) = row.filter(|_| style.colour) else { return line.to_owned() };
    let (mut text, mut rest) = (String::new(), line);
    for cell in &row.cells {
        let words = cell.text();
        let Some(at) = rest.find(words.as_str()).filter(|_| !words.is_empty()) else { continue };
        let (before, from) = rest.split_at(at);
        let (own, behind) = from.split_at(words.len());
        text += before;
        text += &if cell.is_faint() { style.paint(Paint::Dim, own) } else { own.to_owned() };
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle_unless_they_would_be_the_same() {
        let names = |parts: [&str; 2]| parts.map(|part| format!("baseline{{cookie={part}}}")).to_vec();
        let long = names(["session=0123456789abcdef0123456789abcdef", "short"]);
        let short = short_names(long.clone());
        assert!(
            short[0].starts_with("baseline{cookie=session=01234...") && short[0].ends_with("789abcdef}"),
            "{short:?}"
        );
        assert!(short[0].chars().count() == LONGEST_NAME && short[1] == long[1], "{short:?}");
        let alike = names([
            "session=0123456789abcdef-one-0123456789abcdef",
            "session=0123456789abcdef-two-0123456789abcdef",
        ]);
        assert_eq!(short_names(alike.clone()), alike);
    }
}
