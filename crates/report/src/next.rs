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
