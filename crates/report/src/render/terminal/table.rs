//! A table on a terminal, as wide and as long as there is room.

use comfy_table::{CellAlignment, Table as Lines, presets};

use crate::Style;
use crate::document::{Cell, Row, Table};
use crate::terminal::Paint;
use crate::terminal::rows::short_names;

/// The table with as many columns as fit, and with at most `most` rows, the line for the rest among them.
pub(super) fn text(table: &Table, style: Style, most: Option<usize>) -> String {
    let shown = most.filter(|most| table.rows.len() > *most).map_or(table.rows.len(), |most| most - 1);
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
    if !rest.is_empty() {
        text += &format!("and {} more: --details\n", rest.len());
    }
    if !left_out.is_empty() {
        left_out.reverse();
        text +=
            &format!("{}\n", style.cut(&format!("not shown (terminal too narrow): {}", left_out.join(", "))));
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
    for (name, row) in names.into_iter().zip(&table.rows) {
        lines.add_row(std::iter::once(name).chain(row.cells.iter().map(Cell::text)));
    }
    for (place, layout) in lines.column_iter_mut().enumerate() {
        layout.set_padding((0, 2));
        let column = place.checked_sub(1).and_then(|place| table.columns.get(place));
        if column.is_some_and(|column| !column.is_text) {
            layout.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines.lines().map(|line| line.trim_end().to_owned()).collect()
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
