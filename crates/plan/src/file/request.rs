//! The requests of an arm, as far as a study file states them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requests of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestSection {
    /// The method. Default: `GET`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Z]+$"))]
    pub method: Option<String>,
    /// The host, as in the `Host` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub host: Option<String>,
    /// The path, with a query if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^/"))]
    pub path: Option<String>,
    /// Headers. Those that authenticate to the configuration with credentials of the lab are added.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}
