//! A table on a terminal, fitted to the available width and length.

use std::collections::BTreeSet;

use comfy_table::{CellAlignment, Table as Lines, presets};

use crate::Style;
use crate::style::Paint;
use crate::table::{Cell, Row, Table, short_name};
use hoptax_text::controls::written_out;

/// Minimum width of a wrapped column of words.
const NARROWEST: usize = 24;
/// Placeholder for the mark of an uncertain sign. Ordinary spaces at the end of a cell would be trimmed.
const NO_MARK: &str = "\u{a0}\u{a0}";

/// Names with the middle of long ones removed; unchanged if this would make two equal.
fn short_names(names: Vec<String>) -> Vec<String> {
    let short: Vec<String> = names.iter().map(|name| short_name(name)).collect();
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() == short.len() { short } else { names }
}

/// The maximum number of rows of a table.
#[derive(Clone, Copy)]
pub(super) struct MostRows<'a> {
    /// Number of lines for rows, including the line for the rest.
    pub(super) rows: usize,
    /// The option that prints the rest.
    pub(super) details: &'a str,
}

/// The table with as many columns as fit and at most `most` lines of rows. These include the line for the rest, which names the option that
/// prints all.
pub(super) fn text(table: &Table, style: Style, most: Option<MostRows<'_>>) -> String {
    let all = table.rows.len();
    let mut table = table.clone();
    make_inert(&mut table);
    if let Some(most) = most {
        cut(&mut table, most.rows, all);
    }
    let mut left_out: Vec<String> = Vec::new();
    let excess = loop {
        let excess = width(&table).saturating_sub(usize::from(style.width));
        // Columns without a value in the visible rows are dropped first.
        let is_vacant = |place: usize| {
            table.rows.iter().all(|row| row.cells.get(place).is_none_or(|cell| !cell.is_stated()))
        };
        let droppable = table.columns.iter().enumerate().filter(|(_, column)| column.priority > 0);
        let droppable = droppable.max_by_key(|(place, column)| (is_vacant(*place), column.priority));
        match droppable.filter(|_| excess > 0) {
            None => break excess,
            Some((place, column)) => {
                left_out.push(column.heading.clone());
                let kept: Vec<bool> = (0..table.columns.len()).map(|other| other != place).collect();
                table.keep(&kept);
            }
        }
    };
    if excess > 0 {
        wrap(&mut table, excess, style);
    }
    if let Some(most) = most {
        cut(&mut table, most.rows, all);
    }
    let mut text = String::new();
    let rows = table.rows.iter().flat_map(|row| {
        std::iter::once(Some(row)).chain(std::iter::repeat_n(None, lines_of(row).saturating_sub(1)))
    });
    for (line, row) in render(&table).iter().zip(std::iter::once(None).chain(rows)) {
        text += &format!("{}\n", painted(line, row, style));
    }
    let rest = all - table.rows.len();
    if let Some(MostRows { details, .. }) = most.filter(|_| rest > 0) {
        text += &format!("and {rest} more: {}\n", written_out(details));
    }
    if !left_out.is_empty() {
        left_out.reverse();
        text += &format!("{}\n", style.cut(&format!("columns without room: {}", left_out.join(", "))));
    }
    text
}

/// Removes text from the table that would control the terminal.
fn make_inert(table: &mut Table) {
    table.names = written_out(&table.names);
    for column in &mut table.columns {
        column.heading = written_out(&column.heading);
    }
    for row in &mut table.rows {
        row.name = written_out(&row.name);
        for cell in &mut row.cells {
            if let Cell::Text(text) = cell {
                *text = written_out(text);
            }
        }
    }
}

/// Keeps the first rows that fit into `most` lines. If some of `all` rows do not fit, the last line is for the rest.
fn cut(table: &mut Table, most: usize, all: usize) {
    let lines: usize = table.rows.iter().map(lines_of).sum();
    if table.rows.len() == all && lines <= most {
        return;
    }
    let mut left = most.saturating_sub(1);
    let fits = |row: &&Row| left.checked_sub(lines_of(row)).map(|rest| left = rest).is_some();
    let fitting = table.rows.iter().take_while(fits).count();
    table.rows.truncate(fitting);
}

/// Number of lines of a row, which is that of its highest cell.
fn lines_of(row: &Row) -> usize {
    row.cells.iter().map(|cell| cell.text().lines().count()).max().unwrap_or(1).max(1)
}

/// Wraps the widest column of words to shorten the lines by `excess` columns, but not below its minimum width.
fn wrap(table: &mut Table, excess: usize, style: Style) {
    let own = |place: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(place));
        cells.map(|cell| cell.text().chars().count()).max().unwrap_or(0)
    };
    let words = table.columns.iter().enumerate().filter(|(_, column)| column.is_text);
    let Some((width, place)) = words.map(|(place, _)| (own(place), place)).max() else { return };
    let width = u16::try_from(width.saturating_sub(excess).max(NARROWEST)).unwrap_or(u16::MAX);
    for cell in table.rows.iter_mut().filter_map(|row| row.cells.get_mut(place)) {
        if let Cell::Text(text) = cell {
            *text = Style { width, ..style }.wrap(text, 0);
        }
    }
}

/// Width of its longest line, in columns.
fn width(table: &Table) -> usize {
    render(table).iter().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn render(table: &Table) -> Vec<String> {
    let mut lines = Lines::new();
    let header = std::iter::once(table.names.clone());
    lines
        .load_style(presets::NOTHING)
        .set_header(header.chain(table.columns.iter().map(|column| column.heading.clone())));
    let names = short_names(table.rows.iter().map(|row| row.name.clone()).collect());
    // Keep numbers aligned if some in a column have a mark after them.
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
    use crate::table::Column;
    use crate::table::LONGEST_NAME;

    #[test]
    fn words_that_leave_no_room_are_wrapped_and_rows_are_counted_by_their_lines() {
        let row = |name: &str, words: usize| Row::new(name, vec![Cell::words("word ".repeat(words) + "end")]);
        let rows = [row("a", 3), row("b", 17), row("c", 1), row("d", 9)];
        let table = Table::new("t", "name", [Column::text("words", 0)], rows);
        let style = Style { width: 40, colour: false };
        let at_most = |rows: usize| Some(MostRows { rows, details: "--details" });
        let whole = text(&table, style, None);
        assert!(whole.lines().all(|line| line.chars().count() <= 40), "{whole}");
        assert_eq!((whole.lines().count(), whole.matches("end").count()), (1 + 1 + 3 + 1 + 2, 4), "{whole}");
        assert!(whole.lines().nth(3).is_some_and(|line| line.starts_with("      word")), "{whole}");
        assert_eq!(text(&table, style, at_most(7)), whole, "as many lines as there may be");
        let six = text(&table, style, at_most(6));
        assert!(six.ends_with("\nc     word end\nand 1 more: --details\n"), "{six}");
        let four = text(&table, style, at_most(4));
        assert!(four.lines().count() == 3 && four.ends_with("and 3 more: --details\n"), "whole rows: {four}");
        assert_eq!(text(&table, Style { width: 200, ..style }, None).lines().count(), 5);
    }

    #[test]
    fn a_column_without_a_number_in_the_rows_that_are_shown_makes_room_for_one_with_numbers() {
        let row = |name: &str, vacant: Cell| Row::new(name, vec![vacant, Cell::words("1")]);
        let table = Table {
            title: "t".to_owned(),
            names: "name".to_owned(),
            columns: vec![Column::new("p99 of response time", 1), Column::new("memory of the proxy", 2)],
            rows: vec![row("a", Cell::Empty), row("b", Cell::Empty), row("c", Cell::words("2"))],
        };
        let style = Style { width: 46, colour: false };
        let cut = text(&table, style, Some(MostRows { rows: 2, details: "--details" }));
        assert!(cut.ends_with("columns without room: p99 of response time\n"), "{cut}");
        let whole = text(&table, style, None);
        assert!(whole.ends_with("columns without room: memory of the proxy\n"), "{whole}");
    }

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
