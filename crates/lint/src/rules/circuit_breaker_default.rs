//! A cluster has the default limits of 1024.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "circuit-breaker-default",
    severity: Severity::Info,
    title: "a cluster has the default limits of 1024",
    why: "Without thresholds, a cluster admits 1024 connections, 1024 waiting requests, 1024 requests and 3 retries at a time. Requests above a limit get 503 with `UO` (\"reset reason: overflow\"): at Wikimedia, 2 % of the requests for 37 minutes on 2021-09-04.",
    cure: "Set all four to what its servers can handle.",
    source: "Wikimedia incident of 2021-09-04; https://github.com/emissary-ingress/emissary/issues/1384; https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/circuit_breaking",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let without = proxy.clusters.iter().filter(|cluster| !cluster.node.has("/circuit_breakers/thresholds"));
    found.extend(without.filter(|cluster| cluster.is_http()).map(|cluster| {
        let message = format!(
            "cluster `{}` has the default circuit breaker: 1024 connections and requests, 3 retries",
            cluster.name()
        );
        cluster.node.found("/name", message)
    }));
}
