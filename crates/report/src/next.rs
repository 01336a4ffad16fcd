//! The step that a document proposes.

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

    /// Another sitting of a study whose file is not known, but its name.
    pub(crate) fn sitting(study: &str, purpose: &str) -> Self {
        Self::new(format!("hoptax study {} --again", word(study)), purpose)
    }
}

/// A text as a word of a command line. A file may have any name, and a result of a stranger may state any.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:=@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_command_line_and_never_a_command() {
        for (name, expected) in [
            ("runs/edge-1.yaml", "runs/edge-1.yaml"),
            ("two words", "'two words'"),
            ("map.yaml#b", "'map.yaml#b'"),
            ("a;reboot", "'a;reboot'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(word(name), expected);
        }
    }
}
