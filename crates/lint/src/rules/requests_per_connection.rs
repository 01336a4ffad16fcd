//! Connections to a single name that never end.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "requests-per-connection",
    severity: Severity::Info,
    title: "connections to one name that never end",
    why: "Behind one name or address, a balancer of connections chooses a server once for each connection. Connections that never end stay with that server: at Wikimedia, they skewed the load onto one jobrunner, and connections of restbase \"spiked out of control\" on the balancer.",
    cure: "Set `max_requests_per_connection`, such as 1000, together with an idle timeout.",
    source: "https://phabricator.wikimedia.org/T266855; https://github.com/envoyproxy/envoy/issues/9112",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let behind = proxy.clusters.iter().filter(|cluster| cluster.has_routes && cluster.is_behind_one_name());
    let endless = behind.filter(|cluster| {
        cluster.common_option("max_requests_per_connection").is_none()
            && !cluster.node.has("/max_requests_per_connection")
            && cluster.common_option("max_connection_duration").is_none()
    });
    found.extend(endless.map(|cluster| {
        let message = format!("connections of cluster `{}` to one name never end: a balancer behind that name cannot spread them again", cluster.name());
        cluster.set_common_option(cluster.node.found("/name", message), "max_requests_per_connection", 1000.into())
    }));
}
