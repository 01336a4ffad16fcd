//! The needed fields of a pod in the Kubernetes API.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::excerpt::excerpt;

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
    pub(crate) status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) creation_timestamp: String,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spec {
    pub(crate) node_name: Option<String>,
    pub(crate) containers: Vec<Container>,
    pub(crate) init_containers: Vec<Container>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) command: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<Variable>,
    pub(crate) ports: Vec<Port>,
    pub(crate) restart_policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// None for a value from elsewhere, such as a secret.
    pub(crate) value: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) container_port: u16,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Status {
    pub(crate) phase: String,
    pub(crate) reason: Option<String>,
    message: Option<String>,
    #[serde(rename = "podIP")]
    pub(crate) address: Option<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) container_statuses: Vec<ContainerStatus>,
    pub(crate) init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    /// Its id, with the name of its runtime as prefix.
    #[serde(rename = "containerID")]
    pub(crate) id: String,
    pub(crate) state: ContainerState,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerState {
    pub(crate) running: Option<IgnoredAny>,
    pub(crate) waiting: Option<Why>,
    pub(crate) terminated: Option<Why>,
}

/// Why a container is not running. Missing texts are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Why {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) exit_code: i64,
}

/// The event that a container is waiting for.
pub(crate) enum WaitsFor {
    /// It is starting.
    Start,
    /// Its image. The node retries after a first failure, which may be due to a busy registry.
    Image { is_certain: bool },
    /// Something else, which may never happen.
    Other,
}

impl Status {
    /// The message about a pod that has ended, worded to end a sentence; empty if there is none.
    pub(crate) fn said(&self) -> String {
        self.message.as_deref().map(|message| format!(": {}", excerpt(message))).unwrap_or_default()
    }

    /// The scheduler's message about a pod that fits on no node.
    pub(crate) fn unscheduled(&self) -> Option<String> {
        let is_refused = |condition: &&Condition| {
            condition.kind == "PodScheduled"
                && condition.status == "False"
                && condition.reason == "Unschedulable"
        };
        self.conditions.iter().find(is_refused).map(|condition| excerpt(&condition.message))
    }
}

impl Why {
    /// The event that a container with this reason is waiting for.
    pub(crate) fn waits_for(&self) -> WaitsFor {
        match self.reason.as_str() {
            "" | "ContainerCreating" | "PodInitializing" => WaitsFor::Start,
            "ErrImagePull" => WaitsFor::Image { is_certain: false },
            "ImagePullBackOff"
            | "InvalidImageName"
            | "ImageInspectError"
            | "ErrImageNeverPull"
            | "RegistryUnavailable" => WaitsFor::Image { is_certain: true },
            _ => WaitsFor::Other,
        }
    }

    /// The reason of a waiting container, with its message.
    pub(crate) fn in_full(&self) -> String {
        let Self { reason, message, .. } = self;
        if message.is_empty() { reason.clone() } else { format!("{reason}: {}", excerpt(message)) }
    }

    /// The message of a container that has ended, or its reason.
    pub(crate) fn last_words(&self) -> String {
        excerpt(if self.message.is_empty() { &self.reason } else { &self.message })
    }
}
