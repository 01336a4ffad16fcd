//! Requests divided step by step, from all planned requests to the outcome of each.

use schemars::JsonSchema;
use serde::Serialize;

/// Requests that divide step by step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Flow {
    /// A description for screen readers.
    pub(crate) title: String,
    /// The thing that it counts: `requests`.
    pub(crate) unit: &'static str,
    /// The parts, each after the one that it is a part of; the first is the whole.
    pub(crate) parts: Vec<FlowPart>,
}

/// A part of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FlowPart {
    /// Its name.
    pub(crate) name: String,
    /// Place of the part that it is a part of, from 0; none for the whole.
    pub(crate) of: Option<usize>,
    /// The number of requests.
    pub(crate) count: u64,
    /// Its role, by which it is coloured.
    pub(crate) role: FlowRole,
}

/// Role of a part of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FlowRole {
    /// All that were planned.
    Planned,
    /// Those that were sent.
    Sent,
    /// Those that were answered in full and as expected.
    Answered,
    /// Those of them that took longer than a limit.
    Slow,
    /// Those that the generator did not send.
    Unsent,
    /// Those that were sent and not answered.
    Lost,
}
