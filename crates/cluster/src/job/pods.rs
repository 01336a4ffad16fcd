//! The states of the pods of a Job, from what the cluster reports: which agents are starting, which may still start, and which are lost and
//! why.

use hoptax_text::list::named;
use serde::Deserialize;

use super::{AgentJob, CONTAINER};
use crate::described::{Condition, ContainerState, Metadata, Pod, Status, WaitsFor, Why};
use crate::excerpt::excerpt;

/// The label with the index of a pod; an annotation in older versions of Kubernetes.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Maximum number of pods that one message names.
const MOST_NAMED: usize = 3;

/// A list of objects in an answer of the API.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct List<T: Default> {
    /// The objects.
    pub items: Vec<T>,
}

impl Why {
    /// The state of an agent whose container has ended like this.
    fn state(&self, job: &AgentJob) -> State {
        let Self { reason, message, exit_code } = self;
        if *exit_code == 0 {
            return State::Done;
        }
        if reason == "OOMKilled" {
            let why =
                format!("was killed because it had used its {} MiB of memory (OOMKilled)", job.memory_mib);
            let next = "give each agent more memory with --agent-memory".to_owned();
            return State::Lost(Trouble { kind: "out of memory", why, next });
        }
        if message.contains("exec format error") {
            let image = &job.image;
            let why = format!(
                "cannot run image `{image}`, which is for another architecture than its node: {}",
                excerpt(message)
            );
            let next = "name an image for this architecture, or a multi-platform image, with --agent-image"
                .to_owned();
            return State::Lost(Trouble { kind: "architecture", why, next });
        }
        let said = self.last_words();
        if reason == "StartError" || reason == "ContainerCannotRun" {
            let why = format!("cannot start image `{}`: {said}", job.image);
            let next = "the image needs this program at `/hoptax`: name one that has it with --agent-image"
                .to_owned();
            return State::Lost(Trouble { kind: "not started", why, next });
        }
        let why = format!("ended with code {exit_code}: {said}");
        let next =
            "this is its last output; the image needs the same version of hoptax as this program".to_owned();
        State::Lost(Trouble { kind: "ended", why, next })
    }
}

/// The needed fields of an event about a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    reason: String,
    message: String,
}

impl Event {
    /// The reason why a pod was not created, shortened; none for other events.
    pub fn not_created(&self) -> Option<String> {
        (self.reason == "FailedCreate").then(|| excerpt(&self.message))
    }
}

/// A reason why an agent is not running, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its kind, which does not change with the wording.
    kind: &'static str,
    /// The cause, worded to end a sentence about a pod.
    pub why: String,
    /// The next step.
    pub next: String,
}

/// The state of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Its pod is starting.
    #[default]
    Pending,
    /// Its pod waits for something that may never happen.
    Stuck(Trouble),
    /// It runs.
    Running,
    /// It will not start, or has ended too early.
    Lost(Trouble),
    /// It has ended successfully.
    Done,
}

/// An agent of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// Its pod, once there is one.
    pub pod: Option<String>,
    /// The node of the pod, once it has one.
    pub node: Option<String>,
    /// Its state.
    pub state: State,
}

impl Agent {
    /// Adds to the agent of a result what the cluster knows: its node, and why its connection ended.
    pub fn add_to(self, agent: &mut hoptax_result::Agent) {
        agent.node = self.node;
        if let (Some(reason), State::Lost(trouble)) = (&mut agent.reason, self.state)
            && !reason.contains(&trouble.why)
        {
            *reason = format!("{reason}; its pod {}", trouble.why);
        }
    }
}

/// The agents of a Job in the order of their indices, from its pods, its events, and the agents of the previous poll.
pub fn agents(job: &AgentJob, pods: &List<Pod>, events: &List<Event>, before: &[Agent]) -> Vec<Agent> {
    let mut all = vec![Agent::default(); job.agents as usize];
    let mut created = vec![""; all.len()];
    for pod in &pods.items {
        let Some(index) = pod.index().filter(|index| *index < all.len()) else { continue };
        // Some versions replace a pod before it is gone. Use the newest one.
        if pod.metadata.creation_timestamp.as_str() >= created[index] {
            created[index] = &pod.metadata.creation_timestamp;
            all[index] = Agent {
                pod: Some(pod.metadata.name.clone()),
                node: pod.spec.node_name.clone(),
                state: pod.state(job),
            };
        }
    }
    // Only the latest event concerns the pods that are still missing.
    if let Some(said) = events.items.iter().rev().find_map(Event::not_created) {
        for agent in all.iter_mut().filter(|agent| agent.pod.is_none()) {
            agent.state = State::Stuck(not_created(job, &said));
        }
    }
    for (agent, before) in all.iter_mut().zip(before) {
        if agent.pod.is_none() && before.pod.is_some() {
            *agent = before.gone();
        }
    }
    all
}

/// The trouble of a pod that somebody is deleting or has deleted.
fn deleted(why: &str) -> Trouble {
    let next =
        "its share of the load is missing: find out what deletes its pod, its Job or its namespace, such as a cleanup job"
            .to_owned();
    Trouble { kind: "deleted", why: why.to_owned(), next }
}

/// The trouble of a pod that the cluster does not create.
fn not_created(job: &AgentJob, message: &str) -> Trouble {
    let why = format!("is not created: {message}");
    if message.contains("exceeded quota") {
        let next =
            "request less with --agent-cpus and --agent-memory, start fewer agents, or have the quota raised"
                .to_owned();
        return Trouble { kind: "quota", why, next };
    }
    let next = format!("`kubectl -n {} describe job {}` says more", job.namespace, job.name);
    Trouble { kind: "not created", why, next }
}

impl Pod {
    fn index(&self) -> Option<usize> {
        let Metadata { labels, annotations, .. } = &self.metadata;
        labels.get(INDEX).or_else(|| annotations.get(INDEX))?.parse().ok()
    }

    fn state(&self, job: &AgentJob) -> State {
        let container = self.status.container_statuses.iter().find(|status| status.name == CONTAINER);
        let state = container.map(|status| &status.state);
        // The container's reason is closer to the cause than that of the pod, unless the node ended the pod.
        if let Some(trouble) = self.ended_by_node(job) {
            return State::Lost(trouble);
        }
        match state {
            Some(ContainerState { terminated: Some(end), .. }) => end.state(job),
            Some(ContainerState { running: Some(_), .. }) => match self.leaves() {
                Some(trouble) => State::Lost(trouble),
                None => State::Running,
            },
            Some(ContainerState { waiting: Some(why), .. }) => self.waits(why, job),
            _ if self.status.phase == "Failed" => State::Lost(self.failed()),
            _ => self.status.unscheduled().map_or(State::Pending, |said| State::Stuck(unscheduled(&said))),
        }
    }

    /// The trouble of a pod that its node ended or rejected.
    fn ended_by_node(&self, job: &AgentJob) -> Option<Trouble> {
        let Status { phase, reason, .. } = &self.status;
        let reason = reason.as_deref().filter(|_| phase == "Failed")?;
        let message = self.status.said();
        if reason == "Evicted" {
            let next =
                "its share of the load is missing: keep other work off the node, or request more with --agent-memory"
                    .to_owned();
            return Some(Trouble { kind: "evicted", why: format!("was evicted{message}"), next });
        }
        let next = format!(
            "`kubectl -n {} get events --field-selector involvedObject.name={}` says more",
            job.namespace, self.metadata.name
        );
        let why = format!("was ended or refused by its node ({reason}){message}");
        Some(Trouble { kind: "ended by its node", why, next })
    }

    /// The trouble of a running pod that is about to end.
    fn leaves(&self) -> Option<Trouble> {
        let target =
            |condition: &&Condition| condition.kind == "DisruptionTarget" && condition.status == "True";
        if let Some(Condition { reason, message, .. }) = self.status.conditions.iter().find(target) {
            let why = format!("is being evicted ({reason}: {})", excerpt(message));
            let next =
                "its share of the load is missing: run the agents on nodes that are not drained".to_owned();
            return Some(Trouble { kind: "evicted", why, next });
        }
        self.metadata.deletion_timestamp.as_ref().map(|_| deleted("is being deleted"))
    }

    fn waits(&self, waiting: &Why, job: &AgentJob) -> State {
        let (image, said) = (&job.image, waiting.in_full());
        match waiting.waits_for() {
            WaitsFor::Start => State::Pending,
            WaitsFor::Image { is_certain } => {
                let why = format!("cannot get image `{image}` ({said})");
                let next = "check --agent-image and --agent-pull, and whether nodes may pull it: see `imagePullSecrets` of the service \
                            account `default` in the namespace"
                    .to_owned();
                let trouble = Trouble { kind: "image", why, next };
                if is_certain { State::Lost(trouble) } else { State::Stuck(trouble) }
            }
            WaitsFor::Other => {
                let why = format!("does not start ({said})");
                let next =
                    format!("`kubectl -n {} describe pod {}` says more", job.namespace, self.metadata.name);
                State::Stuck(Trouble { kind: "not started", why, next })
            }
        }
    }

    fn failed(&self) -> Trouble {
        let next = "its node or the cluster ended it; run the load again".to_owned();
        Trouble { kind: "failed", why: format!("has failed{}", self.status.said()), next }
    }
}

/// The trouble of a pod that fits on no node.
fn unscheduled(said: &str) -> Trouble {
    let next =
        "request less with --agent-cpus and --agent-memory, start fewer agents, or add nodes".to_owned();
    Trouble { kind: "unschedulable", why: format!("fits on no node: {said}"), next }
}

/// Reports new trouble of agents, each once.
#[derive(Debug, Default)]
pub struct News {
    told: Vec<Option<&'static str>>,
}

impl News {
    /// A sentence for each trouble that is new for some agents.
    pub fn update(&mut self, agents: &[Agent]) -> Vec<String> {
        self.told.resize(agents.len(), None);
        let mut groups: Vec<(&Trouble, Vec<String>)> = Vec::new();
        for (index, (agent, told)) in agents.iter().zip(&mut self.told).enumerate() {
            let (State::Stuck(trouble) | State::Lost(trouble)) = &agent.state else { continue };
            if told.replace(trouble.kind) == Some(trouble.kind) {
                continue;
            }
            let name = agent.name(index);
            match groups.iter_mut().find(|(other, _)| *other == trouble) {
                Some((_, names)) => names.push(name),
                None => groups.push((trouble, vec![name])),
            }
        }
        groups.into_iter().map(|(trouble, names)| sentence(trouble, &names)).collect()
    }
}

impl Agent {
    /// The agent after its pod has disappeared. A cause that was known before is kept.
    fn gone(&self) -> Self {
        let state = match &self.state {
            State::Lost(trouble) => State::Lost(trouble.clone()),
            State::Done => State::Done,
            State::Pending | State::Stuck(_) | State::Running => State::Lost(deleted("is gone")),
        };
        Self { state, ..self.clone() }
    }

    /// The reason why it has not started, worded to end a sentence.
    pub fn lateness(&self) -> String {
        match (&self.state, &self.pod, &self.node) {
            (State::Stuck(trouble) | State::Lost(trouble), ..) => format!("its pod {}", trouble.why),
            (State::Done, ..) => "its pod has ended".to_owned(),
            (State::Running, ..) => "its pod runs, but nothing answers at its port".to_owned(),
            (State::Pending, Some(_), Some(node)) => {
                format!("node `{node}` has not started its pod: it may still pull the image")
            }
            (State::Pending, Some(_), None) => {
                "its pod has no node: perhaps the scheduler does not run".to_owned()
            }
            (State::Pending, None, _) => {
                "its pod is not created: perhaps the job controller does not run".to_owned()
            }
        }
    }

    /// The pod and its node as text; the index if there is no pod yet.
    fn name(&self, index: usize) -> String {
        match (&self.pod, &self.node) {
            (Some(pod), Some(node)) => format!("`{pod}` on node `{node}`"),
            (Some(pod), None) => format!("`{pod}`"),
            (None, _) => format!("of index {index}"),
        }
    }
}

fn sentence(Trouble { why, next, .. }: &Trouble, names: &[String]) -> String {
    let pods = if names.len() == 1 { "agent pod" } else { "each of the agent pods" };
    format!("{pods} {} {why}; {next}", named(names, MOST_NAMED))
}

#[cfg(test)]
mod tests;
