//! The cluster that a result was measured in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cluster of Kubernetes, in whose pods callers, proxies and servers were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterEnvironment {
    /// Version of its API server.
    pub kubernetes: String,
    /// The nodes of the pods: that of the servers, then that of the callers if it is another one.
    pub nodes: Vec<ClusterNode>,
    /// The images of the containers of proxies, each once.
    pub proxies: Vec<String>,
}

/// A node, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterNode {
    /// Its name.
    pub name: String,
    /// Its type by its label, for example `m6i.large`; null if it has none.
    pub kind: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Operating system.
    pub system: String,
    /// Architecture.
    pub architecture: String,
    /// Version of its kubelet.
    pub kubelet: String,
    /// Container runtime with its version.
    pub runtime: String,
    /// Processors.
    pub processors: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
}
