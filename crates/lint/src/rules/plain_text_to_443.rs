//! Plain text to port 443, the port of TLS.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "plain-text-to-443",
    severity: Severity::Warning,
    title: "plain text to port 443",
    why: "A server at port 443 expects a TLS handshake: it answers 400 or closes the connection, and anyone on the way could read the \
        request.",
    cure: "Add a transport socket with TLS to the cluster, or correct the port.",
    source: "RFC 9110, section 4.2.2",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in proxy.clusters.iter().filter(|cluster| cluster.has_routes) {
        let has_socket =
            cluster.node.has("/transport_socket") || cluster.node.has("/transport_socket_matches");
        let plain = cluster.addresses().into_iter().find(|address| address.port == 443);
        if let Some(address) = plain.filter(|_| !has_socket) {
            found.push(address.socket.found(
                "/port_value",
                format!("requests to cluster `{}` go to port 443 without TLS", cluster.name()),
            ));
        }
    }
}
