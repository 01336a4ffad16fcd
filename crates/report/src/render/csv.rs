//! The tables of a document as comma-separated values: a line for each cell, so that tables of different columns share one file.

use crate::csv::quoted;
use crate::document::Document;
use crate::quantity::{Basis, Quantity};
use crate::table::Cell;

const HEADER: &str = "table,row,column,text,estimate,low,high,unit,basis,sign\n";

/// All cells that state something.
pub fn text(document: &Document) -> String {
    let mut text = HEADER.to_owned();
    for table in document.tables() {
        for row in &table.rows {
            for (column, cell) in table.columns.iter().zip(&row.cells) {
                if cell.is_stated() {
                    let place = [&table.title, &row.name, &column.heading].map(|one| quoted(one));
                    text += &format!("{},{}\n", place.join(","), fields(cell));
                }
            }
        }
    }
    text
}

fn fields(cell: &Cell) -> String {
    let Cell::Quantity(quantity) = cell else { return format!("{},,,,,,", quoted(&cell.text())) };
    let Quantity { estimate, low, high, unit, basis, has_uncertain_sign, .. } = quantity;
    let number = |number: &Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let basis = match basis {
        Basis::Measured => "measured",
        Basis::Bounded => "bounded",
        Basis::Predicted => "predicted",
        Basis::Unknown(_) => "unknown",
    };
    // Empty for a level, and for a difference whose sign is supported or was not judged.
    let sign = if *has_uncertain_sign { "uncertain" } else { "" };
    let [estimate, low, high] = [estimate, low, high].map(number);
    format!("{},{estimate},{low},{high},{unit},{basis},{sign}", quoted(&cell.text()))
}

#[cfg(test)]
mod tests {
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
        assert_eq!(super::quoted("f{b=\"2\"}"), "\"f{b=\"\"2\"\"}\"");
    }
}
