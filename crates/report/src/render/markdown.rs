//! A document as Markdown, for issues, job summaries and web pages.

use crate::document::{Block, Document, FindingText, Section};
use crate::table::Table;
use crate::words::capitalised;

/// The whole document.
pub fn text(document: &Document) -> String {
    let mut text = format!("# {}\n\n", escape(&document.subject));
    for sentence in &document.answer {
        text += &format!("**{}.**\n", escape(sentence.trim_end_matches('.')));
    }
    text.push('\n');
    if let Some(judgement) = &document.verdict {
        text += &format!("Verdict: **{}**: {}.\n\n", judgement.verdict.as_str(), escape(&judgement.usable));
    }
    if let Some(main) = &document.table {
        text += &format!("{}:\n\n{}", escape(&capitalised(&main.title)), table(main));
    }
    text += &lines(&document.notes);
    if let Some(next) = &document.next {
        text += &format!(
            "Next: {} {}.

",
            code(&next.command),
            escape(&next.purpose)
        );
    }
    text += &document.sections.iter().map(section).collect::<String>();
    if !document.findings.is_empty() {
        text += "## Findings\n\n";
        text += &document.findings.iter().map(finding).collect::<String>();
    }
    text.trim_end().to_owned() + "\n"
}

fn section(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    // Charts have no Markdown form.
    if blocks.is_empty() {
        return blocks;
    }
    if section.folded {
        // Inside the tags, the title is HTML.
        let title = section.title.replace('&', "&amp;").replace('<', "&lt;");
        return format!("<details><summary>{title}</summary>\n\n{blocks}</details>\n\n");
    }
    format!("## {}\n\n{blocks}", escape(&section.title))
}

fn block(one: &Block) -> String {
    match one {
        Block::Note(note) => format!("{}\n\n", escape(note)),
        Block::Lines(all) => lines(all),
        Block::Table(all) => table(all),
        Block::Chart(_) => String::new(),
        Block::TextOnly(text) => block(text),
    }
}

fn lines(all: &[String]) -> String {
    let lines: String = all.iter().map(|line| format!("- {}\n", escape(line))).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let headings = std::iter::once(&table.names).chain(table.columns.iter().map(|column| &column.heading));
    let mut text = line(headings.map(|heading| escape(heading)).collect());
    let rules = table.columns.iter().map(|column| if column.is_text { "---|" } else { "---:|" });
    text += &format!("|---|{}\n", rules.collect::<String>());
    for row in &table.rows {
        let name = if row.name.is_empty() { String::new() } else { code(&row.name.replace('|', "\\|")) };
        let cells = row.cells.iter().map(|cell| escape(&cell.text()));
        text += &line(std::iter::once(name).chain(cells).collect());
    }
    text + "\n"
}

fn finding(finding: &FindingText) -> String {
    let advice =
        if finding.advice.is_empty() { String::new() } else { format!(" {}.", capitalised(&finding.advice)) };
    format!(
        "- **{} {}**{}.{}\n",
        finding.severity.as_str(),
        escape(&finding.id),
        escape(&finding.after_id()),
        escape(&advice)
    )
}

/// A code span. Backticks inside would end it.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// Escapes markup outside of code spans. Inside them, markup has no effect, and escapes would be visible.
fn escape(text: &str) -> String {
    // An unmatched backtick does not begin a code span.
    if text.matches('`').count() % 2 == 1 {
        return escape_words(text);
    }
    let parts = text.split('`').enumerate();
    let escaped: Vec<String> = parts
        .map(|(place, part)| if place % 2 == 0 { escape_words(part) } else { part.to_owned() })
        .collect();
    escaped.join("`")
}

fn escape_words(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '*' | '_' | '[' | ']' | '|' | '\\' | '#' => escaped.extend(['\\', character]),
            '\n' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documents, fixture};

    #[test]
    fn a_study_as_markdown() {
        insta::assert_snapshot!(text(&documents::study_of(&fixture::study(), "quick", "runs/quick")));
    }

    #[test]
    fn text_of_a_file_is_not_markup() {
        let mut result = fixture::study();
        result.name = "<script>alert(1)</script> *x*".to_owned();
        let text = text(&documents::study(&result));
        let outside_of_code: String = text.split('`').step_by(2).collect();
        assert!(!outside_of_code.contains("<script>") && text.contains("\\*x\\*"), "{text}");
        result.findings.clear();
        let text = super::text(&documents::study_of(&result, "quick", "a`<script>"));
        let marked = text.lines().filter(|line| line.contains("<script>")).collect::<Vec<_>>();
        let next =
            "Next: `hoptax study --resume 'a'<script>' --rounds 20` adds rounds, which narrow the intervals.";
        assert_eq!(marked, [next]);
    }

    #[test]
    fn code_keeps_its_characters_in_markdown() {
        assert_eq!(escape("`rate<-2%` of a_b<c"), "`rate<-2%` of a\\_b&lt;c");
        // An odd backtick must not open the way for markup of a file.
        assert!(!escape("`<script>").contains("<script>"));
    }
}
