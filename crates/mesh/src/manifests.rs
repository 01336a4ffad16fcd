//! The manifests of a measurement: a namespace for each arm, the pod of its origin, and the Job of its caller.

use std::collections::BTreeMap;
use std::time::Duration;

use hoptax_cluster::job::{
    self, AgentJob, Avoided, MESH_LABELS, ORIGIN, PodPatch, Readers, container_security, document, new_name,
    pod_security, shared_resources,
};
use hoptax_cluster::rights::rule_of_mesh;
use hoptax_result::counted;
use serde_json::{Value, json};

use crate::plan::{Arm, Asked, Plan, SATURATION_SLICE};
use crate::source::USUAL_S;
use crate::target::target;
use crate::template::Side;

/// The memory of an origin and of a caller, MiB.
const MEMORY_MIB: u32 = 256;
/// The processors that a caller may use, in thousandths: one for its worker, and one for everything else.
const CALLER_MILLIS: u32 = 2_000;

impl Arm {
    /// The manifest of its namespace.
    pub fn namespace_manifest(&self) -> Value {
        let marks = &self.template.namespace;
        // Host networking and the containers that most meshes inject violate the restricted profile.
        let mut labels = BTreeMap::from([("pod-security.kubernetes.io/enforce", "privileged")]);
        labels.extend(marks.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        // `hoptax runs cleanup` finds what a killed measurement left by these labels, so the template cannot override them.
        labels.extend(MESH_LABELS);
        let metadata =
            json!({"name": self.namespace.as_str(), "labels": labels, "annotations": marks.annotations});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    }

    /// The manifest of the pod of its origin in a round. It ends by itself at the deadline.
    pub fn origin(&self, asked: &Asked, round: u32, deadline: Duration) -> Value {
        let listen = format!("0.0.0.0:{}", self.port);
        let container = json!({
            "name": ORIGIN,
            "image": asked.image,
            "imagePullPolicy": asked.pull.word(),
            "command": ["/hoptax"],
            "args": ["lab", "origin", "--quiet", "--listen", listen],
            "ports": [{"containerPort": self.port}],
            "resources": shared_resources(MEMORY_MIB),
            "securityContext": container_security(),
            "terminationMessagePolicy": "FallbackToLogsOnError",
        });
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": format!("{ORIGIN}-{round}"), "namespace": self.namespace.as_str(), "labels": {"app": ORIGIN}},
            "spec": {
                "restartPolicy": "Never",
                "activeDeadlineSeconds": deadline.as_secs(),
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "securityContext": pod_security(),
                "containers": [container],
            },
        });
        self.pod_patch(&self.template.origin, asked.nodes[0].as_ref()).apply_to(&mut pod);
        pod
    }

    /// The Job of its caller, which sends to this URL.
    pub fn caller(&self, asked: &Asked, target: String, deadline: Duration) -> AgentJob {
        let mut patch = self.pod_patch(&self.template.caller, asked.nodes[1].as_ref());
        patch.labels.insert("app".to_owned(), "caller".to_owned());
        AgentJob {
            name: new_name(),
            namespace: self.namespace.clone(),
            agents: 1,
            image: asked.image.clone(),
            pull: asked.pull,
            // On the network of a node, the caller of another measurement may occupy the default port.
            port: if self.has_host_network { self.port + 1 } else { job::PORT },
            targets: vec![target],
            deadline,
            cpu_millis: CALLER_MILLIS,
            memory_mib: MEMORY_MIB,
            avoided: vec![Avoided {
                namespace: self.namespace.as_str().to_owned(),
                labels: [("app".to_owned(), ORIGIN.to_owned())].into(),
            }],
            patch,
        }
    }

    fn pod_patch(&self, side: &Side, node: Option<&String>) -> PodPatch {
        PodPatch {
            labels: side.labels.clone(),
            annotations: side.annotations.clone(),
            spec: side.spec.clone(),
            has_host_network: self.has_host_network,
            node: node.cloned(),
            shares_processors: true,
        }
    }
}

impl Plan {
    /// The readers of CPU times on these nodes in a round. They are in the namespace of the first arm, which has no mesh and permits
    /// privileged pods.
    pub fn readers(&self, round: u32, nodes: Vec<String>) -> Readers {
        let Asked { image, pull, .. } = &self.asked;
        // The arms without a mesh always exist.
        let namespace = self.arms[0].namespace.clone();
        Readers { name: format!("readers-{round}"), namespace, image: image.clone(), pull: *pull, nodes }
    }

    /// The rights and the manifests of a round as YAML, for review. Addresses and the token are placeholders.
    pub fn shown(&self) -> String {
        let mut text = self.preface();
        text.push_str(&rule_of_mesh(None, &self.made()));
        let deadline = Duration::from_hours(1);
        let mut readers = Vec::new();
        for (index, arm) in self.arms.iter().enumerate() {
            let (url, _) = arm.template.request("ADDRESS-OF-THE-ORIGIN", arm.namespace.as_str());
            let target = target(&url).unwrap_or_default();
            let caller = arm.caller(&self.asked, target, deadline);
            if index == 0 && self.asked.cpu_time.has_readers() {
                let nodes = ["NODE-OF-THE-ORIGINS", "NODE-OF-THE-CALLERS"].map(str::to_owned);
                readers.push(self.readers(0, nodes.into()).manifest(&caller.owner("UID-OF-THE-JOB")));
            }
            let own = [arm.namespace_manifest(), arm.origin(&self.asked, 0, deadline)];
            let objects = arm.template.objects.iter().map(|object| arm.owned(object));
            let of_caller = [caller.manifest(), caller.secret("UID-OF-THE-JOB", "TOKEN-OF-THE-AGENT")];
            text.extend(own.into_iter().chain(objects).chain(of_caller).map(|one| document(&one)));
        }
        text.extend(readers.iter().map(document));
        text
    }

    /// The number of its objects and its least duration, in a line.
    pub fn summary(&self) -> String {
        let Asked { rounds, slice, warmup, cpu_time, has_max_rate, .. } = &self.asked;
        let arms = self.arms.len() as u64;
        let readers = if cpu_time.has_readers() { ", 1 DaemonSet" } else { "" };
        let slice_s = slice.map_or(USUAL_S, |slice| slice.as_secs_f64()) + warmup.as_secs_f64();
        let saturation_s = if *has_max_rate { (SATURATION_SLICE + *warmup).as_secs_f64() } else { 0.0 };
        let minutes = (f64::from(*rounds) * arms as f64 * (slice_s + saturation_s) / 60.0).ceil();
        format!(
            "{}, each with a Pod and a Job{readers}; {}, at least {minutes} min",
            counted(arms, "namespace"),
            counted((*rounds).into(), "round")
        )
    }

    /// Answers to the first questions of a cluster's owner, as comments.
    fn preface(&self) -> String {
        let Asked { rate, connections, rounds, cpu_time, has_max_rate, .. } = &self.asked;
        let readers = if cpu_time.has_readers() {
            "\
# The DaemonSet reads CPU times from the control groups of the nodes with measured pods, and can change
# nothing there. It mounts a folder of the nodes, for which its namespace must permit privileged pods.
# It belongs to a Job, with which it is removed.
"
        } else {
            ""
        };
        let saturation = if *has_max_rate {
            "\
# At the end of a round, each caller sends as fast as it is answered, which may take all that nodes have
# left of their processors, and proxies that other pods use too, from everything else on them.
"
        } else {
            ""
        };
        format!(
            "\
# `hoptax mesh` makes and removes all of this by itself, except for the first two documents: the rights
# that it needs, which somebody who may grant them applies, with a user in the place of YOUR-USER.
# Namespaces are made once. In each of {rounds} rounds, the pods, Jobs and Secrets are made anew, and each
# caller sends {rate} requests/s over {connections} connections to the origin of its own namespace alone,
# one caller at a time.
{saturation}# Words in capitals stand for values that are known when it runs. Names of namespaces and Jobs, the
# port of the origin on the network of its node, and deadlines differ then.
{readers}# Namespaces permit privileged pods, for the network of nodes and for what a mesh adds to pods. All
# other pods pass the profile `restricted` of Pod Security before that.
"
        )
    }
}

impl Arm {
    /// An object of the template, placed in the arm's namespace.
    pub fn owned(&self, object: &Value) -> Value {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(self.namespace.as_str());
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;
    use crate::source::CpuTime;

    #[test]
    fn a_namespace_keeps_the_labels_by_which_it_is_found() {
        let mut plan = plan(&["istio"]).unwrap();
        let arm = &mut plan.arms[2];
        for (name, value) in [MESH_LABELS[1], ("pod-security.kubernetes.io/enforce", "baseline")] {
            arm.template.namespace.labels.insert(name.to_owned(), value.replace("hoptax", "other"));
        }
        let labels = &arm.namespace_manifest()["metadata"]["labels"];
        assert_eq!(labels[MESH_LABELS[1].0], MESH_LABELS[1].1);
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "baseline");
        assert_eq!(labels["istio-injection"], "enabled");
    }

    #[test]
    fn readers_are_on_the_nodes_of_a_round_and_only_there_where_control_groups_may_be_read() {
        let mut plan = plan(&["istio"]).unwrap();
        let readers = plan.readers(3, vec!["node-1".to_owned()]);
        assert_eq!(
            (readers.name.as_str(), readers.nodes.as_slice()),
            ("readers-3", &["node-1".to_owned()][..])
        );
        assert_eq!(readers.namespace, plan.arms[0].namespace);
        let labels = plan.arms[0].namespace_manifest()["metadata"]["labels"].clone();
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "privileged", "{labels}");
        plan.asked.cpu_time = CpuTime::Cgroup;
        assert!(plan.shown().contains("kind: DaemonSet") && plan.shown().contains("# The DaemonSet reads"));
        for cpu_time in [CpuTime::Kubelet, CpuTime::Prometheus] {
            plan.asked.cpu_time = cpu_time;
            let shown = plan.shown();
            assert!(!shown.contains("kind: DaemonSet") && !shown.contains("# The DaemonSet reads"));
        }
    }

    #[test]
    fn a_dry_run_says_that_maximum_rates_take_processors_and_time() {
        let mut plan = plan(&["istio"]).unwrap();
        let words = "sends as fast as it is answered";
        assert!(!plan.shown().contains(words) && plan.summary().ends_with("at least 5 min"));
        plan.asked.has_max_rate = true;
        let expected = format!("one caller at a time.\n# At the end of a round, each caller {words}");
        assert!(plan.shown().contains(&expected), "{}", plan.shown());
        // Three rounds of three arms, each with slices of 30 and 10 s after 3 s.
        assert!(plan.summary().ends_with("at least 7 min"), "{}", plan.summary());
    }

    #[test]
    fn a_dry_run_shows_all_that_a_round_makes() {
        let shown = plan(&["istio"]).unwrap().shown();
        for words in ["In each of 3 rounds", "sends 500 requests/s over 8 connections", "place of YOUR-USER"]
        {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let documents: Vec<Value> =
            shown.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
        let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            [
                "ClusterRole",
                "ClusterRoleBinding",
                "Namespace",
                "Pod",
                "Job",
                "Secret",
                "Namespace",
                "Pod",
                "Job",
                "Secret",
                "Namespace",
                "Pod",
                "Service",
                "Job",
                "Secret",
                "DaemonSet"
            ]
        );
        let (job, readers) = (&documents[4]["metadata"], &documents[15]["metadata"]);
        assert_eq!(readers["namespace"], job["namespace"], "the network of nodes");
        assert_eq!(readers["ownerReferences"][0]["name"], job["name"]);
        let istio = &documents[10];
        assert_eq!(istio["metadata"]["labels"]["istio-injection"], "enabled");
        assert_eq!(documents[12]["metadata"]["namespace"], istio["metadata"]["name"]);
        let spec = |document: &Value| document["spec"]["template"]["spec"].clone();
        assert_eq!(spec(&documents[4])["hostNetwork"], true);
        let listens = |document: &Value| {
            let arguments = spec(document)["containers"][0]["args"].clone();
            let arguments = arguments.as_array().unwrap().iter().filter_map(Value::as_str);
            arguments.filter(|word| word.starts_with("127.0.0.1:")).map(str::to_owned).collect::<Vec<_>>()
        };
        let origin = u64::from(plan(&["istio"]).unwrap().arms[0].port);
        assert_eq!(listens(&documents[4]), [format!("127.0.0.1:{}", origin + 1)]);
        assert_eq!(listens(&documents[8]), ["127.0.0.1:8420"]);
        assert!(spec(&documents[8])["hostNetwork"].is_null());
        let caller = &spec(&documents[13]);
        let arguments = caller["containers"][0]["args"].as_array().unwrap();
        assert!(arguments.contains(&json!("origin:8080")), "{arguments:?}");
        // All pods of a round are there at once.
        assert!(caller["containers"][0]["resources"]["limits"]["cpu"].is_null());
    }
}
