//! The table of prices.

use hoptax_result::PricesResult;

use super::rows::Rows;
use super::{Paint, Style};
use crate::prices::{lines, table};

/// Prices, as listed or as carried to this machine.
pub fn prices(result: &PricesResult, style: Style) -> String {
    let table = table(result);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let mut rows = Rows::new(&header);
    for (name, cells) in table.rows {
        rows.add(&name, cells);
    }
    let mut text = format!("\n{}\n\n{}\n", style.paint(Paint::Bold, &table.title), rows.text());
    for line in lines(result) {
        text += &format!("{}\n", style.wrap(&line, 2));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::fixture;

    const STYLE: Style = Style { width: 100, colour: false };

    #[test]
    fn every_price_states_its_source() {
        insta::assert_snapshot!(prices(&fixture::carried(), STYLE));
    }

    #[test]
    fn a_list_that_was_not_carried_has_one_column() {
        let text = prices(&fixture::listed(), STYLE);
        assert!(text.contains("jwt") && !text.contains("here") && !text.contains("carried"), "{text}");
    }

    #[test]
    fn markdown_has_the_same_prices() {
        insta::assert_snapshot!(crate::markdown::prices(&fixture::carried()));
    }
}
