//! A filter chain is chosen by a name that nothing reads.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "sni-without-inspector",
    severity: Severity::Info,
    title: "a filter chain is chosen by a name that nothing reads",
    why: "The name of the handshake is read by the TLS inspector. Envoy adds it by itself and warns; an Envoy without that extension takes no such chain.",
    cure: "Add `envoy.filters.listener.tls_inspector` to `listener_filters`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/configuration/listeners/listener_filters/tls_inspector",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for listener in &proxy.listeners {
        let is_quic = listener.has("/udp_listener_config");
        let has_inspector = listener.items("/listener_filters").iter().any(|filter| {
            filter.extension().ends_with("TlsInspector")
                || filter.name() == "envoy.filters.listener.tls_inspector"
        });
        if has_inspector || is_quic {
            continue;
        }
        let chains = listener.items("/filter_chains");
        let named = chains.iter().find_map(|chain| chain.get("/filter_chain_match/server_names"));
        if let Some(named) = named {
            let inspector = serde_json::json!({
                "name": "envoy.filters.listener.tls_inspector",
                "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"},
            });
            let one = named.found(
                "",
                format!("listener `{}` has no TLS inspector, which reads this name", listener.label()),
            );
            let has_list = listener.has("/listener_filters");
            let at = listener.field(if has_list { "/listener_filters/-" } else { "/listener_filters" });
            found.push(one.set(at, if has_list { inspector } else { serde_json::json!([inspector]) }));
        }
    }
    found
}
