//! A filter chain is chosen by a name that nothing reads.

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "sni-without-inspector",
    severity: Severity::Error,
    title: "a filter chain matches a server name that nothing reads",
    why: "Only the TLS inspector reads the server name from the handshake, and Envoy does not add it by itself. Without it, connections have no server name and no such chain matches: clients are refused, or get the chain that requires no name.",
    cure: "Add `envoy.filters.listener.tls_inspector` to `listener_filters`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/configuration/listeners/listener_filters/tls_inspector",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for listener in &proxy.listeners {
        let is_quic = listener.has("/udp_listener_config");
        let has_inspector = listener.items("/listener_filters").iter().any(|filter| {
            filter.extension().ends_with("TlsInspector")
                || filter.name() == "envoy.filters.listener.tls_inspector"
        });
        // Custom filters may also set the name.
        let is_own = |filter: &Node<'_>| {
            ["dynamic_modules", "wasm", "golang"].iter().any(|kind| filter.extension().contains(kind))
        };
        if has_inspector || is_quic || listener.items("/listener_filters").iter().any(is_own) {
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
                format!(
                    "listener `{}` has no TLS inspector, so nothing reads this server name",
                    listener.label()
                ),
            );
            let has_list = listener.has("/listener_filters");
            let at = listener.field(if has_list { "/listener_filters/-" } else { "/listener_filters" });
            found.push(one.set(at, if has_list { inspector } else { serde_json::json!([inspector]) }));
        }
    }
}
