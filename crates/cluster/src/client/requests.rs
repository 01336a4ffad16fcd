//! Single, sequential requests to a cluster, for the measurement of a mesh.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::runtime::Runtime;

use super::agents::{Left, Removed, selector};
use super::connection::{Connection, Failed, Object};
use super::{Forwarded, NotForwarded, open_port, runtime};
use crate::job::pods::{Event, List};
use crate::job::{ARRIVAL, MESH_LABELS};
use crate::refused::Refused;
use crate::rights::GroupResource;

/// A client of one cluster.
pub struct Cluster {
    connection: Connection,
    runtime: Runtime,
    made: Vec<GroupResource>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("context", &self.connection.context).finish_non_exhaustive()
    }
}

/// The kinds of objects in an API group.
#[derive(Deserialize)]
struct Kinds {
    resources: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    kind: String,
    namespaced: bool,
}

impl Cluster {
    /// Creates the client of a context; none for the current context. Sends nothing.
    ///
    /// # Errors
    /// When the kubeconfig has no such context, or cannot be used.
    pub fn open(context: Option<&str>) -> Result<Self, Refused> {
        let runtime = runtime()?;
        // The client spawns tasks in the runtime.
        let connection = runtime.block_on(Connection::open(context))?;
        Ok(Self { connection, runtime, made: Vec::new() })
    }

    /// Makes errors about missing rights show the rule that also grants the objects of templates.
    #[must_use]
    pub fn making(self, made: Vec<GroupResource>) -> Self {
        Self { made, ..self }
    }

    /// The name of its context.
    pub fn context(&self) -> &str {
        &self.connection.context
    }

    /// An object of the API, or a list of them. `doing` names the request in errors, as a verb and its object.
    ///
    /// # Errors
    /// When the request is refused.
    pub fn get<T: DeserializeOwned>(&self, path: &str, doing: &str) -> Result<T, Refused> {
        self.runtime.block_on(self.connection.get(path)).map_err(|failed| self.refused(failed, doing))
    }

    /// An answer that is not an object, such as metrics.
    ///
    /// # Errors
    /// When the request is refused.
    pub fn text(&self, path: &str, doing: &str) -> Result<String, Refused> {
        self.runtime.block_on(self.connection.text(path)).map_err(|failed| self.refused(failed, doing))
    }

    /// Creates an object in a namespace, or a namespace.
    ///
    /// # Errors
    /// When the request is refused, or when the cluster has no such namespaced kind.
    pub fn make(&self, manifest: &Value, namespace: Option<&str>) -> Result<(), Refused> {
        let word = |name: &str| manifest[name].as_str().unwrap_or_default().to_owned();
        let (version, kind) = (word("apiVersion"), word("kind"));
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        let doing = match namespace {
            Some(namespace) => format!("make {kind} `{name}` in namespace `{namespace}`"),
            None => format!("make {kind} `{name}`"),
        };
        let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let path = match namespace {
            None => format!("{root}/namespaces"),
            Some(namespace) => {
                let kinds: Kinds = self.get(&root, &format!("list the kinds of `{version}`"))?;
                // Subresources, such as the status of an object, have a slash in their names.
                let is_it = |one: &&Listed| one.kind == kind && one.namespaced && !one.name.contains('/');
                let Some(kind) = kinds.resources.iter().find(is_it) else {
                    let said =
                        format!("it has no namespaced kind `{kind}` of `{version}`; is the mesh installed?");
                    return Err(self.refused(Failed::Other(said), &doing));
                };
                format!("{root}/namespaces/{namespace}/{}", kind.name)
            }
        };
        let made: Result<IgnoredAny, Failed> = self.runtime.block_on(self.connection.create(&path, manifest));
        made.map(drop).map_err(|failed| self.refused(failed, &doing))
    }

    /// Deletes the object at a path. An object that does not exist is not an error.
    ///
    /// # Errors
    /// When the request is refused.
    pub fn remove(&self, path: &str, doing: &str) -> Result<(), Refused> {
        match self.runtime.block_on(self.connection.delete(path)) {
            Ok(()) | Err(Failed::NotFound(_)) => Ok(()),
            Err(failed) => Err(self.refused(failed, doing)),
        }
    }

    /// A stream to a port of a pod, which is forwarded while [`Cluster::run`] runs something. If nobody listens on the port, reading fails.
    ///
    /// # Errors
    /// When the request is refused.
    pub fn forward(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
        doing: &str,
    ) -> Result<DuplexStream, Refused> {
        match self.runtime.block_on(open_port(&self.connection, namespace, pod, port)) {
            Ok(Forwarded { stream, .. }) => Ok(stream),
            Err(NotForwarded::Failed(failed)) => Err(self.refused(failed, doing)),
            Err(NotForwarded::Other(why)) => Err(self.refused(Failed::Other(why), doing)),
        }
    }

    /// Runs a future to its end, such as a query over a forwarded port.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The latest reason why pods of an object in a namespace were not created; none if there is no such event.
    pub fn not_created(&self, namespace: &str, kind: &str, name: &str) -> Option<String> {
        let selector =
            selector("fieldSelector", &[("involvedObject.kind", kind), ("involvedObject.name", name)]);
        let path = format!("/api/v1/namespaces/{namespace}/events?{selector}");
        let events: List<Event> = self.get(&path, "list events").ok()?;
        events.items.iter().rev().find_map(Event::not_created)
    }

    fn refused(&self, failed: Failed, doing: &str) -> Refused {
        let (context, doing) = (self.connection.context.clone(), doing.to_owned());
        match failed {
            Failed::Refused(refused) => refused,
            Failed::Forbidden(said) => {
                Refused::ForbiddenMesh { context, doing, said, made: self.made.clone() }
            }
            Failed::NotFound(said) | Failed::Other(said) => Refused::ApiOfMesh { context, doing, said },
        }
    }
}

impl Object {
    /// True if it is being deleted.
    fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// True if it was created less than `than` ago.
    fn is_younger(&self, than: Duration, now: Timestamp) -> bool {
        let made = self.metadata.creation_timestamp.as_ref();
        made.is_none_or(|made| now.as_second() - made.0.as_second() < than.as_secs() as i64)
    }

    /// True if a namespace with these pods may be in use although it has no Job: the Job of a round is deleted before the pods of the next
    /// round are created, and callers are created after origins.
    fn is_of_round(&self, now: Timestamp) -> bool {
        self.is_ending() || self.is_younger(ARRIVAL * 2, now)
    }
}

/// Deletes the namespaces of killed mesh measurements, except those that may be in use.
///
/// # Errors
/// When they cannot be listed, or one cannot be deleted.
pub fn remove_left_namespaces(context: Option<&str>) -> Result<Removed, Refused> {
    let cluster = Cluster::open(context)?;
    let path = format!("/api/v1/namespaces?{}", selector("labelSelector", &MESH_LABELS));
    let all: List<Object> = cluster.get(&path, "list namespaces")?;
    let mut found = Removed::default();
    let now = Timestamp::now();
    // Deleting an object that is already being deleted is refused.
    for namespace in all.items.into_iter().filter(|namespace| !namespace.is_ending()) {
        let name = namespace.metadata.name.clone();
        let jobs: List<Left> = cluster.get(&format!("/apis/batch/v1/namespaces/{name}/jobs"), "list jobs")?;
        let pods: List<Object> = cluster.get(&format!("/api/v1/namespaces/{name}/pods"), "list pods")?;
        // A new namespace may be about to get its first pod.
        if namespace.is_younger(ARRIVAL, now)
            || jobs.items.iter().any(|job| job.is_in_use(now))
            || pods.items.iter().any(|pod| pod.is_of_round(now))
        {
            found.in_use.push(name);
            continue;
        }
        cluster.remove(&format!("/api/v1/namespaces/{name}"), &format!("remove namespace `{name}`"))?;
        found.removed.push(name);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_of_a_round_that_begins_or_ends_keep_their_namespace() {
        let now: Timestamp = "2026-01-02T03:10:00Z".parse().unwrap();
        let is_of_round = |metadata: Value| {
            let pod: Object = serde_json::from_value(json!({"metadata": metadata})).unwrap();
            pod.is_of_round(now)
        };
        assert!(is_of_round(json!({"name": "origin-1", "creationTimestamp": "2026-01-02T03:07:00Z"})));
        // Pods of a killed measurement end by their deadline.
        assert!(!is_of_round(json!({"name": "origin-1", "creationTimestamp": "2026-01-02T03:05:00Z"})));
        assert!(is_of_round(json!({
            "name": "origin-1",
            "creationTimestamp": "2026-01-02T03:05:00Z",
            "deletionTimestamp": "2026-01-02T03:09:59Z",
        })));
    }
}
