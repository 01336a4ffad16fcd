//! Something refers to a cluster that does not exist.

use super::hint;
use crate::found::Found;
use crate::proxy::{Cluster, Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unknown-cluster",
    severity: Severity::Error,
    title: "something refers to a cluster that does not exist",
    why: "Requests get 503, connections are closed, and calls of filters fail. Envoy refuses routes of the bootstrap to unknown clusters, but starts with a TCP proxy to an unknown cluster.",
    cure: "Define the cluster, or correct the name.",
    source: "https://github.com/envoyproxy/envoy/issues/3237; istioctl analyze IST0101",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    if !proxy.is_complete {
        return;
    }
    let known: Vec<&str> = proxy.clusters.iter().map(Cluster::name).collect();
    let mut check = |node: &Node<'_>, name: &str| {
        if !name.is_empty() && proxy.cluster(name).is_none() {
            let hint = hint(name, known.iter().copied(), found);
            found.push(Found::new(node.at.as_str(), format!("there is no cluster `{name}`{hint}")));
        }
    };
    for route in &proxy.routes {
        let Some(action) = route.action() else { continue };
        if let Some(node) = action.get("/cluster") {
            check(&node, action.text("/cluster"));
        }
        for one in action.items("/weighted_clusters/clusters") {
            if let Some(node) = one.get("/name") {
                check(&node, one.name());
            }
        }
    }
    for (node, name) in &proxy.of_tcp {
        check(node, name);
    }
    // Clusters of filters, logs, tracers and sources of keys, and the targets of request mirroring.
    for node in proxy.index.with_any(&["uri", "request_mirror_policies", "envoy_grpc"]) {
        let of_uri = if node.has("/uri") { node.get("/cluster") } else { None };
        let of_mirrors = node.items("/request_mirror_policies").into_iter();
        let of_mirrors = of_mirrors.filter_map(|mirror| mirror.get("/cluster"));
        let named = node.get("/envoy_grpc/cluster_name").into_iter().chain(of_uri).chain(of_mirrors);
        for named in named {
            check(&named, named.text(""));
        }
    }
}
