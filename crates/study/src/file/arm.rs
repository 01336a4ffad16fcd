//! The ways to name an arm in a study file.

use hoptax_functions::FilterOrder;
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
    /// Several functions in one proxy.
    Composed(ComposedEntry),
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

/// An arm with several functions in one proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComposedEntry {
    /// Its name, which is not that of a function: letters, digits, `-`, `_` and `.`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// Its functions.
    #[schemars(length(min = 1))]
    pub functions: Vec<String>,
    /// The order of their HTTP filters: `recommended` is the default order of Envoy Gateway.
    #[serde(default)]
    pub order: OrderWord,
    /// Its conditions, which override those of the study.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub at: ConditionsSection,
}

/// The order of the HTTP filters of several functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum OrderWord {
    /// The default order of Envoy Gateway.
    #[default]
    Recommended,
    /// The order of the list.
    AsWritten,
}

impl From<OrderWord> for FilterOrder {
    fn from(word: OrderWord) -> Self {
        match word {
            OrderWord::Recommended => Self::Recommended,
            OrderWord::AsWritten => Self::AsWritten,
        }
    }
}
