//! Reasons why there is no dump, or no agents in pods, each with what to do.

use hoptax_text::nearest::{hint, nearest, suggestion};

use crate::admin::Admin;
use crate::name::{Namespace, PodName};
use crate::rights::{Missing, Request, rule, rule_of_agents};

/// Most names that an error lists.
const MOST_LISTED: usize = 12;

/// Reason why there is no dump of a pod, or why there are no agents in pods.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The program has no client of Kubernetes.
    #[error(
        "this hoptax was built without a client of Kubernetes, which --pod needs: build it with `make build`, or with `cargo build --release \
         --package hoptax --features cluster`; or save the dump with `{}`, and price that file",
        by_hand(pod, None)
    )]
    NotBuilt {
        /// The pod.
        pod: PodName,
    },
    /// The program has no client of Kubernetes, which agents in pods need.
    #[error(
        "this hoptax was built without a client of Kubernetes, which {option} needs: build it with `make build`, or with `cargo build \
         --release --package hoptax --features cluster`; or start agents by other means, and name them with --agents"
    )]
    NotBuiltForAgents {
        /// The option that needs it.
        option: &'static str,
    },
    /// The user lacks a right that agents in pods need, or the cluster does not admit them.
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
         {namespace} get jobs` shows whether another client can use it"
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
    /// There is no kubeconfig, or it cannot be used.
    #[error(
        "cannot use the kubeconfig: {why}; it is `~/.kube/config`, or what the variable KUBECONFIG names, and `kubectl config view` shows it"
    )]
    Kubeconfig {
        /// The cause.
        why: String,
    },
    /// The kubeconfig has no such context, or no current one.
    #[error("{}; {}", no_context(wanted.as_deref(), there), contexts(there))]
    NoContext {
        /// The context that the user named.
        wanted: Option<String>,
        /// The contexts of the kubeconfig.
        there: Vec<String>,
    },
    /// The cluster does not know the user.
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
    #[error("{}", forbidden(pod, *request, said))]
    Forbidden {
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
        /// The namespace of the user.
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
    /// The pod or its proxy does not run.
    #[error("pod `{pod}` does not run: {why}; `kubectl -n {} describe pod {}` says more", pod.namespace(), pod.name())]
    NotRunning {
        /// The pod.
        pod: PodName,
        /// The state that the cluster states.
        why: String,
    },
    /// No container is that of a known proxy.
    #[error(
        "pod `{pod}` has no container of a known proxy, such as `istio-proxy`, `consul-dataplane` or `envoy`; it has {}: name that of Envoy \
         with --container, and the port of its admin interface with --admin-port",
        listed(there)
    )]
    NoProxy {
        /// The pod.
        pod: PodName,
        /// Its containers.
        there: Vec<String>,
    },
    /// Several containers are those of known proxies.
    #[error("pod `{pod}` has several proxies, {}: name one with --container", listed(there))]
    SeveralProxies {
        /// The pod.
        pod: PodName,
        /// The containers of its proxies.
        there: Vec<String>,
    },
    /// The pod has no such container.
    #[error(
        "pod `{pod}` has no container `{wanted}` that goes on running; it has {}{}",
        listed(there),
        hint(wanted, there.iter().map(String::as_str))
    )]
    NoContainer {
        /// The pod.
        pod: PodName,
        /// The container of the user.
        wanted: String,
        /// Its containers.
        there: Vec<String>,
    },
    /// The container shows no port of an admin interface.
    #[error(
        "container `{container}` of pod `{pod}` shows no port of an admin interface: name it with --admin-port; it is in `admin` of the \
         bootstrap of its Envoy"
    )]
    NoPort {
        /// The pod.
        pod: PodName,
        /// The container.
        container: String,
    },
    /// The proxy of the pod is no Envoy.
    #[error(
        "the proxy of pod `{pod}` is {proxy}, which is no Envoy and has no dump of one; measure it where it runs, as an arm with a `url`"
    )]
    NoEnvoy {
        /// The pod.
        pod: PodName,
        /// The proxy.
        proxy: &'static str,
    },
    /// The admin interface does not answer with a dump.
    #[error("{}", no_dump(pod, admin, why))]
    NoDump {
        /// The pod.
        pod: PodName,
        /// The admin interface.
        admin: Box<Admin>,
        /// The cause.
        why: String,
    },
    /// This machine lacks something.
    #[error("cannot use the client of Kubernetes: {why}")]
    Machine {
        /// The cause.
        why: String,
    },
}

impl Refused {
    /// True if another command line would do; otherwise the cluster, its rights or this machine must change.
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

/// The command lines that save a dump without hoptax. None for the port of Istio, as an example.
fn by_hand(pod: &PodName, port: Option<u16>) -> String {
    let (namespace, name, port) = (pod.namespace(), pod.name(), port.unwrap_or(15000));
    format!(
        "kubectl -n {namespace} port-forward {name} {port} & sleep 2; curl -s 'http://127.0.0.1:{port}/config_dump?include_eds' > dump.json; \
         kill $!"
    )
}

fn no_context(wanted: Option<&str>, there: &[String]) -> String {
    match wanted {
        Some(wanted) => {
            format!(
                "the kubeconfig has no context `{wanted}`{}",
                hint(wanted, there.iter().map(String::as_str))
            )
        }
        None => "the kubeconfig has no current context: name one with --kube-context".to_owned(),
    }
}

fn contexts(there: &[String]) -> String {
    if there.is_empty() {
        return "it has no contexts: set the variable KUBECONFIG to another file".to_owned();
    }
    format!("it has {}", listed(there))
}

fn forbidden(pod: &PodName, request: Request, said: &str) -> String {
    let missing = Missing::of(said, request);
    let rule = rule(pod, missing.user.as_deref());
    ungranted(&missing, pod.namespace(), &format!("the dump of pod `{pod}` needs"), said, &rule)
}

/// The right that is missing; without one, the admission that was refused, such as for a quota.
fn forbidden_agents(context: &str, namespace: &Namespace, doing: &str, said: &str) -> String {
    match Missing::stated(said) {
        Some(missing) => {
            let rule = rule_of_agents(namespace, missing.user.as_deref());
            ungranted(&missing, namespace.as_str(), "agents in pods need", said, &rule)
        }
        None => format!(
            "the cluster of context `{context}` does not {doing} in namespace `{namespace}`: {said}; `hoptax load --dry-run` prints what it \
             refuses, for whoever sets its rules"
        ),
    }
}

fn ungranted(missing: &Missing, namespace: &str, needs: &str, said: &str, rule: &str) -> String {
    let Missing { user, verb, resource } = missing;
    let who = user.as_deref().map_or("the user of the kubeconfig".to_owned(), |user| format!("`{user}`"));
    format!(
        "{who} may not `{verb}` `{resource}` in namespace `{namespace}`, which {needs}: {said}; who may grant it saves this as `rule.yaml`, \
         and runs `kubectl apply -f rule.yaml`:\n\n{rule}"
    )
}

/// The command line that sends the same request without hoptax.
fn by_kubectl(context: &str, request: Request, pod: &PodName) -> String {
    let (namespace, name) = (pod.namespace(), pod.name());
    let command = match request {
        Request::Read => format!("get pod {name}"),
        Request::Forward => format!("port-forward {name} :15000"),
    };
    format!("kubectl --context {context} -n {namespace} {command}")
}

fn doing(request: Request, pod: &PodName) -> String {
    match request {
        Request::Read => format!("show pod `{pod}`"),
        Request::Forward => format!("forward a port of pod `{pod}`"),
    }
}

/// The pods that may be meant: those whose names begin so, as a workload gives its pods its own name, then the most similar ones.
fn pods(context: &str, pod: &PodName, there: &[String]) -> String {
    let all = || there.iter().map(String::as_str);
    let mut meant: Vec<&str> = all().filter(|other| other.starts_with(pod.name())).collect();
    if meant.is_empty() {
        meant = nearest(pod.name(), all());
    }
    meant.truncate(3);
    let namespace = pod.namespace();
    let command =
        format!("`kubectl --context {context} -n {namespace} get pods` lists those of its namespace");
    if there.is_empty() {
        return format!(", or you may not list them; {command}");
    }
    format!("{}; {command}", suggestion(&meant))
}

fn no_dump(pod: &PodName, Admin { container, port, source }: &Admin, why: &str) -> String {
    let of = container.as_deref().map(|name| format!("container `{name}` of ")).unwrap_or_default();
    format!(
        "{of}pod `{pod}` gives no dump at port {port} ({source}): {why}; --admin-port names the port of the admin interface of its Envoy, \
         and `{}` shows what it answers",
        by_hand(pod, Some(*port))
    )
}

/// Names in backquotes; of many, the first and how many more there are.
fn listed(names: &[String]) -> String {
    let (shown, more) = names.split_at(names.len().min(MOST_LISTED));
    let quoted: Vec<String> = shown.iter().map(|name| format!("`{name}`")).collect();
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> PodName {
        "shop/cart".parse().unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_context_that_does_not_exist_is_answered_with_those_that_do() {
        let there = names(&["prod-eu", "prod-us"]);
        let text = Refused::NoContext { wanted: Some("prd-eu".to_owned()), there: there.clone() }.to_string();
        assert!(text.contains("no context `prd-eu`; did you mean `prod-eu`?"), "{text}");
        assert!(text.contains("it has `prod-eu`, `prod-us`"), "{text}");
        let text = Refused::NoContext { wanted: None, there }.to_string();
        assert!(text.contains("--kube-context") && text.contains("`prod-us`"), "{text}");
        let text = Refused::NoContext { wanted: None, there: Vec::new() }.to_string();
        assert!(text.contains("KUBECONFIG"), "{text}");
        let many = (0..20).map(|number| format!("c{number}")).collect();
        let text = Refused::NoContext { wanted: None, there: many }.to_string();
        assert!(text.contains("`c11` and 8 more") && !text.contains("`c12`"), "{text}");
    }

    #[test]
    fn a_forbidden_request_names_the_right_and_the_rule_that_grants_it() {
        let said = "pods \"cart\" is forbidden: User \"alice\" cannot get resource \"pods/portforward\" in API group \"\" in the namespace \
                    \"shop\"";
        let refused = Refused::Forbidden { pod: pod(), request: Request::Forward, said: said.to_owned() };
        let text = refused.to_string();
        assert!(text.starts_with("`alice` may not `get` `pods/portforward` in namespace `shop`"), "{text}");
        assert!(text.ends_with(&format!("\n\n{}", rule(&pod(), Some("alice")))), "{text}");
        let other = Refused::Forbidden { pod: pod(), request: Request::Read, said: "no".to_owned() };
        assert!(other.to_string().starts_with("the user of the kubeconfig may not `get` `pods` in"));
    }

    #[test]
    fn a_right_that_agents_lack_is_named_with_its_rule_and_a_quota_is_no_right() {
        let of = |said: &str| {
            let (context, namespace) = ("c".to_owned(), "perf".parse().unwrap());
            Refused::ForbiddenAgents { context, namespace, doing: "make a Job", said: said.to_owned() }
                .to_string()
        };
        let text = of("User \"alice\" cannot create resource \"secrets\" in API group \"\"");
        assert!(
            text.starts_with("`alice` may not `create` `secrets` in namespace `perf`, which agents"),
            "{text}"
        );
        let rule = rule_of_agents(&"perf".parse().unwrap(), Some("alice"));
        assert!(text.ends_with(&format!("\n\n{rule}")), "{text}");
        let text = of("jobs.batch \"a\" is forbidden: exceeded quota: q");
        assert!(text.contains("`c` does not make a Job in namespace `perf`: jobs.batch"), "{text}");
        assert!(!text.contains("kubectl apply"), "{text}");
    }

    #[test]
    fn a_pod_that_does_not_exist_is_answered_with_those_of_the_workload_or_similar_ones() {
        let of = |there: &[&str]| {
            Refused::NoPod { context: "c".to_owned(), pod: pod(), there: names(there) }.to_string()
        };
        let text = of(&["cart-7d9f4-x2", "cart-7d9f4-y1", "web-1"]);
        assert!(text.contains("did you mean one of `cart-7d9f4-x2`, `cart-7d9f4-y1`?"), "{text}");
        assert!(of(&["card", "web"]).contains("did you mean `card`?"));
        let text = of(&["web"]);
        assert!(!text.contains("did you mean") && text.contains("-n shop get pods"), "{text}");
        assert!(of(&[]).contains("you may not list them"));
    }

    #[test]
    fn a_proxy_without_a_dump_is_named_with_its_port_and_where_it_is_from() {
        let admin = |container: Option<&str>| Admin {
            container: container.map(str::to_owned),
            port: 15000,
            source: "the usual port of `istio-proxy`".to_owned(),
        };
        let of = |container| {
            Refused::NoDump { pod: pod(), admin: Box::new(admin(container)), why: "refused".to_owned() }
                .to_string()
        };
        let text = of(Some("istio-proxy"));
        let expected = "container `istio-proxy` of pod `shop/cart` gives no dump at port 15000 (the usual port of `istio-proxy`): refused";
        assert!(text.starts_with(expected) && text.contains("port-forward cart 15000"), "{text}");
        assert!(of(None).starts_with("pod `shop/cart` gives no dump"));
    }

    #[test]
    fn a_request_that_is_refused_otherwise_is_named_with_the_answer_and_the_same_request_of_kubectl() {
        let of = |request| {
            let (context, said) = ("c".to_owned(), "503 busy".to_owned());
            Refused::Api { context, pod: pod(), request, said }.to_string()
        };
        let text = of(Request::Read);
        assert!(text.contains("of context `c` does not show pod `shop/cart`: 503 busy"), "{text}");
        assert!(text.contains("`kubectl --context c -n shop get pod cart`"), "{text}");
        assert!(of(Request::Forward).contains("does not forward a port of pod `shop/cart`"));
        assert!(of(Request::Forward).contains("-n shop port-forward cart :15000`"));
    }

    #[test]
    fn errors_that_another_command_line_mends_are_of_the_input() {
        let namespace = |there: &[&str]| Refused::NoNamespace {
            context: "c".to_owned(),
            wanted: "shpo".to_owned(),
            there: names(there),
        };
        assert!(namespace(&[]).is_of_input());
        assert!(namespace(&["shop"]).to_string().contains("did you mean `shop`?"));
        let unbuilt = Refused::NotBuilt { pod: pod() };
        assert!(!unbuilt.is_of_input());
        assert!(unbuilt.to_string().contains("--features cluster"), "{unbuilt}");
        assert!(unbuilt.to_string().contains("`kubectl -n shop port-forward cart 15000 &"), "{unbuilt}");
    }
}
