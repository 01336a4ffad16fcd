//! A client of one cluster, configured by the user's kubeconfig.

use std::env;
use std::error::Error;
use std::io;

use hoptax_text::secrets::users_of_urls;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_client::client::AuthError;
use kube_client::config::{KubeConfigOptions, Kubeconfig, KubeconfigError, NamedCluster};
use kube_client::{Client, Config};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::direct::is_direct;
use super::{SILENCE, silent};
use crate::excerpt::excerpt;
use crate::job::pods::List;
use crate::refused::Refused;
use crate::rights::Missing;

/// The user to which an API server attributes requests without credentials.
const NOBODY: &str = "system:anonymous";
/// Reasons in answers of an API server. Other servers, such as a proxy in front of it, use the same status codes.
const NOT_FOUND: &str = "NotFound";
const FORBIDDEN: &str = "Forbidden";
/// Formats of answers: objects, and lists of names only.
const JSON: &str = "application/json";
const METADATA_ALONE: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// A client of one cluster.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) context: String,
    server: String,
    /// The program that prints credentials, if the kubeconfig names one.
    program: Option<String>,
}

/// Result of a failed request.
pub(super) enum Failed {
    /// A reason that affects all requests.
    Refused(Refused),
    /// The object or its namespace does not exist. Has the server's message.
    NotFound(String),
    /// The server forbids the request, with this message.
    Forbidden(String),
    /// The server refuses the request for another reason.
    Other(String),
}

impl Connection {
    /// Reads the kubeconfig, and creates the client of the context. Sends nothing.
    pub(super) async fn open(wanted: Option<&str>) -> Result<Self, Refused> {
        let unusable = |error: &dyn Error| Refused::Kubeconfig { why: causes(error) };
        let given = Kubeconfig::read().map_err(|error| match error {
            // The error quotes the text at its position, which may be a token.
            KubeconfigError::Parse(error) => {
                let place =
                    error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
                Refused::Kubeconfig { why: format!("it is not a kubeconfig{}", place.unwrap_or_default()) }
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
        let context = wanted.map(str::to_owned).or_else(|| given.current_context.clone());
        let context = context.filter(|context| there.contains(context)).ok_or_else(|| {
            let current = given.current_context.clone().filter(|current| !current.is_empty());
            Refused::NoContext { wanted: wanted.map(str::to_owned).or(current), there }
        })?;
        let has_proxy = states_proxy(&given, &context);
        let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(given, &options).await;
        let mut config = config.map_err(|error| unusable(&error))?;
        // Otherwise, requests that are answered with 503 are retried, and their answer is lost.
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
            // These errors contain the address of the proxy, which may include a password.
            kube_client::Error::ProxyProtocolUnsupported { .. }
            | kube_client::Error::ProxyProtocolDisabled { .. } => Refused::Kubeconfig {
                why: "its `proxy-url`, or the variable HTTPS_PROXY, is neither an `http://` nor an `https://` URL"
                    .to_owned(),
            },
            error => unusable(error),
        })?;
        Ok(Self { client, context, server, program })
    }

    /// The refusal of a namespace that does not exist; None if it exists, or if the user may not know.
    pub(super) async fn missing_namespace(&self, wanted: &str) -> Option<Refused> {
        match self.get::<IgnoredAny>(&format!("/api/v1/namespaces/{wanted}")).await {
            Err(Failed::NotFound(_)) => {
                let (context, there) = (self.context.clone(), self.names("/api/v1/namespaces").await);
                Some(Refused::NoNamespace { context, wanted: wanted.to_owned(), there })
            }
            _ => None,
        }
    }

    /// The names of the objects in a list; empty if the user may not read it.
    pub(super) async fn names(&self, path: &str) -> Vec<String> {
        let list: Result<List<Object>, _> = self.send(http::Method::GET, path, METADATA_ALONE, None).await;
        list.map(|list| list.items.into_iter().map(|item| item.metadata.name).collect()).unwrap_or_default()
    }

    /// An object of the API, or a list of them.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failed> {
        self.send(http::Method::GET, path, JSON, None).await
    }

    /// Creates an object from a manifest, and returns the cluster's version of it.
    pub(super) async fn create<T: DeserializeOwned>(
        &self,
        path: &str,
        manifest: &Value,
    ) -> Result<T, Failed> {
        self.send(http::Method::POST, path, JSON, Some(manifest)).await
    }

    /// Deletes an object. Its dependents are deleted with it.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Failed> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        });
        self.send::<IgnoredAny>(http::Method::DELETE, path, JSON, Some(&options)).await.map(|_| ())
    }

    /// An answer that is not an object, such as metrics.
    pub(super) async fn text(&self, path: &str) -> Result<String, Failed> {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|error| self.failed(kube_client::Error::HttpError(error)))?;
        match timeout(SILENCE, self.client.request_text(request)).await {
            Ok(answer) => answer.map_err(|error| self.failed(error)),
            Err(_) => Err(self.failed(kube_client::Error::Service(silent().into()))),
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: http::Method,
        path: &str,
        accepted: &str,
        body: Option<&Value>,
    ) -> Result<T, Failed> {
        let mut request = http::Request::builder().method(method).uri(path);
        request = request.header(http::header::ACCEPT, accepted);
        if body.is_some() {
            request = request.header(http::header::CONTENT_TYPE, JSON);
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request =
            request.body(body).map_err(|error| self.failed(kube_client::Error::HttpError(error)))?;
        match timeout(SILENCE, self.client.request(request)).await {
            Ok(answer) => answer.map_err(|error| self.failed(error)),
            Err(_) => Err(self.failed(kube_client::Error::Service(silent().into()))),
        }
    }

    /// Classifies a failed request.
    pub(super) fn failed(&self, error: kube_client::Error) -> Failed {
        let context = self.context.clone();
        if let Some(error) = of_credentials(&error) {
            return Failed::Refused(Refused::Credentials {
                context,
                why: why(error, self.program.as_deref()),
            });
        }
        match error {
            kube_client::Error::Api(status) if status.code == 401 => {
                let why = format!("401 {}", excerpt(&status.message));
                Failed::Refused(Refused::Credentials { context, why })
            }
            kube_client::Error::Api(status) if status.reason == NOT_FOUND => {
                Failed::NotFound(format!("{} {}", status.code, excerpt(&status.message)))
            }
            kube_client::Error::Api(status) if status.reason == FORBIDDEN => {
                let said = excerpt(&status.message);
                // A right that anonymous users lack cannot be granted without granting it to everybody, so ask for credentials.
                if Missing::stated(&said).and_then(|missing| missing.user).as_deref() == Some(NOBODY) {
                    let why =
                        format!("it has none for this context, so the cluster treats you as `{NOBODY}`");
                    return Failed::Refused(Refused::Credentials { context, why });
                }
                Failed::Forbidden(said)
            }
            kube_client::Error::Api(status) => {
                Failed::Other(format!("{} {}", status.code, excerpt(&status.message)))
            }
            // The error quotes part of the answer.
            kube_client::Error::SerdeError(_) | kube_client::Error::FromUtf8(_) => {
                let said = format!("{} answered with something other than a Kubernetes object", self.server);
                Failed::Other(said)
            }
            error => Failed::Refused(Refused::Unreachable {
                context,
                server: self.server.clone(),
                why: last_cause(&error),
            }),
        }
    }
}

/// The authentication error in a failed request: credentials are refreshed while it is sent.
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

/// True if a kubeconfig has a proxy for the cluster of a context.
fn states_proxy(given: &Kubeconfig, context: &str) -> bool {
    let context = given.contexts.iter().find(|one| one.name == context).and_then(|one| one.context.as_ref());
    let is_it = |cluster: &&NamedCluster| context.is_some_and(|context| context.cluster == cluster.name);
    let cluster = given.clusters.iter().find(is_it).and_then(|one| one.cluster.as_ref());
    cluster.and_then(|cluster| cluster.proxy_url.as_deref()).is_some_and(|url| !url.is_empty())
}

/// True if the environment's proxy is not used for a server.
fn is_without_proxy(server: &http::Uri) -> bool {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let no_proxy = variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default();
    let usual = if server.scheme_str() == Some("http") { 80 } else { 443 };
    server.host().is_some_and(|host| is_direct(host, server.port_u16().unwrap_or(usual), &no_proxy))
}

/// The needed fields of an object of any kind.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    pub(super) metadata: ObjectMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ObjectMetadata {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) creation_timestamp: Option<Time>,
    pub(super) deletion_timestamp: Option<Time>,
}

/// The reason why there are no credentials. It does not quote the credentials program: its output may be a credential, and so may its
/// arguments and variables.
fn why(error: &AuthError, program: Option<&str>) -> String {
    let program = program.map_or("its program for credentials".to_owned(), |program| format!("`{program}`"));
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let said = excerpt(&String::from_utf8_lossy(&out.stderr));
            let said = if said.is_empty() { said } else { format!(": {said}") };
            format!("{program} ended with {}{said}", out.status)
        }
        AuthError::AuthExecStart(error) => format!("cannot start {program}: {error}"),
        AuthError::AuthExecParse(_) => format!("{program} printed something other than credentials"),
        error => causes(error),
    }
}

/// The address of a server, without user information.
fn without_users(url: &str) -> String {
    let mut shown = url.to_owned();
    for user in users_of_urls(url).into_iter().rev() {
        shown.replace_range(user, "x");
    }
    shown
}

/// The root cause of an error. The causes before it only name layers of the client.
fn last_cause(error: &dyn Error) -> String {
    let mut last: &dyn Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// An error with its causes, without repetitions.
pub(super) fn causes(error: &dyn Error) -> String {
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
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{ExitStatus, Output};

    use super::*;

    #[test]
    fn causes_are_said_once_each_or_the_last_one_alone() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer: inner")]
        struct Outer(#[source] io::Error);
        assert_eq!(causes(&Outer(io::Error::other("inner"))), "outer: inner");
        assert_eq!(causes(&Outer(io::Error::other("deep"))), "outer: inner: deep");
        assert_eq!(last_cause(&Outer(io::Error::other("deep"))), "deep");
        assert_eq!(last_cause(&io::Error::other("deep")), "deep");
    }

    #[test]
    fn failed_credentials_name_their_program_and_repeat_no_secret() {
        let out = Output {
            status: ExitStatus::from_raw(1 << 8),
            stdout: b"hunter2".to_vec(),
            stderr: b"log in\n\x1b again\n".to_vec(),
        };
        let error =
            AuthError::AuthExecRun { cmd: "KEY=hunter2 aws --key hunter2".to_owned(), out: Box::new(out) };
        // They are renewed while a request is sent.
        let failed = kube_client::Error::Service(Box::new(error));
        let found = of_credentials(&failed).unwrap();
        assert_eq!(why(found, Some("aws")), "`aws` ended with exit status: 1: log in again");
        let start = AuthError::AuthExecStart(io::Error::other("no such file"));
        assert_eq!(why(&start, Some("aws")), "cannot start `aws`: no such file");
        assert!(of_credentials(&kube_client::Error::Service(silent().into())).is_none());
    }

    #[test]
    fn addresses_are_shown_without_passwords() {
        assert_eq!(without_users("https://me:hunter2@api.example:6443/"), "https://x@api.example:6443/");
        assert_eq!(without_users("https://10.0.0.1:6443/"), "https://10.0.0.1:6443/");
    }
}
