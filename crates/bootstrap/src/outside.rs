//! Finds addresses that lead out of the machine. It checks what the passes of `adapt` left, and knows
//! nothing of them.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use serde_json::Value;

use crate::tree::{self, COMPARED, last_step};

/// Fields of free text besides [`COMPARED`], in which something that looks like a URI leads nowhere.
const TEXT: [&str; 13] = [
    "regex",
    "inline_string",
    "inline_code",
    "inline_bytes",
    "text_format",
    "value",
    "body",
    "substitution",
    "issuer",
    "audiences",
    "redirect_uri",
    "description",
    "name",
];

/// Parts of a bootstrap that Envoy passes on without connecting: its own identity, and values for filters.
const PASSED_ON: [&str; 6] =
    ["node", "metadata", "filter_metadata", "static_layer", "json_format", "configuration"];

/// The pointers of all addresses in a bootstrap that are neither on loopback nor in `folder`: sockets, pipes and URIs.
pub fn outside_addresses(bootstrap: &Value, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    tree::walk(bootstrap, "", &mut |pointer, node| {
        let is_outside = is_address(node) && !is_local(node, folder);
        if is_outside || is_outside_uri(pointer, node) {
            found.push(pointer.to_owned());
        }
    });
    found
}

/// Whether a bootstrap has this address, as a socket address or in a URI.
pub fn leads_to(bootstrap: &Value, address: SocketAddr) -> bool {
    let mut is_found = false;
    let (host, port, uri) = (address.ip().to_string(), address.port(), format!("://{address}/"));
    tree::walk(bootstrap, "", &mut |_, node| {
        let is_socket = tree::text(node, "/address") == host
            && node.get("port_value").and_then(Value::as_u64) == Some(port.into());
        is_found |= is_socket || node.as_str().is_some_and(|text| text.contains(&uri));
    });
    is_found
}

/// Whether a node is a socket address or has a pipe.
pub(crate) fn is_address(node: &Value) -> bool {
    let has = |key| node.get(key).is_some_and(|value| !value.is_null());
    let has_host = node.get("address").is_some_and(Value::is_string);
    has_host && (has("port_value") || has("named_port")) || has("pipe")
}

/// Whether an address stays on this machine.
pub(crate) fn is_local(node: &Value, folder: &Path) -> bool {
    if let Some(pipe) = node.get("pipe").filter(|pipe| !pipe.is_null()) {
        return Path::new(tree::text(pipe, "/path")).starts_with(folder);
    }
    is_loopback(tree::text(node, "/address"))
}

fn is_loopback(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a text is a URI with a host other than this machine, in a field that may be connected to.
pub(crate) fn is_outside_uri(pointer: &str, node: &Value) -> bool {
    let Some((scheme, rest)) = node.as_str().and_then(|text| text.split_once("://")) else { return false };
    // Host and path of redirects are formatted from the request.
    let is_scheme =
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme || scheme == "spiffe" {
        return false;
    }
    let steps = || pointer.split('/');
    let is_text = steps()
        .rev()
        .find(|step| step.parse::<usize>().is_err())
        .is_some_and(|step| TEXT.contains(&step) || COMPARED.contains(&step));
    if is_text || steps().any(|step| PASSED_ON.contains(&step)) || last_step(pointer) == "@type" {
        return false;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => host,
    };
    !is_loopback(host)
}
