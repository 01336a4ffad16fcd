//! The findings as SARIF 2.1.0 results (OASIS), which code scanning shows next to the lines.

use hoptax_result::{LintBody, LintFinding};
use serde_json::{Value, json};

use crate::{ALL, Rule, Severity};

/// All rules, and the results of a run.
pub fn sarif(body: &LintBody) -> (Vec<Value>, Vec<Value>) {
    let results = body.files.iter().flat_map(|file| &file.findings).map(result);
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

fn result(finding: &LintFinding) -> Value {
    let mut region = json!({"startLine": finding.line.max(1)});
    if finding.column > 0 {
        region["startColumn"] = finding.column.into();
    }
    json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": finding.file}, "region": region}}],
    })
}
