//! A study as Markdown, for issues and web pages.

use hoptax_result::{
    BillResult, ComparisonResult, GateResult, Measure, PricesResult, RoundMeasure, SittingsResult,
    StudyResult,
};

use crate::findings::{self, FindingGroup, Lead};
use crate::rows::{Columns, Row, rows};
use crate::side::{SideTable, levels_by_load, side_tables, work};
use crate::{bill, by_load, comparison, gate, known, levels, prices, sittings, words};

/// The study as Markdown.
pub fn study(result: &StudyResult) -> String {
    page(result, "", "")
}

/// The study as Markdown, with a text below the verdict and one below the tables.
fn page(result: &StudyResult, below_verdict: &str, below_tables: &str) -> String {
    let mut text = format!("# {}\n\n{}\n\n", escape(&result.name), escape(&result.summary));
    text += &format!("**Verdict: {}.**\n\n{below_verdict}", words::verdict(result.verdict, &result.findings));
    for line in words::loosened(&result.loosened) {
        text += &format!("{}.\n\n", escape(&words::capitalised(&line)));
    }
    if let Some(found) = findings::lead(result) {
        text += &lead(&found);
    }
    if let Some(table) = levels::levels(result) {
        text += &side(&table);
    }
    text += &costs(result);
    for table in [by_load::cpu(result), side_tables(result)].iter().flatten() {
        text += &side(table);
    }
    for table in [levels_by_load(result), work(result)].iter().flatten() {
        text += &folded(table);
    }
    text += below_tables;
    let known = known::sentences(result);
    if !known.is_empty() {
        text += "## Known answers\n\n";
        for sentence in known {
            text += &format!("- {}\n", escape(&sentence));
        }
        text.push('\n');
    }
    let below = findings::below_the_lead(result);
    if !below.is_empty() {
        text += "## Findings\n\n";
        for group in below {
            let advice = words::capitalised(&group.finding.advice);
            text += &format!("{}. {}\n", finding(&group), escape(&advice));
        }
        text.push('\n');
    }
    text += "## Method\n\n";
    let has_costs = !Columns::of(&rows(result)).is_empty();
    let mut lines = vec![words::method(result)];
    if has_costs {
        lines.extend(words::intervals(result));
    }
    lines.extend(words::same(result));
    lines.extend(words::slices(result));
    lines.push(words::machine(result));
    for line in lines {
        text += &format!("- {}\n", escape(&words::capitalised(&line)));
    }
    text
}

/// Several sittings as Markdown: all together as `one` study, and CPU time by sitting.
pub fn sittings(result: &SittingsResult, one: &StudyResult) -> String {
    let lines: Vec<String> =
        sittings::sittings(result).iter().map(|line| format!("- {}\n", escape(line))).collect();
    let mut between = format!("## {}\n\n{}.\n\n", sittings::HEADING, escape(&sittings::holds(result)));
    for table in sittings::tables(result, &sittings::CPU) {
        between += &folded(&table);
    }
    page(one, &(lines.concat() + "\n"), &between)
}

/// Prices as Markdown.
pub fn prices(result: &PricesResult) -> String {
    let mut text = "# Prices of functions\n\n".to_owned();
    for line in prices::lines(result) {
        text += &format!("- {}\n", escape(&line));
    }
    text + "\n" + &side(&prices::table(result))
}

/// The bill of a configuration as Markdown.
pub fn bill(result: &BillResult) -> String {
    let mut text = format!("# Bill of {}\n\n", escape(&result.configuration));
    for sentence in bill::sentences(result) {
        text += &format!("**{}.**\n", escape(&sentence));
    }
    text += &format!("\n{}.\n\n", escape(&bill::subject(result)));
    if let Some(warning) = bill::warning(result) {
        text += &format!("{}.\n\n", words::capitalised(warning));
    }
    let columns = bill::all_columns();
    text += &side(&bill::table(result, &columns));
    if let Some(changes) = bill::changes(result, &columns) {
        text += &side(&changes);
    }
    for line in bill::notes(result).iter().chain(&bill::method(result)) {
        text += &format!("- {}\n", escape(&words::capitalised(line)));
    }
    let found = findings::groups(&result.findings);
    if !found.is_empty() {
        text += "\n## Findings\n\n";
        for group in found {
            text += &format!("{}. {}\n", finding(&group), escape(&words::capitalised(&group.finding.advice)));
        }
    }
    text
}

/// The decisions of the comparisons of one study; none if there are none.
pub fn decisions(comparisons: &[ComparisonResult]) -> Option<String> {
    let first = comparisons.first()?;
    let table = comparison::decisions(comparisons);
    Some(format!(
        "# {}: decisions\n\n{}{}.\n",
        escape(&first.study),
        cells(&table),
        words::capitalised(&comparison::method(first))
    ))
}

/// A gate as Markdown, for a job summary.
pub fn gate(result: &GateResult) -> String {
    let mut text = format!(
        "# {}\n\n**{}.**\n\n",
        escape(&result.study),
        escape(&words::capitalised(&gate::outcome(result)))
    );
    if let Some(warning) = gate::warning(result) {
        text += &format!("{}.\n\n", words::capitalised(warning));
    }
    text.extend(gate::sentences(result).iter().map(|line| format!("- {}\n", escape_around_code(line))));
    text += &format!("\n{}", side(&gate::table(result)));
    text.extend(gate::method(result).iter().map(|line| format!("- {}\n", escape(&words::capitalised(line)))));
    text
}

/// The failed checks, what helps, and what to run next.
fn lead(lead: &Lead<'_>) -> String {
    let mut text = String::new();
    if let Some(cut) = &lead.cut {
        text += &format!("- **Cut short**: {}\n", escape(cut));
    }
    for group in &lead.failed {
        text += &format!("{}\n- **Remedy**: {}\n", finding(group), escape(&group.finding.advice));
    }
    text + &format!("- **Next**: {}\n\n", escape(&lead.next))
}

/// A finding without its advice.
fn finding(group: &FindingGroup<'_>) -> String {
    let finding = group.finding;
    format!(
        "- **{} {}**{}: {}{}{}",
        finding.severity.as_str(),
        escape(&finding.id),
        escape(&group.scope()),
        escape(&group.message()),
        escape(&group.measured().map_or_else(String::new, |measured| format!(" ({measured})"))),
        escape(&group.withheld().map_or_else(String::new, |withheld| format!("; {withheld}")))
    )
}

/// A column of the main table: whether it is shown, its heading, and its text for an arm.
type Column = (fn(&Columns) -> bool, &'static str, fn(&Row<'_>) -> String);

/// The columns before those of measures that arms have once per round.
const COLUMNS: [Column; 9] = [
    (|_| true, "arm", |row| format!("`{}`", row.name)),
    (|has| has.has_share, "CPU, %", |row| format!("{}{}", row.mark(), row.cpu_share.text)),
    (|has| has.has_share && has.has(Measure::Cpu), "CPU, us", |row| row.cpu.text.clone()),
    (
        |has| !has.has_share && has.has(Measure::Cpu),
        "CPU, us",
        |row| format!("{}{}", row.mark(), row.cpu.text),
    ),
    (|has| has.has(Measure::ResponseP50), "p50, us", |row| row.p50.text.clone()),
    (|has| has.has(Measure::ResponseP90), "p90, us", |row| row.p90.text.clone()),
    (|has| has.has(Measure::ResponseP99), "p99, us", |row| row.p99.text.clone()),
    (|has| has.has(Measure::MaxRate), "max rate, requests/s", |row| row.max_rate.text.clone()),
    (|has| has.has(Measure::MaxRate), "", |row| row.max_rate_percent.clone()),
];

/// The main table.
fn costs(result: &StudyResult) -> String {
    let rows = rows(result);
    let has = Columns::of(&rows);
    let mut text = String::new();
    if !has.is_empty() {
        for note in levels::notes(result) {
            text += &format!("- {}\n", escape(&note));
        }
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.0(&has)).collect();
        let measures: Vec<RoundMeasure> =
            RoundMeasure::compared().filter(|measure| has.has(Measure::OfRounds(*measure))).collect();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        text += &format!("\n{}:\n\n", words::capitalised(words::ADDED));
        let of_rounds = measures.iter().map(|measure| measure.definition().heading);
        let headings: Vec<&str> =
            columns.iter().map(|column| column.1).chain(of_rounds).chain(["compared with"]).collect();
        text += &line(headings.iter().map(|heading| (*heading).to_owned()).collect());
        let is_name = |heading: &str| matches!(heading, "arm" | "compared with");
        let rules = headings.iter().map(|heading| if is_name(heading) { "---" } else { "---:" });
        text += &format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
        for row in &rows {
            let of_rounds = measures.iter().map(|measure| row.of_rounds(*measure));
            let other = format!("`{}`", row.arm.compared_with.as_deref().unwrap_or_default());
            let cells = columns.iter().map(|column| column.2(row)).chain(of_rounds).chain([other]);
            text += &line(cells.map(|cell| cell.replace('|', "\\|")).collect());
        }
        text += "\n`~`: the interval contains zero.\n\n";
    }
    if let Some(left_out) = &has.left_out {
        text += &format!("{}.\n\n", escape(&words::capitalised(left_out)));
    }
    text
}

/// A table below its title.
fn side(table: &SideTable) -> String {
    format!("{}:\n\n{}", escape(&words::capitalised(&table.title)), cells(table))
}

/// A table that is shown when its title is selected. Between the tags, the title is HTML.
fn folded(table: &SideTable) -> String {
    let title = words::capitalised(&table.title).replace('&', "&amp;").replace('<', "&lt;");
    format!("<details><summary>{title}</summary>\n\n{}</details>\n\n", cells(table))
}

fn cells(table: &SideTable) -> String {
    let mut text = format!("| {} |\n", table.header.join(" | "));
    text += &format!("|---|{}\n", "---:|".repeat(table.header.len().saturating_sub(1)));
    for (name, cells) in &table.rows {
        let name = if name.is_empty() { String::new() } else { format!("`{name}`") };
        text += &format!("| {} | {} |\n", name.replace('|', "\\|"), cells.join(" | "));
    }
    text + "\n"
}

/// Escapes markup outside of code spans, in which it has no effect and escapes would be visible.
fn escape_around_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let escaped: Vec<String> =
        parts.map(|(index, part)| if index % 2 == 0 { escape(part) } else { part.to_owned() }).collect();
    escaped.join("`")
}

/// Escapes markup in text from a file.
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

    #[test]
    fn a_gate_as_markdown() {
        insta::assert_snapshot!(gate(&crate::gate::fixture::gate()));
        let mut rate = crate::gate::fixture::gate();
        rate.limits[3].limit = "rate<-2%".to_owned();
        let text = gate(&rate);
        assert!(text.contains("`rate<-2%`") && text.contains("lua&lt;&>: "), "{text}");
    }

    #[test]
    fn a_void_study_leads_with_the_failed_checks_and_the_next_command() {
        insta::assert_snapshot!(study(&fixture::void()));
    }
}
