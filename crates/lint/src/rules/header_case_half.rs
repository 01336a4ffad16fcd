//! The case of headers is preserved on one side only.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "header-case-half",
    severity: Severity::Info,
    title: "the case of header names is kept in one direction only",
    why: "The listener keeps the case of header names in requests, and the cluster in responses: with only one of them, the other direction gets lower case.",
    cure: "Set `header_key_format` on the listener and on the cluster.",
    source: "https://phabricator.wikimedia.org/T249680; https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/header_casing",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for route in &proxy.routes {
        let Some(manager) = proxy.managers.get(route.manager) else { continue };
        let of_listener = manager.node.get("/http_protocol_options/header_key_format/stateful_formatter");
        for cluster in route
            .clusters()
            .into_iter()
            .filter_map(|name| proxy.cluster(name))
            .filter(|cluster| cluster.is_http1())
        {
            let new = cluster.http.as_ref().and_then(|http| {
                http.get("/explicit_http_config/http_protocol_options/header_key_format/stateful_formatter")
            });
            let of_cluster = new
                .or_else(|| cluster.node.get("/http_protocol_options/header_key_format/stateful_formatter"));
            let one_sided = match (&of_listener, &of_cluster) {
                (Some(one), None) => Some((one, "cluster", cluster.name().to_owned())),
                (None, Some(one)) => Some((one, "listener", manager.listener.label())),
                _ => None,
            };
            if let Some((one, kind, name)) = one_sided {
                found.push(
                    one.found(
                        "",
                        format!("the case of header names is kept here, but not at {kind} `{name}`"),
                    ),
                );
            }
        }
    }
}
