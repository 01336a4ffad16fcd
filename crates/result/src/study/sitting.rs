//! A sitting of a study whose numbers are combined from several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Program, Verdict};

/// One sitting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SittingRecord {
    /// Its begin, RFC 3339 in UTC.
    pub started_at: String,
    /// Its end, RFC 3339 in UTC; null if it is not known, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The name of its folder.
    pub folder: String,
    /// Complete rounds.
    pub rounds: u32,
    /// Its verdict.
    pub verdict: Verdict,
    /// The program that made it.
    pub program: Program,
}
