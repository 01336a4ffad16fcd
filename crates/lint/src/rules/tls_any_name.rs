//! TLS that accepts the certificate of any name.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::Proxy;

pub(super) static RULE: Rule = Rule {
    id: "tls-any-name",
    severity: Severity::Warning,
    title: "TLS that accepts the certificate of any name",
    why: "With a certificate authority alone, every certificate that it ever signed is accepted: with a public one, that of any site of the world.",
    cure: "Add `match_typed_subject_alt_names`, or `auto_sni_san_validation` to the options of HTTP.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/transport_sockets/tls/v3/common.proto; operations-deployment-charts of Wikimedia, change 0697859e",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for cluster in &proxy.clusters {
        let Some(tls) = cluster.tls() else { continue };
        let contexts = ["/validation_context", "/combined_validation_context/default_validation_context"];
        let contexts = contexts.iter().filter_map(|field| tls.get(&format!("/common_tls_context{field}")));
        let names = [
            "/match_typed_subject_alt_names",
            "/match_subject_alt_names",
            "/verify_certificate_hash",
            "/verify_certificate_spki",
            "/custom_validator_config",
        ];
        let is_automatic = cluster
            .http
            .as_ref()
            .is_some_and(|http| http.is_set("/upstream_http_protocol_options/auto_san_validation"))
            || tls.is_set("/auto_sni_san_validation");
        for context in contexts.filter(|context| context.has("/trusted_ca")) {
            if !is_automatic && !names.iter().any(|field| context.has(field)) {
                let message = format!(
                    "cluster `{}` accepts every certificate of this authority, whatever its name",
                    cluster.name()
                );
                found.push(context.found("/trusted_ca", message));
            }
        }
    }
    found
}
