//! Writes the output files of a study. A failure to write one does not affect the others.

use std::fs;
use std::path::Path;

use hoptax_report::{csv, html, markdown};
use hoptax_result::StudyResult;

/// Writes result.json, report.md, report.html, numbers.csv, and slices.csv or timeline.csv; returns one message for each
/// failure.
pub(crate) fn write_all(directory: &Path, result: &StudyResult) -> Vec<String> {
    let outputs = [
        (
            "result.json",
            serde_json::to_string_pretty(result).map(|text| text + "\n").map_err(|e| e.to_string()),
        ),
        ("report.md", Ok(markdown::study(result))),
        ("report.html", html::study(result).map_err(|error| error.to_string())),
        ("numbers.csv", Ok(csv::numbers(result))),
        match result.plan.timeline {
            None => ("slices.csv", Ok(csv::slices(result))),
            Some(_) => ("timeline.csv", Ok(csv::timeline(result))),
        },
    ];
    let mut problems = Vec::new();
    for (name, text) in outputs {
        let path = directory.join(name);
        if let Err(error) = text.and_then(|text| fs::write(&path, text).map_err(|error| error.to_string())) {
            problems.push(format!("cannot write `{}`: {error}", path.display()));
        }
    }
    problems
}
