//! A field that Envoy is going to drop.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Manager, Proxy};

pub(super) static RULE: Rule = Rule {
    id: "deprecated-field",
    severity: Severity::Info,
    title: "a field that Envoy is going to drop",
    why: "Envoy warns at every start, counts it in `server.deprecated_feature_use`, and refuses the file some releases later.",
    cure: "Use the field that the documentation names instead.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/version_history/version_history",
    check,
};

/// Fields, the ends of the pointers of what has them, and what to use.
const CLUSTER: [(&str, &str); 3] = [
    ("/http2_protocol_options", "`typed_extension_protocol_options`"),
    ("/http_protocol_options", "`typed_extension_protocol_options`"),
    ("/max_requests_per_connection", "the common options of HTTP"),
];

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for cluster in &proxy.clusters {
        if let Some((field, instead)) = CLUSTER.iter().find(|(field, _)| cluster.node.has(field)) {
            found.push(
                cluster.node.found(
                    field,
                    format!("`{}` is deprecated; use {instead}", field.trim_start_matches('/')),
                ),
            );
        }
    }
    for filter in proxy.managers.iter().flat_map(Manager::filters) {
        let fields = filter.fields();
        if filter.extension().ends_with(".lua.v3.Lua") && fields.has("/inline_code") {
            found
                .push(fields.found("/inline_code", "`inline_code` is deprecated; use `default_source_code`"));
        }
    }
    found
}
