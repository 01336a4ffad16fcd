//! Containers whose CPU time is needed, with their nodes. Shared proxies are looked up each time, because their pods come and go.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_cluster::job::pods::List;
use hoptax_cluster::usage::Container;
use hoptax_cluster::{Cluster, Pod, Refused};

use crate::plan::Plan;
use crate::template::Shared;

/// A container whose CPU time is needed.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) container: Container,
    pub(super) node: String,
    /// Its id; none if its pod does not state one.
    pub(super) id: Option<String>,
}

/// The shared proxies of all arms.
pub(super) fn all_shared(plan: &Plan) -> impl Iterator<Item = &Shared> {
    plan.arms.iter().flat_map(|arm| &arm.template.shared)
}

/// The namespaces of all containers whose CPU time is needed.
pub(super) fn namespaces(plan: &Plan) -> BTreeSet<String> {
    let own = plan.arms.iter().map(|arm| arm.namespace.as_str());
    own.chain(all_shared(plan).map(|shared| shared.namespace.as_str())).map(str::to_owned).collect()
}

/// True if a container belongs to a shared proxy.
pub(super) fn is_of(shared: &Shared, container: &Container) -> bool {
    container.namespace == shared.namespace
        && container.pod.starts_with(&shared.pods)
        && container.name == shared.container
}

/// The pods of a namespace.
pub(super) fn pods_of(cluster: &Cluster, namespace: &str) -> Result<Vec<Pod>, Refused> {
    let pods: List<Pod> = cluster.get(&format!("/api/v1/namespaces/{namespace}/pods"), "list pods")?;
    Ok(pods.items)
}

/// The shared proxies on these nodes.
pub(super) fn shared(plan: &Plan, nodes: &[String], cluster: &Cluster) -> Result<Vec<Placed>, Refused> {
    let mut found: BTreeMap<Container, Placed> = BTreeMap::new();
    for shared in all_shared(plan) {
        let all = of_pods(&pods_of(cluster, &shared.namespace)?, shared, nodes).into_iter();
        found.extend(all.map(|placed| (placed.container.clone(), placed)));
    }
    Ok(found.into_values().collect())
}

/// The shared proxies among these pods, including those that are not ready, because they use CPU time as well.
fn of_pods(pods: &[Pod], shared: &Shared, nodes: &[String]) -> Vec<Placed> {
    let of = |pod: &Pod| {
        let node = pod.node().filter(|node| nodes.iter().any(|other| other == node))?;
        let container = Container {
            namespace: shared.namespace.clone(),
            pod: pod.name().to_owned(),
            name: shared.container.clone(),
        };
        // Check for the container: an unrelated pod may have a similar name.
        let is_one = is_of(shared, &container) && pod.image(&shared.container).is_some() && !pod.has_ended();
        let id = pod.container_id(&shared.container).map(str::to_owned);
        is_one.then(|| Placed { container, node: node.to_owned(), id })
    };
    pods.iter().filter_map(of).collect()
}

/// A shared proxy and a node without it; none if each node has one of each.
pub(super) fn absent<'a>(
    plan: &'a Plan,
    nodes: &'a [String],
    placed: &[Placed],
) -> Option<(&'a Shared, &'a str)> {
    all_shared(plan).find_map(|shared| {
        let is_there =
            |node: &str| placed.iter().any(|one| one.node == node && is_of(shared, &one.container));
        let without = nodes.iter().find(|node| !is_there(node))?;
        Some((shared, without.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::tests::plan;

    fn pod(name: &str, node: &str, status: &Value) -> Pod {
        let containers = json!([{"name": "istio-proxy", "image": "ztunnel:1"}]);
        let spec = json!({"nodeName": node, "containers": containers});
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec, "status": status})).unwrap()
    }

    fn status(phase: &str, is_ready: bool) -> Value {
        let ready = if is_ready { "True" } else { "False" };
        json!({
            "phase": phase,
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "istio-proxy", "containerID": "containerd://0a1b"}],
        })
    }

    #[test]
    fn a_shared_proxy_that_is_not_ready_counts_and_one_that_has_ended_or_is_elsewhere_does_not() {
        let plan = plan(&["istio-ambient"]).unwrap();
        let nodes = ["a", "b"].map(str::to_owned);
        let pods = [
            pod("ztunnel-1", "a", &status("Running", true)),
            pod("ztunnel-2", "b", &status("Running", false)),
            pod("ztunnel-3", "b", &status("Failed", false)),
            pod("ztunnel-4", "c", &status("Running", true)),
            pod("istiod-1", "a", &status("Running", true)),
            // It has no id yet, which whoever needs it waits for.
            pod("ztunnel-5", "a", &json!({"phase": "Pending"})),
        ];
        let shared = all_shared(&plan).next().unwrap();
        let found = of_pods(&pods, shared, &nodes);
        let names: Vec<(&str, Option<&str>)> =
            found.iter().map(|one| (one.container.pod.as_str(), one.id.as_deref())).collect();
        assert_eq!(names, [("ztunnel-1", Some("0a1b")), ("ztunnel-2", Some("0a1b")), ("ztunnel-5", None)]);
    }

    #[test]
    fn namespaces_are_those_of_arms_and_of_what_is_shared() {
        let all = namespaces(&plan(&["istio-ambient"]).unwrap());
        assert!(all.contains("istio-system") && all.len() == 4, "{all:?}");
    }

    #[test]
    fn each_node_has_to_have_what_is_shared() {
        let plan = plan(&["istio-ambient"]).unwrap();
        let nodes = ["a", "b"].map(str::to_owned);
        let shared = all_shared(&plan).next().unwrap();
        let placed = |pods: &[Pod]| of_pods(pods, shared, &nodes);
        let (first, second) = (
            pod("ztunnel-1", "a", &status("Running", true)),
            pod("ztunnel-2", "b", &status("Running", true)),
        );
        let absent = |pods: &[Pod]| absent(&plan, &nodes, &placed(pods)).map(|(_, node)| node.to_owned());
        assert_eq!(absent(&[first.clone(), second.clone()]), None);
        assert_eq!(absent(&[first]).as_deref(), Some("b"));
        assert_eq!(absent(&[]).as_deref(), Some("a"));
    }
}
