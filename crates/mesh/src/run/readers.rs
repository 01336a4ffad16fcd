//! Readers of control groups on the nodes, as a source of CPU times: they come, find the containers, and are asked.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_agents::reader::{GroupReading, Line};
use hoptax_cluster::Pod;
use hoptax_cluster::job::PORT;
use hoptax_cluster::job::pods::List;
use hoptax_cluster::usage::{Container, Reading};
use hoptax_cluster::{Cluster, Refused, job};
use hoptax_session::Failure;
use serde_json::Value;

use super::{Context, of_cluster};
use crate::plan::Plan;
use crate::used::Poll;

/// The time between two looks at readers.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The time in which readers come and find the containers: the nodes have their image.
const ARRIVAL: Duration = Duration::from_mins(1);
/// The time after which a trouble that may pass counts.
const PATIENCE: Duration = Duration::from_secs(10);

/// A container whose CPU time is needed.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) container: Container,
    pub(super) node: String,
    /// Its id; none if its pod states none.
    pub(super) id: Option<String>,
}

/// The readers, each with its containers.
#[derive(Debug)]
pub(super) struct Readers {
    namespace: String,
    all: Vec<NodeReader>,
}

/// The reader on a node.
#[derive(Debug)]
struct NodeReader {
    node: String,
    pod: String,
    /// The containers by their ids.
    containers: BTreeMap<String, Container>,
    /// The stream to it, once it was asked.
    line: Option<Line>,
}

/// Why control groups are not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The cluster refuses something.
    Refused(Refused),
    /// Something else.
    Why(String),
    /// It was interrupted.
    Interrupted(Failure),
}

/// Why control groups are not read yet, and for how long that may be so.
struct NotYet {
    why: String,
    patience: Duration,
}

impl Unread {
    /// The failure of a measurement that needs them.
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Refused(refused) => of_cluster(refused),
            Self::Why(why) => Failure::environment(format!(
                "control groups cannot be read: {why}; `--cpu-time kubelet` does without them"
            )),
            Self::Interrupted(failure) => failure,
        }
    }

    /// The reason in one line. The rule that grants a missing right would be many.
    pub(super) fn in_short(&self) -> String {
        match self {
            Self::Refused(Refused::ForbiddenMesh { doing, said, .. }) => {
                format!("the cluster does not {doing}: {said}")
            }
            Self::Refused(refused) => refused.to_string(),
            Self::Why(why) => why.clone(),
            Self::Interrupted(failure) => failure.to_string(),
        }
    }
}

impl Readers {
    /// Has the readers of a round come, which go with what `owner` names, and waits until they have found all containers.
    pub(super) fn come(
        made: &job::Readers,
        owner: &Value,
        containers: &[Placed],
        context: Context<'_>,
    ) -> Result<Self, Unread> {
        let cluster = context.cluster;
        let namespace = made.namespace.as_str();
        cluster.make(&made.manifest(owner), Some(namespace)).map_err(Unread::Refused)?;
        let began = Instant::now();
        loop {
            context.interrupt.check().map_err(Unread::Interrupted)?;
            let NotYet { why, patience } = match Self::look(made, containers, cluster) {
                Ok(readers) => return Ok(readers),
                Err(not_yet) => not_yet,
            };
            if began.elapsed() >= patience {
                return Err(Unread::Why(why));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The readers, if all are there and find their containers.
    fn look(made: &job::Readers, containers: &[Placed], cluster: &Cluster) -> Result<Self, NotYet> {
        let namespace = made.namespace.as_str();
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let pods: List<Pod> = cluster
            .get(&path, "list pods")
            .map_err(|refused| NotYet { why: refused.to_string(), patience: PATIENCE })?;
        let begins = format!("{}-", made.name);
        let mut readers = Self { namespace: namespace.to_owned(), all: Vec::new() };
        for node in &made.nodes {
            let is_it = |pod: &&Pod| pod.name().starts_with(&begins) && pod.node() == Some(node.as_str());
            let Some(pod) = pods.items.iter().find(is_it) else {
                return Err(match cluster.not_created(namespace, "DaemonSet", &made.name) {
                    Some(why) => NotYet { why: format!("no reader is created: {why}"), patience: PATIENCE },
                    None => NotYet { why: format!("no reader comes to node `{node}`"), patience: ARRIVAL },
                });
            };
            if let Some(trouble) = pod.trouble() {
                let patience = if trouble.is_certain { Duration::ZERO } else { PATIENCE };
                return Err(NotYet { why: format!("the reader on node `{node}` {}", trouble.why), patience });
            }
            if !pod.is_ready() {
                let why = format!("the reader on node `{node}` is not ready");
                return Err(NotYet { why, patience: ARRIVAL });
            }
            let (node, pod) = (node.clone(), pod.name().to_owned());
            readers.all.push(NodeReader { containers: on_node(containers, &node)?, node, pod, line: None });
        }
        let poll = readers
            .poll(cluster)
            .map_err(|refused| NotYet { why: refused.to_string(), patience: ARRIVAL })?;
        match poll.gone.first() {
            None => Ok(readers),
            Some(Container { namespace, pod, name }) => Err(NotYet {
                why: format!("no control group is that of container `{name}` of pod `{namespace}/{pod}`"),
                patience: PATIENCE,
            }),
        }
    }

    /// The same with lines of their own, for another client of the cluster.
    pub(super) fn again(&self) -> Self {
        let again = |one: &NodeReader| NodeReader {
            node: one.node.clone(),
            pod: one.pod.clone(),
            containers: one.containers.clone(),
            line: None,
        };
        Self { namespace: self.namespace.clone(), all: self.all.iter().map(again).collect() }
    }

    /// Readings of all containers.
    pub(super) fn poll(&mut self, cluster: &Cluster) -> Result<Poll, Refused> {
        let mut poll = Poll::default();
        for one in &mut self.all {
            let mut readings = one.ask(cluster, &self.namespace)?;
            for (id, container) in &one.containers {
                match readings.remove(id) {
                    Some(reading) => {
                        poll.readings.insert(container.clone(), of_group(id, reading));
                    }
                    None => {
                        poll.gone.insert(container.clone());
                    }
                }
            }
        }
        Ok(poll)
    }
}

impl NodeReader {
    /// What it answers. A line that fails is not used again.
    fn ask(&mut self, cluster: &Cluster, namespace: &str) -> Result<BTreeMap<String, GroupReading>, Refused> {
        let doing = format!("reach the reader on node `{}`", self.node);
        let mut line = match self.line.take() {
            Some(line) => line,
            None => Line::new(cluster.forward(namespace, &self.pod, PORT, &doing)?),
        };
        let answered = cluster.run(line.ask(self.containers.keys().cloned().collect()));
        let readings = answered.map_err(|said| Refused::ApiOfMesh {
            context: cluster.context().to_owned(),
            doing,
            said,
        })?;
        self.line = Some(line);
        Ok(readings)
    }
}

/// The containers on a node by their ids.
fn on_node(containers: &[Placed], node: &str) -> Result<BTreeMap<String, Container>, NotYet> {
    let of_node = containers.iter().filter(|one| one.node == node);
    let with_id = |Placed { container, id, .. }: &Placed| match id {
        Some(id) => Ok((id.clone(), container.clone())),
        None => Err(NotYet {
            why: format!(
                "pod `{}/{}` states no id of its container `{}`",
                container.namespace, container.pod, container.name
            ),
            patience: Duration::ZERO,
        }),
    };
    of_node.map(with_id).collect()
}

/// A reading, as those of kubelets are. The group is that of one start of the container, as its id is.
fn of_group(id: &str, GroupReading { at_ns, cpu_ns, limit, limit_of_pod }: GroupReading) -> Reading {
    let at_us = i64::try_from(at_ns / 1_000).unwrap_or(i64::MAX);
    Reading { group: id.to_owned(), at_us, cpu_s: cpu_ns as f64 / 1e9, limit, limit_of_pod }
}

/// The proxies on these nodes that other pods use too.
pub(super) fn shared(plan: &Plan, nodes: &[String], cluster: &Cluster) -> Result<Vec<Placed>, Refused> {
    let mut found: BTreeMap<Container, Placed> = BTreeMap::new();
    for shared in plan.arms.iter().flat_map(|arm| &arm.template.shared) {
        let path = format!("/api/v1/namespaces/{}/pods", shared.namespace);
        let pods: List<Pod> = cluster.get(&path, "list pods")?;
        let is_it = |pod: &&Pod| pod.name().starts_with(&shared.pods) && pod.is_ready();
        for pod in pods.items.iter().filter(is_it) {
            let Some(node) = pod.node().filter(|node| nodes.iter().any(|other| other == node)) else {
                continue;
            };
            // A pod of the same name may be another one.
            if pod.image(&shared.container).is_none() {
                continue;
            }
            let container = Container {
                namespace: shared.namespace.clone(),
                pod: pod.name().to_owned(),
                name: shared.container.clone(),
            };
            let id = pod.container_id(&shared.container).map(str::to_owned);
            found.insert(container.clone(), Placed { container, node: node.to_owned(), id });
        }
    }
    Ok(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use hoptax_result::LimitPeriods;

    use super::*;

    fn placed(node: &str, name: &str, id: Option<&str>) -> Placed {
        let container =
            Container { namespace: "ns".to_owned(), pod: "cart".to_owned(), name: name.to_owned() };
        Placed { container, node: node.to_owned(), id: id.map(str::to_owned) }
    }

    #[test]
    fn a_reader_is_asked_for_the_containers_of_its_node_which_have_to_have_ids() {
        let all = [placed("one", "origin", Some("aa")), placed("two", "envoy", Some("bb"))];
        let Ok(found) = on_node(&all, "two") else { panic!("all have an id") };
        let found: Vec<(&str, &str)> =
            found.iter().map(|(id, container)| (id.as_str(), container.name.as_str())).collect();
        assert_eq!(found, [("bb", "envoy")]);
        let without = on_node(&[placed("one", "envoy", None)], "one").err().unwrap();
        assert!(without.why.contains("no id of its container `envoy`") && without.patience.is_zero());
    }

    #[test]
    fn a_reading_keeps_its_counters_and_the_start_of_the_container() {
        let limit = Some(LimitPeriods { periods: 5, throttled: 2, throttled_s: 0.5 });
        let limit_of_pod = Some(LimitPeriods { periods: 7, throttled: 3, throttled_s: 0.6 });
        let of_group_aa = GroupReading { at_ns: 1_234_567_890, cpu_ns: 1_500_000_000, limit, limit_of_pod };
        let reading = of_group("aa", of_group_aa);
        let expected = Reading { group: "aa".to_owned(), at_us: 1_234_567, cpu_s: 1.5, limit, limit_of_pod };
        assert_eq!(reading, expected);
    }

    #[test]
    fn a_reason_is_one_line_and_a_failure_has_the_rule_that_grants_the_right() {
        let said = "daemonsets.apps is forbidden: User \"alice\" cannot create resource \"daemonsets\" in API group \"apps\"";
        let unread = Unread::Refused(Refused::ForbiddenMesh {
            context: "prod".to_owned(),
            doing: "make DaemonSet `readers-0` in namespace `ns`".to_owned(),
            said: said.to_owned(),
            made: Vec::new(),
        });
        let short = unread.in_short();
        assert!(short.ends_with(said) && !short.contains('\n'), "{short}");
        let failure = unread.failure().to_string();
        assert!(failure.contains("`alice` may not `create` `daemonsets`"), "{failure}");
        assert!(failure.contains("resources: [daemonsets], verbs: [create]"), "{failure}");
    }
}
