//! The proxies of an arm that lists them.

use std::collections::BTreeMap;

use hoptax_functions::FilterOrder;
use hoptax_result::HopProcessors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ProxyWord, TlsWord};

/// A proxy of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum HopEntry {
    /// A plain Envoy, by its name.
    Name(String),
    /// A proxy by its properties.
    Hop(Box<HopSection>),
}

/// The properties of a proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HopSection {
    /// Its name: letters, digits, `-`, `_` and `.`. With a `link`, a proxy named `client` is at the callers' end and all
    /// others are at the far end. Default: `hop-1`, `hop-2` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: Option<String>,
    /// `envoy`, or, for plain HTTP/1.1 without functions, one of the others. `haproxy-tcp` distributes connections instead of
    /// requests, of every protocol in plaintext.
    pub proxy: ProxyWord,
    /// Its functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// The order of their HTTP filters: `recommended` is the default order of Envoy Gateway.
    pub order: FilterOrder,
    /// The file of its configuration, instead of `functions`: an Envoy bootstrap or a `/config_dump`, in YAML or JSON. A
    /// relative path starts at the folder of the study file. Addresses, certificates and secrets of the configuration are
    /// replaced as for `hoptax price`, which lists them with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub config: Option<String>,
    /// The listener of the configuration to which requests are sent: its name, or a unique prefix of it. Default: the
    /// first that forwards a request, or else the first for which one can be derived from the routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub listener: Option<String>,
    /// Nodes that are removed from the configuration, by their JSON pointers in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Number of copies of the proxy, each with its own origin. The proxy before it distributes requests over them in turn, or connections
    /// if it is `haproxy-tcp`. Copies of `NAME` are `NAME-2`, `NAME-3` and so on. Only for the last proxy of an arm. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub clones: Option<u32>,
    /// The processors that it may use: `all` of the study, or a number of them. Those of the proxies come before those of generator
    /// and origin. Default: those of the proxies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<HopProcessors>,
    /// Nodes of the configuration that are replaced, by their JSON pointers, as if the file had these. Their addresses, files
    /// and secrets are replaced like those of the file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replace: BTreeMap<String, Value>,
    /// Its worker threads, which override `workers` of the conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub workers: Option<u32>,
    /// TLS of its connections. The two ends of a connection agree: it is enough to state it at one of them.
    #[serde(skip_serializing_if = "HopTls::is_empty")]
    pub tls: HopTls,
    /// Its Envoy: a release such as `1.39.3`, the path of a program, or its name on PATH. Default: as for the study.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub envoy: Option<String>,
    /// Flags of Envoy, in addition to those of hoptax, as on a command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Environment variables of Envoy, in addition to those of hoptax.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// TLS of the connections of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct HopTls {
    /// TLS of the connections that it accepts: `none`, `tls` or `mtls`, which may be written `mutual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downstream: Option<TlsWord>,
    /// TLS of the connections that it opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<TlsWord>,
}

impl HopTls {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
