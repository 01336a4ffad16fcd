//! Readers of control groups on the nodes, as a source of CPU times: starting them, waiting until they find the containers, and polling
//! them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use hoptax_agents::reader::{Counters, Line};
use hoptax_cluster::Pod;
use hoptax_cluster::job::PORT;
use hoptax_cluster::usage::{Container, Reading};
use hoptax_cluster::{Cluster, Refused, job};
use hoptax_session::Failure;
use serde_json::Value;

use super::patience::{PATIENCE, Trouble};
use super::placed::{Placed, pods_of, shared};
use super::{Context, of_cluster};
use crate::plan::Plan;
use crate::used::Poll;

/// Polling interval while waiting for readers.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time limit for readers to start and find the containers. The nodes already have their image.
const ARRIVAL: Duration = Duration::from_mins(1);

/// The readers, each with its containers.
#[derive(Debug)]
pub(super) struct Readers {
    /// The prefix of their pods' names.
    begins: String,
    namespace: String,
    all: Vec<NodeReader>,
}

/// The reader on a node.
#[derive(Debug)]
struct NodeReader {
    node: String,
    pod: String,
    /// The containers by id.
    containers: BTreeMap<String, Container>,
    /// The stream to it, once it has been polled.
    line: Option<Line>,
}

/// Why control groups cannot be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The cluster refuses something.
    Refused(Refused),
    /// Something else.
    Why(String),
    /// It was interrupted.
    Interrupted(Failure),
}

/// Why control groups cannot be read yet.
struct NotYet {
    why: String,
    /// How long this may last; none for something that simply takes time, up to [`ARRIVAL`] in total.
    patience: Option<Duration>,
}

/// The wait for readers.
struct Waiting {
    until: Instant,
    trouble: Trouble,
}

impl Unread {
    /// The failure of a measurement that requires readers.
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Refused(refused) => of_cluster(refused),
            Self::Why(why) => Failure::environment(format!(
                "control groups cannot be read: {why}; `--cpu-time kubelet` works without them"
            )),
            Self::Interrupted(failure) => failure,
        }
    }

    /// The reason on one line, without the rule for a missing right, which has many lines.
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
    /// Starts the readers of a round, which are deleted with the object in `owner`, and waits until they have found all containers: those
    /// in the pods of the round, and shared ones of the plan. Readers that do not work are deleted at once.
    pub(super) fn come(
        made: &job::Readers,
        owner: &Value,
        own: &[Placed],
        plan: &Plan,
        context: Context<'_>,
    ) -> Result<Self, Unread> {
        let job::Readers { name, namespace, .. } = made;
        context.cluster.make(&made.manifest(owner), Some(namespace.as_str())).map_err(Unread::Refused)?;
        let found = Self::found(made, own, plan, context);
        if found.is_err() {
            // A remaining DaemonSet is deleted with the round.
            let _ = context.cluster.remove(
                &format!("/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"),
                &format!("remove DaemonSet `{name}`"),
            );
        }
        found
    }

    /// Waits until the readers have found all containers.
    fn found(made: &job::Readers, own: &[Placed], plan: &Plan, context: Context<'_>) -> Result<Self, Unread> {
        let mut waiting = Waiting::new(Instant::now());
        loop {
            context.interrupt.check().map_err(Unread::Interrupted)?;
            let not_yet = match Self::look(made, own, plan, context.cluster) {
                Ok(readers) => return Ok(readers),
                Err(not_yet) => not_yet,
            };
            if waiting.is_over(&not_yet, Instant::now()) {
                return Err(Unread::Why(not_yet.why));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The readers, if all are running and find their containers.
    fn look(made: &job::Readers, own: &[Placed], plan: &Plan, cluster: &Cluster) -> Result<Self, NotYet> {
        let namespace = made.namespace.as_str();
        let passing = |refused: Refused| NotYet { why: refused.to_string(), patience: Some(PATIENCE) };
        let mut containers = own.to_vec();
        // Look them up each time: a restarted container has another id.
        containers.extend(shared(plan, &made.nodes, cluster).map_err(passing)?);
        let pods = pods_of(cluster, namespace).map_err(passing)?;
        let begins = format!("{}-", made.name);
        let mut readers = Self { begins, namespace: namespace.to_owned(), all: Vec::new() };
        for node in &made.nodes {
            let Some(pod) = reader_on(&pods, &readers.begins, node) else {
                return Err(match cluster.not_created(namespace, "DaemonSet", &made.name) {
                    Some(why) => {
                        NotYet { why: format!("no reader is created: {why}"), patience: Some(PATIENCE) }
                    }
                    None => NotYet { why: format!("no reader starts on node `{node}`"), patience: None },
                });
            };
            if let Some(trouble) = pod.trouble() {
                let patience = if trouble.is_certain { Duration::ZERO } else { PATIENCE };
                let why = format!("the reader on node `{node}` {}", trouble.why);
                return Err(NotYet { why, patience: Some(patience) });
            }
            if !pod.is_ready() {
                let why = format!("the reader on node `{node}` is not ready");
                return Err(NotYet { why, patience: None });
            }
            let (node, pod) = (node.clone(), pod.name().to_owned());
            readers.all.push(NodeReader { containers: on_node(&containers, &node)?, node, pod, line: None });
        }
        let poll =
            readers.poll(cluster).map_err(|refused| NotYet { why: refused.to_string(), patience: None })?;
        match poll.gone.first() {
            None => Ok(readers),
            Some(Container { namespace, pod, name }) => Err(NotYet {
                why: format!("no control group belongs to container `{name}` of pod `{namespace}/{pod}`"),
                patience: Some(PATIENCE),
            }),
        }
    }

    /// The same readers with separate streams, for another client of the cluster.
    pub(super) fn again(&self) -> Self {
        let again = |one: &NodeReader| NodeReader {
            node: one.node.clone(),
            pod: one.pod.clone(),
            containers: one.containers.clone(),
            line: None,
        };
        let (begins, namespace) = (self.begins.clone(), self.namespace.clone());
        Self { begins, namespace, all: self.all.iter().map(again).collect() }
    }

    /// Readings of all containers.
    pub(super) fn poll(&mut self, cluster: &Cluster) -> Result<Poll, Refused> {
        let mut poll = Poll::default();
        for one in &mut self.all {
            let asked = one.ask(cluster, &self.namespace);
            if asked.is_err() {
                one.look_again(cluster, &self.namespace, &self.begins);
            }
            let mut readings = asked?;
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
    /// Its answer. A stream that fails is not used again.
    fn ask(&mut self, cluster: &Cluster, namespace: &str) -> Result<BTreeMap<String, Counters>, Refused> {
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

    /// The pod of the reader may have been replaced, for example after an eviction. The next poll uses the new one.
    fn look_again(&mut self, cluster: &Cluster, namespace: &str, begins: &str) {
        // Without an answer, keep the old one.
        if let Ok(pods) = pods_of(cluster, namespace)
            && let Some(pod) = reader_on(&pods, begins, &self.node)
        {
            pod.name().clone_into(&mut self.pod);
        }
    }
}

impl Waiting {
    fn new(now: Instant) -> Self {
        Self { until: now + ARRIVAL, trouble: Trouble::default() }
    }

    /// True if waiting is no longer useful.
    fn is_over(&mut self, not_yet: &NotYet, now: Instant) -> bool {
        let is_over = if let Some(patience) = not_yet.patience {
            self.trouble.has_lasted(now, patience)
        } else {
            self.trouble.pass();
            false
        };
        is_over || now >= self.until
    }
}

/// The reader's pod on a node; its replacement if it has been replaced.
fn reader_on<'a>(pods: &'a [Pod], begins: &str, node: &str) -> Option<&'a Pod> {
    let is_it = |pod: &&Pod| pod.name().starts_with(begins) && pod.node() == Some(node);
    pods.iter().filter(is_it).min_by_key(|pod| (!pod.is_ready(), pod.has_ended()))
}

/// The containers on a node by id.
fn on_node(containers: &[Placed], node: &str) -> Result<BTreeMap<String, Container>, NotYet> {
    let of_node = containers.iter().filter(|one| one.node == node);
    let with_id = |Placed { container, id, .. }: &Placed| match id {
        Some(id) => Ok((id.clone(), container.clone())),
        None => Err(NotYet {
            why: format!(
                "pod `{}/{}` states no id of its container `{}`",
                container.namespace, container.pod, container.name
            ),
            patience: Some(PATIENCE),
        }),
    };
    of_node.map(with_id).collect()
}

/// Converts a reading to that of a kubelet. A container's id is its group, because it changes with each start.
fn of_group(id: &str, Counters { at_ns, cpu_ns, limit, limit_of_pod }: Counters) -> Reading {
    let at_us = i64::try_from(at_ns / 1_000).unwrap_or(i64::MAX);
    Reading { group: id.to_owned(), at_us, cpu_s: cpu_ns as f64 / 1e9, limit, limit_of_pod }
}

#[cfg(test)]
mod tests {
    use hoptax_result::LimitPeriods;
    use serde_json::json;

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
        assert!(without.why.contains("no id of its container `envoy`") && without.patience.is_some());
    }

    #[test]
    fn readers_have_a_minute_in_all_and_a_trouble_has_its_patience_from_its_beginning_on() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let not_yet = |patience: Option<Duration>| NotYet { why: String::new(), patience };
        let (comes, troubled) = (not_yet(None), not_yet(Some(PATIENCE)));
        let mut waiting = Waiting::new(began);
        // It came late, and its trouble is young.
        assert!(!waiting.is_over(&comes, at(20)) && !waiting.is_over(&troubled, at(21)));
        assert!(waiting.is_over(&troubled, at(31)));
        let mut waiting = Waiting::new(began);
        assert!(!waiting.is_over(&troubled, at(1)) && !waiting.is_over(&comes, at(5)));
        assert!(!waiting.is_over(&troubled, at(12)), "it had passed");
        assert!(!waiting.is_over(&comes, at(59)) && waiting.is_over(&comes, at(60)));
        assert!(Waiting::new(began).is_over(&not_yet(Some(Duration::ZERO)), began));
    }

    #[test]
    fn a_reader_that_another_one_replaced_is_asked_no_more() {
        let pod = |name: &str, node: &str, phase: &str, ready: &str| -> Pod {
            let conditions = [json!({"type": "Ready", "status": ready})];
            let status = json!({"phase": phase, "conditions": conditions});
            let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": node}, "status": status});
            serde_json::from_value(pod).unwrap()
        };
        let mut pods = vec![
            pod("readers-0-a", "one", "Failed", "False"),
            pod("origin-0", "one", "Running", "True"),
            pod("readers-0-b", "two", "Running", "True"),
        ];
        let name = |pods: &[Pod]| reader_on(pods, "readers-0-", "one").map(|pod| pod.name().to_owned());
        assert_eq!(name(&pods).as_deref(), Some("readers-0-a"));
        pods.push(pod("readers-0-c", "one", "Pending", "False"));
        assert_eq!(name(&pods).as_deref(), Some("readers-0-c"));
        pods.push(pod("readers-0-d", "one", "Running", "True"));
        assert_eq!(name(&pods).as_deref(), Some("readers-0-d"));
        assert_eq!(name(&[]), None);
    }

    #[test]
    fn a_reading_keeps_its_counters_and_the_start_of_the_container() {
        let limit = Some(LimitPeriods { periods: 5, throttled: 2, throttled_s: 0.5 });
        let limit_of_pod = Some(LimitPeriods { periods: 7, throttled: 3, throttled_s: 0.6 });
        let counters = Counters { at_ns: 1_234_567_890, cpu_ns: 1_500_000_000, limit, limit_of_pod };
        let reading = of_group("aa", counters);
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
        assert!(failure.contains("resources: [daemonsets], verbs: [create, delete]"), "{failure}");
    }
}
