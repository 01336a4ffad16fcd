//! Extensions that cannot run in a lab: they need the kernel's redirection, or connect to addresses that requests name.

use serde_json::Value;

use super::{Context, find as find_nodes};
use crate::tree::{extension_type, last_step, message_type, remove, text};

/// Types of extensions that are removed, each with the reason. An entry matches the part of a type after `envoy.`.
const REMOVED: [(&str, &str); 10] = [
    (
        "extensions.filters.listener.original_dst.",
        "it needs connections that the kernel redirected; the lab connects to each listener by its own port",
    ),
    ("extensions.filters.listener.original_src.", "it needs the kernel's transparent proxying"),
    ("extensions.filters.http.original_src.", "it needs the kernel's transparent proxying"),
    ("extensions.filters.http.dynamic_forward_proxy.", "it connects to addresses that requests name"),
    ("extensions.filters.network.sni_dynamic_forward_proxy.", "it connects to addresses that clients name"),
    ("extensions.filters.http.aws_", "it asks services outside of the lab for credentials"),
    ("extensions.filters.http.gcp_authn.", "it asks services outside of the lab for credentials"),
    (
        "extensions.transport_sockets.proxy_protocol.",
        "the origin expects no PROXY header; what it wraps stays",
    ),
    ("extensions.transport_sockets.alts.", "its handshaker is a service outside of the lab"),
    ("extensions.clusters.dynamic_forward_proxy.", "it connects to addresses that requests name"),
];

/// Names of the same extensions, for configurations that give no type.
const NAMES: [&str; 2] = ["envoy.filters.listener.original_dst", "envoy.filters.listener.original_src"];

pub(super) fn adapt(context: &mut Context<'_>) {
    loop {
        let found = context.find(&|_, node| why_removed(node).is_some());
        if found.is_empty() {
            break;
        }
        for pointer in found {
            // A transport socket that was removed may have left another one of these, which is found in the next turn.
            let Some(why) = context.tree.pointer(&pointer).and_then(why_removed) else { continue };
            let what = described(&context.tree, &pointer);
            remove(&mut context.tree, &pointer);
            context.list(&pointer, &what, &format!("removed: {why}"));
        }
    }
    for pointer in context.find(&|_, node| node.pointer("/code/remote").is_some()) {
        let message = "WebAssembly code is loaded over the network; download it and name the file in `code.local.filename`";
        context.problem(&pointer, message);
    }
}

fn why_removed(node: &Value) -> Option<&'static str> {
    if !node.is_object() {
        return None;
    }
    // A name of metadata has a kind beside it.
    if NAMES.contains(&text(node, "/name")) && node.get("kind").is_none() {
        return Some(REMOVED[0].1);
    }
    node.get("typed_config")?;
    let of = extension_type(node).strip_prefix("envoy.")?;
    REMOVED.iter().find(|(prefix, _)| of.starts_with(prefix)).map(|(_, why)| *why)
}

/// Nodes that hold an extension with this name or type.
pub(crate) fn find(root: &Value, name: &str) -> Vec<String> {
    let is_it = |pointer: &str, node: &Value| {
        node.is_object()
            && (message_type(node) == name
                || node.get("typed_config").is_some() && (text(node, "/name") == name || extension_type(node) == name))
            // The type is inside; the extension around it is meant.
            && last_step(pointer) != "typed_config"
    };
    find_nodes(root, &is_it)
}

/// The name or the type of the extension that Envoy's message says it lacks; none if the message is about something else.
pub fn missing_extension(message: &str) -> Option<&str> {
    let between = |start: &str, end: &str| message.split_once(start)?.1.split_once(end).map(|(name, _)| name);
    let name = between("registered implementation for name: '", "'")
        .or_else(|| between("with type URL: '", "'").filter(|of| !of.is_empty()))
        .or_else(|| between("registered implementation for '", "'"))
        .or_else(|| between("could not find @type '", "'"))
        .or_else(|| between("unknown type: ", " "))?;
    Some(last_step(name)).filter(|name| !name.is_empty())
}

/// An extension for a list of replacements: its kind, by the list that holds it, and its name.
pub(super) fn described(root: &Value, pointer: &str) -> String {
    let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let kind = match (last_step(parent), last_step(pointer)) {
        ("http_filters", _) => "HTTP filter",
        ("listener_filters", _) => "listener filter",
        ("filters", _) => "network filter",
        ("access_log", _) => "access log",
        ("stats_sinks", _) => "statistics sink",
        ("bootstrap_extensions", _) => "bootstrap extension",
        (_, "transport_socket") => "transport socket",
        (_, "cluster_type") => "cluster type",
        _ => "extension",
    };
    let node = root.pointer(pointer).unwrap_or(&Value::Null);
    let name = match text(node, "/name") {
        "" => extension_type(node),
        name => name,
    };
    format!("{kind} `{name}`")
}
