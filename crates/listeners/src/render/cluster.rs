//! Renders a cluster as Envoy's message. All limits are stated, and the server's name is verified on encrypted connections.

use serde_json::{Value, json};

use super::merge::merge;
use crate::file::{FilePath, Host, OutlierSection, TcpKeepaliveSection};
use crate::plan::{Cluster, Options, Upstream};

const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// The message of a cluster.
///
/// # Errors
/// When functions set a field that the file sets, too.
pub(super) fn message(cluster: &Cluster, ca: &FilePath) -> Result<Value, String> {
    let Cluster { name, upstream, options, .. } = cluster;
    let mut message = beginning(name, &upstream.host, upstream.port, &options.connect_timeout.in_seconds());
    message["circuit_breakers"] = json!({"thresholds": [{
        "max_connections": options.circuit_breakers.max_connections,
        "max_pending_requests": options.circuit_breakers.max_pending_requests,
        "max_requests": options.circuit_breakers.max_requests,
        "retry_budget": {
            "budget_percent": {"value": options.retry_budget.budget_percent},
            "min_retry_concurrency": options.retry_budget.min_retry_concurrency,
        },
    }]});
    let protocol = if options.http2 { "http2_protocol_options" } else { "http_protocol_options" };
    message["typed_extension_protocol_options"] = json!({HTTP_OPTIONS: {
        "@type": format!("type.googleapis.com/{HTTP_OPTIONS}"),
        "common_http_protocol_options": {
            "idle_timeout": options.keepalive.in_seconds(),
            "max_requests_per_connection": options.max_requests_per_connection,
        },
        "explicit_http_config": {protocol: {}},
    }});
    if let Some(probes) = &options.tcp_keepalive {
        message["upstream_connection_options"] = json!({"tcp_keepalive": keepalive(probes)});
    }
    if let Some(outlier) = &options.outlier_detection {
        message["outlier_detection"] = outlier_detection(outlier);
    }
    if upstream.encryption {
        message["transport_socket"] = tls(upstream, options, ca);
    }
    if let Some(part) = &options.functions {
        // A function that needs another protocol sets it itself.
        let options = format!("/typed_extension_protocol_options/{HTTP_OPTIONS}/explicit_http_config");
        let chooses = serde_json::to_value(part).is_ok_and(|part| part.pointer(&options).is_some());
        if let Some(chosen) = message.pointer_mut(&options).filter(|_| chooses) {
            *chosen = json!({});
        }
        merge(&mut message, part, "cluster", &[])?;
    }
    Ok(message)
}

/// The message of a cluster of a gRPC service.
pub(super) fn of_grpc(name: &str, host: &Host, port: u16) -> Value {
    let mut message = beginning(name, host, port, "0.25s");
    message["circuit_breakers"] = json!({"thresholds": [
        {"max_connections": 1024, "max_pending_requests": 1024, "max_requests": 1024, "max_retries": 3},
    ]});
    message["typed_extension_protocol_options"] = json!({HTTP_OPTIONS: {
        "@type": format!("type.googleapis.com/{HTTP_OPTIONS}"),
        "explicit_http_config": {"http2_protocol_options": {}},
    }});
    message
}

fn beginning(name: &str, host: &Host, port: u16, connect_timeout: &str) -> Value {
    let endpoint =
        json!({"endpoint": {"address": {"socket_address": {"address": host.0, "port_value": port}}}});
    let mut message = json!({"name": name});
    if host.address().is_some() {
        message["type"] = json!("STATIC");
    } else {
        message["type"] = json!("STRICT_DNS");
        message["dns_lookup_family"] = json!("V4_PREFERRED");
    }
    message["connect_timeout"] = json!(connect_timeout);
    message["load_assignment"] = json!({"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]});
    message
}

fn keepalive(probes: &TcpKeepaliveSection) -> Value {
    let fields = [
        ("keepalive_probes", probes.probes),
        ("keepalive_time", probes.keepalive_time),
        ("keepalive_interval", probes.interval),
    ];
    let stated = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    Value::Object(stated.collect())
}

fn outlier_detection(section: &OutlierSection) -> Value {
    json!({
        "consecutive_5xx": section.consecutive_5xx,
        "interval": section.interval.in_seconds(),
        "base_ejection_time": section.base_ejection_time.in_seconds(),
        "max_ejection_percent": section.max_ejection_percent,
        // 10 % of fewer than ten servers is none.
        "always_eject_one_host": true,
    })
}

fn tls(upstream: &Upstream, options: &Options, ca: &FilePath) -> Value {
    let name = |host: &Host| {
        let kind = if host.address().is_some() { "IP_ADDRESS" } else { "DNS" };
        json!({"san_type": kind, "matcher": {"exact": host.0.trim_end_matches('.')}})
    };
    let names: Vec<Value> = options.san.iter().map(name).collect();
    let mut context =
        json!({"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"});
    if options.sets_sni {
        context["sni"] = json!(upstream.host.0.trim_end_matches('.'));
    }
    context["common_tls_context"] = json!({"validation_context": {
        "trusted_ca": {"filename": ca.0},
        "match_typed_subject_alt_names": names,
    }});
    json!({"name": "envoy.transport_sockets.tls", "typed_config": context})
}
