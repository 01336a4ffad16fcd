//! Additions to a pod: labels, annotations and containers of a mesh, the network of its node, or a certain node.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::on_nodes;

/// The additions to a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodPatch {
    /// Additional labels.
    pub labels: BTreeMap<String, String>,
    /// Additional annotations.
    pub annotations: BTreeMap<String, String>,
    /// Additional keys of its specification. Lists, such as `containers`, are appended to the existing ones.
    pub spec: Map<String, Value>,
    /// True to use the network of its node.
    pub has_host_network: bool,
    /// The node that it must run on; none to let the scheduler choose.
    pub node: Option<String>,
    /// True for a small CPU request without a limit, because many such pods are idle while one is working.
    pub shares_processors: bool,
}

impl PodPatch {
    /// Applies the additions to a pod with `metadata` and `spec`.
    pub fn apply_to(&self, pod: &mut Value) {
        for (part, more) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            for (key, value) in more {
                pod["metadata"][part][key] = json!(value);
            }
        }
        for (key, value) in &self.spec {
            let there = &mut pod["spec"][key];
            let list = if value.is_array() { there.as_array_mut() } else { None };
            if let (Some(list), Some(more)) = (list, value.as_array()) {
                list.extend(more.iter().cloned());
            } else {
                pod["spec"][key] = value.clone();
            }
        }
        if self.has_host_network {
            pod["spec"]["hostNetwork"] = json!(true);
        }
        if let Some(node) = &self.node {
            pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                on_nodes(std::slice::from_ref(node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_added_to_and_other_keys_replaced() {
        let spec =
            json!({"containers": [{"name": "proxy"}], "volumes": [{"name": "v"}], "restartPolicy": "Always"});
        let patch = PodPatch {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            spec: spec.as_object().unwrap().clone(),
            has_host_network: true,
            node: Some("node-1".to_owned()),
            ..PodPatch::default()
        };
        let mut pod = json!({
            "metadata": {"labels": {"app": "origin"}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "origin"}],
                "affinity": {"podAntiAffinity": {"of": "the pod"}},
            },
        });
        patch.apply_to(&mut pod);
        let expected = json!({
            "metadata": {"labels": {"app": "origin", "a": "b"}},
            "spec": {
                "restartPolicy": "Always",
                "containers": [{"name": "origin"}, {"name": "proxy"}],
                "volumes": [{"name": "v"}],
                "hostNetwork": true,
                "affinity": {
                    "podAntiAffinity": {"of": "the pod"},
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]},
                            ],
                        },
                    },
                },
            },
        });
        assert_eq!(pod, expected);
        let before = pod.clone();
        PodPatch::default().apply_to(&mut pod);
        assert_eq!(pod, before);
    }
}
