//! The rights that taking a dump needs, and the rule that grants them.

use crate::name::PodName;

/// A request that the API server may forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reading the pod.
    Read,
    /// Forwarding one of its ports.
    Forward,
}

/// A right that a user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The user, if the API server names one.
    pub user: Option<String>,
    /// The verb, such as `get`.
    pub verb: String,
    /// The resource, such as `pods/portforward`.
    pub resource: String,
}

impl Missing {
    /// The right that a refused request lacked, by the message of the API server; what it leaves out, by the request.
    ///
    /// Its authorizer of rules writes: `User "USER" cannot VERB resource "RESOURCE" in API group "" in the namespace "NAMESPACE"`.
    /// Other reasons to forbid, such as an admission plugin, have other forms.
    pub fn of(message: &str, request: Request) -> Self {
        let quoted = |before: &str| {
            let (_, rest) = message.split_once(before)?;
            rest.split_once('"').map(|(quoted, _)| quoted.to_owned())
        };
        let verb = message.split_once(" cannot ").and_then(|(_, rest)| rest.split(' ').next());
        let resource = match request {
            Request::Read => "pods",
            Request::Forward => "pods/portforward",
        };
        Self {
            user: quoted("User \""),
            verb: verb.unwrap_or("get").to_owned(),
            resource: quoted("resource \"").unwrap_or_else(|| resource.to_owned()),
        }
    }
}

/// The rule that grants a user all that a dump of a pod needs, as YAML: reading pods and forwarding their ports, in its namespace alone.
///
/// A forwarding over web sockets is a request to `get`; Kubernetes 1.35 and later also asks for `create`.
pub fn rule(pod: &PodName, user: Option<&str>) -> String {
    let namespace = pod.namespace();
    let account = user.and_then(|user| user.strip_prefix("system:serviceaccount:")?.split_once(':'));
    let subject = if let Some((namespace, name)) = account {
        format!("{{kind: ServiceAccount, namespace: {}, name: {}}}", scalar(namespace), scalar(name))
    } else {
        let name = scalar(user.unwrap_or("YOUR-USER"));
        format!("{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {name}}}")
    };
    format!(
        "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: hoptax-price, namespace: {namespace}}}
rules:
- {{apiGroups: [\"\"], resources: [pods], verbs: [get]}}
- {{apiGroups: [\"\"], resources: [pods/portforward], verbs: [get, create]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: hoptax-price, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: hoptax-price}}
subjects:
- {subject}
"
    )
}

/// A text as a scalar of YAML: all of JSON is YAML.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod() -> PodName {
        "shop/cart-1".parse().unwrap()
    }

    #[test]
    fn the_missing_right_is_that_of_the_message() {
        let message = "pods \"cart-1\" is forbidden: User \"alice\" cannot create resource \"pods/portforward\" in API group \"\" in the \
                       namespace \"shop\"";
        let expected = Missing {
            user: Some("alice".to_owned()),
            verb: "create".to_owned(),
            resource: "pods/portforward".to_owned(),
        };
        assert_eq!(Missing::of(message, Request::Read), expected);
        let other = Missing::of("denied by policy", Request::Forward);
        let expected =
            Missing { user: None, verb: "get".to_owned(), resource: "pods/portforward".to_owned() };
        assert_eq!(other, expected);
        assert_eq!(Missing::of("denied", Request::Read).resource, "pods");
    }

    /// The documents of a rule, each with its subject or its rules.
    fn documents(user: Option<&str>) -> Vec<Value> {
        let rule = rule(&pod(), user);
        rule.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
    }

    #[test]
    fn the_rule_grants_the_two_rights_in_the_namespace_of_the_pod_to_the_user() {
        let documents_of_user = documents(Some("alice: \"a\""));
        let [role, binding] = documents_of_user.as_slice() else { panic!("{documents_of_user:?}") };
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
        assert_eq!(documents(None)[1]["subjects"][0]["name"], "YOUR-USER");
        assert_eq!(
            documents(Some("system:serviceaccount:ci:gate"))[1]["subjects"],
            json!([{"kind": "ServiceAccount", "namespace": "ci", "name": "gate"}])
        );
    }
}
