//! The findings as commands of a GitHub workflow, which shows them beside the lines of a pull request.

use super::File;
use crate::Severity;

/// A line for each finding. Source of the form and of the escapes: GitHub, "Workflow commands".
pub fn github(files: &[File]) -> String {
    let findings = files.iter().flat_map(|file| &file.linted.findings);
    let line = |finding: &crate::Finding| {
        let place = &finding.place;
        let command = match finding.rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let column = if place.column > 0 { format!(",col={}", place.column) } else { String::new() };
        format!(
            "::{command} file={},line={}{column},title={}::{}\n",
            property(&place.file),
            place.line.max(1),
            finding.rule.id,
            escaped(&finding.found.message)
        )
    };
    findings.map(line).collect()
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
