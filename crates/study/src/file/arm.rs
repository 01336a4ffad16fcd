//! How an arm is named in a study file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionsSection, SubjectEntry};

/// One arm of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ArmEntry {
    /// By its name.
    Name(String),
    /// By where its proxies stand.
    Subject(SubjectEntry),
    /// A function that was loaded, had requests, and is taken away again before anything is measured.
    Unloaded(UnloadedEntry),
    /// A function under conditions of its own.
    Function(FunctionEntry),
}

/// An arm whose function is taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnloadedEntry {
    /// The function.
    pub unloaded: String,
}

/// A function under conditions of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionEntry {
    /// The function, or `baseline`, `same` or `direct`.
    pub function: String,
    /// What it is measured under, in place of what the study says of the same.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub at: ConditionsSection,
    /// Whether it is also measured at the points that its file names; as the study says if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<bool>,
}
