//! The next step that a document proposes.

use hoptax_text::command_line::word;
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

impl Next {
    pub(crate) fn new(command: impl Into<String>, purpose: impl Into<String>) -> Self {
        Self { command: command.into(), purpose: purpose.into() }
    }

    /// Another sitting of a study with a known name and an unknown file.
    pub(crate) fn sitting(study: &str, purpose: &str) -> Self {
        Self::new(format!("hoptax study {} --again", word(study)), purpose)
    }
}
