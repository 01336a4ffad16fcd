//! The ways to name an arm in a study file.

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
    /// By the position of its proxies.
    Subject(SubjectEntry),
    /// A function that is loaded, serves requests, and is removed again before measuring.
    Unloaded(UnloadedEntry),
    /// A function under its own conditions.
    Function(FunctionEntry),
}

/// An arm whose function is removed again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnloadedEntry {
    /// The function.
    pub unloaded: String,
}

/// A function under its own conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionEntry {
    /// The function, or `baseline`, `same` or `direct`.
    pub function: String,
    /// Its conditions, which override those of the study.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub at: ConditionsSection,
    /// Whether it is also measured at the points listed in its file. Default: as for the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<bool>,
}
