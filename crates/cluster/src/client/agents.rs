//! Agents in pods: creates their Job, watches its pods, forwards their ports, and deletes the Job.
//!
//! The client runs on its own thread, because another runtime sends the load. The thread deletes the Job when the load has ended, however
//! it ended.

use std::collections::BTreeSet;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Failed, ObjectMetadata};
use super::{Forwarded, NotForwarded, open_port, runtime};
use crate::described::Pod;
use crate::job::pods::{Agent, Event, List, News, State, agents};
use crate::job::{ARRIVAL, AgentJob, Avoided, LABELS, service_of};
use crate::name::Namespace;
use crate::refused::Refused;
use crate::service::Service;

/// Time between two polls of the pods.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The additional time per agent between two polls, of a poll, and between two attempts to reach an agent: lists of a thousand pods and a
/// thousand forwarded ports take the time of the API server and of this machine.
const TIME_OF_AGENT: Duration = Duration::from_millis(4);
/// Time limit of a poll, and of the removal of an incomplete Job. The end of a load waits for it.
const LOOK_TIME: Duration = Duration::from_secs(5);
/// Time in which a node reports that nobody listens on a port. If somebody does, it reports nothing.
const REFUSAL: Duration = Duration::from_secs(1);
/// Time until a port on which nobody listened is forwarded again, without that of many agents.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// The agents of a Job, which is deleted when this is dropped.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    handle: Handle,
    agents: watch::Receiver<Vec<Agent>>,
    news: Option<mpsc::Receiver<String>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), Refused>>>,
}

/// The agent with a certain index, which may not be running yet.
pub struct PendingAgent {
    /// The name of the Job followed by the index, which is the host name of the pod.
    pub name: String,
    /// The stream to the agent, once it listens. If it does not listen within [`ARRIVAL`], the error has the reason.
    pub stream: Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>>,
}

/// The Jobs that were found, as `NAMESPACE/NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Deleted Jobs.
    pub removed: Vec<String>,
    /// Jobs that were left because their agents are running or may still be starting: somebody may be sending their load.
    pub in_use: Vec<String>,
}

/// The client and the Job with its id, for the thread and for all streams.
struct Shared {
    connection: Connection,
    job: AgentJob,
    uid: String,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("job", &self.job).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PendingAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingAgent").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Creates a Job of agents with this token in the cluster of a context; none for the current context. Agents avoid the nodes of targets
/// that are services, if the user may read the services' selectors.
///
/// # Errors
/// The reason, when there is no Job. Nothing remains in the cluster then.
pub fn start_agents(job: AgentJob, context: Option<&str>, token: &str) -> Result<Running, Refused> {
    let runtime = runtime()?;
    let handle = runtime.handle().clone();
    let (context, token) = (context.map(str::to_owned), token.to_owned());
    let (to_agents, agents) = watch::channel(vec![Agent::default(); job.agents as usize]);
    let (to_news, news) = mpsc::channel();
    let (to_start, started) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let thread = thread::Builder::new().name("cluster".to_owned()).spawn(move || {
        let ended = runtime.block_on(async {
            let made = Shared::make(job, context.as_deref(), &token).await.map(Arc::new);
            let shared = made.as_ref().ok().map(Arc::clone);
            // The caller is waiting for it.
            let _ = to_start.send(made);
            let Some(shared) = shared else { return Ok(()) };
            shared.watch(stopped, &to_agents, &to_news).await;
            shared.remove().await
        });
        runtime.shutdown_background();
        ended
    });
    let thread = thread.map_err(|error| Refused::Machine { why: error.to_string() })?;
    let shared = started.recv().map_err(|_| Refused::broken_thread())??;
    Ok(Running { shared, handle, agents, news: Some(news), stop: Some(stop), thread: Some(thread) })
}

impl Running {
    /// The name of the Job.
    pub fn job(&self) -> &str {
        &self.shared.job.name
    }

    /// The owner reference for objects that belong to the Job and are deleted with it.
    pub fn owner(&self) -> Value {
        self.shared.job.owner(&self.shared.uid)
    }

    /// Its agents.
    pub fn pending_agents(&self) -> Vec<PendingAgent> {
        let of = |index: usize| {
            let (shared, agents, handle) =
                (Arc::clone(&self.shared), self.agents.clone(), self.handle.clone());
            let stream = async move {
                let came = handle.spawn(shared.come(agents, index)).await;
                came.unwrap_or_else(|error| Err(io::Error::other(error.to_string())))
            };
            PendingAgent { name: format!("{}-{index}", self.shared.job.name), stream: Box::pin(stream) }
        };
        (0..self.shared.job.agents as usize).map(of).collect()
    }

    /// The agents, as the cluster last described them.
    pub fn agents(&self) -> Vec<Agent> {
        self.agents.borrow().clone()
    }

    /// Messages about pods that do not start or are lost, one sentence each. None if the receiver was taken before.
    pub fn take_news(&mut self) -> Option<mpsc::Receiver<String>> {
        self.news.take()
    }

    /// Deletes the Job with everything that belongs to it.
    ///
    /// # Errors
    /// When the cluster does not delete it. It then ends at its deadline.
    pub fn end(mut self) -> Result<(), Refused> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), Refused> {
        drop(self.stop.take());
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(Refused::broken_thread()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Callers that need the error call `end`.
        let _ = self.stop();
    }
}

/// An object of which only the id is needed.
#[derive(Deserialize)]
struct Created {
    metadata: CreatedMetadata,
}

#[derive(Deserialize)]
struct CreatedMetadata {
    uid: String,
}

impl Shared {
    /// Creates the Job and its Secret.
    async fn make(mut job: AgentJob, context: Option<&str>, token: &str) -> Result<Self, Refused> {
        let connection = Connection::open(context).await?;
        let avoided = avoided(&connection, &job).await?;
        job.avoided.extend(avoided);
        let shared = Self { connection, job, uid: String::new() };
        let made = shared.make_all(token).await;
        match made {
            Ok(uid) => Ok(Self { uid, ..shared }),
            Err(refused) => {
                // The Job may exist despite the error. Limit the time, so that the error is reported soon: the Job ends by itself.
                let _ = timeout(LOOK_TIME, shared.remove()).await;
                Err(refused)
            }
        }
    }

    async fn make_all(&self, token: &str) -> Result<String, Refused> {
        let Self { connection, job, .. } = self;
        let made: Result<Created, Failed> =
            connection.create(&jobs_of(&job.namespace), &job.manifest()).await;
        let uid = match made {
            Ok(made) => made.metadata.uid,
            Err(failed) => return Err(self.refused(failed, "make a Job").await),
        };
        let secrets = format!("/api/v1/namespaces/{}/secrets", job.namespace);
        let secret: Result<IgnoredAny, Failed> = connection.create(&secrets, &job.secret(&uid, token)).await;
        if let Err(failed) = secret {
            return Err(self.refused(failed, "make a Secret").await);
        }
        // Check the right to list pods, without which no agent would ever be found.
        if let Err(failed) = self.pods().await {
            return Err(self.refused(failed, "list pods").await);
        }
        Ok(uid)
    }

    /// Polls the pods until the load has ended.
    async fn watch(
        &self,
        mut stopped: oneshot::Receiver<()>,
        to_agents: &watch::Sender<Vec<Agent>>,
        to_news: &mpsc::Sender<String>,
    ) {
        let mut news = News::default();
        let mut said = String::new();
        loop {
            let before = to_agents.borrow().clone();
            let limit = LOOK_TIME + self.beside();
            let problem = match timeout(limit, self.look(&before)).await {
                Ok(Ok((all, problem))) => {
                    for text in news.update(&all) {
                        // The receiver may be gone.
                        let _ = to_news.send(text);
                    }
                    to_agents.send_replace(all);
                    problem
                }
                Ok(Err(failed)) => Some(failed),
                Err(_) => Some(Failed::Other(format!("it does not answer within {} s", limit.as_secs()))),
            };
            if let Some(failed) = problem {
                let text = self.refused(failed, "show the pods of the agents").await.to_string();
                if text != said {
                    let _ = to_news.send(text.clone());
                    said = text;
                }
            }
            if timeout(LOOK_EVERY + self.beside(), &mut stopped).await.is_ok() {
                return;
            }
        }
    }

    /// The time that many agents add to a pause or a time limit.
    fn beside(&self) -> Duration {
        TIME_OF_AGENT * self.job.agents
    }

    /// The agents after those of the previous poll, and the reason if their events are unknown.
    async fn look(&self, before: &[Agent]) -> Result<(Vec<Agent>, Option<Failed>), Failed> {
        let pods = self.pods().await?;
        let all_there = pods.items.len() >= self.job.agents as usize;
        let (events, problem) = if all_there {
            (List::default(), None)
        } else {
            let events = self.events().await;
            events.map_or_else(|failed| (List::default(), Some(failed)), |events| (events, None))
        };
        Ok((agents(&self.job, &pods, &events, before), problem))
    }

    /// The pods of the Job.
    async fn pods(&self) -> Result<List<Pod>, Failed> {
        let AgentJob { name, namespace, .. } = &self.job;
        let selector = selector("labelSelector", &[("batch.kubernetes.io/job-name", name.as_str())]);
        // Without a resource version, a list is never older than the previous one, so a missing pod is gone.
        self.connection.get(&format!("/api/v1/namespaces/{namespace}/pods?{selector}")).await
    }

    /// The events of the Job.
    async fn events(&self) -> Result<List<Event>, Failed> {
        let AgentJob { name, namespace, .. } = &self.job;
        let of_job = [("involvedObject.kind", "Job"), ("involvedObject.name", name.as_str())];
        let selector = selector("fieldSelector", &of_job);
        self.connection.get(&format!("/api/v1/namespaces/{namespace}/events?{selector}")).await
    }

    /// The stream to the agent with this index, once it listens. An error with the reason if that takes too long.
    async fn come(
        self: Arc<Self>,
        mut agents: watch::Receiver<Vec<Agent>>,
        index: usize,
    ) -> io::Result<DuplexStream> {
        if let Ok(came) = timeout(ARRIVAL, self.listening(&mut agents, index)).await {
            return came;
        }
        let agent = agents.borrow().get(index).cloned().unwrap_or_default();
        Err(io::Error::other(format!("after {} s, {}", ARRIVAL.as_secs(), agent.lateness())))
    }

    async fn listening(
        &self,
        agents: &mut watch::Receiver<Vec<Agent>>,
        index: usize,
    ) -> io::Result<DuplexStream> {
        loop {
            let agent = agents.borrow_and_update().get(index).cloned().unwrap_or_default();
            match (agent.state, agent.pod) {
                (State::Running, Some(pod)) => {
                    if let Some(stream) = self.forward(&pod).await? {
                        return Ok(stream);
                    }
                    sleep(AGAIN_AFTER + self.beside()).await;
                }
                (State::Lost(trouble), _) => {
                    return Err(io::Error::other(format!("its pod {}", trouble.why)));
                }
                (State::Done, _) => return Err(io::Error::other("its pod has ended before the load")),
                _ => {
                    let changed = agents.changed().await;
                    changed.map_err(|_| io::Error::other("the watch of its pods has ended"))?;
                }
            }
        }
    }

    /// A stream to the port of an agent; None if it does not listen yet.
    async fn forward(&self, pod: &str) -> io::Result<Option<DuplexStream>> {
        match open_port(&self.connection, self.job.namespace.as_str(), pod, self.job.port).await {
            Ok(Forwarded { stream, reason }) => Ok(timeout(REFUSAL, reason).await.is_err().then_some(stream)),
            // A single connection may fail. If all fail, polling the pods reports it.
            Err(NotForwarded::Failed(Failed::Refused(Refused::Unreachable { .. }))) => Ok(None),
            Err(NotForwarded::Failed(failed @ (Failed::Refused(_) | Failed::Forbidden(_)))) => {
                let refused = self.refused(failed, "forward a port of a pod").await;
                Err(io::Error::other(refused.to_string()))
            }
            // The pod may be gone, or its node may be busy: the next poll shows it.
            Err(NotForwarded::Failed(_) | NotForwarded::Other(_)) => Ok(None),
        }
    }

    /// Removes the Job.
    async fn remove(&self) -> Result<(), Refused> {
        let AgentJob { name, namespace, .. } = &self.job;
        match self.connection.delete(&format!("{}/{name}", jobs_of(namespace))).await {
            Ok(()) | Err(Failed::NotFound(_)) => Ok(()),
            Err(failed) => Err(self.refused(failed, "remove a Job").await),
        }
    }

    async fn refused(&self, failed: Failed, doing: &'static str) -> Refused {
        refused(&self.connection, &self.job.namespace, failed, doing).await
    }
}

/// The pods of targets that are services, as far as the user may read them.
///
/// # Errors
/// When requests in general would fail.
async fn avoided(connection: &Connection, job: &AgentJob) -> Result<Vec<Avoided>, Refused> {
    let hosts = job.targets.iter().filter_map(|target| target.rsplit_once(':'));
    let services: BTreeSet<_> = hosts.filter_map(|(host, _)| service_of(host, &job.namespace)).collect();
    let mut avoided = Vec::new();
    for (namespace, name) in services {
        let service: Result<Service, Failed> =
            connection.get(&format!("/api/v1/namespaces/{namespace}/services/{name}")).await;
        match service {
            Ok(service) if !service.spec.selector.is_empty() => {
                avoided.push(Avoided { namespace: namespace.to_owned(), labels: service.spec.selector });
            }
            Err(Failed::Refused(refused)) => return Err(refused),
            // Without a service or the right to read it, agents may share a node with it, as they do in a cluster with a single node.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(avoided)
}

/// The path of the Jobs of a namespace.
fn jobs_of(namespace: &Namespace) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

/// Converts a failed request to a refusal.
async fn refused(
    connection: &Connection,
    namespace: &Namespace,
    failed: Failed,
    doing: &'static str,
) -> Refused {
    let (context, namespace) = (connection.context.clone(), namespace.clone());
    match failed {
        Failed::Refused(refused) => refused,
        Failed::Forbidden(said) => Refused::ForbiddenAgents { context, namespace, doing, said },
        Failed::NotFound(said) => match connection.missing_namespace(namespace.as_str()).await {
            Some(refused) => refused,
            None => Refused::ApiOfAgents { context, namespace, doing, said },
        },
        Failed::Other(said) => Refused::ApiOfAgents { context, namespace, doing, said },
    }
}

/// The needed fields of a Job.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Left {
    metadata: ObjectMetadata,
    status: LeftStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LeftStatus {
    /// Number of pods that are running and ready.
    ready: u32,
    /// Number of pods that have not ended.
    active: u32,
}

impl Left {
    /// True if a controller may be using it: a controller waits for its first agents, or uses the running ones. Otherwise the agents end by
    /// themselves.
    pub(super) fn is_in_use(&self, now: Timestamp) -> bool {
        let Self { metadata, status } = self;
        let is_young = |made: &Time| now.as_second() - made.0.as_second() <= ARRIVAL.as_secs() as i64;
        status.ready > 0 || status.active > 0 && metadata.creation_timestamp.as_ref().is_some_and(is_young)
    }
}

/// The query parameter that selects objects: `labelSelector` by labels, `fieldSelector` by fields.
pub fn selector(parameter: &str, pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(key, value)| format!("{}%3D{value}", key.replace('/', "%2F")));
    format!("{parameter}={}", pairs.collect::<Vec<_>>().join("%2C"))
}

/// Deletes the Jobs of ended or killed loads in a namespace, or in all namespaces that the user may list, except those that may be in use.
///
/// # Errors
/// When they cannot be listed, or one cannot be deleted.
pub fn remove_left(context: Option<&str>, namespace: Option<&Namespace>) -> Result<Removed, Refused> {
    let runtime = runtime()?;
    let removed = runtime.block_on(async {
        let connection = Connection::open(context).await?;
        let selector = selector("labelSelector", &LABELS);
        let path = namespace.map_or_else(|| "/apis/batch/v1/jobs".to_owned(), jobs_of);
        let listed: Result<List<Left>, Failed> = connection.get(&format!("{path}?{selector}")).await;
        let listed = match (listed, namespace) {
            (Ok(listed), _) => listed,
            (Err(failed), Some(namespace)) => {
                return Err(refused(&connection, namespace, failed, "list jobs").await);
            }
            (Err(Failed::Refused(refused)), None) => return Err(refused),
            (Err(Failed::Forbidden(said) | Failed::NotFound(said) | Failed::Other(said)), None) => {
                return Err(Refused::AllNamespaces { context: connection.context.clone(), said });
            }
        };
        let mut found = Removed::default();
        let now = Timestamp::now();
        for left in listed.items {
            let ObjectMetadata { name, namespace, .. } = &left.metadata;
            let shown = format!("{namespace}/{name}");
            if left.is_in_use(now) {
                found.in_use.push(shown);
                continue;
            }
            // Names from the cluster are always valid.
            let Ok(namespace) = namespace.parse::<Namespace>() else { continue };
            match connection.delete(&format!("{}/{name}", jobs_of(&namespace))).await {
                Ok(()) => found.removed.push(shown),
                // Somebody else has deleted it.
                Err(Failed::NotFound(_)) => {}
                Err(failed) => return Err(refused(&connection, &namespace, failed, "remove a Job").await),
            }
        }
        Ok(found)
    });
    runtime.shutdown_background();
    removed
}
