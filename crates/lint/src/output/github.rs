//! The findings as GitHub workflow commands, which annotate the lines of a pull request.

use hoptax_result::{LintBody, LintFinding};

use crate::Severity;

/// A line for each finding. Source of the format and of the escapes: GitHub, "Workflow commands".
pub fn github(body: &LintBody) -> String {
    let line = |finding: &LintFinding| {
        let LintFinding { rule, message, file, line, .. } = finding;
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let column = if finding.column > 0 { format!(",col={}", finding.column) } else { String::new() };
        format!(
            "::{command} file={},line={}{column},title={rule}::{}\n",
            property(file),
            (*line).max(1),
            escaped(message)
        )
    };
    body.files.iter().flat_map(|file| &file.findings).map(line).collect()
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
