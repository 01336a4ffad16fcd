//! TLS to a server whose certificate is not verified.

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "tls-unverified",
    severity: Severity::Warning,
    title: "TLS to a server whose certificate is not verified",
    why: "Without a certificate authority, Envoy accepts any certificate, so anyone on the way can answer in place of the server. This is \
        its default.",
    cure: "Add `validation_context.trusted_ca`, and the names that the server may have.",
    source: "istioctl analyze IST0128; https://github.com/envoyproxy/envoy/issues/1268; https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/security/ssl",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in &proxy.clusters {
        let Some(tls) = cluster.tls() else { continue };
        if !is_verified(&tls) {
            found.push(tls.found("", format!("cluster `{}` accepts any certificate", cluster.name())));
        }
    }
}

/// Fields that make Envoy verify the certificates of servers, directly or through a control plane.
const VERIFIES: [&str; 10] = [
    "/validation_context/trusted_ca",
    "/validation_context/ca_certificate_provider_instance",
    "/validation_context/verify_certificate_spki",
    "/validation_context/verify_certificate_hash",
    "/validation_context/custom_validator_config",
    "/validation_context/system_root_certs",
    "/validation_context_sds_secret_config",
    "/combined_validation_context",
    "/validation_context_certificate_provider",
    "/validation_context_certificate_provider_instance",
];

fn is_verified(tls: &Node<'_>) -> bool {
    let context = tls.get("/common_tls_context");
    context.is_some_and(|context| VERIFIES.iter().any(|field| context.has(field)))
}
