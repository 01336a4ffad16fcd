//! Findings of `hoptax lint` in configurations, with their places and fixes, and the rules behind them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Body, Finding, Measured, Report, Severity, counted};

/// Most files that a subject names.
const NAMED: usize = 2;

/// Findings in files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintBody {
    /// The files, in the order in which they were named. The last one is the file of allowances if some of its allowances match nothing.
    pub files: Vec<LintedFile>,
    /// The rules of all findings, in the order of their ids.
    pub rules: Vec<LintRule>,
    /// The ids of the rules that `--only` names; empty if all rules were applied.
    pub only: Vec<String>,
    /// The file of allowances; null without one.
    pub allowances: Option<String>,
}

/// Findings in a file, in all configurations of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintedFile {
    /// The file, as the user named it.
    pub file: String,
    /// Faults, the most severe first in each configuration.
    pub findings: Vec<LintFinding>,
    /// Findings that a comment or a file of allowances allows, each with the reason.
    pub allowed: Vec<LintFinding>,
    /// Parts that could not be read, so that rules which need them find nothing.
    pub unread: Vec<LintUnread>,
}

/// Finding of a rule at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintFinding {
    /// The id of the rule.
    pub rule: String,
    /// Its severity.
    pub severity: LintSeverity,
    /// The fault, in one line.
    pub message: String,
    /// The file that it is in: the file of the user, or one that this file names.
    pub file: String,
    /// The line, from 1; 0 if the pointer says more, because the file is JSON in one line, or if no node is meant.
    pub line: u64,
    /// The column in that line, in characters from 1; 0 if it is not known.
    pub column: u64,
    /// The JSON pointer of the node in the file.
    pub pointer: String,
    /// The path to the node in the configuration: its pointer, with the names of items instead of their numbers.
    pub path: String,
    /// The changes of `--fix`; empty if it needs a decision.
    pub fix: Vec<LintChange>,
    /// Why it is allowed; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A part that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintUnread {
    /// The file that names it.
    pub file: String,
    /// The line, as of findings.
    pub line: u64,
    /// The JSON pointer of the node in the file.
    pub pointer: String,
    /// Why it could not be read.
    pub message: String,
}

/// A rule that found something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintRule {
    /// Its id.
    pub id: String,
    /// The severity of its findings.
    pub severity: LintSeverity,
    /// The fault that it finds, in a few words.
    pub title: String,
    /// Consequences of the fault, and an incident where it had them.
    pub why: String,
    /// The remedy.
    pub cure: String,
    /// The source of this knowledge.
    pub source: String,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LintSeverity {
    /// The file alone shows that it does not do what it says, or that Envoy refuses it.
    Error,
    /// It fails under conditions that are usual.
    Warning,
    /// A default that the owner should know, or a fault only in some environments.
    Info,
}

/// A change of a configuration, by pointers of its tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum LintChange {
    /// Sets a field. Messages around it that are missing are created; a list gets an item at its end with the step `-`.
    Set {
        /// The pointer of the field.
        #[serde(rename = "set")]
        at: String,
        /// Its new value.
        value: Value,
    },
    /// Removes a field or an item.
    Remove {
        /// Its pointer.
        #[serde(rename = "remove")]
        at: String,
    },
}

/// Its report.
pub type LintResult = Report<LintBody>;

impl Body for LintBody {
    const FORMAT: &'static str = "hoptax.lint/2";
    type Environment = ();

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|file| file.file.as_str()).collect();
        if names.len() > NAMED { counted(names.len() as u64, "file") } else { names.join(" and ") }
    }

    /// Those about the reading, not about what was found: one for each part that could not be read.
    fn own_findings(&self) -> Vec<Finding> {
        let finding = |unread: &LintUnread| {
            let message = format!("{}: {}", unread.place(), unread.message);
            let advice = "rules that need this part report nothing: name the file where it is";
            Finding::new("unread", Severity::Warn, Measured::count(0.0, 0.0, ""), message, advice)
        };
        self.unread().map(finding).collect()
    }
}

impl LintBody {
    /// All findings, the most severe first, those of one severity in the order of the files.
    pub fn findings(&self) -> impl Iterator<Item = &LintFinding> {
        LintSeverity::ALL.into_iter().flat_map(|severity| {
            let all = self.files.iter().flat_map(|file| &file.findings);
            all.filter(move |finding| finding.severity == severity)
        })
    }

    /// Returns true if `--fix` with the same options mends a finding.
    pub fn mends(&self, finding: &LintFinding) -> bool {
        finding.is_mendable(!self.only.is_empty())
    }

    /// Returns the allowed findings.
    pub fn allowed(&self) -> impl Iterator<Item = &LintFinding> {
        self.files.iter().flat_map(|file| &file.allowed)
    }

    /// Returns the parts that could not be read.
    pub fn unread(&self) -> impl Iterator<Item = &LintUnread> {
        self.files.iter().flat_map(|file| &file.unread)
    }

    /// The number of findings of a severity.
    pub fn count(&self, severity: LintSeverity) -> usize {
        self.findings().filter(|finding| finding.severity == severity).count()
    }

    /// The numbers of findings by severity, the worst first, a text each: `1 error`, `2 warnings`.
    pub fn counts(&self) -> Vec<String> {
        let numbers = LintSeverity::ALL.map(|severity| (self.count(severity), severity));
        let found = numbers.into_iter().filter(|(number, _)| *number > 0);
        found.map(|(number, severity)| counted(number as u64, severity.name())).collect()
    }
}

impl LintFinding {
    /// Its place: `FILE:LINE:COLUMN` as far as they are known, or the file and the pointer.
    pub fn place(&self) -> String {
        let place = place(&self.file, self.line, &self.pointer);
        if self.line > 0 && self.column > 0 { format!("{place}:{}", self.column) } else { place }
    }

    /// Returns true if `--fix` mends it. An info is mended only where its rule `is_named` by `--only`: it may be as it should.
    pub fn is_mendable(&self, is_named: bool) -> bool {
        !self.fix.is_empty() && (is_named || self.severity != LintSeverity::Info)
    }
}

impl LintUnread {
    /// Its place: `FILE:LINE`, or the file and the pointer.
    pub fn place(&self) -> String {
        place(&self.file, self.line, &self.pointer)
    }
}

fn place(file: &str, line: u64, pointer: &str) -> String {
    match (line, pointer) {
        (0, "") => file.to_owned(),
        (0, pointer) => format!("{file} {pointer}"),
        (line, _) => format!("{file}:{line}"),
    }
}

impl LintSeverity {
    /// All, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// Its name, as printed and serialised.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for LintSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl LintChange {
    /// The pointer of what it changes.
    pub fn at(&self) -> &str {
        match self {
            Self::Set { at, .. } | Self::Remove { at } => at,
        }
    }
}
