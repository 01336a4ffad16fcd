//! The bill of a configuration.

use hoptax_result::BillResult;

use super::rows::Rows;
use super::{Paint, Style, findings};
use crate::bill::{
    Column, all_columns, changes, has_value, method, notes, sentences, subject, table, warning,
};
use crate::findings::groups;
use crate::side::SideTable;

/// What the proxy costs, which part costs most, then all parts and how they add up.
pub fn bill(result: &BillResult, style: Style) -> String {
    let mut text = String::from("\n");
    if let Some(warning) = warning(result) {
        text += &format!("{}\n\n", style.paint(Style::of_verdict(result.verdict), warning));
    }
    for sentence in sentences(result) {
        text += &format!("{}\n", style.wrap(&style.paint(Paint::Bold, &sentence), 2));
    }
    text += &format!("{}\n", style.wrap(&subject(result), 2));
    let width = usize::from(style.width);
    text += &format!("\n{}\n", rows(|columns| Some(table(result, columns)), width).unwrap_or_default());
    if let Some(changes) = rows(|columns| changes(result, columns), width) {
        text += &format!("{changes}\n");
    }
    for line in notes(result).iter().chain(&method(result)) {
        text += &format!("{}\n", style.wrap(line, 2));
    }
    let findings = findings(&groups(&result.findings), style);
    if findings.is_empty() { text } else { format!("{text}\n{findings}") }
}

/// A table with as many columns as fit, and further ones with the others; none if there is none.
fn rows(table: impl Fn(&[Column]) -> Option<SideTable>, width: usize) -> Option<String> {
    let of = |columns: &[Column]| {
        let table = table(columns)?;
        let has_value = has_value(&table, columns);
        let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
        let mut rows = Rows::new(&header);
        for (name, cells) in table.rows {
            rows.add(&name, cells);
        }
        Some((rows.text(), has_value))
    };
    let fits = |text: &str| text.lines().all(|line| line.chars().count() <= width);
    let mut texts: Vec<String> = Vec::new();
    let columns = all_columns();
    let mut rest = columns.as_slice();
    while !rest.is_empty() {
        // The share of the whole stands beside the CPU time even where both are too wide.
        let least = if texts.is_empty() { 2 } else { 1 };
        let fitting = |number: &usize| of(&rest[..*number]).is_some_and(|(text, _)| fits(&text));
        let number = (least..=rest.len()).rev().find(fitting).unwrap_or(least.min(rest.len()));
        let (columns, further) = rest.split_at(number);
        let (text, has_value) = of(columns)?;
        if has_value || texts.is_empty() {
            texts.push(text);
        }
        rest = further;
    }
    Some(texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::fixture;
    use crate::markdown;

    const STYLE: Style = Style { width: 110, colour: false };

    #[test]
    fn a_bill_with_an_interaction_and_an_idle_part() {
        insta::assert_snapshot!(bill(&fixture::bill(), STYLE));
    }

    #[test]
    fn a_narrow_terminal_has_the_other_columns_below() {
        for (width, tables) in [(80, 4), (110, 2), (250, 1)] {
            let text = rows(|columns| Some(table(&fixture::bill(), columns)), width).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert_eq!(text.matches("activity").count(), tables, "{text}");
            for heading in ["of the whole", "a month", "sent, B", "memory, MiB"] {
                assert_eq!(text.matches(heading).count(), 1, "{heading}: {text}");
            }
        }
    }

    #[test]
    fn the_method_explains_only_what_has_a_number() {
        let mut bill = fixture::bill();
        bill.response_rate = Some(1_800.0);
        let explained = |bill: &BillResult| {
            let text = method(bill).join("\n");
            (text.contains("response times at 1,800"), text.contains("received, sent"))
        };
        assert_eq!(explained(&bill), (true, true));
        let mut void = fixture::void();
        void.response_rate = Some(1_800.0);
        assert_eq!(explained(&void), (false, false));
    }

    #[test]
    fn a_void_bill_states_no_number() {
        let text = bill(&fixture::void(), STYLE);
        assert!(
            !text.contains('±') || text.matches('±').count() == 1,
            "only the method explains it:\n{text}"
        );
        assert!(text.contains("cannot be said") && text.contains("void"), "{text}");
    }

    #[test]
    fn markdown_has_the_same_bill() {
        insta::assert_snapshot!(markdown::bill(&fixture::bill()));
    }
}
