//! A Job of agents in a cluster: its settings and its manifests.
//!
//! The Job is the only object that a load creates directly. The Secret with the token of its agents belongs to it, like its pods, so
//! deleting the Job deletes everything. A Job that nobody deletes ends at its deadline, and the cluster deletes it a minute later.

mod pod_patch;
pub mod pods;
mod readers;

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use hoptax_text::yaml::write::written;
use serde_json::{Value, json};

use crate::name::Namespace;
use crate::rights::rule_of_agents;

pub use pod_patch::PodPatch;
pub use readers::Readers;

/// Time limit for an agent to start: a node may have to accept its pod and pull its image.
pub const ARRIVAL: Duration = Duration::from_mins(2);
/// The default port of an agent or a reader, on the loopback of its pod.
pub const PORT: u16 = 8420;
/// The labels of everything that hoptax creates in a cluster. Objects of others may have one of the labels, but not both.
pub const LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/name", "hoptax-agent"), ("app.kubernetes.io/managed-by", "hoptax")];
/// The labels of namespaces in which the cost of a mesh is measured.
pub const MESH_LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/name", "hoptax-mesh"), ("app.kubernetes.io/managed-by", "hoptax")];
/// The container of an agent. A mesh may add others to the pod.
pub const CONTAINER: &str = "agent";
/// The container of an origin, the server that hoptax runs in a measured mesh.
pub const ORIGIN: &str = "origin";
/// The container of a reader of CPU times.
pub const READER: &str = "reader";

/// The time between the end of a Job and its removal by the cluster, seconds.
const REMOVED_AFTER_S: u64 = 60;
/// Time for the cluster to end pods, in addition to the deadline of their agents.
const ENDING: Duration = Duration::from_secs(30);
/// The user and group id of the agent, which rootless images commonly use.
const USER: u32 = 65_532;
/// The label that identifies a node.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// The folder of the token in a pod.
const TOKEN_FOLDER: &str = "/run/hoptax";

/// When a node pulls the image of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// Always pull it.
    Always,
    /// Pull it if the node does not have it.
    IfNotPresent,
    /// Never pull it.
    Never,
}

impl Pull {
    /// Kubernetes' word for the policy.
    pub fn word(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// Pods whose nodes agents avoid, if there is another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Avoided {
    /// Their namespace.
    pub namespace: String,
    /// Their labels.
    pub labels: BTreeMap<String, String>,
}

/// A Job of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentJob {
    /// Its name, at most 50 characters: see [`new_name`].
    pub name: String,
    /// Its namespace, which must exist.
    pub namespace: Namespace,
    /// The number of agents.
    pub agents: u32,
    /// The image, with the program at `/hoptax`.
    pub image: String,
    /// When nodes pull it.
    pub pull: Pull,
    /// The port of an agent, on the loopback of its pod. On the network of a node, the default port may be in use.
    pub port: u16,
    /// The targets that agents may send to, `HOST:PORT`.
    pub targets: Vec<String>,
    /// The time after which an agent ends in any case.
    pub deadline: Duration,
    /// The processors of an agent, in thousandths.
    pub cpu_millis: u32,
    /// The memory of an agent, MiB.
    pub memory_mib: u32,
    /// The pods whose nodes agents avoid, as far as targets are known.
    pub avoided: Vec<Avoided>,
    /// Additions to its pods.
    pub patch: PodPatch,
}

/// A name that no other Job has.
pub fn new_name() -> String {
    // The hasher has random keys, so any hash is random. 40 bits of it are used.
    format!("hoptax-load-{:010x}", RandomState::new().hash_one(0) >> 24)
}

impl AgentJob {
    /// The manifest of the Job.
    pub fn manifest(&self) -> Value {
        let mut template =
            json!({"metadata": {"labels": labels(), "annotations": annotations()}, "spec": self.pod()});
        self.patch.apply_to(&mut template);
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": self.name, "namespace": self.namespace.as_str(), "labels": labels()},
            "spec": {
                "completions": self.agents,
                "parallelism": self.agents,
                "completionMode": "Indexed",
                // A lost agent is not replaced, and the others continue. With `backoffLimit`, the failure of one would end all.
                "backoffLimitPerIndex": 0,
                "activeDeadlineSeconds": (ARRIVAL + self.deadline + ENDING).as_secs(),
                "ttlSecondsAfterFinished": REMOVED_AFTER_S,
                "template": template,
            },
        })
    }

    /// The manifest of the Secret with the token of the agents, which belongs to the Job with this id.
    pub fn secret(&self, uid: &str, token: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace.as_str(),
                "labels": labels(),
                "ownerReferences": [self.owner(uid)],
            },
            "type": "Opaque",
            "immutable": true,
            "stringData": {"token": token},
        })
    }

    /// The owner reference for objects that belong to the Job with this id and are deleted with it.
    pub fn owner(&self, uid: &str) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "name": self.name, "uid": uid})
    }

    /// The manifests as YAML, with the rule that grants the needed rights, for review. Id and token are placeholders.
    pub fn shown(&self) -> String {
        let made = [self.manifest(), self.secret("UID-OF-THE-JOB", "TOKEN-OF-THE-AGENTS")];
        format!("{}{}", rule_of_agents(&self.namespace, None), made.iter().map(document).collect::<String>())
    }

    fn pod(&self) -> Value {
        let agents = json!({"matchLabels": {"batch.kubernetes.io/job-name": self.name}});
        let mut pod = json!({
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            // Spread agents, because agents on one node share its processors and its network.
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": agents,
            }],
            "containers": [self.container()],
            "volumes": [{"name": "token", "secret": {"secretName": self.name, "defaultMode": 0o440}}],
        });
        let off = |Avoided { namespace, labels }: &Avoided| {
            let pods = json!({"matchLabels": labels});
            let term = json!({"topologyKey": HOSTNAME, "namespaces": [namespace], "labelSelector": pods});
            json!({"weight": 100, "podAffinityTerm": term})
        };
        let terms: Vec<Value> = self.avoided.iter().map(off).collect();
        if !terms.is_empty() {
            // Only preferred, because a cluster with a single node has no other place.
            let wanted = json!({"preferredDuringSchedulingIgnoredDuringExecution": terms});
            pod["affinity"] = json!({"podAntiAffinity": wanted});
        }
        pod
    }

    fn container(&self) -> Value {
        let listen = format!("127.0.0.1:{}", self.port);
        let (token, deadline) = (format!("{TOKEN_FOLDER}/token"), format!("{}s", self.deadline.as_secs()));
        // Quiet, because the agent would note that its token is readable by the pod's group, and its last log lines become the termination
        // message.
        let mut arguments: Vec<&str> = vec!["lab", "agent", "--quiet", "--listen", &listen];
        arguments.extend(["--token-file", &token, "--deadline", &deadline]);
        for target in &self.targets {
            arguments.extend(["--allow-target", target.as_str()]);
        }
        let memory = format!("{}Mi", self.memory_mib);
        // Requests equal limits, so that the pod is in the Guaranteed class: with whole processors, nodes with a static CPU policy then
        // assign exclusive processors.
        let guaranteed = json!({"cpu": cpus(self.cpu_millis), "memory": memory});
        let resources = if self.patch.shares_processors {
            shared_resources(self.memory_mib)
        } else {
            json!({"requests": guaranteed, "limits": guaranteed})
        };
        json!({
            "name": CONTAINER,
            "image": self.image,
            "imagePullPolicy": self.pull.word(),
            "command": ["/hoptax"],
            "args": arguments,
            "resources": resources,
            "securityContext": container_security(),
            // Makes the last log lines of an agent part of the state of its pod.
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [{"name": "token", "mountPath": TOKEN_FOLDER, "readOnly": true}],
        })
    }
}

/// The resources of a container that shares processors: a small request and no limit.
pub fn shared_resources(memory_mib: u32) -> Value {
    let memory = format!("{memory_mib}Mi");
    json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": memory}})
}

/// The security context of a hoptax pod without files that belong to its group. Together with that of its container, it meets the
/// `restricted` Pod Security profile.
pub fn pod_security() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": USER,
        "runAsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// The security context of a hoptax container.
pub fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// An additional YAML document.
pub fn document(manifest: &Value) -> String {
    format!("---\n{}", written(manifest).text)
}

/// The labels of a Job, its pods and its Secret.
fn labels() -> Value {
    LABELS.into_iter().collect()
}

/// The annotations of pods. A load whose pod is evicted is lost, so they tell the cluster autoscaler and Karpenter not to evict it.
fn annotations() -> Value {
    json!({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"})
}

/// Processors, as Kubernetes writes them.
fn cpus(millis: u32) -> String {
    if millis.is_multiple_of(1_000) { (millis / 1_000).to_string() } else { format!("{millis}m") }
}

/// The namespace and the name of the service that a host refers to, for a load from namespace `from`: `NAME`, `NAME.NAMESPACE`, or either
/// followed by `.svc` and the cluster domain. None for a host that is certainly not a service.
pub fn service_of<'a>(host: &'a str, from: &'a Namespace) -> Option<(&'a str, &'a str)> {
    let mut words = host.trim_end_matches('.').split('.');
    let name = words.next().filter(|name| !name.is_empty() && name.parse::<u8>().is_err())?;
    let namespace = words.next().unwrap_or(from.as_str());
    let is_service = words.next().is_none_or(|word| word == "svc");
    let namespace_is_name = namespace.parse::<Namespace>().is_ok();
    let name_is_name = name.parse::<Namespace>().is_ok();
    (is_service && namespace_is_name && name_is_name).then_some((namespace, name))
}

/// The affinity to exactly these nodes, by their names, because the value of a node's hostname label may differ from its name. Kubernetes
/// accepts one name per term, and matches any of the terms.
fn on_nodes(nodes: &[String]) -> Value {
    let term = |name: &String| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
    json!({"nodeSelectorTerms": nodes.iter().map(term).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests;
