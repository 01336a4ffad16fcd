//! A connection may take 5 s to open.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "connect-timeout-default",
    severity: Severity::Info,
    title: "a connection may take 5 s to open",
    why: "If a server is gone, each of its requests waits 5 s before another server is tried. Within one network, a connection opens in a millisecond.",
    cure: "Set `connect_timeout`, such as 0.25s within a network.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/cluster.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let without = proxy.clusters.iter().filter(|cluster| !cluster.node.has("/connect_timeout"));
    found.extend(without.map(|cluster| {
        let message = format!("cluster `{}` waits 5 s for a connection", cluster.name());
        cluster.node.found("/name", message).set(cluster.node.field("/connect_timeout"), "0.25s")
    }));
}
