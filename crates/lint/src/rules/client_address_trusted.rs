//! An edge that believes the addresses that clients state.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Proxy, is_loopback};

pub(super) static RULE: Rule = Rule {
    id: "client-address-trusted",
    severity: Severity::Warning,
    title: "an edge that believes the addresses that clients state",
    why: "Without `use_remote_address` Envoy takes the address of the client from X-Forwarded-For, so who writes one there gets past limits and rules by address.",
    cure: "Set `use_remote_address: true`, with `xff_num_trusted_hops` for the proxies in front.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for manager in proxy.managers.iter().filter(|manager| manager.is_tls()) {
        let socket = manager.listener.get("/address/socket_address");
        let is_open = socket.is_some_and(|socket| !is_loopback(socket.text("/address")));
        let is_stated =
            manager.node.has("/use_remote_address") || manager.node.has("/original_ip_detection_extensions");
        // In a mesh, clients are proxies with certificates.
        let sockets = manager.chain.get("/transport_socket/typed_config");
        let is_mutual = sockets.is_some_and(|tls| tls.is_set("/require_client_certificate"));
        if is_open && !is_stated && !is_mutual {
            let message = format!(
                "listener `{}` takes the address of a client from its X-Forwarded-For",
                manager.listener.label()
            );
            found.push(manager.node.found("/stat_prefix", message));
        }
    }
    found
}
