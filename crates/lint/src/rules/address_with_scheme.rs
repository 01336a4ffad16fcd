//! An address that is no host name.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::Proxy;

pub(super) static RULE: Rule = Rule {
    id: "address-with-scheme",
    severity: Severity::Error,
    title: "an address that is no host name",
    why: "Envoy starts, the name never resolves, and every request gets 503 with `UH`.",
    cure: "Write the bare host into `address` and the port into `port_value`.",
    source: "https://github.com/envoyproxy/envoy/issues/26720",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for cluster in &proxy.clusters {
        for (socket, host, _) in cluster.addresses() {
            let wrong = host.contains("://") || host.contains(['/', ' ', '@', '?', '#']);
            if wrong || host.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("]:") {
                found.push(socket.found(
                    "/address",
                    "this is no host name or address: a scheme, a path or a port is in it",
                ));
            }
        }
    }
    found
}
