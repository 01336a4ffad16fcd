//! The rights that dumps and agents need, and the rules that grant them.

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::name::{Namespace, PodName};

/// A request that the API server may forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reading the pod.
    Read,
    /// Forwarding one of its ports.
    Forward,
}

/// A kind of objects in a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupResource {
    /// Its API group, such as `security.istio.io`; empty for the core group.
    pub group: String,
    /// Its name in paths, such as `authorizationpolicies`.
    pub resource: String,
}

/// A right that a user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The user, if the API server names one.
    pub user: Option<String>,
    /// The verb, such as `get`.
    pub verb: String,
    /// The API group of the resource; empty for the core group, and if the message names none.
    pub group: String,
    /// The resource, such as `pods/portforward`.
    pub resource: String,
}

impl Missing {
    /// The right that a refused request lacked, from the API server's message. Parts that the message lacks are taken from the request.
    ///
    /// The RBAC authorizer writes: `User "USER" cannot VERB resource "RESOURCE" in API group "" in the namespace "NAMESPACE"`. Other
    /// refusals, such as those of an admission plugin, have other forms.
    pub fn from_message(message: &str, request: Request) -> Self {
        let resource = match request {
            Request::Read => "pods",
            Request::Forward => "pods/portforward",
        };
        Self {
            user: quoted(message, "User \""),
            verb: verb_of(message).unwrap_or_else(|| "get".to_owned()),
            group: quoted(message, "API group \"").unwrap_or_default(),
            resource: quoted(message, "resource \"").unwrap_or_else(|| resource.to_owned()),
        }
    }

    /// The right in a message of the RBAC authorizer; none for other refusals, such as a quota.
    pub fn stated(message: &str) -> Option<Self> {
        // Then nothing is taken from the request.
        let is_stated = verb_of(message).is_some() && quoted(message, "resource \"").is_some();
        is_stated.then(|| Self::from_message(message, Request::Read))
    }
}

fn quoted(message: &str, before: &str) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once('"').map(|(quoted, _)| quoted.to_owned())
}

fn verb_of(message: &str) -> Option<String> {
    message.split_once(" cannot ").and_then(|(_, rest)| rest.split(' ').next()).map(str::to_owned)
}

/// The rules for agents in pods. The right to read services keeps agents off the nodes of their pods; nothing else fails without it.
const OF_AGENTS: [&str; 6] = [
    "{apiGroups: [batch], resources: [jobs], verbs: [create, list, delete]}",
    "{apiGroups: [\"\"], resources: [secrets], verbs: [create]}",
    "{apiGroups: [\"\"], resources: [pods], verbs: [list]}",
    "{apiGroups: [\"\"], resources: [pods/portforward], verbs: [get, create]}",
    "{apiGroups: [\"\"], resources: [events], verbs: [list]}",
    "{apiGroups: [\"\"], resources: [services], verbs: [get]}",
];

/// The cluster-wide rules for the measurement of a mesh: its namespaces are new, so nobody can have rights in them yet. The CPU time of
/// containers is in the metrics of kubelets behind `nodes/proxy`, in control groups, which pods of `daemonsets` read, and in a Prometheus
/// behind a port of a pod of its service. One of these suffices.
const OF_MESH: [&str; 9] = [
    "{apiGroups: [\"\"], resources: [namespaces], verbs: [create, list, delete]}",
    "{apiGroups: [\"\"], resources: [nodes, nodes/proxy], verbs: [get]}",
    "{apiGroups: [\"\"], resources: [pods], verbs: [create, list, delete]}",
    "{apiGroups: [\"\"], resources: [pods/portforward], verbs: [get, create]}",
    "{apiGroups: [\"\"], resources: [secrets], verbs: [create]}",
    "{apiGroups: [\"\"], resources: [services], verbs: [create, get]}",
    "{apiGroups: [\"\"], resources: [events], verbs: [list]}",
    "{apiGroups: [batch], resources: [jobs], verbs: [create, list, delete]}",
    "{apiGroups: [apps], resources: [daemonsets], verbs: [create, delete]}",
];

/// The rule that grants a user everything that a dump of a pod needs, as YAML: reading pods and forwarding their ports, only in its
/// namespace.
///
/// Forwarding over web sockets is a `get` request; Kubernetes 1.35 and later also requires `create`.
pub fn rule(pod: &PodName, user: Option<&str>) -> String {
    let rules = [
        "{apiGroups: [\"\"], resources: [pods], verbs: [get]}",
        "{apiGroups: [\"\"], resources: [pods/portforward], verbs: [get, create]}",
    ];
    granted("hoptax-price", Some(pod.namespace()), rules, user)
}

/// The rule that grants a user everything that agents in pods need, as YAML, only in one namespace: creating a Job and the Secret with its
/// token, watching the pods and events of the Job, forwarding ports of the pods, and deleting the Job. It does not grant reading Secrets.
pub fn rule_of_agents(namespace: &Namespace, user: Option<&str>) -> String {
    granted("hoptax-load", Some(namespace.as_str()), OF_AGENTS, user)
}

/// The rule that grants a user everything that the measurement of a mesh needs, as YAML, cluster-wide: creating and deleting namespaces,
/// and in them pods, Jobs, `DaemonSet`s, Secrets and services, forwarding ports of pods, reading nodes and the metrics of their kubelets,
/// and creating the objects of templates.
pub fn rule_of_mesh(user: Option<&str>, made: &[GroupResource]) -> String {
    let is_granted = |one: &&GroupResource| {
        OF_MESH.iter().any(|rule| {
            let has = |key: &str, word: &str| listed(rule, key).any(|listed| listed == word);
            has("apiGroups", &one.group) && has("resources", &one.resource) && has("verbs", "create")
        })
    };
    let made: BTreeSet<&GroupResource> = made.iter().filter(|one| !is_granted(one)).collect();
    let of_made = made.into_iter().map(|GroupResource { group, resource }| {
        let group = if group.is_empty() { "\"\"" } else { group.as_str() };
        format!("{{apiGroups: [{group}], resources: [{resource}], verbs: [create]}}")
    });
    granted("hoptax-mesh", None, OF_MESH.into_iter().map(str::to_owned).chain(of_made), user)
}

/// The items of a list in a rule.
fn listed<'a>(rule: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    let list = rule.split_once(&format!("{key}: [")).and_then(|(_, rest)| rest.split_once(']'));
    list.map_or("", |(list, _)| list).split(", ").map(|word| word.trim_matches('"'))
}

/// The subject of a binding: a user, or a service account.
fn subject(user: Option<&str>) -> String {
    let account = user.and_then(|user| user.strip_prefix("system:serviceaccount:")?.split_once(':'));
    if let Some((namespace, name)) = account {
        format!("{{kind: ServiceAccount, namespace: {}, name: {}}}", scalar(namespace), scalar(name))
    } else {
        let name = scalar(user.unwrap_or("YOUR-USER"));
        format!("{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {name}}}")
    }
}

/// A role and its binding to a user, as YAML: in a namespace, or cluster-wide without one.
fn granted(
    name: &str,
    namespace: Option<&str>,
    rules: impl IntoIterator<Item = impl Display>,
    user: Option<&str>,
) -> String {
    let (scope, place) = match namespace {
        Some(namespace) => ("", format!(", namespace: {namespace}")),
        None => ("Cluster", String::new()),
    };
    let subject = subject(user);
    let rules: String = rules.into_iter().map(|rule| format!("- {rule}\n")).collect();
    format!(
        "\
apiVersion: rbac.authorization.k8s.io/v1
kind: {scope}Role
metadata: {{name: {name}{place}}}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: {scope}RoleBinding
metadata: {{name: {name}{place}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {scope}Role, name: {name}}}
subjects:
- {subject}
"
    )
}

/// A text as a YAML scalar. JSON strings are valid YAML.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;

    fn pod() -> PodName {
        "shop/cart-1".parse().unwrap()
    }

    fn missing(user: Option<&str>, right: [&str; 3]) -> Missing {
        let [verb, group, resource] = right.map(str::to_owned);
        Missing { user: user.map(str::to_owned), verb, group, resource }
    }

    #[test]
    fn the_missing_right_is_that_of_the_message() {
        let message = "pods \"cart-1\" is forbidden: User \"alice\" cannot create resource \"pods/portforward\" in API group \"\" in the \
                       namespace \"shop\"";
        let expected = missing(Some("alice"), ["create", "", "pods/portforward"]);
        assert_eq!(Missing::from_message(message, Request::Read), expected);
        let other = Missing::from_message("denied by policy", Request::Forward);
        assert_eq!(other, missing(None, ["get", "", "pods/portforward"]));
        assert_eq!(Missing::from_message("denied", Request::Read).resource, "pods");
    }

    /// The documents of a rule: the one with its rights, and the one with its subject.
    fn documents(rule: &str) -> [Value; 2] {
        let (role, binding) = rule.split_once("---\n").unwrap();
        [role, binding].map(|document| serde_saphyr::from_str(document).unwrap())
    }

    #[test]
    fn the_rule_grants_the_two_rights_in_the_namespace_of_the_pod_to_the_user() {
        let of = |user: Option<&str>| documents(&rule(&pod(), user));
        let [role, binding] = of(Some("alice: \"a\""));
        assert_eq!(role["metadata"]["namespace"], "shop");
        assert_eq!(
            role["rules"],
            json!([
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
            ])
        );
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
        assert_eq!(
            binding["subjects"],
            json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice: \"a\""}])
        );
        assert_eq!(of(None)[1]["subjects"][0]["name"], "YOUR-USER");
        assert_eq!(
            of(Some("system:serviceaccount:ci:gate"))[1]["subjects"],
            json!([{"kind": "ServiceAccount", "namespace": "ci", "name": "gate"}])
        );
    }

    /// A file of `deploy/`.
    fn deployed(name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn the_base_has_the_file_for_agents_and_the_chart_grants_the_same_in_the_namespace_of_its_release() {
        let base: Value = serde_saphyr::from_str(&deployed("kustomization.yaml")).unwrap();
        assert_eq!(base["resources"], json!(["rbac.yaml"]));
        let chart: Value = serde_saphyr::from_str(&deployed("hoptax-agents/Chart.yaml")).unwrap();
        let own = env!("CARGO_PKG_VERSION");
        assert_eq!((&chart["version"], &chart["appVersion"]), (&json!(own), &json!(own)));
        let template = deployed("hoptax-agents/templates/rbac.yaml");
        let (_, template) = template.split_once("{{- end }}\n").unwrap();
        let (of_release, subjects) = template.split_once("subjects:\n").unwrap();
        let metadata = "metadata:\n  name: hoptax-load\n  namespace: {{ .Release.Namespace }}\n";
        let of_perf = of_release.replace(metadata, "metadata: {name: hoptax-load, namespace: perf}\n");
        let rule = rule_of_agents(&"perf".parse().unwrap(), None);
        assert_eq!(Some(of_perf.as_str()), rule.split_once("subjects:\n").map(|(before, _)| before));
        for kind in ["User", "Group", "ServiceAccount"] {
            assert_eq!(subjects.matches(&format!("kind: {kind}\n")).count(), 1, "{kind}: {subjects}");
        }
    }

    #[test]
    fn the_files_for_agents_and_for_a_mesh_are_the_rules_that_errors_print() {
        let of_agents = rule_of_agents(&"hoptax".parse().unwrap(), None);
        for (name, rule) in [("rbac.yaml", of_agents), ("mesh-rbac.yaml", rule_of_mesh(None, &[]))] {
            let text = deployed(name);
            let (comment, stated) = text.split_at(text.find("apiVersion").unwrap());
            assert!(comment.lines().all(|line| line.starts_with('#')), "{comment}");
            assert_eq!(stated, rule, "{name}: {rule}");
        }
    }

    #[test]
    fn agents_need_no_right_outside_of_the_namespace_and_none_to_read_secrets() {
        let [role, binding] = documents(&rule_of_agents(&"perf".parse().unwrap(), Some("alice")));
        assert_eq!((&role["kind"], &role["metadata"]["namespace"]), (&json!("Role"), &json!("perf")));
        assert_eq!(binding["subjects"][0]["name"], "alice");
        let verbs_of = |name: &str| {
            let rules = role["rules"].as_array().unwrap();
            let rule = rules.iter().find(|rule| rule["resources"] == json!([name]));
            rule.map(|rule| rule["verbs"].clone())
        };
        assert_eq!(verbs_of("secrets"), Some(json!(["create"])));
        assert_eq!(verbs_of("jobs"), Some(json!(["create", "list", "delete"])));
        assert_eq!(verbs_of("pods"), Some(json!(["list"])));
    }

    #[test]
    fn a_mesh_is_measured_without_rights_to_read_secrets_or_to_change_what_is_there() {
        let [role, binding] = documents(&rule_of_mesh(Some("alice"), &[]));
        assert_eq!((&role["kind"], &binding["kind"]), (&json!("ClusterRole"), &json!("ClusterRoleBinding")));
        assert_eq!(
            (&binding["roleRef"]["name"], &binding["subjects"][0]["name"]),
            (&role["metadata"]["name"], &json!("alice"))
        );
        let verbs = |wanted: &str| {
            let rules = role["rules"].as_array().unwrap().iter();
            let mut of = rules.filter(|rule| rule["resources"].as_array().unwrap().contains(&json!(wanted)));
            of.next().unwrap()["verbs"].clone()
        };
        assert_eq!((verbs("secrets"), verbs("nodes/proxy")), (json!(["create"]), json!(["get"])));
        assert_eq!(verbs("daemonsets"), json!(["create", "delete"]), "those of no use are removed at once");
        let text = role.to_string();
        assert!(!["patch", "update", "\"*\""].iter().any(|word| text.contains(word)), "{text}");
    }

    #[test]
    fn what_templates_make_is_granted_once_and_only_if_the_measurement_does_not_make_it_anyway() {
        let of = |group: &str, resource: &str| GroupResource {
            group: group.to_owned(),
            resource: resource.to_owned(),
        };
        let made = [
            of("security.istio.io", "authorizationpolicies"),
            of("", "services"),
            of("", "configmaps"),
            of("batch", "services"),
            of("security.istio.io", "authorizationpolicies"),
        ];
        let [role, _] = documents(&rule_of_mesh(None, &made));
        let [own, _] = documents(&rule_of_mesh(None, &[]));
        let (rules, own) = (role["rules"].as_array().unwrap(), own["rules"].as_array().unwrap());
        let (before, more) = rules.split_at(own.len());
        assert_eq!(before, own.as_slice());
        let granted = |group: &str, resource: &str| json!({"apiGroups": [group], "resources": [resource], "verbs": ["create"]});
        let expected = [
            granted("", "configmaps"),
            granted("batch", "services"),
            granted("security.istio.io", "authorizationpolicies"),
        ];
        assert_eq!(more, expected);
    }

    #[test]
    fn a_right_is_stated_only_by_the_authorizer_of_rules() {
        let message = "jobs.batch is forbidden: User \"alice\" cannot create resource \"jobs\" in API group \"batch\" in the namespace \"a\"";
        let expected = missing(Some("alice"), ["create", "batch", "jobs"]);
        assert_eq!(Missing::stated(message), Some(expected));
        assert_eq!(Missing::stated("jobs.batch \"a\" is forbidden: exceeded quota: q"), None);
    }
}
