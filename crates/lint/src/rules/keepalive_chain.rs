//! The client side of a proxy keeps connections to the same proxy longer than its server side does.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "keepalive-chain",
    severity: Severity::Warning,
    title: "idle connections to another listener outlast its idle timeout",
    why: "Where one listener forwards to another, the listener behind must not close first, or requests are lost at the moment of closing.",
    cure: "Let idle timeouts grow from the client to the server: the cluster in front must time out before the listener behind it.",
    source: "https://github.com/envoyproxy/envoy/issues/14981",
    check,
};

const DEFAULT: f64 = 3600.0;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // With HTTP/2, a server announces the end of a connection, so no request is lost.
    for cluster in proxy.clusters.iter().filter(|cluster| cluster.has_routes && !cluster.is_http2()) {
        let own = cluster.common_option("idle_timeout");
        let kept = never_if_zero(own.as_ref().and_then(|idle| idle.seconds("")).unwrap_or(DEFAULT));
        for behind in proxy.own_managers(cluster).into_iter().filter_map(|number| proxy.managers.get(number))
        {
            let Some(served) = behind.node.seconds("/common_http_protocol_options/idle_timeout") else {
                continue;
            };
            if kept >= never_if_zero(served) {
                let message = format!(
                    "cluster `{}` keeps idle connections as long as listener `{}` behind it, or longer",
                    cluster.name(),
                    behind.listener.label()
                );
                found.push(own.as_ref().unwrap_or(&cluster.node).found("", message));
            }
        }
    }
}

fn never_if_zero(seconds: f64) -> f64 {
    if seconds == 0.0 { f64::INFINITY } else { seconds }
}
