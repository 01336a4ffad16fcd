//! A deprecated field, which Envoy will remove.

use crate::found::Found;
use crate::proxy::{Manager, OLD_OPTIONS, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "deprecated-field",
    severity: Severity::Info,
    title: "a field that Envoy is going to remove",
    why: "Envoy warns at every start, and refuses the file some releases later.",
    cure: "Use the field that the documentation names instead.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/version_history/version_history",
    check,
};

/// Other fields of a cluster, each with its replacement.
const CLUSTER: [(&str, &str); 5] = [
    ("/max_requests_per_connection", OPTIONS),
    ("/dns_refresh_rate", DNS),
    ("/dns_failure_refresh_rate", DNS),
    ("/dns_jitter", DNS),
    ("/respect_dns_ttl", DNS),
];
const OPTIONS: &str = "`typed_extension_protocol_options`";
const DNS: &str = "`cluster_type` with `envoy.clusters.dns`";

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in &proxy.clusters {
        let old = OLD_OPTIONS.iter().map(|field| (*field, OPTIONS)).chain(CLUSTER);
        for (field, instead) in old.filter(|(field, _)| cluster.node.has(field)) {
            let name = field.trim_start_matches('/');
            found.push(cluster.node.found(field, format!("`{name}` is deprecated; use {instead}")));
        }
    }
    for filter in proxy.managers.iter().flat_map(Manager::filters) {
        let fields = filter.fields();
        if filter.extension().ends_with(".lua.v3.Lua") && fields.has("/inline_code") {
            found
                .push(fields.found("/inline_code", "`inline_code` is deprecated; use `default_source_code`"));
        }
    }
}
