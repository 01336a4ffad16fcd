//! The findings as results of SARIF 2.1.0 (OASIS), which code scanning shows beside the lines.

use serde_json::{Value, json};

use super::File;
use crate::{ALL, Finding, Rule, Severity};

/// The rules and the results of a run.
pub fn sarif(files: &[File]) -> (Vec<Value>, Vec<Value>) {
    let results = files.iter().flat_map(|file| &file.linted.findings).map(result);
    (ALL.iter().map(|rule| described(rule)).collect(), results.collect())
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": format!("{} Source: {}", rule.cure, rule.source)},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn result(finding: &Finding) -> Value {
    let Finding { rule, place, found, .. } = finding;
    let mut region = json!({"startLine": place.line.max(1)});
    if place.column > 0 {
        region["startColumn"] = place.column.into();
    }
    json!({
        "ruleId": rule.id,
        "level": level(rule.severity),
        "message": {"text": found.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": place.file}, "region": region}}],
    })
}
