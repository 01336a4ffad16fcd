//! Tracing changes the request id of clients.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "request-id-changed",
    severity: Severity::Info,
    title: "tracing changes the request id of clients",
    why: "Envoy writes the reason for a trace into X-Request-Id, so logs behind the proxy show a different id than the client sent.",
    cure: "Set `pack_trace_reason: false` in `request_id_extension`.",
    source: "https://phabricator.wikimedia.org/T407826; https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/request_id/uuid/v3/uuid.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let traced = proxy.managers.iter().filter(|manager| {
        let is_generated = !manager.node.is_off("/generate_request_id");
        proxy.tracing(manager).is_some() && !manager.node.has("/request_id_extension") && is_generated
    });
    found.extend(traced.map(|manager| {
        let settings = serde_json::json!({"typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig",
            "pack_trace_reason": false,
        }});
        let one = manager
            .node
            .found("/tracing", "tracing writes the reason for a trace into X-Request-Id, which changes the ids that clients send");
        one.set(manager.node.field("/request_id_extension"), settings)
    }));
}
