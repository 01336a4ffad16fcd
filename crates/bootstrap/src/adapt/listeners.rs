//! Listeners listen on loopback, each on a port of its own.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::{Context, described_address, socket_address};
use crate::tree::{extension_type, items, join, set, text};

/// Reason why fields that concern redirected connections are removed.
const REDIRECTED: &str =
    "the lab connects to each listener by its own port, without the kernel's redirection";

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
    let listeners = items(&context.tree, "/static_resources/listeners");
    let pointers: Vec<String> = listeners.into_iter().map(|(pointer, _)| pointer).collect();
    for (index, pointer) in pointers.iter().enumerate() {
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
        context.remove_key(pointer, "additional_addresses", "the first address suffices for a request");
        for key in ["use_original_dst", "bind_to_port", "transparent", "freebind", "deprecated_v1"] {
            context.remove_key(pointer, key, REDIRECTED);
        }
        for key in ["socket_options", "enable_mptcp"] {
            context.remove_key(pointer, key, "options of sockets depend on the kernel and the network");
        }
        if let Some(port) = guarded_port {
            remove_guard(context, pointer, &port);
        }
        match_without_addresses(context, pointer);
    }
}

/// The port of a listener that takes redirected connections, which are those to other ports; none of any other listener.
fn guarded_port(context: &Context<'_>, listener: &str, address: &Value) -> Option<Value> {
    // An earlier pass removed the filter.
    let given = context.configuration.tree.pointer(listener)?;
    let has_filter = items(given, "/listener_filters").iter().any(|(_, filter)| {
        text(filter, "/name").ends_with(".original_dst") || extension_type(filter).contains(".original_dst.")
    });
    let is_redirected = has_filter || given.get("use_original_dst") == Some(&Value::Bool(true));
    address.pointer("/socket_address/port_value").filter(|_| is_redirected).cloned()
}

/// Removes the filter chain of connections to the listener's own port, which would be a loop of the redirection, if there are
/// others: it would be in the way of the chains of requests.
fn remove_guard(context: &mut Context<'_>, listener: &str, port: &Value) {
    let chains = items(&context.tree, &join(listener, "filter_chains"));
    let is_guard = |chain: &Value| chain.pointer("/filter_chain_match/destination_port") == Some(port);
    let (guards, others): (Vec<_>, Vec<_>) = chains.into_iter().partition(|(_, chain)| is_guard(chain));
    if others.is_empty() {
        return;
    }
    let guards: Vec<(String, String)> =
        guards.into_iter().map(|(pointer, chain)| (pointer, described_chain(chain))).collect();
    for (pointer, what) in guards {
        context.remove(
            &pointer,
            &what,
            "it ends connections to the listener's own port, which the kernel redirects none to",
        );
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

/// Filter chains are selected without addresses. Of chains that are then equal, the first is kept.
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
        "the lab chooses filter chains without addresses, by `filter_chain_match` alone; keep the chain to measure as the only one",
    );
    let mut seen: Vec<Value> = Vec::new();
    let pointers: Vec<String> = items(&context.tree, &join(listener, "filter_chains"))
        .into_iter()
        .map(|(pointer, _)| pointer)
        .collect();
    for pointer in pointers {
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
