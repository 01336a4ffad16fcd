//! A cluster with HTTP/2 has only a limit of connections.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "circuit-breaker-http2",
    severity: Severity::Info,
    title: "only connections limit a cluster of HTTP/2",
    why: "HTTP/2 sends many requests over one connection, so `max_connections` does not limit requests. `max_requests` does: requests above it fail at once instead of waiting.",
    cure: "Set `max_requests`.",
    source: "https://github.com/envoyproxy/envoy/issues/33279",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in proxy.clusters.iter().filter(|cluster| cluster.is_http2()) {
        for threshold in cluster.node.items("/circuit_breakers/thresholds") {
            let limited = threshold.number("/max_connections");
            if let (Some(limit), false) =
                (limited.filter(|limit| *limit <= 1024.0), threshold.has("/max_requests"))
            {
                let message = format!(
                    "cluster `{}` speaks HTTP/2, where `max_connections: {limit}` does not limit requests",
                    cluster.name()
                );
                found.push(threshold.found("/max_connections", message));
            }
        }
    }
}
