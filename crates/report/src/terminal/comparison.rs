//! Comparison with a reference.

use hoptax_result::ComparisonResult;

use super::rows::Rows;
use super::{Paint, Style};
use crate::comparison::{self, differences, legend, method, sentences, table, warning};

/// One sentence per subject, then what differs between configurations, then all measures.
pub fn comparison(result: &ComparisonResult, style: Style) -> String {
    let mut text = String::from("\n");
    if let Some(warning) = warning(result) {
        text += &format!("{}\n\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    for sentence in sentences(result) {
        text += &format!("{}\n", style.wrap(&style.paint(Paint::Bold, &sentence), 2));
    }
    let indented = Style { width: style.width.saturating_sub(2), ..style };
    for (heading, lines) in differences(result) {
        text += &format!("\n{}\n", style.wrap(&heading, 2));
        text.extend(lines.iter().map(|line| format!("  {}\n", indented.wrap(line, 4))));
    }
    let legend = legend(result);
    if !legend.is_empty() {
        text += "\n";
        text.extend(legend.iter().map(|line| format!("{}\n", style.wrap(line, 2))));
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

/// The decisions of the comparisons of one study; empty if there are none.
pub fn decisions(comparisons: &[ComparisonResult], style: Style) -> String {
    let Some(first) = comparisons.first() else { return String::new() };
    let table = comparison::decisions(comparisons);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let mut rows = Rows::new(&header);
    for (name, cells) in table.rows {
        rows.add(&name, cells);
    }
    format!("\n{}\n{}\n", rows.text(), style.wrap(&method(first), 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::fixture;

    #[test]
    fn several_comparisons_have_a_row_for_each_arm() {
        let mut other = fixture::comparison();
        other.reference.name = "new".to_owned();
        other.subjects.truncate(1);
        let all = [fixture::comparison(), other];
        insta::assert_snapshot!(decisions(&all, Style { width: 110, colour: false }));
        assert_eq!(decisions(&[], Style { width: 110, colour: false }), "");
    }

    #[test]
    fn a_comparison_of_several_subjects() {
        insta::assert_snapshot!(super::comparison(
            &fixture::comparison(),
            Style { width: 110, colour: false }
        ));
    }
}
