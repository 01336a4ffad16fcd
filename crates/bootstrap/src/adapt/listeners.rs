//! Makes listeners listen on loopback, each on its own port.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::{Context, described_address, socket_address};
use crate::tree::{extension_type, items, join, pointers, set, text};

/// Reason why fields for redirected connections are removed.
const REDIRECTED: &str = "the lab connects to the port of each listener, and the kernel redirects nothing";

/// A listener of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name.
    pub name: String,
    /// Its pointer.
    pub pointer: String,
    /// Its address in the user's configuration.
    pub address: String,
    /// True if it takes datagrams instead of connections.
    pub is_udp: bool,
    /// True if only other listeners connect to it.
    pub is_internal: bool,
}

pub(super) fn adapt(context: &mut Context<'_>) {
    for (index, pointer) in pointers(&context.tree, "/static_resources/listeners").iter().enumerate() {
        let Some(node) = context.tree.pointer(pointer) else { continue };
        let address = node.get("address").cloned().unwrap_or(Value::Null);
        let is_internal = node.get("internal_listener").is_some();
        let is_udp = text(&address, "/socket_address/protocol") == "UDP";
        let name = match text(node, "/name") {
            "" => format!("listener_{index}"),
            name => name.to_owned(),
        };
        if let Some(node) = context.tree.pointer_mut(pointer) {
            set(node, "name", name.clone().into());
        }
        context.listeners.push(Listener {
            name: name.clone(),
            pointer: pointer.clone(),
            address: described_address(&address),
            is_udp,
            is_internal,
        });
        let guarded_port = guarded_port(context, pointer, &address);
        if !is_internal {
            replace_address(context, pointer, index, &name, &address, is_udp);
        }
        context.remove_key(pointer, "additional_addresses", "requests go to the first address only");
        for key in ["use_original_dst", "bind_to_port", "transparent", "freebind", "deprecated_v1"] {
            context.remove_key(pointer, key, REDIRECTED);
        }
        for key in ["socket_options", "enable_mptcp"] {
            context.remove_key(pointer, key, "socket options depend on the kernel and the network");
        }
        if let Some(port) = guarded_port {
            fn port_of(chain: &Value) -> Option<&Value> {
                chain.pointer("/filter_chain_match/destination_port")
            }
            // The filter chain for connections to the listener's own port would be a redirection loop, and would shadow the chains for
            // requests. In a sidecar, the chains for the ports of its pod come after those for all other ports.
            let why = "it rejects connections to the port of the listener itself, to which the kernel redirects none";
            remove_chains(context, pointer, &|chain| port_of(chain) == Some(&port), why);
            let why = "it is for connections to ports that no other chain matches";
            remove_chains(context, pointer, &|chain| port_of(chain).is_none(), why);
        }
        match_without_addresses(context, pointer);
    }
}

/// The own port of a listener for redirected connections, which are connections to other ports; none for any other listener.
fn guarded_port(context: &Context<'_>, listener: &str, address: &Value) -> Option<Value> {
    // An earlier pass removed the filter.
    let given = context.configuration.tree.pointer(listener)?;
    let has_filter = items(given, "/listener_filters").iter().any(|(_, filter)| {
        text(filter, "/name").ends_with(".original_dst") || extension_type(filter).contains(".original_dst.")
    });
    let is_redirected = has_filter || given.get("use_original_dst") == Some(&Value::Bool(true));
    address.pointer("/socket_address/port_value").filter(|_| is_redirected).cloned()
}

/// Removes the filter chains for which `is_meant` holds, unless there are no others.
fn remove_chains(context: &mut Context<'_>, listener: &str, is_meant: &dyn Fn(&Value) -> bool, why: &str) {
    let chains = items(&context.tree, &join(listener, "filter_chains"));
    let (meant, others): (Vec<_>, Vec<_>) = chains.into_iter().partition(|(_, chain)| is_meant(chain));
    if others.is_empty() {
        return;
    }
    let described = |(pointer, chain): (String, &Value)| (pointer, described_chain(chain));
    let meant: Vec<(String, String)> = meant.into_iter().map(described).collect();
    for (pointer, what) in meant {
        context.remove(&pointer, &what, why);
    }
}

/// A filter chain for a list of replacements.
fn described_chain(chain: &Value) -> String {
    match text(chain, "/name") {
        "" => "a filter chain".to_owned(),
        name => format!("filter chain `{name}`"),
    }
}

fn replace_address(
    context: &mut Context<'_>,
    pointer: &str,
    index: usize,
    name: &str,
    address: &Value,
    is_udp: bool,
) {
    let port = context.lab.listener_ports.get(index).copied().unwrap_or(0);
    let mut lab = socket_address(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    if is_udp {
        lab["socket_address"]["protocol"] = json!("UDP");
    }
    let with = if port == 0 { "127.0.0.1, a free port".to_owned() } else { format!("127.0.0.1:{port}") };
    let what = format!("listener `{name}` on {}", described_address(address));
    if let Some(node) = context.tree.pointer_mut(pointer) {
        set(node, "address", Value::Null);
    }
    context.replace(&join(pointer, "address"), lab, &what, &with);
}

/// Removes addresses from the conditions of filter chains. If several chains then have equal conditions, the first is kept.
fn match_without_addresses(context: &mut Context<'_>, listener: &str) {
    const ADDRESSES: [&str; 10] = [
        "destination_port",
        "prefix_ranges",
        "address_suffix",
        "suffix_len",
        "direct_source_prefix_ranges",
        "source_type",
        "source_prefix_ranges",
        "source_ports",
        "server_name_ranges",
        "destination_name",
    ];
    context.remove_key(
        listener,
        "filter_chain_matcher",
        "the lab chooses filter chains by `filter_chain_match` without addresses; to measure one chain, keep it as the only one",
    );
    let mut seen: Vec<Value> = Vec::new();
    for pointer in pointers(&context.tree, &join(listener, "filter_chains")) {
        let matching = join(&pointer, "filter_chain_match");
        for key in ADDRESSES {
            context.remove_key(&matching, key, REDIRECTED);
        }
        let rest = crate::tree::compact(context.tree.pointer(&matching).unwrap_or(&Value::Null));
        let rest = if rest.is_null() { json!({}) } else { rest };
        if seen.contains(&rest) {
            let what = described_chain(context.tree.pointer(&pointer).unwrap_or(&Value::Null));
            context.remove(
                &pointer,
                &what,
                "without addresses, an earlier chain matches the same connections",
            );
        } else {
            seen.push(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::adapted;

    #[test]
    fn what_needs_the_kernel_is_removed_with_the_reason() {
        let adapted = adapted(
            "static_resources:
  listeners:
    - name: outbound
      use_original_dst: true
      address: {socket_address: {address: 0.0.0.0, port_value: 15001}}
      listener_filters: [{name: envoy.filters.listener.original_dst}]
      filter_chains:
        - {name: first, filter_chain_match: {destination_port: 80}, filters: []}
        - {name: second, filter_chain_match: {destination_port: 81}, filters: []}",
        );
        let list: Vec<&str> = adapted.replacements.iter().map(|one| one.node.as_str()).collect();
        for what in [
            "listener filter `envoy.filters.listener.original_dst`",
            "`use_original_dst`",
            "filter chain `second`",
        ] {
            assert!(list.contains(&what), "{list:?}");
        }
        let listener = &adapted.bootstrap()["static_resources"]["listeners"][0];
        assert_eq!(listener["filter_chains"].as_array().map(Vec::len), Some(1));
        assert_eq!(listener["listener_filters"], json!([]));
    }

    #[test]
    fn the_chain_for_the_port_of_a_redirecting_listener_is_not_the_one_that_is_measured() {
        let chains = |redirects: bool| {
            let adapted = adapted(&format!(
                "static_resources:
  listeners:
    - name: outbound
      use_original_dst: {redirects}
      address: {{socket_address: {{address: 0.0.0.0, port_value: 15001}}}}
      filter_chains:
        - {{name: loop, filter_chain_match: {{destination_port: 15001}}, filters: []}}
        - {{name: rest, filters: []}}"
            ));
            let chains = adapted.bootstrap()["static_resources"]["listeners"][0]["filter_chains"].clone();
            chains.as_array().unwrap().iter().map(|chain| chain["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(chains(true), ["rest"]);
        assert_eq!(chains(false), ["loop"], "all connections are to this port");
    }

    #[test]
    fn the_chain_for_a_port_of_the_pod_is_measured_and_not_the_one_for_all_others_before_it() {
        let chains = |redirects: bool| {
            let adapted = adapted(&format!(
                "static_resources:
  listeners:
    - name: virtualInbound
      use_original_dst: {redirects}
      address: {{socket_address: {{address: 0.0.0.0, port_value: 15006}}}}
      filter_chains:
        - {{name: block, filter_chain_match: {{destination_port: 15006}}, filters: []}}
        - {{name: others, filter_chain_match: {{transport_protocol: tls}}, filters: []}}
        - {{name: plain, filter_chain_match: {{transport_protocol: raw_buffer}}, filters: []}}
        - {{name: app, filter_chain_match: {{destination_port: 8080, transport_protocol: tls}}, filters: []}}
        - {{name: second, filter_chain_match: {{destination_port: 8081, transport_protocol: tls}}, filters: []}}"
            ));
            let chains = adapted.bootstrap()["static_resources"]["listeners"][0]["filter_chains"].clone();
            chains.as_array().unwrap().iter().map(|chain| chain["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(chains(true), ["app"]);
        assert_eq!(
            chains(false),
            ["block", "others", "plain"],
            "all connections are to the port of the listener"
        );
    }

    #[test]
    fn a_matcher_of_filter_chains_is_removed_with_its_line_and_the_first_chain_stays() {
        let adapted = adapted(
            "static_resources:
  listeners:
    - name: a
      filter_chains: [{name: first, filters: []}, {name: second, filters: []}]
      filter_chain_matcher:
        matcher_tree: {input: {typed_config: {'@type': type.googleapis.com/envoy.extensions.matching.common_inputs.network.v3.DestinationPortInput}}}",
        );
        let removed: Vec<(u64, &str)> =
            adapted.replacements.iter().map(|one| (one.place.line, one.node.as_str())).collect();
        assert_eq!(removed[1..], [(5, "`filter_chain_matcher`"), (4, "filter chain `second`")]);
        let listener = &adapted.bootstrap()["static_resources"]["listeners"][0];
        assert_eq!(listener.get("filter_chain_matcher"), None);
        assert_eq!(listener["filter_chains"], json!([{"name": "first", "filters": []}]));
    }
}
