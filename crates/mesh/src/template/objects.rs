//! The objects that a template may have: those whose effect ends with the namespace of an arm.

use hoptax_cluster::rights::Made;
use serde_json::{Value, json};

/// Kinds that hold for a whole cluster or a whole mesh. The API server refuses others that have no namespace.
const WHOLE: [&str; 17] = [
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "ExportedServices",
    "GatewayClass",
    "IngressClass",
    "Mesh",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "ProxyDefaults",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
];
/// Istio's group, and its kinds that proxies of all namespaces follow unless they are not exported.
const EXPORTED: (&str, [&str; 3]) =
    ("networking.istio.io", ["DestinationRule", "ServiceEntry", "VirtualService"]);
/// Consul's group. Its entries and services have no namespaces of Kubernetes, so their names have to be nobody else's.
const CONSUL: &str = "consul.hashicorp.com";
/// The word that stands for the namespace of the arm.
pub(super) const NAMESPACE: &str = "{{ namespace }}";

/// Refuses objects whose effect would reach out of the namespace of the arm.
pub(super) fn check(objects: &[Value]) -> Result<(), String> {
    objects.iter().try_for_each(check_one)
}

fn check_one(object: &Value) -> Result<(), String> {
    let word = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, kind, name) = (word("/apiVersion"), word("/kind"), word("/metadata/name"));
    if version.is_empty() || kind.is_empty() || name.is_empty() {
        return Err("each of `objects` needs `apiVersion`, `kind`, and `name` in its `metadata`".to_owned());
    }
    let group = group(version);
    let is_everywhere = group == EXPORTED.0
        && EXPORTED.1.contains(&kind)
        && object.pointer("/spec/exportTo") != Some(&json!(["."]));
    // Intentions are those of the service that they name.
    let destination = object.pointer("/spec/destination/name").and_then(Value::as_str);
    let is_shared = group == CONSUL
        && [Some(name), destination].into_iter().flatten().any(|name| !name.starts_with(NAMESPACE));
    let why = if object.pointer("/metadata/namespace").is_some() {
        "names a namespace, and belongs into that of its arm alone: leave `namespace` out"
    } else if WHOLE.contains(&kind) {
        "holds for the whole cluster or mesh, of which a measurement changes nothing: leave it out"
    } else if is_everywhere {
        "holds for the proxies of all namespaces: give its `spec` `exportTo: [\".\"]`"
    } else if is_shared {
        "holds for all services of Consul with its name: let its name, and that of its destination, begin with `{{ namespace }}`"
    } else {
        return Ok(());
    };
    Err(format!("the {kind} `{name}` {why}"))
}

fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind of an object, as a right to create it names it.
pub(super) fn made(object: &Value) -> Made {
    let word = |key: &str| object[key].as_str().unwrap_or_default();
    Made { group: group(word("apiVersion")).to_owned(), resource: plural(word("kind")) }
}

/// The name of a kind in paths, which nearly all are given by this rule. Without a cluster, there is no better source.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let is_after_vowel = ["ay", "ey", "oy", "uy"].iter().any(|end| kind.ends_with(end));
    match kind.strip_suffix('y') {
        Some(stem) if !is_after_vowel => format!("{stem}ies"),
        _ if kind.ends_with("ss") => format!("{kind}es"),
        _ if kind.ends_with('s') => kind,
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_reach_out_of_the_namespace_of_their_arm_are_refused() {
        let of = |version: &str, kind: &str, name: &str, more: Value| {
            let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
            object["spec"] = more;
            object
        };
        let here = json!({"exportTo": ["."]});
        let intended = json!({"destination": {"name": "{{ namespace }}-origin"}});
        for object in [
            of("v1", "Service", "origin", Value::Null),
            of("security.istio.io/v1", "PeerAuthentication", "all", Value::Null),
            of("networking.istio.io/v1", "VirtualService", "origin", here),
            of("networking.istio.io/v1", "Sidecar", "origin", Value::Null),
            of("consul.hashicorp.com/v1alpha1", "ServiceRouter", "{{ namespace }}-origin", Value::Null),
            of("consul.hashicorp.com/v1alpha1", "ServiceIntentions", "{{ namespace }}-a", intended),
        ] {
            assert_eq!(check(std::slice::from_ref(&object)), Ok(()), "{object}");
        }
        let mut elsewhere = of("security.istio.io/v1", "PeerAuthentication", "all", Value::Null);
        elsewhere["metadata"]["namespace"] = json!("istio-system");
        let other = json!({"destination": {"name": "payments"}});
        for (object, expected) in [
            (elsewhere, "the PeerAuthentication `all` names a namespace"),
            (of("v1", "Namespace", "a", Value::Null), "whole cluster"),
            (of("rbac.authorization.k8s.io/v1", "ClusterRole", "a", Value::Null), "whole cluster"),
            (
                of("consul.hashicorp.com/v1alpha1", "ProxyDefaults", "global", Value::Null),
                "whole cluster or mesh",
            ),
            (of("networking.istio.io/v1", "VirtualService", "a", Value::Null), "exportTo: [\".\"]"),
            (
                of("networking.istio.io/v1", "DestinationRule", "a", json!({"exportTo": ["*"]})),
                "all namespaces",
            ),
            (
                of("consul.hashicorp.com/v1alpha1", "ServiceRouter", "origin", Value::Null),
                "services of Consul",
            ),
            (
                of("consul.hashicorp.com/v1alpha1", "ServiceIntentions", "{{ namespace }}-a", other),
                "that of its destination",
            ),
            (json!({"kind": "Service", "metadata": {"name": "a"}}), "needs `apiVersion`"),
            (json!({"apiVersion": "v1", "kind": "Service"}), "needs `apiVersion`"),
        ] {
            let error = check(std::slice::from_ref(&object)).unwrap_err();
            assert!(error.contains(expected), "{object}: {error}");
        }
    }

    #[test]
    fn a_kind_has_the_name_of_its_definition_in_a_right() {
        for (version, kind, group, resource) in [
            ("v1", "Service", "", "services"),
            ("v1", "Endpoints", "", "endpoints"),
            ("networking.k8s.io/v1", "Ingress", "networking.k8s.io", "ingresses"),
            ("gateway.networking.k8s.io/v1", "Gateway", "gateway.networking.k8s.io", "gateways"),
            ("security.istio.io/v1", "AuthorizationPolicy", "security.istio.io", "authorizationpolicies"),
            ("security.istio.io/v1", "PeerAuthentication", "security.istio.io", "peerauthentications"),
            ("telemetry.istio.io/v1", "Telemetry", "telemetry.istio.io", "telemetries"),
            ("networking.istio.io/v1", "VirtualService", "networking.istio.io", "virtualservices"),
            ("consul.hashicorp.com/v1alpha1", "ServiceDefaults", "consul.hashicorp.com", "servicedefaults"),
            (
                "consul.hashicorp.com/v1alpha1",
                "ServiceIntentions",
                "consul.hashicorp.com",
                "serviceintentions",
            ),
            ("consul.hashicorp.com/v1alpha1", "ServiceResolver", "consul.hashicorp.com", "serviceresolvers"),
        ] {
            let expected = Made { group: group.to_owned(), resource: resource.to_owned() };
            assert_eq!(made(&json!({"apiVersion": version, "kind": kind})), expected);
        }
    }
}
