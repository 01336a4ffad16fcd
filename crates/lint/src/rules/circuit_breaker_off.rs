//! Limits so high that they protect nothing.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "circuit-breaker-off",
    severity: Severity::Info,
    title: "limits so high that they protect nothing",
    why: "A limit of a thousand million admits every request, so a slow server uses up the memory and the connections of the proxy.",
    cure: "Use such limits for measurements only, and size the limits of production.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/faq/load_balancing/disable_circuit_breaking",
    check,
};

const OFF: f64 = 1e9;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in &proxy.clusters {
        for threshold in cluster.node.items("/circuit_breakers/thresholds") {
            let is_off = |field: &&&str| threshold.number(field).is_some_and(|limit| limit >= OFF);
            if let Some(field) =
                ["/max_requests", "/max_connections", "/max_pending_requests"].iter().find(is_off)
            {
                found.push(threshold.found(
                    field,
                    format!("the circuit breaker of cluster `{}` never opens", cluster.name()),
                ));
            }
        }
    }
}
