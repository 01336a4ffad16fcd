//! Readers of CPU times: a `DaemonSet` with a pod on each node that has measured pods.
//!
//! Each pod sees the control groups of its node, which every user of the node may read, and cannot change any of them. The `DaemonSet`
//! belongs to a Job of the measurement, so it is deleted with the Job even if nobody else deletes it. Pod Security forbids folders of the
//! node (`hostPath`), except in namespaces that permit privileged pods.

use serde_json::{Value, json};

use super::{PORT, Pull, READER, container_security, on_nodes, pod_security, shared_resources};
use crate::name::Namespace;

/// The folder of the control groups, both on a node and in a pod, where a runtime mounts the pod's own ones at the default path.
const ON_NODE: &str = "/sys/fs/cgroup";
const IN_POD: &str = "/node/cgroup";
/// The memory of a reader, MiB.
const MEMORY_MIB: u32 = 128;

/// Readers on some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readers {
    /// The name of the `DaemonSet`, which is the prefix of its pods' names.
    pub name: String,
    /// Its namespace, which permits privileged pods.
    pub namespace: Namespace,
    /// The image, with the program at `/hoptax`.
    pub image: String,
    /// When nodes pull it.
    pub pull: Pull,
    /// The nodes.
    pub nodes: Vec<String>,
}

impl Readers {
    /// The manifest of the `DaemonSet`, with this owner reference.
    pub fn manifest(&self, owner: &Value) -> Value {
        let labels = json!({"app": self.name});
        json!({
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                "name": self.name, "namespace": self.namespace.as_str(), "labels": labels, "ownerReferences": [owner],
            },
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": self.pod()},
            },
        })
    }

    fn pod(&self) -> Value {
        json!({
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": pod_security(),
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": on_nodes(&self.nodes)}},
            // Readers must run wherever measured pods run.
            "tolerations": [{"operator": "Exists"}],
            "containers": [self.container()],
            "volumes": [{"name": "groups", "hostPath": {"path": ON_NODE, "type": "Directory"}}],
        })
    }

    fn container(&self) -> Value {
        let listen = format!("127.0.0.1:{PORT}");
        json!({
            "name": READER,
            "image": self.image,
            "imagePullPolicy": self.pull.word(),
            "command": ["/hoptax"],
            "args": ["lab", "reader", "--quiet", "--listen", listen, "--groups", IN_POD],
            "resources": shared_resources(MEMORY_MIB),
            "securityContext": container_security(),
            "terminationMessagePolicy": "FallbackToLogsOnError",
            // In control groups version 1, each hierarchy is a separate mount below the folder.
            "volumeMounts": [
                {"name": "groups", "mountPath": IN_POD, "readOnly": true, "recursiveReadOnly": "IfPossible"},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::document;

    fn readers() -> Readers {
        Readers {
            name: "readers-0".to_owned(),
            namespace: "hoptax-mesh-1".parse().unwrap(),
            image: "registry.example/hoptax:1".to_owned(),
            pull: Pull::IfNotPresent,
            nodes: vec!["node-1".to_owned(), "node-2".to_owned()],
        }
    }

    fn manifest() -> Value {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "hoptax-load-1", "uid": "UID"});
        readers().manifest(&owner)
    }

    #[test]
    fn the_manifest_is_the_one_that_a_dry_run_shows() {
        let shown = document(&manifest());
        assert_eq!(shown, include_str!("readers.yaml"), "{shown}");
    }

    #[test]
    fn a_reader_sees_one_folder_of_its_node_and_may_change_nothing() {
        let manifest = manifest();
        let pod = &manifest["spec"]["template"]["spec"];
        for shared in ["hostNetwork", "hostPID", "hostIPC", "initContainers", "serviceAccountName"] {
            assert!(pod.get(shared).is_none(), "{shared}");
        }
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert!(pod["securityContext"]["runAsUser"].as_u64() > Some(0));
        let [volume] = pod["volumes"].as_array().unwrap().as_slice() else { panic!("{pod}") };
        assert_eq!(volume["hostPath"]["path"], "/sys/fs/cgroup");
        let [container] = pod["containers"].as_array().unwrap().as_slice() else { panic!("{pod}") };
        let [mount] = container["volumeMounts"].as_array().unwrap().as_slice() else { panic!("{pod}") };
        assert_eq!((&mount["name"], &mount["readOnly"]), (&volume["name"], &json!(true)));
        let security = &container["securityContext"];
        assert_eq!(security["allowPrivilegeEscalation"], false);
        assert_eq!(security["capabilities"], json!({"drop": ["ALL"]}));
        assert!(security.get("privileged").is_none() && container.get("ports").is_none());
        let arguments = container["args"].as_array().unwrap();
        assert!(arguments.contains(&json!("127.0.0.1:8420")) && arguments.contains(&mount["mountPath"]));
    }
}
