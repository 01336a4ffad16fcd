//! The Kubernetes client: reads a pod, and gets a dump from the admin interface of its proxy over a forwarded port. `agents` runs agents,
//! `requests` sends single requests for the measurement of a mesh, and `prometheus` queries a Prometheus.

mod agents;
mod connection;
mod direct;
mod prometheus;
mod requests;

use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use kube_client::api::Api;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use self::connection::{Connection, Failed, causes};
use crate::admin::Admin;
use crate::answer::dump_of;
use crate::described::Pod;
use crate::excerpt::excerpt;
use crate::refused::Refused;
use crate::rights::Request;
use crate::{Dump, DumpSource};

pub use self::agents::{PendingAgent, Removed, Running, remove_left, selector, start_agents};
pub use self::prometheus::Prometheus;
pub use self::requests::{Cluster, remove_left_namespaces};

/// Longest time without an answer or a further part of it.
const SILENCE: Duration = Duration::from_secs(30);
/// Time for the node to report why it could not forward a port, after the forwarded connection has ended.
const REASON: Duration = Duration::from_secs(2);
/// Maximum size of a dump, bytes. In a mesh of some thousand services, a dump has several hundred million.
const MOST_BYTES: usize = 1 << 30;
/// The request for the dump, including the endpoints of clusters.
const DUMP: Question<'static> =
    Question { host: "localhost", path: "/config_dump?include_eds", most_bytes: MOST_BYTES };

/// Takes the dump of the proxy in a pod.
///
/// # Errors
/// The reason, when there is no dump.
pub fn config_dump(source: &DumpSource<'_>) -> Result<Dump, Refused> {
    let runtime = runtime()?;
    let dump = runtime.block_on(async {
        let session = Session { connection: Connection::open(source.context).await?, source };
        let pod = session.pod().await?;
        let admin = pod.admin(source.pod, source.container, source.admin_port)?;
        pod.check_running(&session.connection.context, source.pod, admin.container.as_deref())?;
        let text = session.dump(&admin).await?;
        Ok(Dump { text, admin })
    });
    // Do not wait for connections to the API server that are still open.
    runtime.shutdown_background();
    dump
}

fn runtime() -> Result<Runtime, Refused> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Refused::Machine { why: error.to_string() })
}

/// A client of one cluster, for one pod.
struct Session<'a> {
    connection: Connection,
    source: &'a DumpSource<'a>,
}

impl Session<'_> {
    /// The pod.
    async fn pod(&self) -> Result<Pod, Refused> {
        let (namespace, name) = (self.source.pod.namespace(), self.source.pod.name());
        match self.connection.get(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await {
            Ok(pod) => Ok(pod),
            Err(Failed::NotFound(_)) => Err(self.missing().await),
            Err(failed) => Err(self.refused(failed, Request::Read)),
        }
    }

    /// The error for a missing pod or a missing namespace, for which the API server gives the same answer.
    async fn missing(&self) -> Refused {
        let (pod, context) = (self.source.pod.clone(), self.connection.context.clone());
        let there = self.connection.names(&format!("/api/v1/namespaces/{}/pods", pod.namespace())).await;
        if there.is_empty()
            && let Some(refused) = self.connection.missing_namespace(pod.namespace()).await
        {
            return refused;
        }
        Refused::NoPod { context, pod, there }
    }

    /// Gets the dump from the admin interface.
    async fn dump(&self, admin: &Admin) -> Result<String, Refused> {
        let pod = self.source.pod;
        let none = |why: String| {
            let (context, admin) = (self.connection.context.clone(), Box::new(admin.clone()));
            Refused::NoDump { context, pod: pod.clone(), admin, why }
        };
        let opened = open_port(&self.connection, pod.namespace(), pod.name(), admin.port).await;
        let Forwarded { stream, reason } = opened.map_err(|why| match why {
            NotForwarded::Failed(failed) => self.refused(failed, Request::Forward),
            NotForwarded::Other(why) => none(why),
        })?;
        let answer = ask(stream, &DUMP).await;
        match answer {
            Ok((status, body)) => dump_of(status, body).map_err(none),
            Err(why) => {
                // The connection ends before the node reports the reason.
                let reason = timeout(REASON, reason).await.ok().flatten();
                Err(none(reason.map_or(why, |reason| excerpt(&reason))))
            }
        }
    }

    /// Converts a failed request to a refusal.
    fn refused(&self, failed: Failed, request: Request) -> Refused {
        let (pod, context) = (self.source.pod.clone(), self.connection.context.clone());
        match failed {
            Failed::Refused(refused) => refused,
            Failed::Forbidden(said) => Refused::Forbidden { context, pod, request, said },
            Failed::NotFound(said) | Failed::Other(said) => Refused::Api { context, pod, request, said },
        }
    }
}

/// A port of a pod, forwarded by the API server.
struct Forwarded {
    stream: DuplexStream,
    /// The node's reason why it cannot forward the port; None if the connection has ended without one.
    reason: Pin<Box<dyn Future<Output = Option<String>> + Send>>,
}

/// The reason why a port is not forwarded.
enum NotForwarded {
    /// The API server refuses it.
    Failed(Failed),
    /// Something else.
    Other(String),
}

/// Makes the API server forward a port of a pod. Forwarding ends when the stream is dropped.
async fn open_port(
    connection: &Connection,
    namespace: &str,
    pod: &str,
    port: u16,
) -> Result<Forwarded, NotForwarded> {
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(connection.client.clone(), namespace);
    let opened = timeout(SILENCE, pods.portforward(pod, &[port])).await;
    let opened = opened.map_err(|_| NotForwarded::Other(silent()))?;
    let mut forwarder = opened.map_err(|error| NotForwarded::Failed(connection.failed(error)))?;
    match (forwarder.take_stream(port), forwarder.take_error(port)) {
        (Some(stream), Some(reason)) => Ok(Forwarded { stream, reason: Box::pin(reason) }),
        _ => Err(NotForwarded::Other("its port was not forwarded".to_owned())),
    }
}

/// An HTTP request.
struct Question<'a> {
    /// The value of its Host header.
    host: &'a str,
    path: &'a str,
    /// Maximum size of the answer, bytes.
    most_bytes: usize,
}

/// Sends a request over a connection to a server, such as an admin interface. Returns the status and the body of the answer.
async fn ask<S>(stream: S, question: &Question<'_>) -> Result<(u16, Vec<u8>), String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = within(handshake::<_, Empty<Bytes>>(TokioIo::new(stream))).await?;
    // The task ends with the connection. Its errors are also errors of the request.
    let connection = tokio::spawn(connection);
    let answer = answered(&mut sender, question).await;
    connection.abort();
    answer
}

async fn answered(
    sender: &mut SendRequest<Empty<Bytes>>,
    question: &Question<'_>,
) -> Result<(u16, Vec<u8>), String> {
    let request = http::Request::get(question.path).header(http::header::HOST, question.host);
    let request = request.body(Empty::new());
    let request = request.map_err(|error| error.to_string())?;
    let answer = within(sender.send_request(request)).await?;
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = timeout(SILENCE, body.frame()).await.map_err(|_| silent())? {
        let frame = frame.map_err(|error| format!("its answer ended early: {}", causes(&error)))?;
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data);
        }
        if bytes.len() > question.most_bytes {
            return Err(format!("its answer has more than {} MiB", question.most_bytes >> 20));
        }
    }
    Ok((status, bytes))
}

/// Waits for a step of a request, with a time limit.
async fn within<T, E: Error>(step: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    timeout(SILENCE, step).await.map_err(|_| silent())?.map_err(|error| causes(&error))
}

fn silent() -> String {
    format!("no answer within {} s", SILENCE.as_secs())
}

#[cfg(test)]
mod tests;
