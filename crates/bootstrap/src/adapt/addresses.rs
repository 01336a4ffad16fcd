//! Directs all remaining addresses to the companion: statistics sinks, daemons, URIs of services. This includes addresses on loopback,
//! because services of this machine must not receive the requests and statistics of a lab.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::{Context, described_address, described_server, socket_address};
use crate::outside;
use crate::tree::{is_within, join, text};

pub(super) fn adapt(context: &mut Context<'_>) {
    replace_addresses(context);
    replace_uris(context);
}

fn replace_addresses(context: &mut Context<'_>) {
    let (origin, companion) = (context.lab.origin, context.lab.companion);
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let folder = context.lab.folder.clone();
    let of_code = outside::settings_of_code(&context.tree);
    for pointer in context.find(&|pointer, node| outside::is_address(node) && !is_of_proxy(pointer)) {
        let Some(node) = context.tree.pointer(&pointer) else { continue };
        // The user decides whether such code may connect to a server on this machine.
        if outside::is_local(node, &folder) && of_code.iter().any(|one| is_within(&pointer, one)) {
            continue;
        }
        let (to, with) = if is_source(&pointer) {
            (any_port, "127.0.0.1, any port".to_owned())
        } else {
            (companion, described_server(companion, "the companion"))
        };
        if is_at(node, to) || is_at(node, origin) {
            continue;
        }
        let lab = socket_address(to);
        if node.get("pipe").is_some_and(|pipe| !pipe.is_null()) {
            let what = described_address(node);
            context.replace(&join(&pointer, "pipe"), Value::Null, &what, &with);
            if let Some(node) = context.tree.pointer_mut(&pointer) {
                node["socket_address"] = lab["socket_address"].clone();
            }
        } else {
            let what = described_address(&json!({"socket_address": node}));
            let mut lab = lab["socket_address"].clone();
            if let Some(protocol) = node.get("protocol") {
                lab["protocol"] = protocol.clone();
            }
            context.replace(&pointer, lab, &what, &with);
        }
    }
}

/// True if the proxy itself listens on an address. Other passes replaced these.
fn is_of_proxy(pointer: &str) -> bool {
    let steps: Vec<&str> = pointer.split('/').collect();
    matches!(
        steps.as_slice(),
        ["", "admin", "address", "socket_address"]
            | ["", "static_resources", "listeners", _, "address", "socket_address"]
    )
}

/// True if the proxy connects from an address.
fn is_source(pointer: &str) -> bool {
    pointer.split('/').any(|step| step.contains("source_address") || step.ends_with("bind_config"))
}

/// True if a node is the socket address of a server.
fn is_at(node: &Value, server: SocketAddr) -> bool {
    let port = node.get("port_value").and_then(Value::as_u64);
    text(node, "/address") == server.ip().to_string() && port == Some(server.port().into())
}

fn replace_uris(context: &mut Context<'_>) {
    let companion = context.lab.companion;
    let with = described_server(companion, "the companion");
    let server = companion.to_string();
    let of_code = outside::settings_of_code(&context.tree);
    let is_elsewhere = |pointer: &str, node: &Value| {
        let is_left =
            || !outside::is_outside_uri(pointer, node) && of_code.iter().any(|one| is_within(pointer, one));
        outside::server_in_field(pointer, node).is_some_and(|of_uri| of_uri != server) && !is_left()
    };
    for pointer in context.find(&is_elsewhere) {
        let Some(uri) = context.tree.pointer(&pointer).and_then(Value::as_str) else { continue };
        // A query or user information may contain a secret, so neither is listed or kept.
        let bare = uri.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = bare.split_once("://").unwrap_or(("http", bare));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit('@').next().unwrap_or(host);
        let what = format!("{scheme}://{host}/{path}");
        let lab = format!("http://{companion}/{path}");
        context.replace(&pointer, lab.into(), &what, &with);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::adapted;

    #[test]
    fn services_on_loopback_are_replaced_and_listed_like_others() {
        let adapted = adapted(
            "static_resources: {listeners: [{name: a}]}
sinks:
  - {address: {socket_address: {address: 127.0.0.1, port_value: 8125, protocol: UDP}}}
  - {address: {socket_address: {address: '::1', port_value: 8125}}}
  - {address: {socket_address: {address: 0.0.0.0, named_port: statsd}}}
  - {daemon_endpoint: {address: 127.0.0.1, port_value: 2000}}
  - {uri: 'http://127.0.0.1:4318/v1/traces'}",
        );
        let companion = json!({"socket_address": {"address": "127.0.0.1", "port_value": 9002}});
        let udp = json!({"socket_address": {"address": "127.0.0.1", "port_value": 9002, "protocol": "UDP"}});
        let wanted = json!([
            {"address": udp},
            {"address": companion},
            {"address": companion},
            {"daemon_endpoint": companion["socket_address"]},
            {"uri": "http://127.0.0.1:9002/v1/traces"},
        ]);
        assert_eq!(adapted.bootstrap()["sinks"], wanted);
        let lines: Vec<u64> = adapted
            .replacements
            .iter()
            .filter(|one| one.with == "127.0.0.1:9002, the companion")
            .map(|one| one.place.line)
            .collect();
        assert_eq!(lines, [3, 4, 5, 6, 7]);
    }

    #[test]
    fn what_other_code_reaches_on_this_machine_stays() {
        let settings = "{'@type': type.googleapis.com/corp.filters.v3.Private, cache: 'redis://127.0.0.1:6379/0', db: {address: 127.0.0.1, port_value: 5432}}";
        let adapted = adapted(&format!(
            "static_resources: {{listeners: [{{name: a}}]}}\nown: {{typed_config: {settings}}}"
        ));
        let left = &adapted.bootstrap()["own"]["typed_config"];
        assert_eq!(
            (&left["cache"], &left["db"]["port_value"]),
            (&json!("redis://127.0.0.1:6379/0"), &json!(5432))
        );
    }

    #[test]
    fn addresses_of_the_lab_and_of_the_proxy_itself_stay() {
        let adapted = adapted(
            "static_resources:
  listeners: [{name: a, address: {socket_address: {address: 0.0.0.0, port_value: 80}}}]
  clusters:
    - {name: c, load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: a.example, port_value: 80}}}}]}]}}
    - {name: d, cluster_type: {name: envoy.clusters.aggregate}, upstream_bind_config: {source_address: {address: 192.0.2.7, port_value: 0}}}",
        );
        let bootstrap = adapted.bootstrap();
        let at = |pointer: &str| bootstrap.pointer(pointer).cloned().unwrap_or_default();
        let local = |port: u16| json!({"address": "127.0.0.1", "port_value": port});
        assert_eq!(at("/admin/address/socket_address"), local(0));
        assert_eq!(at("/static_resources/listeners/0/address/socket_address"), local(10_000));
        let endpoint = "/static_resources/clusters/0/load_assignment/endpoints/0/lb_endpoints/0/endpoint";
        assert_eq!(at(&format!("{endpoint}/address/socket_address")), local(9001));
        assert_eq!(at("/static_resources/clusters/1/upstream_bind_config/source_address"), local(0));
    }
}
