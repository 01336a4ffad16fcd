//! TLS that accepts the certificate of any name.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "tls-any-name",
    severity: Severity::Warning,
    title: "TLS that accepts a certificate for any name",
    why: "If the TLS context names only a certificate authority, Envoy accepts every certificate that it ever signed: from a public authority, the certificate of any site in the world.",
    cure: "Add `match_typed_subject_alt_names` or `auto_sni_san_validation` to the TLS context of the cluster, or `auto_san_validation` to its HTTP options.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/transport_sockets/tls/v3/common.proto; operations-deployment-charts of Wikimedia, change 0697859e",
    check,
};

/// Sources of certificate authorities.
const AUTHORITIES: [&str; 3] = ["/trusted_ca", "/system_root_certs", "/ca_certificate_provider_instance"];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
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
        let is_automatic = cluster.options().is_set("/upstream_http_protocol_options/auto_san_validation")
            || tls.is_set("/auto_sni_san_validation");
        for context in contexts {
            let Some(authority) = AUTHORITIES.iter().find(|field| context.has(field)) else { continue };
            if !is_automatic && !names.iter().any(|field| context.has(field)) {
                let message = format!(
                    "cluster `{}` accepts every certificate of this authority, whatever its name",
                    cluster.name()
                );
                found.push(context.found(authority, message));
            }
        }
    }
}
