//! The findings in the format of compilers, which editors and other programs read: one per line, and their count.

use hoptax_result::{Body, LintBody, LintFinding};

/// A line for each finding, the most severe first, and their count. Source of the format: GNU Coding Standards, "Formatting Error
/// Messages".
pub fn lines(body: &LintBody) -> String {
    let line = |finding: &LintFinding| {
        let LintFinding { rule, severity, message, .. } = finding;
        format!("{}: {severity} {rule}: {message}\n", finding.place())
    };
    let lines: String = body.findings().map(line).collect();
    let counts = body.counts();
    let counts = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
    format!("{lines}{counts} in {}\n", body.subject())
}
