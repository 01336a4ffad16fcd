//! Makes clusters static, with the origin or the companion in place of every endpoint.
//!
//! The number of endpoints, their localities, weights and metadata are unchanged, because load balancing depends on them.

use std::collections::BTreeSet;
use std::fmt::Write;

use hoptax_text::list::named;
use serde_json::{Value, json};

use super::{Context, described_address, described_server, socket_address};
use crate::tree::{self, items, join, last_step, text};

/// The name of the cluster that replaces gRPC services given by address.
const COMPANION: &str = "hoptax_companion";

/// The metadata of an endpoint that select its transport socket.
const SOCKET_METADATA: &str = "envoy.transport_socket_match";

/// The name of aggregate clusters, which consist of other clusters, and the type of their settings.
const AGGREGATE: &str = "envoy.clusters.aggregate";
const AGGREGATE_TYPE: &str = "envoy.extensions.clusters.aggregate.v3.ClusterConfig";

/// Fields about the discovery of endpoints.
const DISCOVERY: [&str; 19] = [
    "cluster_type",
    "eds_cluster_config",
    "original_dst_lb_config",
    "dns_refresh_rate",
    "dns_failure_refresh_rate",
    "dns_jitter",
    "dns_min_refresh_rate",
    "respect_dns_ttl",
    "dns_lookup_family",
    "dns_resolvers",
    "dns_resolution_config",
    "typed_dns_resolver_config",
    "use_tcp_for_dns_lookups",
    "dns_discovery_mode",
    "wait_for_warm_on_init",
    "upstream_bind_config",
    "lrs_server",
    "alt_stat_name_source",
    "hosts",
];

pub(super) fn adapt(context: &mut Context<'_>) {
    let pointers = tree::pointers(&context.tree, "/static_resources/clusters");
    replace_google_grpc(context);
    let services = service_clusters(&context.tree);
    for pointer in pointers {
        adapt_cluster(context, &pointer, &services);
    }
}

fn adapt_cluster(context: &mut Context<'_>, pointer: &str, services: &BTreeSet<String>) {
    let Some(node) = context.tree.pointer(pointer) else { return };
    let name = text(node, "/name").to_owned();
    let kind = match (text(node, "/type"), text(node, "/cluster_type/name")) {
        (_, AGGREGATE) if is_aggregate(node) => return,
        ("", "") => "STATIC".to_owned(),
        ("", custom) => custom.to_owned(),
        (kind, _) => kind.to_ascii_uppercase(),
    };
    let is_service = services.contains(&name);
    let (address, role) = if is_service {
        (context.lab.companion, "the companion")
    } else {
        (context.lab.origin, "the origin")
    };
    let stub = socket_address(address);
    let mut addresses = Vec::new();
    let mut assignment = node.get("load_assignment").cloned().unwrap_or(Value::Null);
    let has_endpoints = !items(&assignment, "/endpoints").is_empty();
    let selector = if has_endpoints { None } else { selector_of_socket(node) };
    for_endpoints(&mut assignment, &mut |endpoint| {
        addresses.push(described_address(&endpoint["address"]));
        tree::set(endpoint, "address", stub.clone());
        tree::clear(endpoint, &["additional_addresses", "health_check_config"]);
    });
    if addresses.is_empty() {
        let mut endpoint = json!({"endpoint": {"address": stub}});
        if let Some((_, metadata)) = &selector {
            let metadata = json!({"filter_metadata": {SOCKET_METADATA: metadata}});
            tree::set(&mut endpoint, "metadata", metadata);
        }
        assignment = json!({"endpoints": [{"lb_endpoints": [endpoint]}]});
    }
    tree::set(&mut assignment, "cluster_name", name.clone().into());
    let what = if addresses.is_empty() {
        format!("{kind} cluster `{name}`")
    } else {
        format!("{kind} cluster `{name}` ({})", named(&addresses, 3))
    };
    let is_provided = text(node, "/lb_policy").eq_ignore_ascii_case("CLUSTER_PROVIDED");
    if let Some(node) = context.tree.pointer_mut(pointer) {
        tree::clear(node, &DISCOVERY);
        if is_provided {
            tree::set(node, "lb_policy", Value::Null);
        }
        tree::set(node, "type", "STATIC".into());
        tree::set(node, "load_assignment", assignment);
    }
    let mut with = described_server(address, role);
    if let Some((socket, _)) = selector {
        let _ =
            write!(with, ", with the metadata of the transport socket `{socket}`: the file has no endpoints");
    }
    context.list(pointer, &what, &with);
    for check in tree::pointers(&context.tree, &join(pointer, "health_checks")) {
        let Some(node) = context.tree.pointer(&check) else { continue };
        if node.get("http_health_check").is_none() && node.get("tcp_health_check").is_none() {
            context.remove(&check, "a health check", "the origin answers checks over HTTP and TCP only");
        } else if !text(node, "/tcp_health_check/send/text").is_empty()
            || node.pointer("/tcp_health_check/receive/0").is_some()
        {
            context.remove(&check, "a health check", "the origin does not speak the protocol of the check");
        } else {
            context.remove_key(&check, "event_logger", "events of health checks have no part in a request");
        }
    }
}

/// True if a cluster with the name of an aggregate also has settings of that type. Envoy selects by the type of the settings, and by the
/// name only if they have no type, so another type under this name may lead anywhere.
fn is_aggregate(cluster: &Value) -> bool {
    let settings = cluster.pointer("/cluster_type/typed_config");
    ["", AGGREGATE_TYPE].contains(&settings.map_or("", |settings| tree::message(settings).of))
}

/// The first transport socket that endpoints of a cluster select by metadata, and the metadata; none if no endpoint needs one. A tunnel
/// over an internal listener needs none, because the origin replaces its end.
fn selector_of_socket(cluster: &Value) -> Option<(String, Value)> {
    items(cluster, "/transport_socket_matches").into_iter().find_map(|(_, entry)| {
        let metadata = entry
            .get("match")
            .filter(|selector| selector.as_object().is_some_and(|keys| !keys.is_empty()))?;
        let is_tunnel = tree::message_type(&entry["transport_socket"]["typed_config"])
            .ends_with("InternalUpstreamTransport");
        (!is_tunnel).then(|| (text(entry, "/name").to_owned(), metadata.clone()))
    })
}

/// Calls `change` for every endpoint with a network address.
fn for_endpoints(assignment: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    for locality in assignment.get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten() {
        // A dump states the weight 0 for a locality without a weight, which Envoy rejects.
        if locality.get("load_balancing_weight").and_then(Value::as_u64) == Some(0) {
            tree::set(locality, "load_balancing_weight", Value::Null);
        }
        for entry in locality.get_mut("lb_endpoints").and_then(Value::as_array_mut).into_iter().flatten() {
            tree::clear(entry, &["health_status"]);
            let Some(endpoint) = entry.get_mut("endpoint") else { continue };
            if endpoint.pointer("/address/envoy_internal_address").is_none() {
                change(endpoint);
            }
        }
    }
}

/// Replaces gRPC services given by address by a cluster.
fn replace_google_grpc(context: &mut Context<'_>) {
    let found = context.find(&|pointer, node| last_step(pointer) == "google_grpc" && node.is_object());
    if found.is_empty() {
        return;
    }
    for pointer in found {
        let Some((parent, _)) = pointer.rsplit_once('/') else { continue };
        let parent = parent.to_owned();
        let target = context
            .tree
            .pointer(&pointer)
            .map(|node| text(node, "/target_uri").to_owned())
            .unwrap_or_default();
        let with = described_server(context.lab.companion, "the companion, through a cluster of its own");
        context.replace(&pointer, Value::Null, &format!("gRPC service `{target}`"), &with);
        if let Some(service) = context.tree.pointer_mut(&parent) {
            tree::set(service, "envoy_grpc", json!({"cluster_name": COMPANION}));
        }
    }
    let companion = json!({
        "name": COMPANION,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": COMPANION,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": socket_address(context.lab.companion)}}]}],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {"http2_protocol_options": {}},
            },
        },
    });
    tree::append(&mut context.tree, "clusters", companion);
}

/// The names of clusters for external services, rather than for upstream servers.
pub(crate) fn service_clusters(root: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::from([COMPANION.to_owned()]);
    tree::walk(root, "", &mut |_, node| {
        let Some(entries) = node.as_object() else { return };
        let name = |key: &str| entries.get(key).and_then(Value::as_str).map(str::to_owned);
        names.extend(node.pointer("/envoy_grpc/cluster_name").and_then(Value::as_str).map(str::to_owned));
        names.extend(name("collector_cluster"));
        names.extend(name("tcp_cluster_name"));
        // A service over HTTP: `{uri, cluster, timeout}`.
        if entries.contains_key("uri") {
            names.extend(name("cluster"));
        }
    });
    names
}
