//! A document on a terminal: the first screen, and the details below it.

mod table;

use hoptax_result::Severity;
use hoptax_text::controls::written_out;

use crate::Style;
use crate::document::{Block, Document, FindingText, IN_DETAILS, Next, Section};
use crate::style::Paint;
use crate::table::Table;
use table::MostRows;

/// Maximum number of lines of the first screen, if its answer and its limits leave room for a table of at least [`FEWEST_ROWS`].
const LINES: usize = 40;
/// Maximum number of table rows on the first screen, including the line for the rest.
const ROWS: usize = 24;
/// Minimum number of table rows on any first screen, including the line for the rest.
const FEWEST_ROWS: usize = 8;
/// Lines of a table besides its rows: its heading, the list of columns without room, and a blank line before and after it.
const AROUND_ROWS: usize = 4;
/// Maximum number of lines of notes, including the line for the rest.
const NOTES: usize = 8;
/// Maximum number of lines for findings that limit the verdict, including the line for the rest.
const LIMITS: usize = 7;

/// The first screen: the answer, one table, the limits of the verdict, the next command, the page.
pub fn screen(document: &Document, style: Style) -> String {
    let head = head(document, style, &format!("`{}`", document.details()));
    let mut rest = notes(document, style);
    rest += &verdict(document, style);
    rest += &limits(document, style);
    rest += &next(document, style);
    rest += &page(document);
    let Some(main) = &document.table else { return head + &rest };
    let title = format!("{}:\n\n", style.wrap(&main.title, 2));
    let others: usize = [&head, &title, &rest].iter().map(|text| text.lines().count()).sum();
    let room = LINES.saturating_sub(others + AROUND_ROWS - 1).clamp(FEWEST_ROWS, ROWS);
    let rows = document.most_rows.map_or(room, |most| most.min(room));
    head + &title
        + &table::text(main, style, Some(MostRows { rows, details: document.details() }))
        + "\n"
        + &rest
}

/// A table with as many columns as fit and at most `rows` lines of rows. The line for the rest says that `details` prints all.
pub(crate) fn table_text(table: &Table, style: Style, rows: usize, details: &str) -> String {
    table::text(table, style, Some(MostRows { rows, details }))
}

/// The first screen with all rows of its table, followed by all sections and findings.
pub fn details(document: &Document, style: Style) -> String {
    let mut text = head(document, style, "the details");
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
    text += &document.next.as_ref().map_or_else(String::new, |one| step(one, style));
    text += &page(document);
    text
}

/// Replaces the phrase for the details in a text with the name of the option or command.
fn with_details(text: &str, details: &str) -> String {
    text.replace(IN_DETAILS, &format!("in {details}"))
}

fn head(document: &Document, style: Style, details: &str) -> String {
    let mut text = String::from("\n");
    for (place, sentence) in document.answer.iter().enumerate() {
        let sentence = with_details(sentence, details);
        let sentence = style.wrap(&format!("{}.", sentence.trim_end_matches('.')), 0);
        text += &format!("{}\n", if place == 0 { style.paint(Paint::Bold, &sentence) } else { sentence });
    }
    text + "\n"
}

/// As many notes as there are lines for.
fn notes(document: &Document, style: Style) -> String {
    let details = format!("`{}`", document.details());
    let wrapped = |note: &String| style.wrap(&with_details(note, &details), 2);
    let wrapped: Vec<String> = document.notes.iter().map(wrapped).collect();
    let (shown, left_out) = first(&wrapped, NOTES);
    let mut text: String = shown.iter().map(|note| format!("{note}\n")).collect();
    if left_out > 0 {
        text += &format!("and {left_out} more: {}\n", written_out(document.details()));
    }
    if let Some(what) = document.only_in_details {
        text += &format!("{what}: {}\n", written_out(document.details()));
    }
    text
}

/// The first paragraphs that fit into `most` lines completely, and the number of the others. If there are others, one line is left for
/// them.
fn first(paragraphs: &[String], most: usize) -> (&[String], usize) {
    let lines = |count: usize| paragraphs.iter().take(count).map(|one| one.lines().count()).sum::<usize>();
    let all = paragraphs.len();
    if lines(all) <= most {
        return (paragraphs, 0);
    }
    let shown = (0..all).rev().find(|count| lines(*count) < most).unwrap_or(0);
    (paragraphs.split_at(shown).0, all - shown)
}

fn verdict(document: &Document, style: Style) -> String {
    let Some(judgement) = &document.verdict else { return String::new() };
    let word = judgement.verdict.as_str();
    let painted = style.paint(Style::of_verdict(judgement.verdict), word);
    style.wrap(&format!("{word}: {}", judgement.usable), 2).replacen(word, &painted, 1) + "\n"
}

/// A line for each finding that limits the use of the numbers, in the order of the document.
fn limits(document: &Document, style: Style) -> String {
    let limiting: Vec<&FindingText> =
        document.findings.iter().filter(|finding| finding.severity != Severity::Info).collect();
    let narrower = Style { width: style.width.saturating_sub(2), ..style };
    let indented = |finding: &&FindingText| {
        let text = format!("{}: {}{}", finding.id, finding.message, finding.scope);
        format!("  {}", narrower.wrap(&text, 2).replace('\n', "\n  "))
    };
    let wrapped: Vec<String> = limiting.iter().map(indented).collect();
    let (shown, left_out) = first(&wrapped, LIMITS);
    let mut text = String::new();
    for (finding, lines) in limiting.iter().zip(shown) {
        let paint = Style::of_severity(finding.severity);
        text += &format!("{}\n", lines.replacen(&finding.id, &style.paint(paint, &finding.id), 1));
    }
    if left_out > 0 {
        text += &format!("  and {left_out} more: {}\n", written_out(document.details()));
    }
    text
}

/// The next step. If the document has none and a command prints the details, that command.
fn next(document: &Document, style: Style) -> String {
    let details = document.details.as_ref();
    let to_details =
        details.map(|command| Next::new(command, "prints all numbers, and how they were measured"));
    document.next.as_ref().or(to_details.as_ref()).map_or_else(String::new, |one| step(one, style))
}

/// A next step. A command stays on one line, so that it can be copied.
fn step(next: &Next, style: Style) -> String {
    let command = written_out(&next.command);
    let line = format!("next: {command}   {}", next.purpose);
    let gap = if line.chars().count() > usize::from(style.width) { "\n  " } else { "   " };
    let purpose = Style { width: style.width.saturating_sub(2), ..style }.wrap(&next.purpose, 0);
    format!("next: {}{gap}{}\n", style.paint(Paint::Bold, &command), purpose.replace('\n', "\n  "))
}

fn page(document: &Document) -> String {
    document.page.as_ref().map_or_else(String::new, |page| format!("page: {}\n", written_out(page)))
}

fn section(section: &Section, style: Style) -> String {
    let blocks: String = section.blocks.iter().map(|one| block(one, style)).collect();
    // Charts have no form on a terminal.
    if blocks.is_empty() {
        return blocks;
    }
    format!("{}\n\n{blocks}\n", style.paint(Paint::Bold, &style.wrap(&section.title, 0)))
}

fn block(one: &Block, style: Style) -> String {
    match one {
        Block::Note(note) => format!("{}\n\n", style.wrap(note, 0)),
        Block::Lines(lines) => lines.iter().map(|line| format!("{}\n", style.wrap(line, 2))).collect(),
        Block::Table(all) => table::text(all, style, None),
        Block::Chart(_) => String::new(),
        Block::TextOnly(text) => block(text, style),
    }
}

fn finding(finding: &FindingText, style: Style) -> String {
    let head = format!("{:<4} {}", finding.severity.as_str(), finding.id);
    let painted = style.paint(Style::of_severity(finding.severity), &head);
    let rest = finding.after_id();
    let advice = if finding.advice.is_empty() { String::new() } else { format!("; {}", finding.advice) };
    style.wrap(&format!("{head}{rest}{advice}"), 5).replacen(&head, &painted, 1) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents;
    use crate::fixture::{self, STYLE};

    #[test]
    fn the_first_screen_of_a_study() {
        insta::assert_snapshot!(screen(
            &documents::study_of(&fixture::study(), "quick", "runs/quick"),
            STYLE
        ));
    }

    #[test]
    fn the_first_screen_of_a_void_study() {
        insta::assert_snapshot!(screen(&documents::study_of(&fixture::void(), "quick", "runs/quick"), STYLE));
    }

    #[test]
    fn what_is_left_out_names_the_command_that_prints_it() {
        let mut document = documents::study_of(&fixture::study(), "quick", "runs/quick");
        document.notes = vec!["a note".to_owned(); 20];
        let row = document.table.as_ref().unwrap().rows[0].clone();
        document.table.as_mut().unwrap().rows = vec![row; 40];
        let text = screen(&document.in_folder("runs/quick".as_ref(), "report.html"), STYLE);
        assert_eq!(text.matches(" more: hoptax runs show runs/quick --details\n").count(), 2, "{text}");
        assert!(text.ends_with("page: runs/quick/report.html\n"), "{text}");
    }

    #[test]
    fn a_note_about_the_details_names_the_command_that_prints_them() {
        let mut document = documents::study_of(&fixture::study(), "quick", "runs/quick");
        document.notes = vec![format!("3 more {IN_DETAILS}")];
        assert!(screen(&document, STYLE).contains("3 more in `--details`\n"));
        assert!(details(&document, STYLE).contains("3 more in the details\n"));
        let text = screen(&document.shown_by("runs/quick"), STYLE);
        assert!(text.contains("3 more in `hoptax runs show runs/quick --details`\n"), "{text}");
    }

    #[test]
    fn the_details_of_a_study() {
        insta::assert_snapshot!(details(
            &documents::study_of(&fixture::study(), "quick", "runs/quick"),
            STYLE
        ));
    }

    #[test]
    fn a_screen_has_forty_lines_of_a_hundred_columns_at_most() {
        let mut many =
            documents::study_of(&fixture::study(), "quick", "runs/quick").with_page("runs/quick/report.html");
        let table = many.table.as_mut().unwrap();
        let row = table.rows[0].clone();
        table.rows.extend((0..90).map(|number| crate::table::Row {
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
        let mut document = documents::study_of(&fixture::study(), "quick", "runs/quick");
        let message = "a short sentence".to_owned();
        let one = FindingText { severity: Severity::Warn, message, ..document.findings[0].clone() };
        document.findings = vec![one.clone(); 9];
        let text = screen(&document, STYLE);
        assert!(text.contains("and 3 more: --details"), "{text}");
        // A long one is whole, or left out.
        let long = FindingText { message: "word ".repeat(60) + "end", ..one.clone() };
        document.findings = vec![one.clone(), long.clone(), one];
        let text = screen(&document, STYLE);
        assert!(text.contains("end") && !text.contains("..."), "{text}");
        document.findings = vec![long; 3];
        let text = screen(&document, STYLE);
        assert!(text.matches("end").count() == 1 && text.contains("and 2 more: --details"), "{text}");
    }

    #[test]
    fn a_next_step_keeps_its_command_on_one_line_and_the_details_are_one() {
        let mut document = documents::study_of(&fixture::study(), "quick", "runs/quick");
        let command = format!("hoptax study {}", "a-long-path/".repeat(6));
        document.next = Some(Next::new(command.clone(), "adds rounds to those that there are"));
        let text = screen(&document, STYLE);
        assert!(
            text.ends_with(&format!("next: {command}\n  adds rounds to those that there are\n")),
            "{text}"
        );
        document.next = None;
        assert!(!screen(&document, STYLE).contains("next: "));
        let document = document.shown_by("runs/quick");
        assert!(
            screen(&document, STYLE).contains("\nnext: hoptax runs show runs/quick --details   prints all")
        );
        assert!(!details(&document, STYLE).contains("next: "));
    }
}
