//! Options of name resolution at their old place.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::Proxy;

pub(super) static RULE: Rule = Rule {
    id: "dns-deprecated",
    severity: Severity::Info,
    title: "options of name resolution at their old place",
    why: "They are deprecated, and a later Envoy refuses a file with them.",
    cure: "Move them to `cluster_type` with `envoy.clusters.dns`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/cluster.proto",
    check,
};

const FIELDS: [&str; 4] =
    ["/dns_refresh_rate", "/respect_dns_ttl", "/dns_failure_refresh_rate", "/dns_jitter"];

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for cluster in &proxy.clusters {
        if let Some(field) = FIELDS.iter().find(|field| cluster.node.has(field)) {
            found.push(cluster.node.found(
                field,
                format!("`{}` belongs into the DNS cluster type", field.trim_start_matches('/')),
            ));
        }
    }
    found
}
