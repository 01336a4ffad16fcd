//! The cluster that a result was measured in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Kubernetes cluster whose pods ran callers, proxies and servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterEnvironment {
    /// Version of its API server.
    pub kubernetes: String,
    /// The nodes of the pods: that of the servers, then that of the callers if it is another one.
    pub nodes: Vec<ClusterNode>,
    /// The images of the containers of proxies, each once.
    pub proxies: Vec<String>,
    /// The images of what makes the network of pods on the nodes (CNI), each once, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// The images of the control planes of installed meshes, each once, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_planes: Vec<String>,
    /// Where the CPU times of containers are from; null in results of earlier versions, which are from the kubelets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTimeSource>,
}

/// Where the CPU times of containers in a cluster are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CpuTimeSource {
    /// Their control groups, which pods on their nodes read on request.
    Cgroup,
    /// The metrics of the kubelets, which read each container every 10 to 20 seconds.
    #[default]
    Kubelet,
    /// A Prometheus, which scrapes the kubelets at intervals.
    Prometheus,
}

impl CpuTimeSource {
    /// The source in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cgroup => "control groups",
            Self::Kubelet => "kubelets",
            Self::Prometheus => "Prometheus",
        }
    }
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
