//! Findings as texts for people, for programs and for reviews.

mod explained;
mod github;
mod json;
mod sarif;
mod screen;

pub use explained::{explained, listed, page};
pub use github::github;
pub use json::json;
pub use sarif::sarif;
pub use screen::screen;

use hoptax_bootstrap::Problem;
use hoptax_result::counted;

use crate::{Finding, Linted, Severity};

/// Findings in a file.
#[derive(Clone, Debug)]
pub struct File {
    /// The file, as the user named it.
    pub name: String,
    /// The findings in all of its configurations.
    pub linted: Linted,
    /// The parts that could not be read.
    pub unread: Vec<Problem>,
}

impl File {
    fn with_severity(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        self.linted.findings.iter().filter(move |finding| finding.rule.severity == severity)
    }
}

/// The numbers of findings by severity, the worst first, in words: `1 error, 2 warnings`.
fn numbers(files: &[File]) -> String {
    let count =
        |severity: Severity| files.iter().map(|file| file.with_severity(severity).count()).sum::<usize>();
    let parts = Severity::ALL.into_iter().map(|severity| (severity, count(severity)));
    let words = parts.filter(|(_, number)| *number > 0);
    let words: Vec<String> =
        words.map(|(severity, number)| counted(number as u64, severity.name())).collect();
    words.join(", ")
}
