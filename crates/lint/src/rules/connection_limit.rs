//! No limit of all connections.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Node, Proxy, counted, is_loopback};

pub(super) static RULE: Rule = Rule {
    id: "connection-limit",
    severity: Severity::Info,
    title: "no limit of all connections",
    why: "Connections use file descriptors until there are none, and then nothing works, not even what would tell.",
    cure: "Add the resource monitor `envoy.resource_monitors.global_downstream_max_connections` to the overload manager.",
    source: "operations-puppet of Wikimedia, change 2b7fcf3b; https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let monitors = proxy.root.items("/overload_manager/resource_monitors");
    let is_limited =
        monitors.iter().any(|monitor| monitor.name().contains("downstream")) || mentions(&proxy.root);
    let is_open = |listener: &&Node<'_>| {
        let address = listener.get("/address/socket_address");
        address.is_some_and(|address| !is_loopback(address.text("/address")))
    };
    let open: Vec<&Node<'_>> = proxy.listeners.iter().filter(is_open).collect();
    // A file of listeners has no place for it.
    match open.first() {
        Some(first) if !proxy.is_part && !is_limited => {
            vec![first.found(
                "/name",
                format!(
                    "nothing limits the connections of {} to other machines",
                    counted(open.len(), "listener")
                ),
            )]
        }
        _ => Vec::new(),
    }
}

/// Whether the runtime states the older form of the limit.
fn mentions(root: &Node<'_>) -> bool {
    root.get("/layered_runtime")
        .is_some_and(|runtime| runtime.value.to_string().contains("global_downstream_max_connections"))
}
