//! Idle connections are kept for an hour.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "keepalive-default",
    severity: Severity::Info,
    title: "idle connections are kept for an hour",
    why: "The default of an hour is longer than servers usually wait, so the server closes first, and a request sent at that moment is lost: 503 with `UC`.",
    cure: "Set `idle_timeout` in `common_http_protocol_options` to less than the server waits.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/protocol.proto; https://phabricator.wikimedia.org/T247484; docs/results/keepalive-race.md",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // With HTTP/2, a server announces the end of a connection, so no request is lost.
    let routed = proxy.clusters.iter().filter(|cluster| cluster.has_routes && !cluster.is_http2());
    let without = routed.filter(|cluster| cluster.common_option("idle_timeout").is_none());
    found.extend(without.map(|cluster| {
        let message = format!(
            "cluster `{}` keeps idle connections for an hour, longer than servers usually do",
            cluster.name()
        );
        cluster.set_common_option(cluster.node.found("/name", message), "idle_timeout", "4.5s".into())
    }));
}
