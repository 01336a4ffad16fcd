//! Numbers that others published beside those of a study.

use hoptax_result::{Interval, PublishedNumber, StudyResult};

use crate::document::{Block, Section};
use crate::numbers::grouped;
use crate::table::{Cell, Column, Row, Table};

/// How to read the table.
const NOTE: &str = "Where the published number lies: within the measured interval, above it or below it. It comes from other hardware, and \
                    has no interval unless its source states one, so compare directions and ratios.";

/// The table of published numbers, below it their sources; none for a study file that states none.
pub(crate) fn section(result: &StudyResult) -> Option<Section> {
    if result.published.is_empty() {
        return None;
    }
    let title = "Published numbers beside those measured here";
    let table = Table {
        title: title.to_owned(),
        names: "arm".to_owned(),
        columns: vec![
            Column::text("load", 3),
            Column::text("measure", 0),
            Column::new("published", 0),
            Column::new("measured", 0),
            Column::text("published is", 0),
        ],
        rows: result.published.iter().map(|one| row(result, one)).collect(),
    };
    let sources = Block::Lines(sources(&result.published));
    Some(Section::new(title, vec![Block::Note(NOTE.to_owned()), Block::Table(table), sources]))
}

fn row(result: &StudyResult, published: &PublishedNumber) -> Row {
    let measured = published.measured(result);
    let agreement = measured.as_ref().map_or("", |measured| agreement(published.value, measured));
    let cells = vec![
        Cell::words(&published.load),
        Cell::words(published.measure.words()),
        Cell::words(as_published(published.value)),
        Cell::level(measured.as_ref(), published.measure.unit()),
        if agreement.is_empty() { Cell::Empty } else { Cell::words(agreement) },
    ];
    Row::new(&published.arm, cells)
}

/// The place of a published number relative to the measured interval.
///
/// Most published numbers have no interval, so this says nothing about a difference of two measurements: a number just outside may agree
/// if the interval that it lacks is wide. `within` means that the measured interval does not exclude it.
fn agreement(published: f64, measured: &Interval) -> &'static str {
    if measured.contains(published) {
        "within"
    } else if published > measured.high {
        "above"
    } else {
        "below"
    }
}

/// A published number with its own digits, which no interval of it limits.
fn as_published(value: f64) -> String {
    let decimals = value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    grouped(value, decimals)
}

/// Each source once, with the notes on its numbers.
fn sources(all: &[PublishedNumber]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for one in all {
        let note = if one.note.is_empty() { String::new() } else { format!(": {}", one.note) };
        let line = format!("{}{note}", one.source);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmLoad, PublishedMeasure};

    use super::*;
    use crate::render::{csv, html, markdown, terminal};
    use crate::{Style, documents, fixture};

    /// The sample study, in which the rate of `lua` is 900 to 1,100 requests per second, and that of `jwt` is withheld.
    fn with_published(values: &[(&str, f64)]) -> StudyResult {
        let mut result = fixture::study();
        let under = ArmLoad {
            load: "saturation".to_owned(),
            rate: Some(Interval::around(1_000.0, 100.0)),
            ..ArmLoad::default()
        };
        for arm in result.arms.iter_mut().filter(|arm| arm.id == "lua") {
            arm.loads = vec![under.clone()];
        }
        let published = |(arm, value): &(&str, f64)| PublishedNumber {
            arm: (*arm).to_owned(),
            load: "saturation".to_owned(),
            measure: PublishedMeasure::Rate,
            value: *value,
            source: "A. Author, A Conference 2020".to_owned(),
            note: "on 48 cores".to_owned(),
        };
        result.published = values.iter().map(published).collect();
        result
    }

    #[test]
    fn a_published_number_is_within_the_measured_interval_above_it_or_below_it() {
        let measured = Interval::around(1_000.0, 100.0);
        let of = [899.9, 900.0, 1_000.0, 1_100.0, 1_100.1].map(|published| agreement(published, &measured));
        assert_eq!(of, ["below", "within", "within", "within", "above"]);
    }

    #[test]
    fn a_published_number_keeps_its_digits() {
        assert_eq!([27_000.0, 0.67, 1.5, 555.0].map(as_published), ["27,000", "0.67", "1.5", "555"]);
    }

    #[test]
    fn each_published_number_is_a_row_with_the_measured_one_or_without_and_its_source_is_named_once() {
        let result = with_published(&[("lua", 4_400.0), ("lua", 950.0), ("jwt", 720.0)]);
        let section = section(&result).unwrap();
        let [Block::Note(_), Block::Table(table), Block::Lines(sources)] = section.blocks.as_slice() else {
            panic!("{section:?}")
        };
        let rows: Vec<Vec<String>> =
            table.rows.iter().map(|row| row.cells.iter().map(Cell::text).collect()).collect();
        assert_eq!(
            rows,
            [
                ["saturation", "requests/s", "4,400", "1,000 ±100", "above"],
                ["saturation", "requests/s", "950", "1,000 ±100", "within"],
                ["saturation", "requests/s", "720", "-", "-"],
            ]
        );
        assert_eq!(sources, &["A. Author, A Conference 2020: on 48 cores"]);
    }

    #[test]
    fn all_outputs_but_the_first_screen_show_published_numbers() {
        let style = Style { width: 100, colour: false };
        let outputs = |result: &StudyResult| {
            let document = documents::study(result);
            [
                terminal::details(&document, style),
                markdown::text(&document),
                html::page(&document).unwrap(),
                csv::text(&document),
            ]
        };
        let result = with_published(&[("lua", 4_400.0)]);
        assert!(outputs(&result).iter().all(|output| output.contains("4,400")));
        let screen = |result: &StudyResult| terminal::screen(&documents::study(result), style);
        let mut without = result.clone();
        without.published.clear();
        assert_eq!(screen(&result), screen(&without));
        assert!(outputs(&fixture::study()).iter().all(|output| !output.contains("Published numbers")));
    }
}
