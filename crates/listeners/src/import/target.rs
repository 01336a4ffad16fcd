//! Converts an Envoy cluster to keys of the file.

use serde_json::{Value, json};

use super::{Clusters, Keys, LeftOut, add};
use crate::plan::{DEFAULT_CA, usual_name};

const HTTP_OPTIONS: &str =
    "/typed_extension_protocol_options/envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const VALIDATION: &str = "/transport_socket/typed_config/common_tls_context/validation_context";

/// The keys of the cluster with this name.
///
/// # Errors
/// The reason why it cannot be expressed.
pub(super) fn keys(name: &str, clusters: &Clusters<'_>) -> Result<Keys, String> {
    let cluster = clusters.get(name).ok_or_else(|| format!("its cluster `{name}` is not in the file"))?;
    let groups = cluster.pointer("/load_assignment/endpoints").and_then(Value::as_array);
    let endpoints = groups.into_iter().flatten().filter_map(|group| group.get("lb_endpoints")?.as_array());
    let endpoints: Vec<&Value> = endpoints.flatten().collect();
    let [endpoint] = endpoints.as_slice() else {
        return Err(format!(
            "cluster `{name}` has {} servers, but the file has room for one",
            endpoints.len()
        ));
    };
    let socket = endpoint.pointer("/endpoint/address/socket_address");
    let (address, port) =
        (socket.and_then(|one| one.get("address")), socket.and_then(|one| one.get("port_value")));
    let (Some(address), Some(port)) = (address, port) else {
        return Err(format!("the server of cluster `{name}` has no port"));
    };
    let is_tls = |of: &Value| of.as_str().is_some_and(|of| of.ends_with(".UpstreamTlsContext"));
    let is_encrypted = cluster.pointer("/transport_socket/typed_config/@type").is_some_and(is_tls);
    let mut upstream = json!({"address": address, "port": port});
    if is_encrypted {
        upstream["encryption"] = json!(true);
    }
    let mut keys = Keys::new();
    keys.insert("upstream".to_owned(), upstream);
    let usual = address.as_str().zip(port.as_u64()).map(|(host, port)| usual_name(host, port));
    if usual.as_deref() != Some(name) {
        keys.insert("cluster".to_owned(), name.into());
    }
    let at = |path: &str| cluster.pointer(path);
    let option = |path: &str| cluster.pointer(&format!("{HTTP_OPTIONS}/common_http_protocol_options{path}"));
    let http2 =
        [&format!("{HTTP_OPTIONS}/explicit_http_config/http2_protocol_options"), "/http2_protocol_options"];
    if http2.iter().any(|path| at(path).is_some()) {
        keys.insert("http2".to_owned(), true.into());
    }
    add(&mut keys, "keepalive", non_default(option("/idle_timeout"), &json!("4.5s")));
    let requests = option("/max_requests_per_connection").or_else(|| at("/max_requests_per_connection"));
    add(&mut keys, "max_requests_per_connection", non_default(requests, &json!(1000)));
    add(&mut keys, "connect_timeout", non_default(at("/connect_timeout"), &json!("0.25s")));
    add(&mut keys, "circuit_breakers", at("/circuit_breakers/thresholds/0").and_then(breakers));
    let budget = at("/circuit_breakers/thresholds/0/retry_budget").map(|budget| {
        let mut own = Keys::new();
        add(&mut own, "budget_percent", budget.pointer("/budget_percent/value").cloned());
        add(&mut own, "min_retry_concurrency", budget.get("min_retry_concurrency").cloned());
        Value::Object(own)
    });
    let usual = json!({"budget_percent": 20, "min_retry_concurrency": 3});
    add(&mut keys, "retry_budget", non_default(budget.as_ref(), &usual));
    add(
        &mut keys,
        "outlier_detection",
        at("/outlier_detection").map(|own| {
            same(own, &["consecutive_5xx", "interval", "base_ejection_time", "max_ejection_percent"])
        }),
    );
    if let Some(probes) = at("/upstream_connection_options/tcp_keepalive") {
        let mut own = Keys::new();
        add(&mut own, "keepalive_time", probes.get("keepalive_time").cloned());
        add(&mut own, "probes", probes.get("keepalive_probes").cloned());
        add(&mut own, "interval", probes.get("keepalive_interval").cloned());
        keys.insert("tcp_keepalive".to_owned(), own.into());
    }
    if is_encrypted && at("/transport_socket/typed_config/sni") == Some(address) {
        keys.insert("sets_sni".to_owned(), true.into());
    }
    let names = at(&format!("{VALIDATION}/match_typed_subject_alt_names")).and_then(Value::as_array);
    let names: Vec<&Value> =
        names.into_iter().flatten().filter_map(|one| one.pointer("/matcher/exact")).collect();
    if is_encrypted && !names.is_empty() && names != [address] {
        keys.insert("san".to_owned(), names.into_iter().cloned().collect());
    }
    Ok(keys)
}

/// A value that differs from the default of the file.
fn non_default(value: Option<&Value>, usual: &Value) -> Option<Value> {
    value.filter(|value| *value != usual).cloned()
}

/// The limits of the default priority that differ from the file's defaults.
fn breakers(thresholds: &Value) -> Option<Value> {
    let limits = same(thresholds, &["max_connections", "max_pending_requests", "max_requests"]);
    let Value::Object(keys) = limits else { return None };
    let own: Keys = keys.into_iter().filter(|(_, limit)| *limit != 1024).collect();
    (!own.is_empty()).then(|| own.into())
}

/// The fields that have the same names in the file.
fn same(message: &Value, names: &[&str]) -> Value {
    let field = |name: &&str| Some(((*name).to_owned(), message.get(*name)?.clone()));
    Value::Object(names.iter().filter_map(field).collect())
}

/// The certificate authority file that all clusters share.
pub(super) fn authorities(clusters: &[Value], left: &mut Vec<LeftOut>) -> Option<Value> {
    let of = |cluster: &Value| cluster.pointer(&format!("{VALIDATION}/trusted_ca/filename")).cloned();
    let mut files: Vec<Value> = clusters.iter().filter_map(of).collect();
    files.dedup();
    if files.len() > 1 {
        left.push(LeftOut::new(
            "the clusters have several files of authorities, but the file has room for one",
        ));
    }
    files.into_iter().next().filter(|file| *file != DEFAULT_CA)
}
