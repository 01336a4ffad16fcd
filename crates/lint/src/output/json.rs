//! The findings as JSON.

use serde_json::{Value, json};

use super::File;
use crate::{Change, Finding};

/// The format of the output, and its version.
const FORMAT: &str = "hoptax.lint/1";

/// All findings of files.
pub fn json(files: &[File], version: &str) -> Value {
    let file = |file: &File| {
        let findings: Vec<Value> = file.linted.findings.iter().map(finding).collect();
        let allowed = file.linted.allowed.iter().map(|(allowed, reason)| {
            let mut value = finding(allowed);
            value["reason"] = reason.as_str().into();
            value
        });
        let unread = file.unread.iter().map(|problem| {
            json!({"file": problem.place.file, "line": problem.place.line, "message": problem.message})
        });
        json!({
            "file": file.name,
            "findings": findings,
            "allowed": allowed.collect::<Vec<_>>(),
            "unread": unread.collect::<Vec<_>>(),
        })
    };
    json!({
        "format": FORMAT,
        "program": {"name": "hoptax", "version": version},
        "files": files.iter().map(file).collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    let Finding { rule, place, path, found, .. } = finding;
    let change = |change: &Change| match change {
        Change::Set { at, value } => json!({"set": at, "value": value}),
        Change::Remove { at } => json!({"remove": at}),
    };
    json!({
        "rule": rule.id,
        "severity": rule.severity.name(),
        "message": found.message,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "pointer": place.pointer,
        "path": path,
        "fix": found.fix.iter().map(change).collect::<Vec<_>>(),
        "source": rule.source,
    })
}
