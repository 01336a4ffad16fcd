//! A study as Markdown, to be pasted into an issue or a page.

use hoptax_result::{CostMeasure, SittingsResult, StudyResult};

use crate::rows::rows;
use crate::side::{SideTable, side_tables};
use crate::{sittings, words};

/// The study as Markdown.
pub fn study(result: &StudyResult) -> String {
    let mut text = format!("# {}\n\n{}\n\n", escape(&result.name), escape(&result.summary));
    text += &format!("**Verdict: {}.**\n\n", words::verdict(result.verdict));
    for line in words::levels(result) {
        text += &format!("- {}\n", escape(&line));
    }
    text += "\nWhat is added to that, per request:\n\n";
    text += "| arm | CPU, us | | p50, us | p99, us | max rate, requests/s | | compared with |\n";
    text += "|---|---:|---:|---:|---:|---:|---:|---|\n";
    for row in rows(result) {
        let near_zero = if row.is_near_zero { "~ " } else { "" };
        let compared = row.arm.compared_with.as_deref().unwrap_or_default();
        let cells = [
            format!("`{}`", row.name),
            format!("{near_zero}{}", row.cpu.text),
            row.cpu_percent.clone(),
            row.p50.text.clone(),
            row.p99.text.clone(),
            row.max_rate.text.clone(),
            row.max_rate_percent.clone(),
            format!("`{compared}`"),
        ];
        text += &format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    text += "\n`~` cannot be told from zero in this study.\n\n";
    for side in side_tables(result) {
        text += &side_table(side);
    }
    if !result.findings.is_empty() {
        text += "## Findings\n\n";
        for group in words::groups(&result.findings) {
            let finding = group.finding;
            text += &format!(
                "- **{} {}**{}: {} ({}). {}\n",
                finding.severity.word(),
                escape(&finding.id),
                escape(&group.scope()),
                escape(&finding.message),
                escape(&words::measured(finding)),
                escape(&finding.advice)
            );
        }
        text.push('\n');
    }
    text += "## How it was measured\n\n";
    let lines = [
        Some(words::method(result)),
        Some(words::intervals(result)),
        words::same(result),
        Some(words::slices(result)),
    ];
    for line in lines.into_iter().flatten() {
        text += &format!("- {}\n", escape(&line));
    }
    if let Some(why) = &result.plan.ended_early {
        text += &format!("- The study ended early: {}\n", escape(why));
    }
    text += &format!("- {}\n", escape(&words::machine(result)));
    text
}

/// Several sittings as Markdown.
pub fn sittings(result: &SittingsResult) -> String {
    let mut text = format!("# {}: sittings on one machine\n\n", escape(&result.study));
    for line in sittings::sittings(result) {
        text += &format!("- {}\n", escape(&line));
    }
    text.push('\n');
    for table in sittings::tables(result, &CostMeasure::ALL) {
        text += &side_table(table);
    }
    text += &format!("{}.\n\n{}.\n", escape(&sittings::holds(result)), escape(&sittings::machine(result)));
    text
}

fn side_table(side: SideTable) -> String {
    let title = side.title.chars().next().map(char::to_uppercase).into_iter().flatten();
    let title: String = title.chain(side.title.chars().skip(1)).collect();
    let mut text = format!("{}:\n\n| {} |\n", escape(&title), side.header.join(" | "));
    text += &format!("|---|{}\n", "---:|".repeat(side.header.len() - 1));
    for (name, cells) in side.rows {
        let name = if name.is_empty() { name } else { format!("`{name}`") };
        text += &format!("| {} | {} |\n", name.replace('|', "\\|"), cells.join(" | "));
    }
    text.push('\n');
    text
}

/// Keeps what comes from a file from becoming markup.
fn escape(text: &str) -> String {
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
    use crate::fixture;

    #[test]
    fn the_study_as_markdown() {
        insta::assert_snapshot!(study(&fixture::study()));
    }

    #[test]
    fn text_of_a_file_is_not_markup() {
        let mut result = fixture::study();
        result.name = "<script>alert(1)</script> *x*".to_owned();
        let text = study(&result);
        assert!(!text.contains("<script>") && text.contains("\\*x\\*"), "{text}");
    }
}
