//! The server name in the TLS handshake differs from the host of the request.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "sni-and-host",
    severity: Severity::Warning,
    title: "the TLS handshake and the request name different hosts",
    why: "A server with several names chooses its certificate by the name in the handshake and its site by the Host header: it answers 421, 404, or as the wrong site.",
    cure: "Use the same name in both, or do not rewrite the Host header.",
    source: "operations-deployment-charts of Wikimedia, change 7a086f1c",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for route in &proxy.routes {
        let Some(action) = route.action() else { continue };
        let host = action.text("/host_rewrite_literal");
        for cluster in route.clusters().into_iter().filter_map(|name| proxy.cluster(name)) {
            let Some(tls) = cluster.tls() else { continue };
            // Envoy may take the server name from the request, or from the address.
            if cluster.options().is_set("/upstream_http_protocol_options/auto_sni")
                || tls.is_set("/auto_host_sni")
            {
                continue;
            }
            let name = tls.text("/sni");
            let host_only = host.rsplit_once(':').map_or(host, |(host, _)| host);
            if !name.is_empty() && !host.is_empty() && !name.eq_ignore_ascii_case(host_only) {
                let message = format!(
                    "the TLS handshake of cluster `{}` names a different host than the request",
                    cluster.name()
                );
                found.push(action.found("/host_rewrite_literal", message));
            }
        }
    }
}
