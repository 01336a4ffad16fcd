//! Comparison with a reference.

use hoptax_result::{ComparisonResult, StudiesComparison};

use super::rows::Rows;
use super::{Paint, Style};
use crate::comparison::{self, differences, legend, method, missing, sentences, table, warning};

/// One sentence per subject, then what differs between configurations, then all measures.
pub fn comparison(result: &ComparisonResult, style: Style) -> String {
    text(&[result], None, style)
}

/// The same for the arms of several studies, and which of them were not measured.
pub fn studies_comparison(result: &StudiesComparison, style: Style) -> String {
    let all: Vec<&ComparisonResult> = result.arms.iter().map(|arm| &arm.comparison).collect();
    let left_out: Vec<String> =
        result.left_out.iter().map(|one| format!("`{}` ({})", one.arm, one.reason)).collect();
    let left_out = (!left_out.is_empty()).then(|| format!("arms not measured: {}", left_out.join(", ")));
    text(&all, left_out, style)
}

fn text(results: &[&ComparisonResult], left_out: Option<String>, style: Style) -> String {
    let Some(first) = results.first() else { return String::new() };
    let mut text = String::from("\n");
    if let Some(warning) = warning(first) {
        text += &format!("{}\n\n", style.paint(Style::of_verdict(first.verdict), warning));
    }
    for sentence in sentences(results) {
        text += &format!("{}\n", style.wrap(&style.paint(Paint::Bold, &sentence), 2));
    }
    let indented = Style { width: style.width.saturating_sub(2), ..style };
    for (heading, lines) in results.iter().flat_map(|result| differences(result)) {
        text += &format!("\n{}\n", style.wrap(&heading, 2));
        text.extend(lines.iter().map(|line| format!("  {}\n", indented.wrap(line, 4))));
    }
    let notes: Vec<String> = legend(results).into_iter().chain(missing(results)).chain(left_out).collect();
    if !notes.is_empty() {
        text += "\n";
        text.extend(notes.iter().map(|line| format!("{}\n", style.wrap(line, 2))));
    }
    let table = table(results);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let mut rows = Rows::new(&header);
    for (name, cells) in table.rows {
        rows.add(&name, cells);
    }
    text += &format!("\n{}\n{}\n", rows.text(), style.wrap(&method(first), 2));
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

    #[test]
    fn a_comparison_of_several_arms_of_studies() {
        insta::assert_snapshot!(studies_comparison(&fixture::studies(), Style { width: 110, colour: false }));
    }
}
