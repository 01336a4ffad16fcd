//! The objects that a template may contain: those whose effect is limited to the namespace of an arm.

use hoptax_cluster::rights::GroupResource;
use serde_json::{Value, json};

use super::Template;

/// The allowed kinds, by API group: those whose effect is limited to their namespace, possibly after the checks below. Other kinds may
/// create machines outside of the cluster or change existing objects; a list of those would soon be outdated.
const KINDS: [(&str, &[&str]); 9] = [
    ("", &["ConfigMap", "Service", "ServiceAccount"]),
    (
        CONSUL,
        &["ServiceDefaults", "ServiceIntentions", "ServiceResolver", "ServiceRouter", "ServiceSplitter"],
    ),
    ("extensions.istio.io", &["WasmPlugin"]),
    ("gateway.networking.k8s.io", &["GRPCRoute", "HTTPRoute", "TCPRoute", "TLSRoute"]),
    (
        EXPORTED.0,
        &["DestinationRule", "EnvoyFilter", "ProxyConfig", "ServiceEntry", "Sidecar", "VirtualService"],
    ),
    ("networking.k8s.io", &["NetworkPolicy"]),
    (
        "policy.linkerd.io",
        &["AuthorizationPolicy", "HTTPRoute", "MeshTLSAuthentication", "NetworkAuthentication", "Server"],
    ),
    ("security.istio.io", &["AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"]),
    ("telemetry.istio.io", &["Telemetry"]),
];
/// Istio's group, with the kinds that proxies of all namespaces follow unless they are not exported.
const EXPORTED: (&str, [&str; 3]) =
    ("networking.istio.io", ["DestinationRule", "ServiceEntry", "VirtualService"]);
/// Consul's group. Its entries and services do not belong to Kubernetes namespaces, so their names must be unique.
const CONSUL: &str = "consul.hashicorp.com";
/// The annotation with the names of a pod's services in Consul, separated by commas.
const NAMES_IN_CONSUL: &str = "consul.hashicorp.com/connect-service";
/// The placeholder for the namespace of the arm.
pub(super) const NAMESPACE: &str = "{{ namespace }}";

/// Refuses objects and pod names in a template whose effect would extend beyond the namespace of its arm.
pub(super) fn check(template: &Template) -> Result<(), String> {
    let is_in_consul = is_in_consul(template);
    template.objects.iter().try_for_each(|object| check_one(object, is_in_consul))?;
    for side in [&template.origin, &template.caller] {
        let names = side.annotations.get(NAMES_IN_CONSUL).map(String::as_str).unwrap_or_default();
        let other = names.split(',').map(str::trim).find(|name| !name.is_empty() && !is_own(name));
        if let Some(name) = other {
            return Err(format!(
                "the annotation `{NAMES_IN_CONSUL}` has `{name}`, which may be somebody else's service in Consul: begin each of its names \
                 with `{NAMESPACE}`"
            ));
        }
    }
    Ok(())
}

/// True if Consul handles the pods or the objects of a template.
fn is_in_consul(template: &Template) -> bool {
    let Template { namespace, origin, caller, .. } = template;
    let marks = [
        (&namespace.labels, &namespace.annotations),
        (&origin.labels, &origin.annotations),
        (&caller.labels, &caller.annotations),
    ];
    let is_of_it = |key: &String| key.split('/').next() == Some(CONSUL);
    let is_marked =
        marks.iter().any(|(labels, annotations)| labels.keys().chain(annotations.keys()).any(is_of_it));
    is_marked || template.objects.iter().any(|object| group(word(object, "/apiVersion")) == CONSUL)
}

fn check_one(object: &Value, is_in_consul: bool) -> Result<(), String> {
    let (version, kind) = (word(object, "/apiVersion"), word(object, "/kind"));
    let name = word(object, "/metadata/name");
    if version.is_empty() || kind.is_empty() || name.is_empty() {
        return Err("each of `objects` needs `apiVersion`, `kind`, and `name` in its `metadata`".to_owned());
    }
    let group = group(version);
    let is_listed = KINDS.iter().any(|(of, kinds)| *of == group && kinds.contains(&kind));
    let is_service = group.is_empty() && kind == "Service";
    let is_everywhere = group == EXPORTED.0
        && EXPORTED.1.contains(&kind)
        && object.pointer("/spec/exportTo") != Some(&json!(["."]));
    // Intentions apply to the service that they name.
    let destination = object.pointer("/spec/destination/name").and_then(Value::as_str);
    let is_shared = (group == CONSUL || is_service && is_in_consul)
        && [Some(name), destination].into_iter().flatten().any(|name| !is_own(name));
    let why = if object.pointer("/metadata/namespace").is_some() {
        "names a namespace, but may only be in the namespace of its arm: leave `namespace` out".to_owned()
    } else if !is_listed {
        format!(
            "is of a kind that may have an effect outside the namespace of its arm: leave it out; a template may have {}",
            listed()
        )
    } else if is_everywhere {
        "applies to the proxies of all namespaces: give its `spec` `exportTo: [\".\"]`".to_owned()
    } else if is_shared {
        format!(
            "applies to all services of Consul with its name: begin its name, and the name of its destination, with `{NAMESPACE}`"
        )
    } else if is_service && !is_inside(object) {
        "can be reached from outside of the cluster, or leads there: set its `type` to `ClusterIP`, without `externalIPs` and \
         `externalName`"
            .to_owned()
    } else if has_foreign_parent(object) {
        "changes routes of another namespace: leave `namespace` of its `parentRefs` out".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("the {kind} `{name}` {why}"))
}

/// True if a name begins with the arm's namespace and is therefore unique.
fn is_own(name: &str) -> bool {
    name.starts_with(NAMESPACE)
}

/// True if a service is reachable only within the cluster.
fn is_inside(service: &Value) -> bool {
    let spec = &service["spec"];
    (spec["type"].is_null() || spec["type"] == "ClusterIP")
        && spec["externalIPs"].is_null()
        && spec["externalName"].is_null()
}

/// True if a route is attached to an object in another namespace.
fn has_foreign_parent(route: &Value) -> bool {
    let parents = route.pointer("/spec/parentRefs").and_then(Value::as_array);
    let is_foreign = |parent: &Value| !parent["namespace"].is_null() && parent["namespace"] != NAMESPACE;
    parents.is_some_and(|parents| parents.iter().any(is_foreign))
}

/// The allowed kinds, for a message.
fn listed() -> String {
    let of_group = |(group, kinds): &(&str, &[&str])| {
        let kinds = kinds.join(", ");
        if group.is_empty() { kinds } else { format!("{kinds} of `{group}`") }
    };
    KINDS.iter().map(of_group).collect::<Vec<_>>().join("; ")
}

/// The text at a path of an object; empty if there is none.
fn word<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind of an object, as a right to create it names it.
pub(super) fn made(object: &Value) -> GroupResource {
    GroupResource {
        group: group(word(object, "/apiVersion")).to_owned(),
        resource: plural(word(object, "/kind")),
    }
}

/// The name of a kind in paths. Nearly all follow this rule, and without a cluster there is no better source.
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

    /// A template that has these objects alone.
    fn with(objects: &[Value]) -> Template {
        Template { objects: objects.to_vec(), ..Template::default() }
    }

    fn of(version: &str, kind: &str, name: &str, spec: Value) -> Value {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
        object["spec"] = spec;
        object
    }

    #[test]
    fn objects_whose_effect_ends_with_the_namespace_of_their_arm_are_permitted() {
        let here = json!({"exportTo": ["."]});
        let intended = json!({"destination": {"name": "{{ namespace }}-origin"}});
        let parents = json!({"parentRefs": [{"name": "a"}, {"name": "b", "namespace": "{{ namespace }}"}]});
        for object in [
            of("v1", "Service", "origin", Value::Null),
            of("v1", "Service", "origin", json!({"type": "ClusterIP", "clusterIP": "None"})),
            of("v1", "ConfigMap", "a", Value::Null),
            of("v1", "ServiceAccount", "a", Value::Null),
            of("security.istio.io/v1", "PeerAuthentication", "all", Value::Null),
            of("networking.istio.io/v1", "VirtualService", "origin", here),
            of("networking.istio.io/v1", "Sidecar", "origin", Value::Null),
            of("gateway.networking.k8s.io/v1", "HTTPRoute", "origin", parents),
            of("consul.hashicorp.com/v1alpha1", "ServiceRouter", "{{ namespace }}-origin", Value::Null),
            of("consul.hashicorp.com/v1alpha1", "ServiceIntentions", "{{ namespace }}-a", intended),
        ] {
            assert_eq!(check(&with(std::slice::from_ref(&object))), Ok(()), "{object}");
        }
    }

    #[test]
    fn objects_that_reach_out_of_the_namespace_of_their_arm_are_refused() {
        let mut elsewhere = of("security.istio.io/v1", "PeerAuthentication", "all", Value::Null);
        elsewhere["metadata"]["namespace"] = json!("istio-system");
        let other = json!({"destination": {"name": "payments"}});
        for (object, expected) in [
            (elsewhere, "the PeerAuthentication `all` names a namespace"),
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
                "the name of its destination",
            ),
            (json!({"kind": "Service", "metadata": {"name": "a"}}), "needs `apiVersion`"),
            (json!({"apiVersion": "v1", "kind": "Service"}), "needs `apiVersion`"),
        ] {
            let error = check(&with(std::slice::from_ref(&object))).unwrap_err();
            assert!(error.contains(expected), "{object}: {error}");
        }
    }

    #[test]
    fn kinds_that_are_not_listed_with_their_group_are_refused() {
        for (version, kind) in [
            ("v1", "Namespace"),
            ("v1", "List"),
            ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            ("networking.k8s.io/v1", "Ingress"),
            ("networking.istio.io/v1", "Gateway"),
            ("gateway.networking.k8s.io/v1", "Gateway"),
            ("cilium.io/v2", "CiliumEnvoyConfig"),
            ("consul.hashicorp.com/v1alpha1", "ProxyDefaults"),
            ("consul.hashicorp.com/v1alpha1", "ControlPlaneRequestLimit"),
            ("consul.hashicorp.com/v1alpha1", "JWTProvider"),
            ("consul.hashicorp.com/v1alpha1", "SamenessGroup"),
            ("consul.hashicorp.com/v1alpha1", "PeeringAcceptor"),
            ("consul.hashicorp.com/v1alpha1", "PeeringDialer"),
            ("consul.hashicorp.com/v1alpha1", "Registration"),
            ("serving.knative.dev/v1", "Service"),
        ] {
            let error = check(&with(&[of(version, kind, "{{ namespace }}-a", Value::Null)])).unwrap_err();
            let expected =
                format!("the {kind} `{{{{ namespace }}}}-a` is of a kind that may have an effect outside");
            assert!(
                error.starts_with(&expected) && error.contains("may have ConfigMap, Service, "),
                "{error}"
            );
        }
    }

    #[test]
    fn services_that_are_not_of_the_cluster_alone_and_routes_of_other_namespaces_are_refused() {
        for spec in [
            json!({"type": "LoadBalancer"}),
            json!({"type": "NodePort"}),
            json!({"type": "ExternalName", "externalName": "victim.example"}),
            json!({"type": 1}),
            json!({"externalName": "victim.example"}),
            json!({"externalIPs": ["203.0.113.1"]}),
        ] {
            let error = check(&with(&[of("v1", "Service", "origin", spec.clone())])).unwrap_err();
            assert!(error.contains("set its `type` to `ClusterIP`"), "{spec}: {error}");
        }
        let parents = json!({"parentRefs": [{"name": "a"}, {"name": "b", "namespace": "web"}]});
        for (version, kind) in [
            ("gateway.networking.k8s.io/v1", "HTTPRoute"),
            ("gateway.networking.k8s.io/v1", "GRPCRoute"),
            ("gateway.networking.k8s.io/v1alpha2", "TCPRoute"),
            ("gateway.networking.k8s.io/v1alpha2", "TLSRoute"),
            ("policy.linkerd.io/v1beta3", "HTTPRoute"),
        ] {
            let error = check(&with(&[of(version, kind, "a", parents.clone())])).unwrap_err();
            assert!(error.contains("leave `namespace` of its `parentRefs` out"), "{error}");
        }
    }

    #[test]
    fn services_of_consul_have_names_that_nobody_else_has() {
        let service = "objects: [{apiVersion: v1, kind: Service, metadata: {name: payments}}]";
        let inject = "consul.hashicorp.com/connect-inject: \"true\"";
        let names = |of_side: &str, name: &str| {
            format!("extends: consul\n{of_side}: {{annotations: {{{NAMES_IN_CONSUL}: \"{name}\"}}}}")
        };
        for (text, expected) in [
            (
                format!("extends: consul\n{service}"),
                "the Service `payments` applies to all services of Consul",
            ),
            (
                format!("origin: {{proxies: [x], annotations: {{{inject}}}}}\n{service}"),
                "the Service `payments` applies to all services of Consul",
            ),
            (names("origin", "payments"), "has `payments`, which may be somebody else's"),
            (names("caller", "{{ namespace }}-a, payments"), "has `payments`, which may be somebody else's"),
        ] {
            let error = Template::read(&format!("name: a\nurl: http://origin/\n{text}\n")).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for text in [
            format!("extends: istio\n{service}"),
            names("origin", "{{ namespace }}-a,{{ namespace }}-b"),
            format!("extends: consul\n{}", service.replace("payments", "\"{{ namespace }}-a\"")),
        ] {
            let read = Template::read(&format!("name: a\nurl: http://origin/\n{text}\n"));
            assert!(read.is_ok(), "{text}: {read:?}");
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
            let expected = GroupResource { group: group.to_owned(), resource: resource.to_owned() };
            assert_eq!(made(&json!({"apiVersion": version, "kind": kind})), expected);
        }
    }
}
