//! The client of Kubernetes: reads a pod, and asks the admin interface of its proxy for a dump over a forwarded port.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use kube_client::api::Api;
use kube_client::client::AuthError;
use kube_client::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube_client::{Client, Config};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::admin::Admin;
use crate::answer::dump_of;
use crate::pod::Pod;
use crate::refused::Refused;
use crate::rights::Request;
use crate::{Dump, Wanted};

/// Longest time without an answer, or a further part of one.
const SILENCE: Duration = Duration::from_secs(30);
/// Time for the node to say why it could not forward a port, once the forwarded connection has ended.
const REASON: Duration = Duration::from_secs(2);
/// Most bytes of a dump. A mesh of some thousand services has some hundred million.
const MOST_BYTES: usize = 1 << 30;
/// The path of the dump, with the endpoints of clusters.
const PATH: &str = "/config_dump?include_eds";
/// What an API server sends of objects if only their names are needed.
const METADATA_ALONE: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Takes the dump of the proxy in a pod.
///
/// # Errors
/// Why there is none.
pub fn config_dump(wanted: &Wanted<'_>) -> Result<Dump, Refused> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Refused::Machine { why: error.to_string() })?;
    let dump = runtime.block_on(async {
        let session = Session::open(wanted).await?;
        let pod = session.pod().await?;
        let admin = pod.admin(wanted.pod, wanted.container, wanted.admin_port)?;
        pod.check_running(wanted.pod, admin.container.as_deref())?;
        let text = session.dump(&admin).await?;
        Ok(Dump { text, admin })
    });
    // A connection to the API server may still be open.
    runtime.shutdown_background();
    dump
}

/// A client of one cluster, for one pod.
struct Session<'a> {
    client: Client,
    wanted: &'a Wanted<'a>,
    context: String,
    server: String,
}

impl<'a> Session<'a> {
    /// Reads the kubeconfig, and makes the client of the context. Nothing is sent.
    async fn open(wanted: &'a Wanted<'a>) -> Result<Self, Refused> {
        let unusable = |error: &dyn Error| Refused::Kubeconfig { why: causes(error) };
        let given = Kubeconfig::read().map_err(|error| match error {
            // The lines around its place may hold a token.
            KubeconfigError::Parse(error) => Refused::Kubeconfig { why: error.without_snippet().to_string() },
            error => unusable(&error),
        })?;
        let there: Vec<String> = given.contexts.iter().map(|context| context.name.clone()).collect();
        let context = wanted.context.map(str::to_owned).or_else(|| given.current_context.clone());
        let context = context.filter(|context| there.contains(context)).ok_or_else(|| {
            let current = given.current_context.clone().filter(|current| !current.is_empty());
            Refused::NoContext { wanted: wanted.context.map(str::to_owned).or(current), there }
        })?;
        let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(given, &options).await;
        let config = config.map_err(|error| unusable(&error))?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| match error {
            kube_client::Error::Auth(error) => {
                Refused::Credentials { context: context.clone(), why: why(&error) }
            }
            error => unusable(&error),
        })?;
        Ok(Self { client, wanted, context, server })
    }

    /// The pod.
    async fn pod(&self) -> Result<Pod, Refused> {
        let (namespace, name) = (self.wanted.pod.namespace(), self.wanted.pod.name());
        let pod = self.get(&format!("/api/v1/namespaces/{namespace}/pods/{name}"), "application/json").await;
        match pod {
            Ok(pod) => Ok(pod),
            Err(kube_client::Error::Api(status)) if status.is_not_found() => Err(self.missing().await),
            Err(error) => Err(self.refused(error, Request::Read)),
        }
    }

    /// Why there is no pod of the name. The API server answers alike if there is no namespace.
    async fn missing(&self) -> Refused {
        let (pod, context) = (self.wanted.pod.clone(), self.context.clone());
        let of_namespace = format!("/api/v1/namespaces/{}", pod.namespace());
        let there = self.names(&format!("{of_namespace}/pods")).await;
        if there.is_empty() {
            let namespace = self.get::<IgnoredAny>(&of_namespace, "application/json").await;
            if matches!(&namespace, Err(kube_client::Error::Api(status)) if status.is_not_found()) {
                let there = self.names("/api/v1/namespaces").await;
                return Refused::NoNamespace { context, wanted: pod.namespace().to_owned(), there };
            }
        }
        Refused::NoPod { context, pod, there }
    }

    /// The names of the objects of a list; none if the user may not read it.
    async fn names(&self, path: &str) -> Vec<String> {
        let list: Result<List, _> = self.get(path, METADATA_ALONE).await;
        list.map(|list| list.items.into_iter().map(|item| item.metadata.name).collect()).unwrap_or_default()
    }

    /// An object of the API.
    async fn get<T: DeserializeOwned>(&self, path: &str, accepted: &str) -> Result<T, kube_client::Error> {
        let request = http::Request::get(path).header(http::header::ACCEPT, accepted).body(Vec::new());
        let request = request.map_err(kube_client::Error::HttpError)?;
        match timeout(SILENCE, self.client.request(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(kube_client::Error::Service(silent().into())),
        }
    }

    /// The dump that the admin interface answers with.
    async fn dump(&self, admin: &Admin) -> Result<String, Refused> {
        let pod = self.wanted.pod;
        let none = |why: String| Refused::NoDump { pod: pod.clone(), admin: Box::new(admin.clone()), why };
        let pods: Api<k8s_openapi::api::core::v1::Pod> =
            Api::namespaced(self.client.clone(), pod.namespace());
        let opened = timeout(SILENCE, pods.portforward(pod.name(), &[admin.port])).await;
        let opened = opened.map_err(|_| none(silent()))?;
        let mut forwarder = opened.map_err(|error| self.refused(error, Request::Forward))?;
        let (stream, reason) = (forwarder.take_stream(admin.port), forwarder.take_error(admin.port));
        let (Some(stream), Some(reason)) = (stream, reason) else {
            return Err(none("its port was not forwarded".to_owned()));
        };
        let answer = ask(stream).await;
        let dump = match answer {
            Ok((status, body)) => dump_of(status, body).map_err(none),
            Err(why) => {
                // The connection ends before the node says why.
                let reason = timeout(REASON, reason).await.ok().flatten();
                Err(none(reason.map_or(why, |reason| reason.trim().to_owned())))
            }
        };
        forwarder.abort();
        dump
    }

    /// The reason of a request that failed.
    fn refused(&self, error: kube_client::Error, request: Request) -> Refused {
        let (pod, context) = (self.wanted.pod.clone(), self.context.clone());
        match error {
            kube_client::Error::Api(status) if status.code == 401 => {
                Refused::Credentials { context, why: format!("401 {}", status.message) }
            }
            kube_client::Error::Api(status) if status.is_forbidden() => {
                Refused::Forbidden { pod, request, said: status.message }
            }
            kube_client::Error::Api(status) => {
                let said = format!("{} {}", status.code, status.message);
                Refused::Api { context, pod, request, said }
            }
            kube_client::Error::Auth(error) => Refused::Credentials { context, why: why(&error) },
            error => Refused::Unreachable { context, server: self.server.clone(), why: causes(&error) },
        }
    }
}

/// A list of objects, of which only the names are needed.
#[derive(Deserialize)]
struct List {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

/// Asks an admin interface for its dump, over a connection to it: the status and the body of its answer.
async fn ask<S>(stream: S) -> Result<(u16, Vec<u8>), String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = within(handshake::<_, Empty<Bytes>>(TokioIo::new(stream))).await?;
    // It ends with the connection; what it fails with, the request fails with, too.
    let connection = tokio::spawn(connection);
    let request = http::Request::get(PATH).header(http::header::HOST, "localhost").body(Empty::new());
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
        if bytes.len() > MOST_BYTES {
            return Err(format!("its answer has more than {} MiB", MOST_BYTES >> 20));
        }
    }
    connection.abort();
    Ok((status, bytes))
}

/// The output of a step of a request, which may not be silent.
async fn within<T, E: Error>(step: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    timeout(SILENCE, step).await.map_err(|_| silent())?.map_err(|error| causes(&error))
}

fn silent() -> String {
    format!("no answer within {} s", SILENCE.as_secs())
}

/// The reason why there are no credentials. What a program for them printed on stdout may be one.
fn why(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { cmd, out } => {
            let said = String::from_utf8_lossy(&out.stderr);
            format!("`{cmd}` ended with {}: {}", out.status, said.trim())
        }
        AuthError::AuthExecParse(_) => "its `exec` printed something else than credentials".to_owned(),
        error => causes(error),
    }
}

/// An error with its causes. Some repeat theirs.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
