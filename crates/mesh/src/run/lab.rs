//! The namespaces of a measurement, and the cluster's description of itself.

use std::thread;
use std::time::{Duration, Instant};

use hoptax_cluster::job::pods::List;
use hoptax_cluster::{Cluster, Refused};
use hoptax_result::ClusterNode;
use serde_json::Value;

use crate::plan::Plan;

/// Time limit for namespaces to disappear. Their pods end first, within seconds.
const GONE: Duration = Duration::from_mins(1);
/// Polling interval until they are gone.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The namespaces, which are deleted when this is dropped.
pub(super) struct Lab<'a> {
    cluster: &'a Cluster,
    namespaces: Vec<String>,
}

impl<'a> Lab<'a> {
    /// Creates the namespaces of all arms with the objects of their templates.
    pub(super) fn make(plan: &Plan, cluster: &'a Cluster) -> Result<Self, Refused> {
        let mut lab = Self { cluster, namespaces: Vec::new() };
        for arm in &plan.arms {
            // Record it before creating it: it may exist even if the answer is lost.
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

    /// Deletes them, and waits until they are gone. Returns the reasons why some are not.
    pub(super) fn end(mut self) -> Vec<String> {
        let cluster = self.cluster;
        let (mut left, mut problems) = self.remove();
        let began = Instant::now();
        loop {
            // Without an answer, assume that all still exist.
            let listed: Result<List<Value>, _> = cluster.get("/api/v1/namespaces", "list namespaces");
            left = listed.map_or_else(|_| left.clone(), |listed| still_there(&left, &listed.items));
            if left.is_empty() || began.elapsed() >= GONE {
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        problems.extend(left.iter().map(|name| {
            format!(
                "namespace `{name}` is still being removed after {} s: `kubectl --context {} get namespace {name} --output yaml` shows \
                 the reason",
                GONE.as_secs(),
                cluster.context()
            )
        }));
        problems
    }

    /// Requests their deletion. Returns those that are being deleted, and why others are not.
    fn remove(&mut self) -> (Vec<String>, Vec<String>) {
        let (mut going, mut problems) = (Vec::new(), Vec::new());
        for name in std::mem::take(&mut self.namespaces) {
            let path = format!("/api/v1/namespaces/{name}");
            match self.cluster.remove(&path, &format!("remove namespace `{name}`")) {
                Ok(()) => going.push(name),
                Err(refused) => problems.push(format!(
                    "namespace `{name}` was not removed: `kubectl --context {} delete namespace {name}` does; {refused}",
                    self.cluster.context()
                )),
            }
        }
        (going, problems)
    }
}

/// Those of these names that listed objects have.
fn still_there(names: &[String], listed: &[Value]) -> Vec<String> {
    let is_listed = |name: &&String| {
        listed.iter().any(|object| object["metadata"]["name"].as_str() == Some(name.as_str()))
    };
    names.iter().filter(is_listed).cloned().collect()
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        // Callers that need the reasons call `end`.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn namespaces_are_gone_when_they_are_not_listed_any_more() {
        let named = |name: &str| json!({"metadata": {"name": name}, "status": {"phase": "Terminating"}});
        let names = ["hoptax-mesh-1-a", "hoptax-mesh-1-b"].map(str::to_owned);
        let listed = [named("default"), named("hoptax-mesh-1-b"), named("hoptax-mesh-2-a")];
        assert_eq!(still_there(&names, &listed), ["hoptax-mesh-1-b"]);
        assert_eq!(still_there(&names, &listed[..1]), Vec::<String>::new());
    }
}
