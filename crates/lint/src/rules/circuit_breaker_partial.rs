//! Some limits of a cluster are raised, and others are still 1024.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "circuit-breaker-partial",
    severity: Severity::Warning,
    title: "some limits of a cluster are raised and others stay 1024",
    why: "A request must pass all of them: with only `max_connections` raised, requests still get 503 at 1024 requests, or at 1024 \
        waiting requests.",
    cure: "Set `max_connections`, `max_pending_requests` and `max_requests` together.",
    source: "https://github.com/envoyproxy/envoy/issues/11908",
    check,
};

const LIMITS: [&str; 3] = ["max_connections", "max_pending_requests", "max_requests"];
const DEFAULT: f64 = 1024.0;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in proxy.clusters.iter().filter(|cluster| cluster.is_http()) {
        for threshold in cluster.node.items("/circuit_breakers/thresholds") {
            let limit = |name: &&str| threshold.number(&format!("/{name}"));
            let most = LIMITS.iter().filter_map(&limit).fold(0.0, f64::max);
            let missing: Vec<&str> = LIMITS.into_iter().filter(|name| limit(name).is_none()).collect();
            // With HTTP/2, connections are few, and a request waits only for the first of them.
            let is_excused = cluster.is_http2() && !missing.contains(&"max_requests");
            if most <= DEFAULT || missing.is_empty() || is_excused {
                continue;
            }
            let message = format!(
                "`{}` of cluster `{}` {} 1024 while others are raised",
                missing.join("` and `"),
                cluster.name(),
                if missing.len() == 1 { "stays" } else { "stay" }
            );
            found.push(threshold.found("", message));
        }
    }
}
