//! Finds addresses that lead out of the machine. It checks the result of the passes of `adapt` independently of them.

mod code;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use serde_json::Value;

use crate::tree::{self, COMPARED, last_name, last_step};

pub(crate) use self::code::{Code, addresses_of_code, settings_of_code};

/// Fields of free text besides [`COMPARED`]. Envoy does not connect to anything in them that looks like a URI.
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

/// Parts of a bootstrap that Envoy only passes on: its own identity, and values for filters.
const PASSED_ON: [&str; 11] = [
    "node",
    "metadata",
    "filter_metadata",
    "static_layer",
    "json_format",
    "typed_json_format",
    "configuration",
    "context_extensions",
    "key_values",
    "record",
    "default_subset",
];

/// The name and the type of aggregate clusters.
const AGGREGATES: [&str; 2] =
    ["envoy.clusters.aggregate", "envoy.extensions.clusters.aggregate.v3.ClusterConfig"];

/// The pointers of all addresses in a bootstrap that are neither on loopback nor in `folder`: sockets, pipes and URIs.
pub(crate) fn outside_addresses(bootstrap: &Value, folder: &Path) -> Vec<String> {
    tree::find(bootstrap, &|pointer, node| {
        is_address(node) && !is_local(node, folder) || is_outside_uri(pointer, node)
    })
}

/// The pointers of all clusters in a bootstrap that may discover endpoints: those that are neither static nor aggregates.
pub(crate) fn finding_clusters(bootstrap: &Value) -> Vec<String> {
    let is_led = |cluster: &Value| match cluster.get("cluster_type").filter(|kind| !kind.is_null()) {
        None => tree::text(cluster, "/type") == "STATIC",
        Some(kind) => AGGREGATES.contains(&tree::extension_type(kind)),
    };
    let clusters = tree::items(bootstrap, "/static_resources/clusters").into_iter();
    clusters
        .filter(|(_, cluster)| cluster.is_object() && !is_led(cluster))
        .map(|(pointer, _)| pointer)
        .collect()
}

/// True if a bootstrap has this address, as a socket address or in a URI.
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

/// Fields with the port of a socket address. Both spellings occur in the user's own settings, which are not normalised.
const PORTS: [&str; 4] = ["port_value", "named_port", "portValue", "namedPort"];

/// True if a node is a socket address or has a pipe.
pub(crate) fn is_address(node: &Value) -> bool {
    let has = |key: &str| node.get(key).is_some_and(|value| !value.is_null());
    let has_host = node.get("address").is_some_and(Value::is_string);
    has_host && PORTS.iter().any(|key| has(key)) || has("pipe")
}

/// True if an address stays on this machine.
pub(crate) fn is_local(node: &Value, folder: &Path) -> bool {
    if let Some(pipe) = node.get("pipe").filter(|pipe| !pipe.is_null()) {
        return Path::new(tree::text(pipe, "/path")).starts_with(folder);
    }
    is_loopback(tree::text(node, "/address"))
}

/// True if a host is an address that only this machine can reach. A name never counts, because its resolver decides.
pub fn is_loopback(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// True if a text is a URI with a host other than this machine, in a field that may be connected to.
pub(crate) fn is_outside_uri(pointer: &str, node: &Value) -> bool {
    server_in_field(pointer, node).is_some_and(|server| !is_loopback(host_of(server)))
}

/// The server in a URI, in a field that may be connected to; none if the node is not such a URI.
pub(crate) fn server_in_field<'a>(pointer: &str, node: &'a Value) -> Option<&'a str> {
    let server = server_of_uri(node.as_str()?)?;
    let is_text = TEXT.contains(&last_name(pointer)) || COMPARED.contains(&last_name(pointer));
    let is_passed_on = pointer.split('/').any(|step| PASSED_ON.contains(&step));
    (!is_text && !is_passed_on && last_step(pointer) != "@type").then_some(server)
}

/// The server in a URI, as a host with or without a port; none if the text is not a URI.
fn server_of_uri(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    // Redirects may contain format commands that insert the host and path of the request.
    let is_scheme =
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme || scheme == "spiffe" {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next()
}

/// The host of a server.
fn host_of(server: &str) -> &str {
    match server.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => server,
    }
}
