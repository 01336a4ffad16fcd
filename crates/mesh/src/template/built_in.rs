//! The built-in templates: meshes, and functions that extend a mesh.

/// All built-in templates by name. A template comes after the one that it extends.
pub const BUILT_IN: [(&str, &str); 19] = [
    ("istio", include_str!("../../templates/istio.yaml")),
    ("istio-mutual-tls-off", include_str!("../../templates/istio/mutual-tls-off.yaml")),
    ("istio-mutual-tls-strict", include_str!("../../templates/istio/mutual-tls-strict.yaml")),
    ("istio-authorization-1", include_str!("../../templates/istio/authorization-1.yaml")),
    ("istio-authorization-100", include_str!("../../templates/istio/authorization-100.yaml")),
    ("istio-retries", include_str!("../../templates/istio/retries.yaml")),
    ("istio-retries-off", include_str!("../../templates/istio/retries-off.yaml")),
    ("istio-traffic-split", include_str!("../../templates/istio/traffic-split.yaml")),
    ("istio-access-log", include_str!("../../templates/istio/access-log.yaml")),
    ("istio-tracing", include_str!("../../templates/istio/tracing.yaml")),
    ("istio-ambient", include_str!("../../templates/istio-ambient.yaml")),
    ("linkerd", include_str!("../../templates/linkerd.yaml")),
    ("kuma", include_str!("../../templates/kuma.yaml")),
    ("consul", include_str!("../../templates/consul.yaml")),
    ("consul-http", include_str!("../../templates/consul/http.yaml")),
    ("consul-authorization-1", include_str!("../../templates/consul/authorization-1.yaml")),
    ("consul-authorization-100", include_str!("../../templates/consul/authorization-100.yaml")),
    ("consul-retries", include_str!("../../templates/consul/retries.yaml")),
    ("consul-traffic-split", include_str!("../../templates/consul/traffic-split.yaml")),
];

/// The text of a built-in template.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.into_iter().find(|(other, _)| *other == name).map(|(_, text)| text)
}
