//! The table of a study.

use comfy_table::{CellAlignment, Table, presets};
use hoptax_result::{Interval, Measure, RoundMeasure, StudyResult};

use super::rows::{Rows, short_names};
use super::{Paint, Style, finding, findings};
use crate::findings::{Lead, below_the_lead, lead};
use crate::rows::{Columns, Row, rows};
use crate::side::{SideTable, levels_by_load, open_loops, side_tables};
use crate::{by_load, known, levels, words};

/// Cells of the bar.
const BAR_CELLS: usize = 10;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Arm,
    CpuShare,
    Bar,
    Cpu,
    P50,
    P90,
    P99,
    MaxRate,
    MaxRatePercent,
    OfRounds(RoundMeasure),
}

impl Column {
    /// Whether the table has it.
    fn is_in(self, has: &Columns) -> bool {
        let of_share = self == Self::CpuShare;
        (!of_share || has.has_share) && self.measure().is_none_or(|measure| has.has(measure))
    }

    /// Its measure; none for the names of arms.
    fn measure(self) -> Option<Measure> {
        match self {
            Self::Arm => None,
            Self::Cpu | Self::CpuShare | Self::Bar => Some(Measure::Cpu),
            Self::P50 => Some(Measure::ResponseP50),
            Self::P90 => Some(Measure::ResponseP90),
            Self::P99 => Some(Measure::ResponseP99),
            Self::MaxRate | Self::MaxRatePercent => Some(Measure::MaxRate),
            Self::OfRounds(measure) => Some(Measure::OfRounds(measure)),
        }
    }
}

/// All columns but those of measures that arms have once per round, which follow, and the order in which they are dropped on a
/// narrow terminal, after those.
const COLUMNS: [Column; 9] = [
    Column::Arm,
    Column::CpuShare,
    Column::Bar,
    Column::Cpu,
    Column::P50,
    Column::P90,
    Column::P99,
    Column::MaxRate,
    Column::MaxRatePercent,
];
const DROP_ORDER: [Column; 5] =
    [Column::MaxRatePercent, Column::P90, Column::Bar, Column::P99, Column::MaxRate];

/// The table of a study with its notes.
pub fn study(result: &StudyResult, style: Style) -> String {
    let rows = rows(result);
    let mut text = format!("\n{}\n\n", style.paint(Paint::Bold, &result.summary));
    if let Some(found) = lead(result) {
        text += &top(result, &found, style);
    }
    if let Some(table) = levels::levels(result) {
        text += &side(&table, style);
    }
    let columns = Columns::of(&rows);
    if !columns.is_empty() {
        for note in levels::notes(result) {
            text += &format!("{}\n", style.wrap(&note, 2));
        }
        text += &format!("\n{}:\n\n", words::ADDED);
        text += &table(&rows, &columns, style);
    }
    if let Some(left_out) = &columns.left_out {
        text += &format!("{}\n", style.wrap(left_out, 2));
    }
    text.push('\n');
    // The default two loads are in the main table.
    let by_load = if open_loops(result) > 1 { by_load::cpu(result) } else { Vec::new() };
    for table in [by_load, side_tables(result), levels_by_load(result)].iter().flatten() {
        text += &side(table, style);
    }
    if rows.iter().any(|row| row.is_near_zero) {
        text += "~ the interval contains zero\n";
    }
    let mut lines = if columns.is_empty() { Vec::new() } else { words::intervals(result) };
    lines.extend(words::same(result));
    lines.extend(known::sentences(result).into_iter().map(|sentence| format!("known answer {sentence}")));
    lines.extend(words::slices(result));
    for line in lines {
        text += &format!("{}\n", style.wrap(&line, 2));
    }
    let below = below_the_lead(result);
    if !below.is_empty() {
        text += &format!("\n{}", findings(&below, style));
    }
    text +=
        &format!("\n{}\n{}\n", style.wrap(&words::method(result), 2), style.wrap(&words::machine(result), 2));
    text += &format!("\n{}\n", verdict(result, style));
    text
}

fn verdict(result: &StudyResult, style: Style) -> String {
    let words = words::verdict(result.verdict, &result.findings);
    let word = words.split(':').next().unwrap_or_default();
    let painted = style.paint(Style::of_verdict(result.verdict), word);
    let mut text = style.wrap(&format!("verdict: {words}"), 2).replacen(word, &painted, 1);
    for line in words::loosened(&result.loosened) {
        text += &format!("\n         {}", style.wrap(&line, 9));
    }
    text
}

/// The failed checks, what helps, and what to run next.
fn top(result: &StudyResult, lead: &Lead<'_>, style: Style) -> String {
    let mut text = format!("{}\n\n", verdict(result, style));
    if let Some(cut) = &lead.cut {
        text += &format!("{}\n", style.wrap(&format!("cut  {cut}"), 5));
    }
    for group in &lead.failed {
        text += &finding(group, "", style);
        text += &format!("{}\n", style.wrap(&format!("do   {}", group.finding.advice), 5));
    }
    text + &format!("{}\n\n", style.wrap(&format!("next {}", lead.next), 5))
}

/// A secondary table with as many columns as fit. Long names are shortened if that makes room for more.
fn side(table: &SideTable, style: Style) -> String {
    let render = |names: &[String], columns: usize| {
        let header: Vec<&str> = table.header.iter().take(columns + 1).map(String::as_str).collect();
        let mut rows = Rows::new(&header);
        for (name, (_, cells)) in names.iter().zip(&table.rows) {
            rows.add(name, cells.iter().take(columns).cloned().collect());
        }
        rows.text()
    };
    let fits = |text: &str| text.lines().all(|line| line.chars().count() <= usize::from(style.width));
    let all = table.header.len().saturating_sub(1);
    let most = |names: &[String]| {
        (2..=all).rev().find(|columns| fits(&render(names, *columns))).unwrap_or(all.min(1))
    };
    let long: Vec<String> = table.rows.iter().map(|(name, _)| name.clone()).collect();
    let short = short_names(long.clone());
    let names = if most(&short) > most(&long) { short } else { long };
    let shown = most(&names);
    let lacking = table.header.get(shown + 1..).unwrap_or_default();
    let lacking = if lacking.is_empty() {
        String::new()
    } else {
        format!("not shown (terminal too narrow): {}\n", lacking.join(", "))
    };
    format!("{}:\n\n{}{lacking}\n", style.wrap(&table.title, 2), render(&names, shown))
}

/// The table with as many columns as fit.
fn table(rows: &[Row<'_>], has: &Columns, style: Style) -> String {
    let all = COLUMNS.into_iter().chain(RoundMeasure::compared().map(Column::OfRounds));
    let mut columns: Vec<Column> = all.filter(|column| column.is_in(has)).collect();
    let mut drop_order = RoundMeasure::compared().rev().map(Column::OfRounds).chain(DROP_ORDER);
    loop {
        let lines = render(rows, &columns);
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        if width <= usize::from(style.width) {
            return paint(rows, &lines, style);
        }
        match drop_order.next() {
            Some(column) => columns.retain(|other| *other != column),
            None => return paint(rows, &lines, style),
        }
    }
}

fn render(rows: &[Row<'_>], columns: &[Column]) -> Vec<String> {
    let has_share = columns.contains(&Column::CpuShare);
    let largest = rows.iter().filter_map(|row| drawn(row, has_share)).map(|cost| cost.high);
    let largest = largest.fold(0.0, f64::max);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns.iter().map(|column| header(*column)));
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(row, *column, (largest, has_share))));
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
        Column::CpuShare => "CPU %",
        Column::Cpu => "CPU us",
        Column::MaxRatePercent | Column::Bar => "",
        Column::P50 => "p50 us",
        Column::P90 => "p90 us",
        Column::P99 => "p99 us",
        Column::MaxRate => "max rate/s",
        Column::OfRounds(measure) => measure.definition().short_heading,
    }
}

/// The cost that bars show: the share, in a table that has one.
fn drawn(row: &Row<'_>, has_share: bool) -> Option<Interval> {
    if has_share { row.arm.cost.cpu_share } else { row.arm.cost.cpu_us_per_request }
}

fn cell(row: &Row<'_>, column: Column, (largest, has_share): (f64, bool)) -> String {
    match column {
        Column::Arm => row.name.clone(),
        Column::CpuShare => format!("{}{}", row.mark(), row.cpu_share.text),
        Column::Cpu if has_share => row.cpu.text.clone(),
        Column::Cpu => format!("{}{}", row.mark(), row.cpu.text),
        Column::Bar => drawn(row, has_share).map_or_else(String::new, |cost| bar(&cost, largest)),
        Column::P50 => row.p50.text.clone(),
        Column::P90 => row.p90.text.clone(),
        Column::P99 => row.p99.text.clone(),
        Column::MaxRate => row.max_rate.text.clone(),
        Column::MaxRatePercent => row.max_rate_percent.clone(),
        Column::OfRounds(measure) => row.of_rounds(measure),
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

/// Prints the header bold, and rows that are indistinguishable from zero dim.
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
    fn a_study_that_was_cut_short_is_reported_before_its_numbers() {
        let text = study(&fixture::cut(), PLAIN);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(at("the study ended after 4 of 10 rounds") < at("next `hoptax study --resume"));
        assert!(at("next `hoptax study --resume") < at("plain proxying"));
        assert_eq!(text.matches("it was interrupted").count(), 1, "{text}");
    }

    #[test]
    fn costs_under_several_loads_have_a_table_of_their_own() {
        insta::assert_snapshot!(study(&fixture::loaded(), Style { width: 140, ..PLAIN }));
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
