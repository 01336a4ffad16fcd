//! Comparison with a reference.

use hoptax_result::ComparisonResult;

use super::rows::Rows;
use super::{Paint, Style};
use crate::comparison::{method, sentences, table, warning};

/// One sentence per arm, then all measures.
pub fn comparison(result: &ComparisonResult, style: Style) -> String {
    let mut text = String::from("\n");
    if let Some(warning) = warning(result) {
        text += &format!("{}\n\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    for sentence in sentences(result) {
        text += &format!("{}\n", style.wrap(&style.paint(Paint::Bold, &sentence), 2));
    }
    let table = table(result);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let mut rows = Rows::new(&header);
    for (name, cells) in table.rows {
        rows.add(&name, cells);
    }
    text += &format!("\n{}\n{}\n", rows.text(), style.wrap(&method(result), 2));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::fixture;

    #[test]
    fn a_comparison_of_several_arms() {
        insta::assert_snapshot!(comparison(&fixture::comparison(), Style { width: 110, colour: false }));
    }
}
