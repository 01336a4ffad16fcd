//! A document on a terminal: the first screen, and the details below it.

mod table;

use crate::Style;
use crate::document::{Block, Document, FindingText, Section};
use hoptax_result::Severity;

use crate::style::Paint;

/// Rows of a table on the first screen, the line for the rest among them.
const ROWS: usize = 24;
/// Lines of notes, the line for the rest among them.
const NOTES: usize = 8;
/// Lines for what the verdict limits, the line for the rest among them.
const LIMITS: usize = 5;

/// The first screen: the answer, one table, what the verdict limits, the next command, the page.
pub fn screen(document: &Document, style: Style) -> String {
    let mut text = head(document, style);
    if let Some(main) = &document.table {
        text += &format!("{}:\n\n", style.wrap(&main.title, 2));
        text += &table::text(main, style, Some(ROWS));
        text.push('\n');
    }
    text += &notes(&document.notes, style);
    text += &verdict(document, style);
    text += &limits(&document.findings, style);
    text += &foot(document, style);
    text
}

/// The first screen, with every row of its table, and then all sections and findings.
pub fn details(document: &Document, style: Style) -> String {
    let mut text = head(document, style);
    if let Some(main) = &document.table {
        text += &format!("{}:\n\n", style.wrap(&main.title, 2));
        text += &table::text(main, style, None);
        text.push('\n');
    }
    for note in &document.notes {
        text += &format!("{}\n", style.wrap(note, 2));
    }
    if !document.notes.is_empty() && !document.sections.is_empty() {
        text.push('\n');
    }
    text += &document.sections.iter().map(|one| section(one, style)).collect::<String>();
    for one in &document.findings {
        text += &finding(one, style);
    }
    text += &verdict(document, style);
    text += &foot(document, style);
    text
}

fn head(document: &Document, style: Style) -> String {
    let mut text = String::from("\n");
    for (place, sentence) in document.answer.iter().enumerate() {
        let sentence = style.wrap(&format!("{}.", sentence.trim_end_matches('.')), 0);
        text += &format!("{}\n", if place == 0 { style.paint(Paint::Bold, &sentence) } else { sentence });
    }
    text + "\n"
}

/// As many notes as there are lines for.
fn notes(notes: &[String], style: Style) -> String {
    let wrapped: Vec<String> = notes.iter().map(|note| style.wrap(note, 2)).collect();
    let (mut text, mut lines) = (String::new(), 0);
    for (place, note) in wrapped.iter().enumerate() {
        lines += note.lines().count();
        let is_last = place + 1 == wrapped.len();
        if lines > if is_last { NOTES } else { NOTES - 1 } {
            return text + &format!("and {} more: --details\n", wrapped.len() - place);
        }
        text += &format!("{note}\n");
    }
    text
}

fn verdict(document: &Document, style: Style) -> String {
    let Some(judgement) = &document.verdict else { return String::new() };
    let word = judgement.verdict.as_str();
    let painted = style.paint(Style::of_verdict(judgement.verdict), word);
    style.wrap(&format!("{word}: {}", judgement.usable), 2).replacen(word, &painted, 1) + "\n"
}

/// A line for each finding that limits the use of the numbers, the most severe first.
fn limits(findings: &[FindingText], style: Style) -> String {
    let mut limiting: Vec<&FindingText> =
        findings.iter().filter(|finding| finding.severity != Severity::Info).collect();
    limiting.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let is_all = limiting.len() <= LIMITS;
    let shown = if is_all { limiting.len() } else { LIMITS - 1 };
    let mut text = String::new();
    for finding in limiting.iter().take(shown) {
        let line = style.cut(&format!("  {}: {}{}", finding.id, finding.message, finding.scope));
        let paint = Style::of_severity(finding.severity);
        text += &format!("{}\n", line.replacen(&finding.id, &style.paint(paint, &finding.id), 1));
    }
    if !is_all {
        text += &format!("  and {} more: --details\n", limiting.len() - shown);
    }
    text
}

fn foot(document: &Document, style: Style) -> String {
    let mut text = String::new();
    if let Some(next) = &document.next {
        text += &format!("next: {}   {}\n", style.paint(Paint::Bold, &next.command), next.purpose);
    }
    if let Some(page) = &document.page {
        text += &format!("page: {page}\n");
    }
    text
}

fn section(section: &Section, style: Style) -> String {
    let blocks: String = section.blocks.iter().map(|one| block(one, style)).collect();
    // Pictures have no form on a terminal.
    if blocks.is_empty() {
        return blocks;
    }
    format!("{}\n\n{blocks}\n", style.paint(Paint::Bold, &style.wrap(&section.title, 0)))
}

fn block(block: &Block, style: Style) -> String {
    match block {
        Block::Note(note) => format!("{}\n\n", style.wrap(note, 0)),
        Block::Lines(lines) => lines.iter().map(|line| format!("{}\n", style.wrap(line, 2))).collect(),
        Block::Table(all) => table::text(all, style, None),
        Block::Intervals(_) | Block::Multiples(_) | Block::Courses(_) | Block::Bars(_) => String::new(),
    }
}

fn finding(finding: &FindingText, style: Style) -> String {
    let head = format!("{:<4} {}", finding.severity.as_str(), finding.id);
    let painted = style.paint(Style::of_severity(finding.severity), &head);
    let sentence = finding.sentence();
    let rest = sentence.strip_prefix(&finding.id).unwrap_or(&sentence);
    let advice = if finding.advice.is_empty() { String::new() } else { format!("; {}", finding.advice) };
    style.wrap(&format!("{head}{rest}{advice}"), 5).replacen(&head, &painted, 1) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documents, fixture};

    const STYLE: Style = Style { width: 100, colour: false };

    #[test]
    fn the_first_screen_of_a_study() {
        insta::assert_snapshot!(screen(&documents::study(&fixture::study()), STYLE));
    }

    #[test]
    fn the_first_screen_of_a_void_study() {
        insta::assert_snapshot!(screen(&documents::study(&fixture::void()), STYLE));
    }

    #[test]
    fn the_details_of_a_study() {
        insta::assert_snapshot!(details(&documents::study(&fixture::study()), STYLE));
    }

    #[test]
    fn a_screen_has_forty_lines_of_a_hundred_columns_at_most() {
        let mut many = documents::study(&fixture::study()).with_page("runs/quick/report.html");
        let table = many.table.as_mut().unwrap();
        let row = table.rows[0].clone();
        table.rows.extend((0..90).map(|number| crate::document::Row {
            name: format!("a-function-with-a-long-name{{number={number},knob=some-value}}"),
            ..row.clone()
        }));
        let text = screen(&many, STYLE);
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("more: --details"), "{text}");
    }

    #[test]
    fn more_findings_than_a_screen_has_lines_for_are_counted() {
        let mut document = documents::study(&fixture::study());
        let one = FindingText { severity: Severity::Warn, ..document.findings[0].clone() };
        document.findings = vec![one; 9];
        let text = screen(&document, STYLE);
        assert!(text.contains("and 5 more: --details"), "{text}");
    }
}
