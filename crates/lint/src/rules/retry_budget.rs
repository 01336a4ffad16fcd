//! Retries without a budget.

use crate::found::{Found, Price};
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "retry-budget",
    severity: Severity::Info,
    title: "retries without a budget",
    why: "Without one, a cluster admits 3 retries at a time, which is soon too few. With a higher `max_retries`, retries can double the requests when the servers fail, which is the worst time.",
    cure: "Set `retry_budget` in the circuit breaker: 20 % of the requests, at least 3.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/circuit_breaker.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let routes = proxy.retry_policies().into_iter().flat_map(|(_, routes)| routes);
    let retried: BTreeSet<&str> = routes.flat_map(Route::clusters).collect();
    let clusters = proxy.clusters.iter().filter(|cluster| retried.contains(cluster.name()));
    let without = clusters.filter(|cluster| {
        let thresholds = cluster.node.items("/circuit_breakers/thresholds");
        !thresholds.iter().any(|threshold| threshold.has("/retry_budget"))
    });
    found.extend(without.map(|cluster| {
        let message = format!(
            "retries to cluster `{}` have no budget: 3 at a time, or as many as `max_retries` says",
            cluster.name()
        );
        cluster.node.found("/name", message).at_price(Price::OfCure("retry/budget"))
    }));
}
