//! The messages of Envoy's configuration that a plain proxy needs, named as in Envoy's API.
//!
//! They have only the fields that are set. `Merged` messages may be extended by a function.

use std::net::SocketAddr;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::merge::Merged;

/// A configuration to start Envoy with; serialises to the JSON that `--config-path` expects.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/config/bootstrap/v3/bootstrap.proto>
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Bootstrap(pub(super) Merged);

/// The bootstrap of a plain proxy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Plain {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Node>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dynamic_resources: Option<Value>,
    pub(super) admin: Admin,
    pub(super) static_resources: StaticResources,
    pub(super) overload_manager: OverloadManager,
    pub(super) watchdogs: Watchdogs,
}

/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/config/bootstrap/v3/bootstrap.proto#config-bootstrap-v3-watchdogs>
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Watchdogs {
    main_thread_watchdog: Watchdog,
    worker_watchdog: Watchdog,
}

impl Watchdogs {
    /// Watchdogs, which check at half the interval of `miss_timeout`.
    pub(super) fn slow(miss_timeout: &'static str, megamiss_timeout: &'static str) -> Self {
        let watchdog = Watchdog { miss_timeout, megamiss_timeout };
        Self { main_thread_watchdog: watchdog.clone(), worker_watchdog: watchdog }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Watchdog {
    miss_timeout: &'static str,
    megamiss_timeout: &'static str,
}

/// The identity of a proxy that receives configuration dynamically.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Node {
    pub(super) id: &'static str,
    pub(super) cluster: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Admin {
    pub(super) address: Address,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Address {
    socket_address: SocketAddress,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct SocketAddress {
    address: String,
    port_value: u16,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct StaticResources {
    pub(super) listeners: Vec<Merged>,
    pub(super) clusters: Vec<Merged>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Listener {
    pub(super) name: &'static str,
    pub(super) address: Address,
    pub(super) filter_chains: [FilterChain; 1],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FilterChain {
    pub(super) filters: Vec<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transport_socket: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct NetworkFilter {
    pub(super) name: &'static str,
    pub(super) typed_config: Merged,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HttpConnectionManager {
    #[serde(rename = "@type")]
    pub(super) type_url: &'static str,
    pub(super) stat_prefix: &'static str,
    pub(super) generate_request_id: bool,
    pub(super) route_config: RouteConfiguration,
    pub(super) http_filters: Vec<Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) access_log: Vec<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upgrade_configs: Option<[UpgradeConfig; 1]>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct UpgradeConfig {
    pub(super) upgrade_type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RouteConfiguration {
    pub(super) name: &'static str,
    pub(super) virtual_hosts: [Merged; 1],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct VirtualHost {
    pub(super) name: &'static str,
    pub(super) domains: [&'static str; 1],
    pub(super) routes: Vec<Merged>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Route {
    /// Absent if a function sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) r#match: Option<RouteMatch>,
    pub(super) route: RouteAction,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RouteMatch {
    pub(super) prefix: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RouteAction {
    pub(super) cluster: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HttpFilter {
    pub(super) name: &'static str,
    pub(super) typed_config: Router,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Router {
    #[serde(rename = "@type")]
    pub(super) type_url: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Cluster {
    pub(super) name: &'static str,
    pub(super) r#type: &'static str,
    pub(super) connect_timeout: &'static str,
    pub(super) circuit_breakers: CircuitBreakers,
    pub(super) load_assignment: LoadAssignment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) typed_extension_protocol_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transport_socket: Option<Value>,
}

/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto>
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct TcpProxy {
    #[serde(rename = "@type")]
    pub(super) type_url: &'static str,
    pub(super) stat_prefix: &'static str,
    pub(super) cluster: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) access_log: Vec<Map<String, Value>>,
}

/// Settings added to every cluster of a function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Unlimited {
    pub(super) circuit_breakers: CircuitBreakers,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CircuitBreakers {
    pub(super) thresholds: [Thresholds; 1],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of Envoy's API")]
pub(super) struct Thresholds {
    max_connections: u32,
    max_pending_requests: u32,
    max_requests: u32,
    max_retries: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LoadAssignment {
    pub(super) cluster_name: &'static str,
    pub(super) endpoints: Vec<LocalityEndpoints>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LocalityEndpoints {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) locality: Option<Locality>,
    pub(super) lb_endpoints: Vec<NamedEndpoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Locality {
    pub(super) zone: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct NamedEndpoint {
    pub(super) endpoint: Endpoint,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Endpoint {
    pub(super) address: Address,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct OverloadManager {
    pub(super) resource_monitors: [ResourceMonitor; 1],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ResourceMonitor {
    name: &'static str,
    typed_config: DownstreamConnections,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DownstreamConnections {
    #[serde(rename = "@type")]
    type_url: &'static str,
    max_active_downstream_connections: u32,
}

impl Address {
    pub(super) fn loopback(port: u16) -> Self {
        Self { socket_address: SocketAddress { address: "127.0.0.1".to_owned(), port_value: port } }
    }

    pub(super) fn new(address: &SocketAddr) -> Self {
        Self {
            socket_address: SocketAddress { address: address.ip().to_string(), port_value: address.port() },
        }
    }
}

impl HttpConnectionManager {
    pub(super) const TYPE_URL: &'static str = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
}

impl TcpProxy {
    pub(super) const TYPE_URL: &'static str =
        "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy";
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

impl Router {
    pub(super) const TYPE_URL: &'static str =
        "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
}

impl DownstreamConnections {
    const TYPE_URL: &'static str = "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig";
}

impl Thresholds {
    /// The value from Envoy's FAQ for breakers that never open.
    ///
    /// <https://www.envoyproxy.io/docs/envoy/v1.40.0/faq/load_balancing/disable_circuit_breaking>
    pub(super) fn unlimited() -> Self {
        let never = 1_000_000_000;
        Self { max_connections: never, max_pending_requests: never, max_requests: never, max_retries: never }
    }
}

impl ResourceMonitor {
    /// A limit above the number of ports of one client address, so that it is never reached.
    pub(super) fn downstream_connections() -> Self {
        Self {
            name: "envoy.resource_monitors.global_downstream_max_connections",
            typed_config: DownstreamConnections {
                type_url: DownstreamConnections::TYPE_URL,
                max_active_downstream_connections: 100_000,
            },
        }
    }
}
