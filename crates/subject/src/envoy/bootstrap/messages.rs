//! The messages of Envoy's configuration that a plain proxy needs, with only the fields that are set.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// A message without its null fields, which count as not set.
pub(super) fn stated(mut message: Value) -> Value {
    if let Some(fields) = message.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    message
}

/// An `Address`.
pub(super) fn address(address: SocketAddr) -> Value {
    json!({"socket_address": {"address": address.ip().to_string(), "port_value": address.port()}})
}

/// Watchdogs that check rarely: at half the interval of `miss_timeout`.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/config/bootstrap/v3/bootstrap.proto#config-bootstrap-v3-watchdogs>
pub(super) fn slow_watchdogs() -> Value {
    let watchdog = json!({"miss_timeout": "20s", "megamiss_timeout": "60s"});
    json!({"main_thread_watchdog": watchdog, "worker_watchdog": watchdog})
}

/// Circuit breakers that never open, with the value from Envoy's FAQ.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/faq/load_balancing/disable_circuit_breaking>
pub(super) fn breakers_that_never_open() -> Value {
    let never = 1_000_000_000;
    json!({"thresholds": [
        {"max_connections": never, "max_pending_requests": never, "max_requests": never, "max_retries": never},
    ]})
}

/// A limit of connections from clients above the number of ports of one client address, so that it is never reached.
pub(super) fn overload_manager() -> Value {
    json!({"resource_monitors": [{
        "name": "envoy.resource_monitors.global_downstream_max_connections",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
            "max_active_downstream_connections": 100_000,
        },
    }]})
}

/// The protocol to the origin, with Envoy's defaults; `options` is the field that chooses it.
pub(super) fn protocol_upstream(options: &str) -> Value {
    json!({
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {options: {}},
        },
    })
}
