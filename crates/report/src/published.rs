//! Published numbers of others beside those of a study.

use hoptax_result::{Interval, PublishedNumber, StudyResult};

use crate::document::{Block, Section};
use crate::numbers::grouped;
use crate::table::{Cell, Column, Row, Table};

/// Explanation of the table.
const NOTE: &str = "A published number is rounded, so it stands for all numbers within half a unit of its last digit that is not zero. \
                    Excluded: all of these lie above or below the measured interval. Not excluded: some lie in it, which does not show \
                    agreement, since a wide interval excludes little. Unknown: some lie in it, and its half-width is more than a quarter \
                    of the measured number. Published numbers come from other hardware, so compare directions and ratios.";
/// Maximum half-width of a measured number, as a share of it, for a published number to be called not excluded. A wider interval contains
/// numbers that differ by a factor of over 1.6, so it excludes too little to be informative.
const WIDEST_SHARE: f64 = 0.25;

/// The table of published numbers with their sources; none for a study file without any.
pub(crate) fn section(result: &StudyResult) -> Option<Section> {
    if result.published.is_empty() {
        return None;
    }
    let title = "Published numbers beside those measured here";
    let columns = [
        Column::text("load", 3),
        Column::text("measure", 0),
        Column::new("published", 0),
        Column::new("measured", 0),
        Column::text("agreement", 0),
    ];
    let table = Table::new(title, "arm", columns, result.published.iter().map(|one| row(result, one)));
    let sources = Block::Lines(sources(&result.published));
    Some(Section::new(title, vec![Block::Note(NOTE.to_owned()), Block::Table(table), sources]))
}

fn row(result: &StudyResult, published: &PublishedNumber) -> Row {
    let measured = published.measured(result);
    let agreement = measured.as_ref().map(|measured| agreement(&published.rounding_interval(), measured));
    let cells = vec![
        Cell::words(&published.load),
        Cell::words(published.measure.words()),
        Cell::words(as_published(published.value)),
        Cell::level(measured.as_ref(), published.measure.unit()),
        agreement.map_or(Cell::Empty, Cell::words),
    ];
    Row::new(&published.arm, cells)
}

/// Where a published number lies relative to the measured interval. The published number stands for all numbers that round to it.
///
/// Most published numbers have no other interval, so this is not a statement about the difference of two measurements: a number just
/// outside may agree if its unknown interval is wide. No word claims agreement, because a wide enough interval excludes nothing.
fn agreement(published: &Interval, measured: &Interval) -> &'static str {
    if published.low > measured.high {
        "excluded (above)"
    } else if published.high < measured.low {
        "excluded (below)"
    } else if measured.half_width() > WIDEST_SHARE * measured.estimate.abs() {
        "unknown"
    } else {
        "not excluded"
    }
}

/// A published number with its original digits, because it has no interval that limits them.
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
    use crate::documents;
    use crate::fixture::{self, STYLE};
    use crate::render::terminal;

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
        result.published = values.iter().map(|(arm, value)| published(arm, *value)).collect();
        result
    }

    fn published(arm: &str, value: f64) -> PublishedNumber {
        PublishedNumber {
            arm: arm.to_owned(),
            load: "saturation".to_owned(),
            measure: PublishedMeasure::Rate,
            value,
            source: "A. Author, A Conference 2020".to_owned(),
            note: "on 48 cores".to_owned(),
        }
    }

    /// The words about a published rate beside a measured one.
    fn beside(value: f64, measured: &Interval) -> &'static str {
        agreement(&published("lua", value).rounding_interval(), measured)
    }

    #[test]
    fn a_published_number_is_excluded_if_nothing_that_rounds_to_it_lies_in_the_measured_interval() {
        let measured = Interval::around(1_000.0, 150.0);
        // 800 and 1,200 stand for 750 to 850 and 1,150 to 1,250, which each have an end in common with the measured interval.
        let of = [799.0, 849.0, 800.0, 1_000.0].map(|value| beside(value, &measured));
        assert_eq!(of, ["excluded (below)", "excluded (below)", "not excluded", "not excluded"]);
        let of = [1_149.0, 1_200.0, 1_151.0, 4_400.0].map(|value| beside(value, &measured));
        assert_eq!(of, ["not excluded", "not excluded", "excluded (above)", "excluded (above)"]);
    }

    #[test]
    fn within_an_interval_wider_than_a_quarter_of_the_number_nothing_is_said() {
        let [narrow, wide] = [250.0, 251.0].map(|half| Interval::around(1_000.0, half));
        let of = |measured: &Interval| [1_000.0, 1_241.0, 4_400.0].map(|value| beside(value, measured));
        assert_eq!(of(&narrow), ["not excluded", "not excluded", "excluded (above)"]);
        assert_eq!(of(&wide), ["unknown", "unknown", "excluded (above)"]);
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
                ["saturation", "requests/s", "4,400", "1,000 ±100", "excluded (above)"],
                ["saturation", "requests/s", "950", "1,000 ±100", "not excluded"],
                ["saturation", "requests/s", "720", "-", "-"],
            ]
        );
        assert_eq!(sources, &["A. Author, A Conference 2020: on 48 cores"]);
    }

    #[test]
    fn all_outputs_but_the_first_screen_show_published_numbers() {
        let outputs = |result: &StudyResult| fixture::outputs(&documents::study(result), STYLE);
        let result = with_published(&[("lua", 4_400.0)]);
        assert!(outputs(&result).iter().all(|output| output.contains("4,400")));
        let screen = |result: &StudyResult| terminal::screen(&documents::study(result), STYLE);
        let mut without = result.clone();
        without.published.clear();
        assert_eq!(screen(&result), screen(&without));
        assert!(outputs(&fixture::study()).iter().all(|output| !output.contains("Published numbers")));
    }
}
