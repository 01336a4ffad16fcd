//! Findings as the body of a result.

use std::collections::BTreeSet;

use hoptax_bootstrap::Problem;
use hoptax_result::{LintBody, LintFinding, LintRule, LintUnread, LintedFile};

use crate::{ALL, Finding, Linted, Rule};

/// Returns the findings in a file, and the problems with parts that could not be read.
pub fn file(name: &str, linted: &Linted, unread: &[Problem]) -> LintedFile {
    let allowed = |(allowed, reason): &(Finding, String)| LintFinding {
        reason: Some(reason.clone()),
        ..finding(allowed)
    };
    LintedFile {
        file: name.to_owned(),
        findings: linted.findings.iter().map(finding).collect(),
        allowed: linted.allowed.iter().map(allowed).collect(),
        unread: unread.iter().map(part).collect(),
    }
}

/// All files, with the rules of their findings. All rules were applied, without a file of allowances.
pub fn body(files: Vec<LintedFile>) -> LintBody {
    let mut body = LintBody { files, ..LintBody::default() };
    let found: BTreeSet<&str> = body.findings().map(|finding| finding.rule.as_str()).collect();
    let rules = ALL.iter().filter(|rule| found.contains(rule.id)).map(|rule| described(rule)).collect();
    body.rules = rules;
    body
}

fn finding(finding: &Finding) -> LintFinding {
    let Finding { rule, place, path, found, .. } = finding;
    LintFinding {
        rule: rule.id.to_owned(),
        severity: rule.severity,
        message: found.message.clone(),
        file: place.file.clone(),
        line: place.line,
        column: place.column,
        pointer: place.pointer.clone(),
        path: path.clone(),
        fix: found.fix.clone(),
        reason: None,
    }
}

fn part(problem: &Problem) -> LintUnread {
    let Problem { place, message } = problem;
    LintUnread {
        file: place.file.clone(),
        line: place.line,
        pointer: place.pointer.clone(),
        message: message.clone(),
    }
}

fn described(rule: &Rule) -> LintRule {
    LintRule {
        id: rule.id.to_owned(),
        severity: rule.severity,
        title: rule.title.to_owned(),
        why: rule.why.to_owned(),
        cure: rule.cure.to_owned(),
        source: rule.source.to_owned(),
    }
}
