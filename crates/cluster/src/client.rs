//! The client of Kubernetes: reads a pod, and asks the admin interface of its proxy for a dump over a forwarded port.

mod direct;

use std::env;
use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use hoptax_text::secrets::users_of_urls;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use kube_client::api::Api;
use kube_client::client::AuthError;
use kube_client::config::{KubeConfigOptions, Kubeconfig, KubeconfigError, NamedCluster};
use kube_client::{Client, Config};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use self::direct::is_direct;
use crate::admin::Admin;
use crate::answer::dump_of;
use crate::pod::Pod;
use crate::refused::Refused;
use crate::rights::{Missing, Request};
use crate::{Dump, Wanted};

/// Longest time without an answer, or a further part of one.
const SILENCE: Duration = Duration::from_secs(30);
/// Time for the node to say why it could not forward a port, once the forwarded connection has ended.
const REASON: Duration = Duration::from_secs(2);
/// Most bytes of a dump. A mesh of some thousand services has some hundred million.
const MOST_BYTES: usize = 1 << 30;
/// Most letters of a message of a server or a program that an error repeats: a proxy before an API server answers with whole pages.
const MOST_LETTERS: usize = 500;
/// The user that an API server takes a request without credentials for.
const NOBODY: &str = "system:anonymous";
/// The path of the dump, with the endpoints of clusters.
const PATH: &str = "/config_dump?include_eds";
/// Reasons that an API server states. Other servers, such as a proxy before it, answer with the same codes.
const NOT_FOUND: &str = "NotFound";
const FORBIDDEN: &str = "Forbidden";
/// The form of lists of which only the names are needed.
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
        pod.check_running(&session.context, wanted.pod, admin.container.as_deref())?;
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
    /// The program of the kubeconfig that prints credentials, if it names one.
    program: Option<String>,
}

impl<'a> Session<'a> {
    /// Reads the kubeconfig, and makes the client of the context. Nothing is sent.
    async fn open(wanted: &'a Wanted<'a>) -> Result<Self, Refused> {
        let unusable = |error: &dyn Error| Refused::Kubeconfig { why: causes(error) };
        let given = Kubeconfig::read().map_err(|error| match error {
            // The error repeats the text at its place, which may be a token.
            KubeconfigError::Parse(error) => {
                let place =
                    error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
                Refused::Kubeconfig { why: format!("it is no kubeconfig{}", place.unwrap_or_default()) }
            }
            KubeconfigError::ReadConfig(error, path) => {
                let why = if error.kind() == io::ErrorKind::NotFound {
                    "there is no such file".to_owned()
                } else {
                    error.to_string()
                };
                Refused::NoKubeconfig { path: path.display().to_string(), why }
            }
            error => unusable(&error),
        })?;
        let there: Vec<String> = given.contexts.iter().map(|context| context.name.clone()).collect();
        let context = wanted.context.map(str::to_owned).or_else(|| given.current_context.clone());
        let context = context.filter(|context| there.contains(context)).ok_or_else(|| {
            let current = given.current_context.clone().filter(|current| !current.is_empty());
            Refused::NoContext { wanted: wanted.context.map(str::to_owned).or(current), there }
        })?;
        let has_proxy = states_proxy(&given, &context);
        let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(given, &options).await;
        let mut config = config.map_err(|error| unusable(&error))?;
        // A server that answers with 503 would be asked again until its answer is not known.
        config.default_retry = false;
        if !has_proxy && is_without_proxy(&config.cluster_url) {
            config.proxy_url = None;
        }
        let server = without_users(&config.cluster_url.to_string());
        let program = config.auth_info.exec.as_ref().and_then(|exec| exec.command.clone());
        let client = Client::try_from(config).map_err(|error| match &error {
            kube_client::Error::Auth(error) => {
                Refused::Credentials { context: context.clone(), why: why(error, program.as_deref()) }
            }
            // They repeat the address of the proxy, which may have a password.
            kube_client::Error::ProxyProtocolUnsupported { .. }
            | kube_client::Error::ProxyProtocolDisabled { .. } => Refused::Kubeconfig {
                why: "its `proxy-url`, or the variable HTTPS_PROXY, is no `http://` and no `https://`"
                    .to_owned(),
            },
            error => unusable(error),
        })?;
        Ok(Self { client, wanted, context, server, program })
    }

    /// The pod.
    async fn pod(&self) -> Result<Pod, Refused> {
        let (namespace, name) = (self.wanted.pod.namespace(), self.wanted.pod.name());
        let pod = self.get(&format!("/api/v1/namespaces/{namespace}/pods/{name}"), "application/json").await;
        match pod {
            Ok(pod) => Ok(pod),
            Err(kube_client::Error::Api(status)) if status.reason == NOT_FOUND => Err(self.missing().await),
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
            if matches!(&namespace, Err(kube_client::Error::Api(status)) if status.reason == NOT_FOUND) {
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
        let none = |why: String| {
            let (context, admin) = (self.context.clone(), Box::new(admin.clone()));
            Refused::NoDump { context, pod: pod.clone(), admin, why }
        };
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
                Err(none(reason.map_or(why, |reason| short(&reason))))
            }
        };
        forwarder.abort();
        dump
    }

    /// The reason of a request that failed.
    fn refused(&self, error: kube_client::Error, request: Request) -> Refused {
        let (pod, context) = (self.wanted.pod.clone(), self.context.clone());
        if let Some(error) = of_credentials(&error) {
            return Refused::Credentials { context, why: why(error, self.program.as_deref()) };
        }
        match error {
            kube_client::Error::Api(status) if status.code == 401 => {
                Refused::Credentials { context, why: format!("401 {}", short(&status.message)) }
            }
            kube_client::Error::Api(status) if status.reason == FORBIDDEN => {
                let said = short(&status.message);
                match Missing::of(&said, request).user {
                    // Who grants a right to nobody grants it to everybody.
                    Some(user) if user == NOBODY => {
                        let why = format!("it has none for this context, which makes you `{NOBODY}`");
                        Refused::Credentials { context, why }
                    }
                    _ => Refused::Forbidden { context, pod, request, said },
                }
            }
            kube_client::Error::Api(status) => {
                let said = format!("{} {}", status.code, short(&status.message));
                Refused::Api { context, pod, request, said }
            }
            // The error repeats a part of the answer.
            kube_client::Error::SerdeError(_) | kube_client::Error::FromUtf8(_) => {
                let said =
                    format!("{} answered with something else than an object of Kubernetes", self.server);
                Refused::Api { context, pod, request, said }
            }
            error => Refused::Unreachable { context, server: self.server.clone(), why: last_cause(&error) },
        }
    }
}

/// The error of credentials in a failed request: they are renewed while it is sent.
fn of_credentials<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a AuthError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<AuthError>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// True if a kubeconfig states a proxy for the cluster of a context.
fn states_proxy(given: &Kubeconfig, context: &str) -> bool {
    let context = given.contexts.iter().find(|one| one.name == context).and_then(|one| one.context.as_ref());
    let is_it = |cluster: &&NamedCluster| context.is_some_and(|context| context.cluster == cluster.name);
    let cluster = given.clusters.iter().find(is_it).and_then(|one| one.cluster.as_ref());
    cluster.and_then(|cluster| cluster.proxy_url.as_deref()).is_some_and(|url| !url.is_empty())
}

/// True if no proxy of the environment is asked for a server.
fn is_without_proxy(server: &http::Uri) -> bool {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let no_proxy = variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default();
    let usual = if server.scheme_str() == Some("http") { 80 } else { 443 };
    server.host().is_some_and(|host| is_direct(host, server.port_u16().unwrap_or(usual), &no_proxy))
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

/// The reason why there are no credentials. The output of a program for them may be one, and its arguments and variables may hold one.
fn why(error: &AuthError, program: Option<&str>) -> String {
    let program = program.map_or("its program for them".to_owned(), |program| format!("`{program}`"));
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let said = short(&String::from_utf8_lossy(&out.stderr));
            let said = if said.is_empty() { said } else { format!(": {said}") };
            format!("{program} ended with {}{said}", out.status)
        }
        AuthError::AuthExecStart(error) => format!("cannot start {program}: {error}"),
        AuthError::AuthExecParse(_) => format!("{program} printed something else than credentials"),
        error => causes(error),
    }
}

/// The address of a server, without users and passwords.
fn without_users(url: &str) -> String {
    let mut shown = url.to_owned();
    for user in users_of_urls(url).into_iter().rev() {
        shown.replace_range(user, "x");
    }
    shown
}

/// A message of somebody else, as far as an error repeats it: no controls of a terminal, and not all of a page.
fn short(message: &str) -> String {
    let words = message.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{} ...", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

/// The last cause of an error: those before it only say in which layer of the client it was.
fn last_cause(error: &dyn Error) -> String {
    let mut last: &dyn Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
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
