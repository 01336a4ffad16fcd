//! The namespaces of a measurement, and what a cluster says of itself.

use hoptax_cluster::{Cluster, Refused};
use hoptax_result::ClusterNode;
use serde_json::Value;

use crate::plan::Plan;

/// The namespaces. They are removed when this is dropped.
pub(super) struct Lab<'a> {
    cluster: &'a Cluster,
    namespaces: Vec<String>,
}

impl<'a> Lab<'a> {
    /// Makes the namespaces of all arms with the objects of their templates.
    pub(super) fn make(plan: &Plan, cluster: &'a Cluster) -> Result<Self, Refused> {
        let mut lab = Self { cluster, namespaces: Vec::new() };
        for arm in &plan.arms {
            // Before it is made: it may be there although the answer is lost.
            lab.namespaces.push(arm.namespace.as_str().to_owned());
            cluster.make(&arm.namespace_manifest(), None)?;
            for object in &arm.template.objects {
                cluster.make(&arm.owned(object), Some(arm.namespace.as_str()))?;
            }
        }
        Ok(lab)
    }

    /// Their names.
    pub(super) fn listed(&self) -> String {
        let named: Vec<String> = self.namespaces.iter().map(|name| format!("`{name}`")).collect();
        named.join(", ")
    }

    /// Removes them. Returns why some were not.
    pub(super) fn end(mut self) -> Vec<String> {
        self.remove()
    }

    fn remove(&mut self) -> Vec<String> {
        let (cluster, namespaces) = (self.cluster, std::mem::take(&mut self.namespaces));
        let remove = |name: String| {
            let removed =
                cluster.remove(&format!("/api/v1/namespaces/{name}"), &format!("remove namespace `{name}`"));
            removed.err().map(|refused| {
                format!(
                    "namespace `{name}` was not removed: `kubectl --context {} delete namespace {name}` does; {refused}",
                    cluster.context()
                )
            })
        };
        namespaces.into_iter().filter_map(remove).collect()
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        // Whoever wants to know why ends it.
        let _ = self.remove();
    }
}

/// The version of the API server.
pub(super) fn version(cluster: &Cluster) -> Result<String, Refused> {
    let version: Value = cluster.get("/version", "state its version")?;
    Ok(version["gitVersion"].as_str().unwrap_or_default().to_owned())
}

/// A node, as it describes itself.
pub(super) fn node(cluster: &Cluster, name: &str) -> Result<ClusterNode, Refused> {
    let node: Value = cluster.get(&format!("/api/v1/nodes/{name}"), &format!("show node `{name}`"))?;
    let of = |key: &str| node["status"]["nodeInfo"][key].as_str().unwrap_or_default().to_owned();
    let capacity = |key: &str| node["status"]["capacity"][key].as_str().unwrap_or_default();
    let memory_kib: u64 = capacity("memory").trim_end_matches("Ki").parse().unwrap_or_default();
    Ok(ClusterNode {
        name: name.to_owned(),
        kind: node["metadata"]["labels"]["node.kubernetes.io/instance-type"].as_str().map(str::to_owned),
        kernel: of("kernelVersion"),
        system: of("osImage"),
        architecture: of("architecture"),
        kubelet: of("kubeletVersion"),
        runtime: of("containerRuntimeVersion"),
        processors: capacity("cpu").parse().unwrap_or_default(),
        memory_bytes: memory_kib * 1024,
    })
}
