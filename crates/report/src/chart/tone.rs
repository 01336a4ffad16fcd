//! Roles that determine the colours in a chart.

use schemars::JsonSchema;
use serde::Serialize;

/// Role of a line in its chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tone {
    /// The subject of the chart.
    Own,
    /// The reference that it is compared with.
    Other,
    /// Failures.
    Failed,
    /// A third thing beside the first two.
    Third,
    /// A fourth.
    Fourth,
    /// A fifth.
    Fifth,
}
