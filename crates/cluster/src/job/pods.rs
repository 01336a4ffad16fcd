//! The states of the pods of a Job, by what the cluster says of them: which agents come, which may still come, and which are lost and why.

use serde::Deserialize;

use super::{AgentJob, CONTAINER};
use crate::described::{Condition, ContainerState, Metadata, Pod, Status, WaitsFor, Why};
use crate::excerpt::excerpt;

/// The label, in older versions of Kubernetes the annotation, with the index of a pod.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Most names of pods that one message lists.
const MOST_NAMED: usize = 3;

/// A list of objects, as the API answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct List<T: Default> {
    /// The objects.
    pub items: Vec<T>,
}

impl Why {
    /// The state of an agent whose container ended so.
    fn state(&self, job: &AgentJob) -> State {
        let Self { reason, message, exit_code } = self;
        if *exit_code == 0 {
            return State::Done;
        }
        if reason == "OOMKilled" {
            let why = format!("was ended because its {} MiB of memory were full (OOMKilled)", job.memory_mib);
            let next = "give each agent more with --agent-memory".to_owned();
            return State::Lost(Trouble { kind: "out of memory", why, next });
        }
        if message.contains("exec format error") {
            let image = &job.image;
            let why = format!(
                "cannot run image `{image}`, which is for another architecture than its node: {}",
                excerpt(message)
            );
            let next = "name an image for this architecture, or for several, with --agent-image".to_owned();
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
            "these are its last words; the image needs the same version of hoptax as this program".to_owned();
        State::Lost(Trouble { kind: "ended", why, next })
    }
}

/// An event of a Job, as far as it is needed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    reason: String,
    message: String,
}

impl Event {
    /// The reason why a pod was not created, in short; none if it says something else.
    pub fn not_created(&self) -> Option<String> {
        (self.reason == "FailedCreate").then(|| excerpt(&self.message))
    }
}

/// A reason why an agent does not come, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its kind, which stays when the words change.
    kind: &'static str,
    /// The cause, as the end of a sentence about a pod.
    pub why: String,
    /// The next step.
    pub next: String,
}

/// The state of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Its pod has not started.
    #[default]
    Pending,
    /// Its pod waits for what may not come.
    Stuck(Trouble),
    /// It runs.
    Running,
    /// It does not come, or has ended too early.
    Lost(Trouble),
    /// It has ended well.
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

/// The agents of a Job by their indices, by its pods and its events, after those of the look before.
pub fn agents(job: &AgentJob, pods: &List<Pod>, events: &List<Event>, before: &[Agent]) -> Vec<Agent> {
    let mut all = vec![Agent::default(); job.agents as usize];
    let mut created = vec![""; all.len()];
    for pod in &pods.items {
        let Some(index) = pod.index().filter(|index| *index < all.len()) else { continue };
        // Some versions replace a pod before it has gone: the newest counts.
        if pod.metadata.creation_timestamp.as_str() >= created[index] {
            created[index] = &pod.metadata.creation_timestamp;
            all[index] = Agent {
                pod: Some(pod.metadata.name.clone()),
                node: pod.spec.node_name.clone(),
                state: pod.state(job),
            };
        }
    }
    // Only the last event is about the pods that are still missing.
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

/// A pod that somebody deletes, or has deleted.
fn deleted(why: &str) -> Trouble {
    let next =
        "its share is missing: find who deletes its pod, its Job or its namespace, such as a job that cleans up"
            .to_owned();
    Trouble { kind: "deleted", why: why.to_owned(), next }
}

/// A pod that the cluster does not create.
fn not_created(job: &AgentJob, message: &str) -> Trouble {
    let why = format!("is not created: {message}");
    if message.contains("exceeded quota") {
        let next =
            "ask for less with --agent-cpus and --agent-memory or for fewer agents, or have the quota raised"
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
        // The reason of the container is nearer to the cause than that of the pod, except if the node ended it.
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

    /// The trouble of a pod that its node has ended or refused.
    fn ended_by_node(&self, job: &AgentJob) -> Option<Trouble> {
        let Status { phase, reason, .. } = &self.status;
        let reason = reason.as_deref().filter(|_| phase == "Failed")?;
        let message = self.status.said();
        if reason == "Evicted" {
            let next =
                "its share is missing: keep other work off the node, or ask for more with --agent-memory"
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

    /// The trouble of a pod that runs, but not for long.
    fn leaves(&self) -> Option<Trouble> {
        let target =
            |condition: &&Condition| condition.kind == "DisruptionTarget" && condition.status == "True";
        if let Some(Condition { reason, message, .. }) = self.status.conditions.iter().find(target) {
            let why = format!("is being evicted ({reason}: {})", excerpt(message));
            let next = "its share is missing: have the agents on nodes that stay".to_owned();
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
                let next = "check --agent-image and --agent-pull, and that nodes may pull it: `imagePullSecrets` of the service account \
                            `default` of the namespace"
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

/// The trouble of a pod that no node takes.
fn unscheduled(said: &str) -> Trouble {
    let next =
        "ask for less with --agent-cpus and --agent-memory or for fewer agents, or add nodes".to_owned();
    Trouble { kind: "unschedulable", why: format!("fits on no node: {said}"), next }
}

/// Says what is new of agents, each trouble once.
#[derive(Debug, Default)]
pub struct News {
    told: Vec<Option<&'static str>>,
}

impl News {
    /// A sentence for each trouble that some agents did not have before.
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
    /// The agent, whose pod is there no more. The cause that was known before counts.
    fn gone(&self) -> Self {
        let state = match &self.state {
            State::Lost(trouble) => State::Lost(trouble.clone()),
            State::Done => State::Done,
            State::Pending | State::Stuck(_) | State::Running => State::Lost(deleted("is gone")),
        };
        Self { state, ..self.clone() }
    }

    /// The reason why it has not come, as the end of a sentence about it.
    pub fn lateness(&self) -> String {
        match (&self.state, &self.pod, &self.node) {
            (State::Stuck(trouble) | State::Lost(trouble), ..) => format!("its pod {}", trouble.why),
            (State::Done, ..) => "its pod has ended".to_owned(),
            (State::Running, ..) => "its pod runs, and nothing answers at its port".to_owned(),
            (State::Pending, Some(_), Some(node)) => {
                format!("node `{node}` has not started its pod: it may still pull the image")
            }
            (State::Pending, Some(_), None) => "its pod has no node: the scheduler may not run".to_owned(),
            (State::Pending, None, _) => {
                "its pod is not created: the controller of jobs may not run".to_owned()
            }
        }
    }

    /// The pod and its node in words; before there is a pod, the index.
    fn name(&self, index: usize) -> String {
        match (&self.pod, &self.node) {
            (Some(pod), Some(node)) => format!("`{pod}` on node `{node}`"),
            (Some(pod), None) => format!("`{pod}`"),
            (None, _) => format!("of index {index}"),
        }
    }
}

fn sentence(Trouble { why, next, .. }: &Trouble, names: &[String]) -> String {
    let (shown, more) = names.split_at(names.len().min(MOST_NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let pods = if names.len() == 1 { "agent pod" } else { "each of the agent pods" };
    format!("{pods} {}{more} {why}; {next}", shown.join(", "))
}

#[cfg(test)]
mod tests;
