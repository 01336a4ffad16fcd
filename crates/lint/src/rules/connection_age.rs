//! Connections end after a number of requests, but not after a time.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "connection-age",
    severity: Severity::Info,
    title: "connections end after a number of requests, but not after a time",
    why: "At a low rate, a connection takes hours to reach its number of requests, and stays with one server that long.",
    cure: "Add `max_connection_duration` to `common_http_protocol_options`.",
    source: "https://github.com/envoyproxy/envoy/issues/15283; https://github.com/envoyproxy/gateway/issues/5520",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let limited = proxy.clusters.iter().filter(|cluster| cluster.is_behind_one_name());
    found.extend(limited.filter_map(|cluster| {
        let limit = cluster.common_option("max_requests_per_connection")?;
        let has_time = ["idle_timeout", "max_connection_duration"]
            .iter()
            .any(|field| cluster.common_option(field).is_some());
        let message = format!(
            "connections of cluster `{}` end after a number of requests only, which a low rate never reaches",
            cluster.name()
        );
        (!has_time).then(|| limit.found("", message))
    }));
}
