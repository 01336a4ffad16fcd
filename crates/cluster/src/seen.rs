//! A pod of a measurement as the cluster shows it: its address, its containers, and why it does not start.

use crate::described::{Condition, ContainerStatus, Pod, Status, WaitsFor};
use crate::job::{CONTAINER, ORIGIN, READER};

/// A reason why a pod does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTrouble {
    /// The cause with the next step, worded to end a sentence about the pod.
    pub why: String,
    /// True if waiting does not help; otherwise the cluster may still recover.
    pub is_certain: bool,
}

impl Pod {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The node that it is on, once it has one.
    pub fn node(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }

    /// Its address, once it has one.
    pub fn address(&self) -> Option<&str> {
        self.status.address.as_deref()
    }

    /// True if it is ready, and thereby all its containers.
    pub fn is_ready(&self) -> bool {
        let is_ready = |condition: &Condition| condition.kind == "Ready" && condition.status == "True";
        self.status.conditions.iter().any(is_ready)
    }

    /// True if none of its containers is running or will run again.
    pub fn has_ended(&self) -> bool {
        ["Failed", "Succeeded"].contains(&self.status.phase.as_str())
    }

    /// The image of a container, including init containers; none if there is no such container.
    pub fn image(&self, container: &str) -> Option<&str> {
        let mut all = self.spec.containers.iter().chain(&self.spec.init_containers);
        all.find(|one| one.name == container).map(|one| one.image.as_str())
    }

    /// The names of its containers.
    pub fn containers(&self) -> Vec<&str> {
        let all = self.spec.containers.iter().chain(&self.spec.init_containers);
        all.map(|one| one.name.as_str()).collect()
    }

    /// The id of a container, as its runtime states it; none before it has started.
    pub fn container_id(&self, container: &str) -> Option<&str> {
        let Status { container_statuses, init_container_statuses, .. } = &self.status;
        let mut all = container_statuses.iter().chain(init_container_statuses);
        // Remove the prefix with the name of the runtime.
        all.find(|one| one.name == container)?.id.split_once("://").map(|(_, id)| id)
    }

    /// The reason why it does not start; none while it is starting, and once it is ready.
    pub fn trouble(&self) -> Option<PodTrouble> {
        let Status { container_statuses, init_container_statuses, .. } = &self.status;
        let mut of_containers = init_container_statuses.iter().chain(container_statuses);
        if let Some(trouble) = of_containers.find_map(ContainerStatus::trouble) {
            return Some(trouble);
        }
        if self.has_ended() {
            return Some(PodTrouble { why: format!("has ended{}", self.status.said()), is_certain: true });
        }
        let said = self.status.unscheduled()?;
        // The cluster may add a node.
        let why = format!("fits on no node: {said}; free a node for it, or add one");
        Some(PodTrouble { why, is_certain: false })
    }
}

impl ContainerStatus {
    fn trouble(&self) -> Option<PodTrouble> {
        let Self { name, state, .. } = self;
        if let Some(waiting) = &state.waiting {
            let said = waiting.in_full();
            return match waiting.waits_for() {
                WaitsFor::Start => None,
                WaitsFor::Image { is_certain } => Some(PodTrouble {
                    why: format!(
                        "cannot get the image of container `{name}` ({said}); check --image and --pull, and whether nodes may pull it"
                    ),
                    is_certain,
                }),
                WaitsFor::Other => Some(PodTrouble {
                    why: format!("does not start container `{name}` ({said})"),
                    is_certain: false,
                }),
            };
        }
        let ended = state.terminated.as_ref()?;
        let advice = if [CONTAINER, ORIGIN, READER].contains(&name.as_str()) {
            "the image needs this version of hoptax at `/hoptax`"
        } else {
            "it belongs to the mesh or to its template; its log says more"
        };
        // An init container ends successfully.
        (ended.exit_code != 0).then(|| PodTrouble {
            why: format!(
                "has a container `{name}` that ended with code {} ({}); {advice}",
                ended.exit_code,
                ended.last_words()
            ),
            is_certain: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: &Value) -> Pod {
        let spec = json!({
            "nodeName": "node-1",
            "containers": [{"name": "origin", "image": "a:1"}],
            "initContainers": [{"name": "istio-proxy", "image": "proxy:1.29"}],
        });
        serde_json::from_value(json!({"metadata": {"name": "origin"}, "spec": spec, "status": status}))
            .unwrap()
    }

    #[test]
    fn a_pod_shows_its_address_its_node_and_the_images_of_all_its_containers() {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let pod = pod(&json!({"phase": "Running", "podIP": "10.0.0.1", "conditions": ready}));
        assert_eq!((pod.name(), pod.node(), pod.address()), ("origin", Some("node-1"), Some("10.0.0.1")));
        assert!(pod.is_ready() && pod.trouble().is_none());
        assert_eq!((pod.image("istio-proxy"), pod.image("envoy")), (Some("proxy:1.29"), None));
        assert_eq!(pod.containers(), ["origin", "istio-proxy"]);
    }

    #[test]
    fn the_id_of_a_container_is_that_of_its_runtime_once_it_has_begun() {
        let pod = pod(&json!({
            "containerStatuses": [{"name": "origin", "containerID": "containerd://0a1b"}],
            "initContainerStatuses": [
                {"name": "istio-proxy", "containerID": "cri-o://ff"}, {"name": "waits"}, {"name": "odd", "containerID": "ff"},
            ],
        }));
        let ids = ["origin", "istio-proxy", "waits", "odd", "none"].map(|name| pod.container_id(name));
        assert_eq!(ids, [Some("0a1b"), Some("ff"), None, None, None]);
    }

    #[test]
    fn a_pod_that_does_not_come_has_a_reason_and_a_next_step() {
        let container = |state: Value| json!({"containerStatuses": [{"name": "origin", "state": state}]});
        let waiting = |reason: &str| container(json!({"waiting": {"reason": reason, "message": "no"}}));
        let unscheduled =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1"});
        for (status, expected) in [
            (waiting("ContainerCreating"), None),
            (waiting("ErrImagePull"), Some(("--image", false))),
            (waiting("ErrImageNeverPull"), Some(("(ErrImageNeverPull: no)", true))),
            (waiting("CrashLoopBackOff"), Some(("does not start container `origin`", false))),
            (
                container(json!({"terminated": {"exitCode": 2, "message": "bad"}})),
                Some(("code 2 (bad)", true)),
            ),
            (container(json!({"terminated": {"exitCode": 0}})), None),
            (
                container(json!({"terminated": {"exitCode": 1, "reason": "Error"}})),
                Some(("code 1 (Error); the image needs", true)),
            ),
            (
                json!({"initContainerStatuses": [{"name": "istio-init", "state": {"terminated": {"exitCode": 1}}}]}),
                Some(("it belongs to the mesh", true)),
            ),
            (json!({"phase": "Failed", "message": "full"}), Some(("has ended: full", true))),
            (json!({"conditions": [unscheduled]}), Some(("fits on no node: 0/1", false))),
        ] {
            let trouble = pod(&status).trouble();
            match expected {
                None => assert_eq!(trouble, None, "{status}"),
                Some((text, is_certain)) => {
                    let trouble = trouble.unwrap();
                    assert!(trouble.why.contains(text) && trouble.is_certain == is_certain, "{trouble:?}");
                }
            }
        }
    }
}
