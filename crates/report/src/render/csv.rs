//! The tables of a document as comma-separated values: a line for each cell, so that tables with different columns share one file.

use crate::csv::quoted;
use crate::document::Document;
use crate::quantity::{Basis, Quantity};
use crate::table::Cell;

const HEADER: &str = "table,row,column,text,estimate,low,high,unit,basis,sign\n";

/// The characters that begin a formula in a spreadsheet, in both widths, and those that a spreadsheet skips before one:
/// <https://owasp.org/www-community/attacks/CSV_Injection>.
const BEGIN_OF_FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// All cells that are not empty.
pub fn text(document: &Document) -> String {
    let mut text = HEADER.to_owned();
    for table in document.tables() {
        for row in &table.rows {
            for (column, cell) in table.columns.iter().zip(&row.cells) {
                if cell.is_stated() {
                    let place = [&table.title, &row.name, &column.heading].map(|one| inert(one));
                    text += &format!("{},{}\n", place.join(","), fields(cell));
                }
            }
        }
    }
    text
}

fn fields(cell: &Cell) -> String {
    let Cell::Quantity(quantity) = cell else { return format!("{},,,,,,", inert(&cell.text())) };
    let Quantity { estimate, low, high, unit, basis, has_uncertain_sign, .. } = quantity;
    let number = |number: &Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let basis = match basis {
        Basis::Measured => "measured",
        Basis::Bounded => "bounded",
        Basis::Predicted => "predicted",
        Basis::Unknown(_) => "unknown",
    };
    // Empty for a level, and for a difference whose sign is certain or was not judged.
    let sign = if *has_uncertain_sign { "uncertain" } else { "" };
    let [estimate, low, high] = [estimate, low, high].map(number);
    format!("{},{estimate},{low},{high},{unit},{basis},{sign}", quoted(&cell.text()))
}

/// Makes a text from untrusted sources safe: adds an apostrophe before text that a spreadsheet would run as a formula.
fn inert(text: &str) -> String {
    let is_formula = text.starts_with(BEGIN_OF_FORMULA) && !is_amount(text);
    if is_formula { quoted(&format!("'{text}")) } else { quoted(text) }
}

/// True if a text is a signed number, possibly with its unit, which calls no function, program or file.
fn is_amount(text: &str) -> bool {
    let is_of_amount = |c: char| c.is_alphanumeric() || " .,%±/?".contains(c);
    text.strip_prefix(['+', '-'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(is_of_amount))
}

#[cfg(test)]
mod tests {
    use crate::document::Section;
    use crate::table::{Cell, Column, Row, Table};
    use crate::{documents, fixture};

    #[test]
    fn each_cell_has_a_line_with_its_interval() {
        let text = super::text(&documents::study_of(&fixture::study(), "quick", "runs/quick"));
        let line = text.lines().find(|line| line.contains("\"lua\",\"CPU us\"")).unwrap();
        assert!(line.contains("±0.50\",4.95,4.4"), "{line}");
        assert!(line.ends_with(",us,measured,"), "{line}");
        let same = text.lines().find(|line| line.contains("\"same (A/A)\",\"CPU us\"")).unwrap();
        assert!(same.contains(" ?\",") && same.ends_with(",us,measured,uncertain"), "{same}");
        let void = super::text(&documents::study_of(&fixture::void(), "quick", "runs/quick"));
        assert!(!void.contains("\"CPU us\""), "{void}");
    }

    #[test]
    fn a_quotation_mark_in_a_name_is_doubled() {
        assert_eq!(super::inert("f{b=\"2\"}"), "\"f{b=\"\"2\"\"}\"");
    }

    #[test]
    fn no_text_is_run_as_a_formula_and_numbers_stay_numbers() {
        for formula in [
            "=1+1",
            "=HYPERLINK(\"http://evil.test/\",\"x\")",
            "+cmd|' /C calc'!A0",
            "-2+3+cmd|' /C calc'!A0",
            "-1 cmd|' /C calc'!A0",
            "-1-SUM(A1)",
            "-x",
            "@SUM(A1)",
            "\t=1+1",
            "\r=1+1",
            "\n=1+1",
            "＝1+1",
        ] {
            let doubled = formula.replace('"', "\"\"");
            assert_eq!(super::inert(formula), format!("\"'{doubled}\""));
        }
        for text in [
            "",
            "lua",
            "-1",
            "+4.95",
            "-1,234.5 us",
            "+3 %",
            "-5 ±2 us/request",
            "+0.46 ±0.80 ?",
            "1=2",
            "a-b",
            "'=1",
        ] {
            assert_eq!(super::inert(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn names_of_strangers_are_inert_wherever_they_stand() {
        let evil = "=1+1";
        let mut document = documents::study_of(&fixture::study(), "quick", "runs/quick");
        let rows = [Row::new(evil, vec![Cell::words(evil)])];
        document.sections.push(Section::of_table(Table::new(evil, evil, [Column::text(evil, 0)], rows)));
        let text = super::text(&document);
        assert!(text.contains("\n\"'=1+1\",\"'=1+1\",\"'=1+1\",\"'=1+1\",,,,,,\n"), "{text}");
        assert!(!text.contains("\"=1+1"), "{text}");
        // A difference is a number, however it is written.
        assert!(text.contains(",\"+4.95 ±0.50\",4.95,"), "{text}");
    }
}
