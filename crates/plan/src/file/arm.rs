//! The ways to name an arm in a study file.

use std::collections::BTreeMap;

use hoptax_functions::FilterOrder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApplicationEntry, ConditionsSection, ExternalEntry, HopEntry, NetworkSection, Protocol, RequestSection,
    SubjectEntry,
};

/// One arm of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ArmEntry {
    /// An arm by its name.
    Name(String),
    /// An arm by the position of its proxies.
    Subject(SubjectEntry),
    /// A function that is loaded, serves requests, and is removed again before measuring: short for an arm with a name, this function
    /// and `unloaded: true`.
    Unloaded(UnloadedEntry),
    /// A function under its own conditions.
    Function(FunctionEntry),
    /// A chain of proxies.
    Chain(ChainEntry),
    /// A server that already runs.
    External(ExternalEntry),
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
    /// The protocol of its requests, as `protocol` of `at`: `http1`, `http2`, `grpc`, `websocket` or `tcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Its conditions, which override those of the study.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub at: ConditionsSection,
    /// Measure it also at the points listed in its file. Default: as for the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<bool>,
}

/// An arm with a name and a chain of proxies: one, unless it lists `hops`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainEntry {
    /// Its name, which must not be the name of a function: letters, digits, `-`, `_` and `.`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// Its proxies, from the caller to the origin: names of plain proxies, or mappings. An empty list is no proxy. The
    /// default is one proxy, described by the keys below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub hops: Option<Vec<HopEntry>>,
    /// Functions of its only proxy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub functions: Vec<String>,
    /// The order of their HTTP filters: `recommended` is the default order of Envoy Gateway.
    #[serde(default)]
    pub order: FilterOrder,
    /// Envoy of its only proxy: a release such as `1.39.3`, the path of a program, or its name on PATH. Default: as for
    /// the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub envoy: Option<String>,
    /// Flags of its only proxy, in addition to those of hoptax, as on a command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Environment variables of its only proxy, in addition to those of hoptax.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Remove the functions of its proxies again before it is measured, after they served requests. It shows what
    /// functions leave behind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unloaded: bool,
    /// The network between callers and its proxies. Requires root. Default: the loopback interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSection>,
    /// The name of an earlier arm with a name that it is compared with, instead of a plain proxy. An arm that equals it is
    /// the A/A arm of the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<String>,
    /// The protocol of its requests, as `protocol` of `at`: `http1`, `http2`, `grpc`, `websocket` or `tcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The application behind it, as for the study. It is compared with a plain proxy in front of the same application.
    /// Default: that of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationEntry>,
    /// Its conditions, which override those of the study.
    #[serde(default, skip_serializing_if = "ConditionsSection::is_empty")]
    pub at: ConditionsSection,
    /// Its requests, if a proxy has a `config`. Fields that are left out are derived from the routes of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestSection>,
}
