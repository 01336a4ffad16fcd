//! An edge proxy that trusts the addresses that clients state.

use crate::found::{Found, Price};
use crate::proxy::{Manager, Node, Places, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "client-address-trusted",
    severity: Severity::Info,
    title: "an edge proxy that trusts the client addresses in X-Forwarded-For",
    why: "Without `use_remote_address`, Envoy takes the address of the client from X-Forwarded-For, so anyone who sends this header gets past limits and rules by address.",
    cure: "Set `use_remote_address: true`, with `xff_num_trusted_hops` for the proxies in front.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge",
    check,
};

/// Conditions, and descriptors of limits, that use the address of the client.
const BY_ADDRESS: [&str; 3] = ["remote_ip", "remote_address", "masked_remote_address"];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let by_address = Places::new(proxy.index.with_any(&BY_ADDRESS));
    let decides_by_address = |manager: &Manager<'_>| {
        let is_tagging = |filter: &Node<'_>| filter.extension().ends_with(".IPTagging");
        by_address.has_inside(&manager.node) || manager.filters().iter().any(is_tagging)
    };
    for manager in proxy.managers.iter().filter(|manager| manager.is_tls()) {
        let is_stated = ["/use_remote_address", "/xff_num_trusted_hops", "/original_ip_detection_extensions"]
            .iter()
            .any(|field| manager.node.has(field));
        // In a mesh, clients are proxies with certificates.
        let sockets = manager.chain.get("/transport_socket/typed_config");
        let is_mutual = sockets.is_some_and(|tls| tls.is_set("/require_client_certificate"));
        if manager.listener.is_open_to_others() && !is_stated && !is_mutual && decides_by_address(manager) {
            let message = format!(
                "listener `{}` decides by the client address, but takes it from X-Forwarded-For, which clients can set",
                manager.listener.label()
            );
            let one = manager.node.found("/stat_prefix", message);
            found.push(one.at_price(Price::OfCure("edge/remote-address")));
        }
    }
}
