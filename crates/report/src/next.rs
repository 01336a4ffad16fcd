//! The next step that a document proposes.

use std::path::Path;

use hoptax_result::Finding;
use hoptax_text::command_line::{path_option, path_word};
use schemars::JsonSchema;
use serde::Serialize;

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Next {
    /// A command that can be pasted.
    pub(crate) command: String,
    /// Its purpose: `measures the missing 6 rounds`.
    pub(crate) purpose: String,
}

/// A finished measurement, to which a next step can add rounds.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    /// The command that measures the same, without its length and its run folder: `hoptax price envoy.yaml --rate 3000`.
    pub command: &'a str,
    /// Its run folder.
    pub folder: &'a Path,
    /// Words for what the user adds to the command, because it is not repeated: `the value of the header`; none if nothing is missing.
    pub missing: Option<&'a str>,
}

/// The purpose of the same measurement after what a finding advises, or after a remedy that no finding names.
pub(crate) fn after_remedy(finding: Option<&Finding>) -> String {
    let advice = finding.map(|finding| finding.advice.as_str()).filter(|advice| !advice.is_empty());
    let advice = advice.map_or_else(String::new, |advice| format!(": {advice}"));
    format!("measures again, after the remedy{advice}")
}

impl Next {
    pub(crate) fn new(command: impl Into<String>, purpose: impl Into<String>) -> Self {
        Self { command: command.into(), purpose: purpose.into() }
    }

    /// This many rounds in all: those of a known run folder are kept, and without one `command` measures anew.
    pub(crate) fn of_rounds(command: &str, again: Option<Again<'_>>, rounds: u32, purpose: &str) -> Self {
        let resumed = path_option("--resume", again.map(|again| again.folder));
        let missing = again.and_then(|again| again.missing);
        let with = missing.map_or_else(String::new, |missing| format!(", with {missing}"));
        Self::new(format!("{command}{resumed} --rounds {rounds}"), format!("{purpose}{with}"))
    }

    /// Another sitting of a study with a known name and an unknown file.
    pub(crate) fn sitting(study: &str, purpose: &str) -> Self {
        Self::new(format!("hoptax study {} --again", path_word(study.as_ref())), purpose)
    }
}
