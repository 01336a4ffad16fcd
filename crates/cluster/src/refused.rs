//! Reasons why there is no dump, or no agents in pods, each with advice.

use hoptax_text::list::named;
use hoptax_text::nearest::{hint, nearest, suggestion};

use crate::admin::Admin;
use crate::name::{Namespace, PodName};
use crate::rights::{GroupResource, Missing, Request, rule, rule_of_agents, rule_of_mesh};

/// Maximum number of names in an error.
const MOST_LISTED: usize = 12;

/// Reason why there is no dump of a pod, or why there are no agents in pods.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The program has no Kubernetes client.
    #[error(
        "this hoptax was built without a client of Kubernetes, which --pod needs: build it with `make build`, or with `cargo build --release \
         --package hoptax --features cluster`; or save the dump with `{}`, and price that file",
        by_hand(context.as_deref(), pod, None)
    )]
    NotBuilt {
        /// The context that the user named.
        context: Option<String>,
        /// The pod.
        pod: PodName,
    },
    /// The program has no Kubernetes client, which agents in pods need.
    #[error(
        "this hoptax was built without a client of Kubernetes, which {option} needs: build it with `make build`, or with `cargo build \
         --release --package hoptax --features cluster`; a load can also use agents that you started by other means: --agents"
    )]
    NotBuiltForAgents {
        /// The option that needs it.
        option: &'static str,
    },
    /// The user lacks a right that agents in pods need, or the cluster rejects the objects.
    #[error("{}", forbidden_agents(context, namespace, doing, said))]
    ForbiddenAgents {
        /// The context.
        context: String,
        /// The namespace.
        namespace: Namespace,
        /// The refused request, as a verb and its object.
        doing: &'static str,
        /// The message of the API server.
        said: String,
    },
    /// The API server refuses a request about agents in pods for another reason, or another server answers.
    #[error(
        "the API server of context `{context}` does not {doing} in namespace `{namespace}`: {said}; `kubectl --context {context} -n \
         {namespace} get jobs` shows whether another client can access them"
    )]
    ApiOfAgents {
        /// The context.
        context: String,
        /// The namespace.
        namespace: Namespace,
        /// The refused request, as a verb and its object.
        doing: &'static str,
        /// The answer.
        said: String,
    },
    /// The user lacks a right that the measurement of a mesh needs, or the cluster rejects the objects.
    #[error("{}", forbidden_mesh(context, doing, said, made))]
    ForbiddenMesh {
        /// The context.
        context: String,
        /// The refused request, as a verb and its object.
        doing: String,
        /// The message of the API server.
        said: String,
        /// All objects of templates, which the rule must grant.
        made: Vec<GroupResource>,
    },
    /// The API server refuses a request of a mesh measurement for another reason, or another server answers.
    #[error("the API server of context `{context}` does not {doing}: {said}")]
    ApiOfMesh {
        /// The context.
        context: String,
        /// The refused request, as a verb and its object.
        doing: String,
        /// The answer.
        said: String,
    },
    /// A Prometheus does not provide CPU times of containers.
    #[error("Prometheus `{address}` gives no CPU times: {why}")]
    NoPrometheus {
        /// Its address.
        address: String,
        /// The cause.
        why: String,
    },
    /// The user may not list the Jobs of all namespaces.
    #[error(
        "the jobs of all namespaces of context `{context}` cannot be listed: {said}; name a namespace with --namespace"
    )]
    AllNamespaces {
        /// The context.
        context: String,
        /// The message of the API server.
        said: String,
    },
    /// The kubeconfig cannot be read.
    #[error(
        "cannot read the kubeconfig `{path}`: {why}; set KUBECONFIG to your kubeconfig, or work without a cluster: price a saved dump, \
         name agents with --agents, or read what --dry-run prints"
    )]
    NoKubeconfig {
        /// Its path.
        path: String,
        /// The cause.
        why: String,
    },
    /// The kubeconfig cannot be used.
    #[error(
        "cannot use the kubeconfig: {why}; it is `~/.kube/config`, or what the variable KUBECONFIG names, and `kubectl config view` shows it"
    )]
    Kubeconfig {
        /// The cause.
        why: String,
    },
    /// The kubeconfig has no such context, or no current one.
    #[error("{}", no_context(wanted.as_deref(), there))]
    NoContext {
        /// The context that the user named.
        wanted: Option<String>,
        /// The contexts of the kubeconfig.
        there: Vec<String>,
    },
    /// The cluster does not accept the user's credentials.
    #[error(
        "the cluster of context `{context}` does not accept the credentials of the kubeconfig: {why}; they may have expired: log in again, \
         and try `kubectl --context {context} auth whoami`"
    )]
    Credentials {
        /// The context.
        context: String,
        /// The cause.
        why: String,
    },
    /// The user lacks a right.
    #[error("{}", forbidden(context, pod, *request, said))]
    Forbidden {
        /// The context.
        context: String,
        /// The pod.
        pod: PodName,
        /// The refused request.
        request: Request,
        /// The message of the API server.
        said: String,
    },
    /// The API server cannot be reached.
    #[error(
        "cannot reach the API server of context `{context}` at {server}: {why}; `kubectl --context {context} get --raw /readyz` shows whether \
         this machine reaches it"
    )]
    Unreachable {
        /// The context.
        context: String,
        /// The address of the server.
        server: String,
        /// The cause.
        why: String,
    },
    /// The API server refuses the request for another reason, or another server answers.
    #[error(
        "the API server of context `{context}` does not {}: {said}; `{}` shows whether another client can",
        doing(*request, pod),
        by_kubectl(context, *request, pod)
    )]
    Api {
        /// The context.
        context: String,
        /// The pod.
        pod: PodName,
        /// The refused request.
        request: Request,
        /// The answer.
        said: String,
    },
    /// The cluster has no such namespace.
    #[error(
        "the cluster of context `{context}` has no namespace `{wanted}`{}; `kubectl --context {context} get namespaces` lists them",
        hint(wanted, there.iter().map(String::as_str))
    )]
    NoNamespace {
        /// The context.
        context: String,
        /// The requested namespace.
        wanted: String,
        /// The namespaces that the user may list.
        there: Vec<String>,
    },
    /// The namespace has no such pod.
    #[error("there is no pod `{pod}` in the cluster of context `{context}`{}", pods(context, pod, there))]
    NoPod {
        /// The context.
        context: String,
        /// The pod.
        pod: PodName,
        /// The pods of its namespace that the user may list.
        there: Vec<String>,
    },
    /// The pod or its proxy is not running.
    #[error("pod `{pod}` does not run: {why}; `{} describe pod {}` says more", kubectl(Some(context.as_str()), pod.namespace()), pod.name())]
    NotRunning {
        /// The context.
        context: String,
        /// The pod.
        pod: PodName,
        /// The state that the cluster reports.
        why: String,
    },
    /// No container has a known proxy.
    #[error(
        "pod `{pod}` has no container of a known proxy, such as `istio-proxy`, `consul-dataplane` or `envoy`; it has {}: name the \
         container of Envoy with --container, and the port of its admin interface with --admin-port",
        listed(there)
    )]
    NoProxy {
        /// The pod.
        pod: PodName,
        /// Its containers.
        there: Vec<String>,
    },
    /// Several containers have known proxies.
    #[error("pod `{pod}` has several proxies, {}: name one with --container", listed(there))]
    SeveralProxies {
        /// The pod.
        pod: PodName,
        /// The containers of its proxies.
        there: Vec<String>,
    },
    /// The pod has no such container.
    #[error(
        "pod `{pod}` has no running container `{wanted}`; name one with --container: {}{}",
        listed(there),
        hint(wanted, there.iter().map(String::as_str))
    )]
    NoContainer {
        /// The pod.
        pod: PodName,
        /// The requested container.
        wanted: String,
        /// Its containers that run at the same time.
        there: Vec<String>,
    },
    /// No port of an admin interface is stated for the container.
    #[error(
        "container `{container}` of pod `{pod}` does not state the port of its admin interface: name it with --admin-port; it is in \
         `admin` of the bootstrap of its Envoy"
    )]
    NoPort {
        /// The pod.
        pod: PodName,
        /// The container.
        container: String,
    },
    /// The proxy of the pod is not Envoy.
    #[error(
        "the proxy of pod `{pod}` is {proxy}, which is not Envoy and has no dump of its configuration; measure it where it runs, as an \
         arm with a `url`"
    )]
    NoEnvoy {
        /// The pod.
        pod: PodName,
        /// The proxy.
        proxy: &'static str,
    },
    /// The admin interface does not return a dump.
    #[error("{}", no_dump(context, pod, admin, why))]
    NoDump {
        /// The context.
        context: String,
        /// The pod.
        pod: PodName,
        /// The admin interface.
        admin: Box<Admin>,
        /// The cause.
        why: String,
    },
    /// This machine lacks something.
    #[error(
        "cannot use the client of Kubernetes: {why}; check whether `ulimit -n` allows more open files, or work without it: price a dump \
         saved through `kubectl port-forward`, or name agents with --agents"
    )]
    Machine {
        /// The cause.
        why: String,
    },
}

impl Refused {
    /// The error for a client whose thread panicked.
    pub fn broken_thread() -> Self {
        Self::Machine { why: "its thread panicked, which is a bug in hoptax".to_owned() }
    }

    /// True if a different command line would help; otherwise the cluster, its rights or this machine must change.
    pub fn is_of_input(&self) -> bool {
        match self {
            Self::NoContext { .. }
            | Self::AllNamespaces { .. }
            | Self::NoNamespace { .. }
            | Self::NoPod { .. }
            | Self::NoProxy { .. }
            | Self::SeveralProxies { .. }
            | Self::NoContainer { .. }
            | Self::NoPort { .. }
            | Self::NoEnvoy { .. } => true,
            Self::NotBuilt { .. }
            | Self::NotBuiltForAgents { .. }
            | Self::ForbiddenAgents { .. }
            | Self::ApiOfAgents { .. }
            | Self::ForbiddenMesh { .. }
            | Self::ApiOfMesh { .. }
            | Self::NoPrometheus { .. }
            | Self::NoKubeconfig { .. }
            | Self::Kubeconfig { .. }
            | Self::Credentials { .. }
            | Self::Forbidden { .. }
            | Self::Unreachable { .. }
            | Self::Api { .. }
            | Self::NotRunning { .. }
            | Self::NoDump { .. }
            | Self::Machine { .. } => false,
        }
    }
}

/// The start of a kubectl command line in a namespace. None for the current context.
fn kubectl(context: Option<&str>, namespace: &str) -> String {
    let context = context.map(|context| format!(" --context {context}")).unwrap_or_default();
    format!("kubectl{context} -n {namespace}")
}

/// The command lines that save a dump without hoptax. None for the port uses that of Istio as an example.
fn by_hand(context: Option<&str>, pod: &PodName, port: Option<u16>) -> String {
    let (kubectl, name, port) = (kubectl(context, pod.namespace()), pod.name(), port.unwrap_or(15000));
    format!(
        "{kubectl} port-forward {name} {port} & sleep 2; curl -s 'http://127.0.0.1:{port}/config_dump?include_eds' > dump.json; kill $!"
    )
}

fn no_context(wanted: Option<&str>, there: &[String]) -> String {
    let contexts = if there.is_empty() {
        "it has no contexts: set the variable KUBECONFIG to another file".to_owned()
    } else {
        format!("it has {}", listed(there))
    };
    match wanted {
        Some(wanted) => {
            let hint = hint(wanted, there.iter().map(String::as_str));
            format!("the kubeconfig has no context `{wanted}`; {contexts}{hint}")
        }
        None => format!("the kubeconfig has no current context: name one with --kube-context; {contexts}"),
    }
}

fn forbidden(context: &str, pod: &PodName, request: Request, said: &str) -> String {
    let missing = Missing::from_message(said, request);
    let rule = rule(pod, missing.user.as_deref());
    ungranted(&missing, (context, pod.namespace()), &format!("the dump of pod `{pod}` needs"), said, &rule)
}

/// The message about a missing right, or else about a refused admission, for example because of a quota.
fn forbidden_agents(context: &str, namespace: &Namespace, doing: &str, said: &str) -> String {
    match Missing::stated(said) {
        Some(missing) => {
            let rule = rule_of_agents(namespace, missing.user.as_deref());
            ungranted(&missing, (context, namespace.as_str()), "agents in pods need", said, &rule)
        }
        None => format!(
            "the cluster of context `{context}` does not {doing} in namespace `{namespace}`: {said}; `hoptax load --dry-run` prints the \
             refused objects, for the person who sets its rules"
        ),
    }
}

/// The message about a missing right, or else about a refused admission.
fn forbidden_mesh(context: &str, doing: &str, said: &str, made: &[GroupResource]) -> String {
    let Some(Missing { user, verb, group, resource }) = Missing::stated(said) else {
        return format!(
            "the cluster of context `{context}` does not {doing}: {said}; `hoptax mesh --dry-run` prints the refused objects, for the \
             person who sets its rules"
        );
    };
    let mut made = made.to_vec();
    if verb == "create" {
        // The name of the resource in the message is authoritative.
        made.push(GroupResource { group, resource: resource.clone() });
    }
    let rule = rule_of_mesh(user.as_deref(), &made);
    let who = user.map_or("the user of the kubeconfig".to_owned(), |user| format!("`{user}`"));
    format!(
        "{who} may not `{verb}` `{resource}`, which the measurement of a mesh needs: {said}; somebody who may grant it saves this as \
         `rule.yaml`, and runs `kubectl --context {context} apply -f rule.yaml`:\n\n{rule}"
    )
}

fn ungranted(
    missing: &Missing,
    (context, namespace): (&str, &str),
    needs: &str,
    said: &str,
    rule: &str,
) -> String {
    let Missing { user, verb, resource, .. } = missing;
    let who = user.as_deref().map_or("the user of the kubeconfig".to_owned(), |user| format!("`{user}`"));
    format!(
        "{who} may not `{verb}` `{resource}` in namespace `{namespace}`, which {needs}: {said}; somebody who may grant it saves this as \
         `rule.yaml`, and runs `{} apply -f rule.yaml`:\n\n{rule}",
        kubectl(Some(context), namespace)
    )
}

/// The command line that sends the same request without hoptax.
fn by_kubectl(context: &str, request: Request, pod: &PodName) -> String {
    let name = pod.name();
    let command = match request {
        Request::Read => format!("get pod {name}"),
        Request::Forward => format!("port-forward {name} :15000"),
    };
    format!("{} {command}", kubectl(Some(context), pod.namespace()))
}

fn doing(request: Request, pod: &PodName) -> String {
    match request {
        Request::Read => format!("show pod `{pod}`"),
        Request::Forward => format!("forward a port of pod `{pod}`"),
    }
}

/// The pods that the user may have meant: first those with this prefix, because a workload names its pods after itself, then similar names.
fn pods(context: &str, pod: &PodName, there: &[String]) -> String {
    let all = || there.iter().map(String::as_str);
    let mut meant: Vec<&str> = all().filter(|other| other.starts_with(pod.name())).collect();
    if meant.is_empty() {
        meant = nearest(pod.name(), all());
    }
    meant.truncate(3);
    let kubectl = kubectl(Some(context), pod.namespace());
    let command = format!("`{kubectl} get pods` lists the pods of its namespace");
    if there.is_empty() {
        return format!(", or you may not list them; {command}");
    }
    format!("{}; {command}", suggestion(&meant))
}

fn no_dump(context: &str, pod: &PodName, Admin { container, port, source }: &Admin, why: &str) -> String {
    let of = container.as_deref().map(|name| format!("container `{name}` of ")).unwrap_or_default();
    format!(
        "{of}pod `{pod}` gives no dump at port {port} ({source}): {why}; --admin-port names the port of the admin interface of its Envoy, \
         and `{}` shows its answer",
        by_hand(Some(context), pod, Some(*port))
    )
}

/// Names in backticks. If there are too many, the first of them and the number of the others.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    named(&quoted, MOST_LISTED)
}

#[cfg(test)]
mod tests;
