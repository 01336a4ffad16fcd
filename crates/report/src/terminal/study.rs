//! The table of a study.

use comfy_table::{CellAlignment, Table, presets};
use hoptax_result::{Interval, StudyResult};

use super::rows::Rows;
use super::{Paint, Style, findings};
use crate::rows::{Row, rows};
use crate::side::side_tables;
use crate::words;

/// Cells of the bar.
const BAR_CELLS: usize = 10;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Arm,
    Cpu,
    CpuPercent,
    Bar,
    P50,
    P99,
    MaxRate,
    MaxRatePercent,
}

/// All columns, and what is given up, in this order, where the terminal is too narrow for them.
const COLUMNS: [Column; 8] = [
    Column::Arm,
    Column::Cpu,
    Column::CpuPercent,
    Column::Bar,
    Column::P50,
    Column::P99,
    Column::MaxRate,
    Column::MaxRatePercent,
];
const GIVEN_UP: [Column; 5] =
    [Column::MaxRatePercent, Column::CpuPercent, Column::Bar, Column::P99, Column::MaxRate];

/// The table of a study and what must be read with it.
pub fn study(result: &StudyResult, style: Style) -> String {
    let rows = rows(result);
    let mut text = format!("\n{}\n\n", style.paint(Paint::Bold, &result.summary));
    for line in words::levels(result) {
        text += &format!("{}\n", style.wrap(&line, 2));
    }
    text += "\nwhat is added to that, per request:\n\n";
    text += &table(&rows, style);
    text.push('\n');
    for side in side_tables(result) {
        text += &format!("{}:\n\n", side.title);
        let header: Vec<&str> = side.header.iter().map(String::as_str).collect();
        let mut table = Rows::new(&header);
        for (name, cells) in side.rows {
            table.add(&name, cells);
        }
        text += &format!("{}\n", table.text());
    }
    if rows.iter().any(|row| row.is_near_zero) {
        text += "~ cannot be told from zero in this study\n";
    }
    for line in [Some(words::intervals(result)), words::same(result), Some(words::slices(result))]
        .into_iter()
        .flatten()
    {
        text += &format!("{}\n", style.wrap(&line, 2));
    }
    if !result.findings.is_empty() {
        text += &format!("\n{}", findings(&result.findings, style));
    }
    if let Some(why) = &result.plan.ended_early {
        text += &format!("\nthe study ended early: {why}\n");
    }
    text +=
        &format!("\n{}\n{}\n", style.wrap(&words::method(result), 2), style.wrap(&words::machine(result), 2));
    let verdict = style.paint(Style::of_verdict(result.verdict), words::verdict(result.verdict));
    text += &format!("\nverdict: {verdict}\n");
    text
}

/// The table with as many columns as fit.
fn table(rows: &[Row<'_>], style: Style) -> String {
    let mut columns = COLUMNS.to_vec();
    let mut given_up = GIVEN_UP.iter();
    loop {
        let lines = render(rows, &columns);
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        if width <= usize::from(style.width) {
            return paint(rows, &lines, style);
        }
        match given_up.next() {
            Some(column) => columns.retain(|other| other != column),
            None => return paint(rows, &lines, style),
        }
    }
}

fn render(rows: &[Row<'_>], columns: &[Column]) -> Vec<String> {
    let largest = rows.iter().filter_map(|row| row.arm.cost.cpu_us_per_request).map(|cost| cost.high);
    let largest = largest.fold(0.0, f64::max);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns.iter().map(|column| header(*column)));
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(row, *column, largest)));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(layout) = table.column_mut(index) {
            layout.set_padding((0, 2));
            if !matches!(column, Column::Arm | Column::Bar) {
                layout.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn header(column: Column) -> &'static str {
    match column {
        Column::Arm => "arm",
        Column::Cpu => "CPU us",
        Column::CpuPercent | Column::MaxRatePercent | Column::Bar => "",
        Column::P50 => "p50 us",
        Column::P99 => "p99 us",
        Column::MaxRate => "max rate/s",
    }
}

fn cell(row: &Row<'_>, column: Column, largest: f64) -> String {
    match column {
        Column::Arm => row.name.clone(),
        Column::Cpu if row.is_near_zero => format!("~ {}", row.cpu.text),
        Column::Cpu => row.cpu.text.clone(),
        Column::CpuPercent => row.cpu_percent_alone.clone(),
        Column::Bar => row.arm.cost.cpu_us_per_request.map_or_else(String::new, |cost| bar(&cost, largest)),
        Column::P50 => row.p50.text.clone(),
        Column::P99 => row.p99.text.clone(),
        Column::MaxRate => row.max_rate.text.clone(),
        Column::MaxRatePercent => row.max_rate_percent.clone(),
    }
}

/// Solid up to the lower end of the interval, shaded up to the upper end.
fn bar(cost: &Interval, largest: f64) -> String {
    if largest <= 0.0 {
        return String::new();
    }
    let cells = |value: f64| (value.max(0.0) / largest * BAR_CELLS as f64).round() as usize;
    let (solid, end) = (cells(cost.low), cells(cost.high));
    format!("{}{}", "█".repeat(solid), "▒".repeat(end.saturating_sub(solid)))
}

/// Header bold, rows that cannot be told from zero dim.
fn paint(rows: &[Row<'_>], lines: &[String], style: Style) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let row = index.checked_sub(1).and_then(|index| rows.get(index));
        let painted = match row {
            None => style.paint(Paint::Bold, line),
            Some(row) if row.is_near_zero => style.paint(Paint::Dim, line),
            Some(_) => line.clone(),
        };
        text += &painted;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const PLAIN: Style = Style { width: 110, colour: false };

    #[test]
    fn the_table_at_110_columns() {
        insta::assert_snapshot!(study(&fixture::study(), PLAIN));
    }

    #[test]
    fn the_table_at_80_columns() {
        let text = study(&fixture::study(), Style { width: 80, ..PLAIN });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_void_study_prints_no_number_as_a_result() {
        insta::assert_snapshot!(study(&fixture::void(), PLAIN));
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let coloured = study(&fixture::study(), Style { colour: true, ..PLAIN });
        assert!(coloured.contains("\u{1b}["));
        let mut plain = coloured;
        for code in ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m"] {
            plain = plain.replace(&format!("\u{1b}{code}"), "");
        }
        assert_eq!(plain, study(&fixture::study(), PLAIN));
    }

    #[test]
    fn a_bar_shows_its_interval() {
        let interval = |low, high| Interval { estimate: f64::midpoint(low, high), low, high };
        assert_eq!(bar(&interval(8.0, 10.0), 10.0), "████████▒▒");
        assert_eq!(bar(&interval(-1.0, 2.0), 10.0), "▒▒");
        assert_eq!(bar(&interval(-2.0, -1.0), 10.0), "");
    }
}
