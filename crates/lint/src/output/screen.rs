//! The findings for a terminal: the answer, the faults by severity, and the next step.

use hoptax_result::counted;
use std::collections::BTreeMap;

use super::{File, numbers};
use crate::{Finding, Severity};

/// Most findings of one rule, and of all, on the first screen.
const MOST_OF_RULE: usize = 3;
const MOST: usize = 20;

/// The first screen; all of it with `has_details`.
pub fn screen(files: &[File], has_details: bool) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let names = match names.as_slice() {
        several @ [_, _, _, ..] => format!("{} files", several.len()),
        few => few.join(" and "),
    };
    let found = numbers(files);
    let found = if found.is_empty() { "nothing is wrong".to_owned() } else { found };
    let mut text = format!("{found} in {names}\n");
    let findings: Vec<&Finding> = Severity::ALL
        .into_iter()
        .flat_map(|severity| files.iter().flat_map(move |file| file.with_severity(severity)))
        .collect();
    text += &lines(&findings, has_details);
    let allowed: usize = files.iter().map(|file| file.linted.allowed.len()).sum();
    let mut notes = Vec::new();
    if allowed > 0 {
        notes.push(format!("{} allowed", counted(allowed as u64, "finding")));
    }
    let unread: Vec<String> = files
        .iter()
        .flat_map(|file| &file.unread)
        .map(|problem| format!("{}: {}", problem.place, problem.message))
        .collect();
    if has_details {
        for (finding, reason) in files.iter().flat_map(|file| &file.linted.allowed) {
            notes.push(format!("allowed: {}: {}: {reason}", finding.place, finding.rule.id));
        }
        notes.extend(unread.iter().map(|problem| format!("not read: {problem}")));
    } else if let Some(first) = unread.first() {
        let more = if unread.len() > 1 { format!(" (and {} more)", unread.len() - 1) } else { String::new() };
        notes.push(format!("not read: {first}{more}"));
    }
    let is_mendable =
        |finding: &&&Finding| !finding.found.fix.is_empty() && finding.rule.severity != Severity::Info;
    let mendable = findings.iter().filter(is_mendable).count();
    if mendable > 0 {
        notes.push(format!("`--fix` mends {mendable} of these"));
    }
    if let Some(worst) = findings.first() {
        notes.push(format!("`hoptax lint explain {}` says why, and what to do", worst.rule.id));
    }
    if !notes.is_empty() {
        text += &format!("\n{}\n", notes.join("\n"));
    }
    text
}

/// A line for each finding. Without details, those of a severity that is worth a look, few of each rule, and the rest counted.
fn lines(findings: &[&Finding], has_details: bool) -> String {
    let mut text = String::new();
    let mut left_off: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut number = 0;
    for finding in findings {
        let (severity, id) = (finding.rule.severity, finding.rule.id);
        let of_rule = shown.entry(id).or_default();
        let is_shown = has_details || severity != Severity::Info && number < MOST && *of_rule < MOST_OF_RULE;
        if !is_shown {
            *left_off.entry((severity, id)).or_default() += 1;
            continue;
        }
        (*of_rule, number) = (*of_rule + 1, number + 1);
        text += &format!("{}: {severity} {id}: {}\n", finding.place, finding.found.message);
    }
    for severity in Severity::ALL {
        let of = left_off.iter().filter(|((of, _), _)| *of == severity);
        let counts: Vec<String> = of.map(|((_, id), number)| format!("{number} {id}")).collect();
        if !counts.is_empty() {
            let more = if severity == Severity::Info { "" } else { "more " };
            text += &format!("{more}{severity}: {} (--details)\n", counts.join(", "));
        }
    }
    text
}
