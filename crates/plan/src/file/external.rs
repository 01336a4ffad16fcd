//! Arms that are servers which already run.

use hoptax_host::running::Running;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConditionsSection, Protocol, RequestSection};

/// An arm that is a server which already runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalEntry {
    /// Its name, which must not be the name of a function: letters, digits, `-`, `_` and `.`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// The URL that requests are sent to: `http://127.0.0.1:15001/`. The server is never restarted and never stopped.
    #[schemars(length(min = 1))]
    pub url: String,
    /// The processes whose CPU time and memory are those of the arm. Default: none, and no costs in CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Running>,
    /// Its requests; their path is that of `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestSection>,
    /// The name of an earlier arm with a name that it is compared with, instead of a plain proxy. An arm that equals it is
    /// the A/A arm of the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<String>,
    /// The protocol of its requests, as `protocol` of `at`: `http1` or `http2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Its conditions, which override those of the study.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub at: ConditionsSection,
}
