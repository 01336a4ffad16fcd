//! What makes the network of pods, and which meshes are installed, as images of containers with known names. If the cluster does not list
//! pods, or has others, the result lacks them.

use std::collections::BTreeSet;

use hoptax_cluster::job::pods::List;
use hoptax_cluster::{Cluster, Pod, selector};

/// The containers that make the network of pods on each node (CNI), by the manifests of their projects: Calico, Cilium, Flannel, that of
/// Amazon, Antrea, kindnet, kube-router, OVN-Kubernetes and Weave.
const NETWORKS: [&str; 9] = [
    "calico-node",
    "cilium-agent",
    "kube-flannel",
    "aws-node",
    "antrea-agent",
    "kindnet-cni",
    "kube-router",
    "ovnkube-controller",
    "weave",
];

/// The control planes of meshes, by their charts: labels of their pods, and the container whose image states the version of the mesh.
const CONTROL_PLANES: [(&[(&str, &str)], &str); 4] = [
    (&[("app", "istiod")], "discovery"),
    (&[("app", "consul"), ("component", "server")], "consul"),
    (&[("linkerd.io/control-plane-component", "destination")], "destination"),
    (&[("app", "kuma-control-plane")], "control-plane"),
];

/// The images of what makes the network of pods on these nodes, each once.
pub(super) fn networks(cluster: &Cluster, nodes: &[String]) -> Vec<String> {
    let of_node =
        |node: &String| pods(cluster, &selector("fieldSelector", &[("spec.nodeName", node.as_str())]));
    let pods: Vec<Pod> = nodes.iter().flat_map(of_node).collect();
    images(&pods, &NETWORKS)
}

/// The images of the control planes of meshes, each once.
pub(super) fn control_planes(cluster: &Cluster) -> Vec<String> {
    let of_mesh = |(labels, container): (&[(&str, &str)], &str)| {
        images(&pods(cluster, &selector("labelSelector", labels)), &[container])
    };
    CONTROL_PLANES.into_iter().flat_map(of_mesh).collect()
}

/// The pods of all namespaces that a query selects.
fn pods(cluster: &Cluster, query: &str) -> Vec<Pod> {
    let pods: Result<List<Pod>, _> = cluster.get(&format!("/api/v1/pods?{query}"), "list pods");
    pods.map_or_else(|_| Vec::new(), |pods| pods.items)
}

/// The images of these containers, each once.
fn images(pods: &[Pod], containers: &[&str]) -> Vec<String> {
    let of_pod = |pod: &Pod| {
        let images = containers.iter().filter_map(|container| pod.image(container));
        images.map(str::to_owned).collect::<Vec<_>>()
    };
    let all: BTreeSet<String> = pods.iter().flat_map(of_pod).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_those_of_known_containers_and_each_is_named_once() {
        let pod = |containers: &[(&str, &str)]| -> Pod {
            let of = |(name, image): &(&str, &str)| json!({"name": name, "image": image});
            let containers: Vec<_> = containers.iter().map(of).collect();
            serde_json::from_value(json!({"metadata": {"name": "one"}, "spec": {"containers": containers}}))
                .unwrap()
        };
        let flannel = ("kube-flannel", "flannel:v0.26");
        let pods = [
            // Canal has both.
            pod(&[("calico-node", "calico/node:v3.29"), flannel]),
            pod(&[("calico-node", "calico/node:v3.29"), flannel]),
            pod(&[("coredns", "coredns:1.12")]),
        ];
        assert_eq!(images(&pods, &NETWORKS), ["calico/node:v3.29", "flannel:v0.26"]);
        let istiod = pod(&[("discovery", "istio/pilot:1.31.0"), ("istio-proxy", "istio/proxyv2:1.31.0")]);
        assert_eq!(images(&[istiod], &[CONTROL_PLANES[0].1]), ["istio/pilot:1.31.0"]);
        assert_eq!(images(&pods[2..], &NETWORKS), Vec::<String>::new());
    }
}
