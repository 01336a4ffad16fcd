//! The document of what `hoptax lint` found: the findings with their places, the most severe first, and the rules behind them.

use std::collections::BTreeMap;
use std::path::Path;

use hoptax_result::{
    Body as _, LintBody, LintFinding, LintResult, LintRule, LintSeverity, LintUnread, LintedFile, Verdict,
    counted,
};
use hoptax_text::command_line::{path_option, path_words};
use hoptax_text::list::listed;

use crate::document::{Block, Document, IN_DETAILS, Judgement, Next, Section};
use crate::table::{Cell, Column, Row, Table};

/// Maximum number of findings in the first table, also of a single rule. A configuration with many clusters has the same fault in each.
const MOST: usize = 9;
const MOST_OF_RULE: usize = 3;
/// Maximum number of rules that a note names; further rules are only counted.
const NAMED: usize = 3;
/// Maximum length of a place with all its folders, in characters. A longer one would leave no room for the findings.
const LONGEST_PLACE: usize = 32;

/// The document of findings.
pub fn lint(result: &LintResult) -> Document {
    let all: Vec<&LintFinding> = result.findings().collect();
    let (shown, left_out) = first(&all);
    let title = format!("what is wrong in {}, the most severe first", result.subject());
    let mut document = Document::new(format!("lint {}", result.subject()), title, vec![answer(result, &all)]);
    document.verdict = (result.verdict != Verdict::Sound).then(|| Judgement {
        verdict: result.verdict,
        usable: "rules that need a part that could not be read report nothing".to_owned(),
    });
    document.table =
        (!shown.is_empty()).then(|| table("findings, the most severe first", &shown, &result.body));
    document.notes = notes(result, &left_out);
    document.notes.extend(no_fix(result, &all));
    document.next = next(result, &all);
    if !left_out.is_empty() {
        document.sections.push(Section::of_table(table("all findings", &all, &result.body)));
    }
    let allowed = result.allowed().map(|finding| {
        let reason = finding.reason.as_deref().unwrap_or_default();
        format!("{}: {}: {}; allowed: {reason}", finding.place(), finding.rule, finding.message)
    });
    document.sections.extend(Section::of_lines("Allowed", allowed.collect()));
    document.sections.extend(Section::of_lines("Not read", result.unread().map(unread).collect()));
    if !result.rules.is_empty() {
        let explained = Block::Lines(result.rules.iter().map(explained).collect());
        document.sections.push(Section::new("Rules", vec![Block::Table(rules(result)), explained]));
    }
    document
}

/// The number of findings and files, and the worst finding.
fn answer(result: &LintResult, all: &[&LintFinding]) -> String {
    let files = result.subject();
    let Some(worst) = all.first() else { return format!("Nothing is wrong in {files}") };
    let counts = listed(&result.counts());
    if worst.severity == LintSeverity::Info {
        return format!("{counts} in {files}, and nothing worse");
    }
    let title = result.rules.iter().find(|rule| rule.id == worst.rule).map(|rule| rule.title.as_str());
    let title = title.map_or_else(String::new, |title| format!(", {title}"));
    format!("{counts} in {files}; the worst is `{}`{title}", worst.rule)
}

/// The findings of the first table, and the number of other findings of each rule, in the order of severity.
fn first<'a>(all: &[&'a LintFinding]) -> (Vec<&'a LintFinding>, Vec<(&'a str, u64)>) {
    let (mut shown, mut left_out) = (Vec::new(), Vec::<(&str, u64)>::new());
    let mut of_rules: BTreeMap<&str, usize> = BTreeMap::new();
    for &finding in all {
        let of_rule = of_rules.entry(finding.rule.as_str()).or_default();
        if shown.len() < MOST && *of_rule < MOST_OF_RULE {
            *of_rule += 1;
            shown.push(finding);
            continue;
        }
        match left_out.iter_mut().find(|(rule, _)| *rule == finding.rule) {
            Some((_, number)) => *number += 1,
            None => left_out.push((finding.rule.as_str(), 1)),
        }
    }
    (shown, left_out)
}

/// A row for each finding.
fn table(title: &str, findings: &[&LintFinding], body: &LintBody) -> Table {
    let places: Vec<String> = findings.iter().map(|finding| finding.place()).collect();
    let is_long = places.iter().any(|place| place.chars().count() > LONGEST_PLACE);
    let folder = if is_long { common_folder(findings) } else { String::new() };
    let row = |(finding, place): (&&LintFinding, &String)| {
        let cells = vec![
            Cell::words(finding.severity.name()),
            Cell::words(if body.mends(finding) { "--fix" } else { "" }),
            Cell::words(format!("{}: {}", finding.rule, finding.message)),
        ];
        Row::new(place.strip_prefix(&folder).unwrap_or(place), cells)
    };
    let columns = [
        Column::text("severity", 0),
        Column::text("fix", 0),
        // The last column, because it is wide.
        Column::text("finding", 0),
    ];
    let title = if folder.is_empty() { title.to_owned() } else { format!("{title}; all in {folder}") };
    Table::new(title, "place", columns, findings.iter().zip(&places).map(row)).without_empty_columns()
}

/// The common folder of all findings, with its trailing slash; empty if there is none.
fn common_folder(findings: &[&LintFinding]) -> String {
    let folders = findings.iter().filter_map(|finding| Path::new(&finding.file).parent());
    let common = folders.reduce(|common, folder| {
        let is_around = |one: &&Path| folder.starts_with(one);
        common.ancestors().find(is_around).unwrap_or(Path::new(""))
    });
    let common = common.map(|folder| folder.display().to_string()).unwrap_or_default();
    match common.as_str() {
        "" | "/" => String::new(),
        folder => format!("{folder}/"),
    }
}

/// Findings that the first table leaves out, allowed findings, and files that could not be read.
fn notes(result: &LintResult, left_out: &[(&str, u64)]) -> Vec<String> {
    let mut notes = Vec::new();
    if let [(rule, number), more @ ..] = left_out {
        // A single remaining rule is named instead of counted.
        let (named, others) = more.split_at(if more.len() > NAMED { NAMED - 1 } else { more.len() });
        let mut rules = vec![format!("and {number} more of {rule}")];
        rules.extend(named.iter().map(|(rule, number)| format!("{number} of {rule}")));
        let number: u64 = others.iter().map(|(_, number)| number).sum();
        let of_others = format!("{number} of {}", counted(others.len() as u64, "other rule"));
        rules.extend((number > 0).then_some(of_others));
        notes.push(format!("{}: all are {IN_DETAILS}", rules.join(", ")));
    }
    let allowed = result.allowed().count() as u64;
    if allowed > 0 {
        notes.push(format!("{} allowed, with reasons {IN_DETAILS}", counted(allowed, "finding")));
    }
    let mut parts = result.unread();
    if let Some(first) = parts.next() {
        let more = parts.count();
        let more = if more > 0 { format!("; and {more} more {IN_DETAILS}") } else { String::new() };
        notes.push(format!("not read: {}{more}", unread(first)));
    }
    notes
}

/// Says that `--fix` would change nothing, and which infos it could fix; none if the next command fixes findings.
fn no_fix(result: &LintResult, all: &[&LintFinding]) -> Option<String> {
    if all.is_empty() || all.iter().any(|finding| result.mends(finding)) {
        return None;
    }
    Some(match all.iter().filter(|finding| !finding.fix.is_empty()).count() {
        0 => "`--fix` fixes none of them: each needs a decision".to_owned(),
        infos => format!("`--fix` fixes none of them, or {infos} of the infos if `--only` names their rules"),
    })
}

/// The command that fixes findings, if some need no decision; otherwise the explanation of the worst one.
fn next(result: &LintResult, all: &[&LintFinding]) -> Option<Next> {
    let worst = all.first()?;
    let is_mendable = |file: &&LintedFile| file.findings.iter().any(|finding| result.mends(finding));
    let files: Vec<&String> = result.files.iter().filter(is_mendable).map(|file| &file.file).collect();
    let mendable = all.iter().filter(|finding| result.mends(finding)).count();
    // Hundreds of files are too many for a command line.
    if !files.is_empty() && files.len() <= MOST {
        let only = result.only.iter().map(|rule| format!(" --only {rule}"));
        // Without the allow file, allowed findings would be fixed, too.
        let allow = result.allowances.iter().map(|file| path_option("--allow", Some(file)));
        let options: String = only.chain(allow).collect();
        let command = format!("hoptax lint {} --fix{options}", path_words(files));
        return Some(Next::new(command, format!("fixes {mendable} of the findings")));
    }
    Some(Next::new(format!("hoptax lint explain {}", worst.rule), "says why, and what to do"))
}

fn unread(part: &LintUnread) -> String {
    format!("{}: {}", part.place(), part.message)
}

/// A row for each rule with a finding.
fn rules(result: &LintResult) -> Table {
    let mut sorted: Vec<&LintRule> = result.rules.iter().collect();
    sorted.sort_by_key(|rule| rule.severity);
    let mut findings: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in result.findings() {
        *findings.entry(finding.rule.as_str()).or_default() += 1;
    }
    let row = |rule: &&LintRule| {
        let findings = findings.get(rule.id.as_str()).copied().unwrap_or_default();
        let cells = vec![
            Cell::words(rule.severity.name()),
            Cell::words(findings.to_string()),
            Cell::words(&rule.title),
        ];
        Row::new(&rule.id, cells)
    };
    let columns = [Column::text("severity", 0), Column::new("findings", 0), Column::text("what it finds", 0)];
    Table::new("findings by rule", "rule", columns, sorted.iter().map(row))
}

fn explained(rule: &LintRule) -> String {
    format!("`{}`: {} To do: {} Source: {}", rule.id, rule.why, rule.cure, rule.source)
}

#[cfg(test)]
mod tests {
    use hoptax_result::LintChange;

    use super::*;
    use crate::fixture::STYLE;
    use crate::render::{csv, html, markdown, terminal};

    fn finding(rule: &str, severity: LintSeverity, file: &str, line: u64) -> LintFinding {
        LintFinding {
            rule: rule.to_owned(),
            severity,
            message:
                "cluster `shop` has the default circuit breaker: 1024 connections and requests, 3 retries"
                    .to_owned(),
            file: file.to_owned(),
            line,
            column: 9,
            pointer: "/static_resources/clusters/0".to_owned(),
            path: "/static_resources/clusters/shop".to_owned(),
            fix: Vec::new(),
            reason: None,
        }
    }

    fn rule(id: &str, severity: LintSeverity, title: &str) -> LintRule {
        LintRule {
            id: id.to_owned(),
            severity,
            title: title.to_owned(),
            why: "Requests get 503.".to_owned(),
            cure: "Correct it.".to_owned(),
            source: "Envoy, documentation".to_owned(),
        }
    }

    fn file(name: &str, findings: Vec<LintFinding>) -> LintedFile {
        LintedFile { file: name.to_owned(), findings, ..LintedFile::default() }
    }

    /// A file with an error, a fault in each of many clusters, another one that can be mended, and infos.
    fn result() -> LintResult {
        use LintSeverity::{Error, Info, Warning};
        let of = |rule: &str, severity, line| finding(rule, severity, "deploy/envoy.yaml", line);
        let mut findings = vec![LintFinding {
            message: "there is no cluster `shpo`; did you mean `shop`?".to_owned(),
            ..of("unknown-cluster", Error, 18)
        }];
        findings.push(LintFinding {
            fix: vec![LintChange::Remove { at: "/admin".to_owned() }],
            message: "the limit of connections holds for the admin interface, too".to_owned(),
            ..of("admin-in-limit", Warning, 2)
        });
        findings.extend((0..15).map(|number| of("circuit-breaker-default", Warning, 20 + 9 * number)));
        findings.extend((0..4).map(|number| of("retry-budget", Warning, 24 + 9 * number)));
        findings.extend((0..2).map(|number| of("connect-timeout-default", Info, 22 + 9 * number)));
        findings.extend((0..2).map(|number| of("keepalive-default", Info, 23 + 9 * number)));
        let mut one = file("deploy/envoy.yaml", findings);
        let reason = Some("the network policy admits the scraper alone".to_owned());
        one.allowed = vec![LintFinding { reason, ..of("admin-exposed", Warning, 4) }];
        let rules = vec![
            rule("admin-in-limit", Warning, "the admin interface counts among limited connections"),
            rule("circuit-breaker-default", Warning, "a cluster has the default limits of 1024"),
            rule("connect-timeout-default", Info, "a connection may take 5 s to open"),
            rule("keepalive-default", Info, "idle connections are kept for an hour"),
            rule("retry-budget", Warning, "retries without a budget"),
            rule("unknown-cluster", Error, "a route to a cluster that is not there"),
        ];
        LintResult::new((), LintBody { files: vec![one], rules, ..LintBody::default() })
    }

    fn screen(result: &LintResult) -> String {
        terminal::screen(&lint(result), STYLE)
    }

    #[test]
    fn the_first_screen_has_the_worst_first_and_counts_the_rest() {
        let text = screen(&result());
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_details_have_every_finding_what_is_allowed_and_the_rules() {
        let text = terminal::details(&lint(&result()), STYLE);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_output_has_every_finding() {
        let document = lint(&result());
        for text in [csv::text(&document), markdown::text(&document), html::page(&document).unwrap()] {
            for finding in result().findings() {
                assert!(text.contains(&finding.place()), "{}", finding.place());
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let result = result();
        let text = serde_json::to_string_pretty(&result).unwrap();
        assert_eq!(serde_json::from_str::<LintResult>(&text).unwrap(), result);
        assert_eq!(result.verdict, Verdict::Sound);
    }

    #[test]
    fn parts_that_are_not_read_are_a_caution_and_named() {
        let mut result = result();
        let (file, pointer) = ("dump.json".to_owned(), "/configs/0".to_owned());
        let part = LintUnread { file, line: 0, pointer, message: "a type that is not known".to_owned() };
        result.files[0].unread = vec![part.clone(), part];
        let text = screen(&LintResult::new((), result.body));
        assert!(
            text.contains("not read: dump.json /configs/0: a type that is not known; and 1 more"),
            "{text}"
        );
        assert!(text.contains("caution: rules that need a part that could not be read"), "{text}");
    }

    #[test]
    fn the_answer_says_what_matters_most_and_the_next_command_can_be_pasted() {
        let mut result = result();
        let document = lint(&result);
        let answer = "1 error, 20 warnings and 4 infos in deploy/envoy.yaml; the worst is `unknown-cluster`, a route to a cluster that is \
                      not there";
        assert_eq!(document.answer, [answer]);
        assert_eq!(document.next.unwrap().command, "hoptax lint deploy/envoy.yaml --fix");
        result.allowances = Some("what is allowed.yaml".to_owned());
        result.only = vec!["admin-in-limit".to_owned()];
        let command =
            "hoptax lint deploy/envoy.yaml --fix --only admin-in-limit --allow 'what is allowed.yaml'";
        assert_eq!(lint(&result).next.unwrap().command, command);
        let given = std::mem::replace(&mut result.files[0].file, "-envoy.yaml".to_owned());
        assert!(lint(&result).next.unwrap().command.starts_with("hoptax lint ./-envoy.yaml --fix "));
        result.files[0].file = given;
        let fix = std::mem::take(&mut result.files[0].findings[1].fix);
        result.only = Vec::new();
        let document = lint(&result);
        assert_eq!(document.next.unwrap().command, "hoptax lint explain unknown-cluster");
        let note = "`--fix` fixes none of them: each needs a decision".to_owned();
        assert!(document.notes.contains(&note), "{:?}", document.notes);
        result.files[0].findings.last_mut().unwrap().fix = fix;
        let note = "`--fix` fixes none of them, or 1 of the infos if `--only` names their rules".to_owned();
        assert!(lint(&result).notes.contains(&note), "{:?}", lint(&result).notes);
        result.files[0].findings.retain(|finding| finding.severity == LintSeverity::Info);
        assert_eq!(lint(&result).answer, ["4 infos in deploy/envoy.yaml, and nothing worse"]);
        result.files[0].findings.clear();
        let document = lint(&result);
        assert_eq!(document.answer, ["Nothing is wrong in deploy/envoy.yaml"]);
        assert!(document.table.is_none() && document.next.is_none());
    }

    #[test]
    fn long_places_lose_the_folder_that_they_share() {
        let of = |file: &str| finding("retry-budget", LintSeverity::Warning, file, 7);
        let names = |files: [&str; 2]| {
            let findings = files.map(of);
            let table = table("findings", &findings.iter().collect::<Vec<_>>(), &LintBody::default());
            (table.title, table.rows.into_iter().map(|row| row.name).collect::<Vec<String>>())
        };
        let (title, places) =
            names(["/srv/long/way/to/the/shop/one/envoy.yaml", "/srv/long/way/to/the/shop/b.yaml"]);
        assert_eq!(title, "findings; all in /srv/long/way/to/the/shop/");
        assert_eq!(places, ["one/envoy.yaml:7:9", "b.yaml:7:9"]);
        let short = names(["deploy/one/envoy.yaml", "deploy/b.yaml"]);
        assert_eq!(short.0, "findings");
        assert_eq!(short.1, ["deploy/one/envoy.yaml:7:9", "deploy/b.yaml:7:9"]);
        let apart = names(["/srv/long/way/to/the/shop/one/envoy.yaml", "b.yaml"]);
        assert_eq!(apart.0, "findings");
    }
}
