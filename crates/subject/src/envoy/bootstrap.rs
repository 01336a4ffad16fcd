//! Envoy's bootstrap for one arm: a plain proxy, and the function that the arm enables.
//!
//! The plain proxy is the baseline that every function is compared with. It does the work that a proxy must do, and
//! little more. It follows Envoy's own [advice for benchmarks] where that does not remove a feature that a function
//! depends on:
//!
//! | choice | reason |
//! |---|---|
//! | circuit breakers at 10⁹ | at their defaults of 1,024 they would queue or reject requests in a closed loop of many connections, and the cluster must hold as many upstream connections as there are requests in flight |
//! | the same for clusters that a function adds | requests or spans dropped by a breaker would be missing work that goes unnoticed |
//! | `generate_request_id` off | generating a random id costs; the function `request-id` enables it |
//! | no access log, no HTTP filter but the router, one route that matches every path | each is a function |
//! | the router's `dynamic_stats` at the default | `stats/per-route` depends on it: without it the router counts no status codes, not even for routes. It is part of the cost of plain proxying |
//! | route timeout 15 s, idle timeouts 5 min and 1 h at the default | a proxy in use has these timers |
//! | HTTP/1.1 with keep-alive to the origin, no limit of requests per connection | Envoy's defaults, hence not stated, but for the protocol beside options that a function sets |
//! | `lb_policy` at the default | round robin; the function `balance/round-robin` states it and adds the origins |
//! | `stats_config`, flush interval at the default | statistics are kept as usual; a flush, every 5 s, counts towards the slice in which it happens or after which it fell due |
//! | watchdogs that check every 10 s | by default they wake every thread ten times a second, and with a hundred proxies at once they disturb the measured one thousands of times a second: an idle proxy uses 484 us of CPU time per second with them and 211 without. They do not affect requests |
//! | a limit of downstream connections | Envoy warns at start without one; counting costs per connection, not per request |
//! | TLS 1.3 with a single key exchange group, X25519, where connections use TLS | 1.40 added X25519MLKEM768 to the defaults; the cost of a handshake must not depend silently on the release |
//! | `--concurrency` always given | without it, 1.40 has no more workers than the control group's limit |
//! | `enable_reuse_port` at the default | the kernel distributes connections to workers by a hash: with several workers their shares differ from start to start, which shows between rounds. `accept-balance` distributes them evenly |
//! | `x-envoy-expected-rq-timeout-ms`, `x-envoy-upstream-service-time`, `server`, `date` at the default | part of the cost of plain proxying |
//! | limits of buffers and windows at the default | 1 MiB per connection, 16 MiB per HTTP/2 stream: no body of a study reaches them |
//!
//! With HTTP/2 and TCP, and with TLS on either side, it is the same except for the settings that these
//! need; HTTP/2 uses prior knowledge, which Envoy detects from the first bytes.
//!
//! A function's [`Fragment`] is merged in at fixed places. Messages that it may extend are [`Merged`]: the part set by
//! this module is typed, the part added by the fragment is checked by Envoy's `--mode validate`.
//!
//! [advice for benchmarks]: https://www.envoyproxy.io/docs/envoy/v1.40.0/faq/performance/how_to_benchmark_envoy

mod codec;
mod merge;
mod messages;
mod secure;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hoptax_functions::{Fragment, KeyExchangeGroup, repeated};
use serde_json::{Map, Value, json};

use crate::lab::TlsSettings;
use merge::Merge;
use messages::{
    Address, Admin, CircuitBreakers, Cluster, Endpoint, FilterChain, HttpConnectionManager, HttpFilter,
    Listener, LoadAssignment, Locality, LocalityEndpoints, NamedEndpoint, NetworkFilter, Node,
    OverloadManager, Plain, ResourceMonitor, Route, RouteAction, RouteConfiguration, RouteMatch, Router,
    StaticResources, TcpProxy, Thresholds, Unlimited, UpgradeConfig, VirtualHost, Watchdogs,
};

pub use codec::Codec;
pub use merge::{MergeError, Merged};
pub use messages::Bootstrap;

/// The name of the listener and of the HTTP connection manager's statistics: `http.ingress.downstream_rq_total`.
pub const INGRESS: &str = "ingress";

/// The name of the cluster of origins, of the virtual host, and of their statistics:
/// `cluster.origin.upstream_rq_total`.
pub const ORIGIN: &str = "origin";

/// The configuration of one Envoy.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyPlan {
    /// Port of the admin interface on 127.0.0.1.
    pub admin_port: u16,
    /// Address and port to which requests are sent.
    pub listen: SocketAddr,
    /// Addresses of the origins, at least one.
    pub origins: Vec<SocketAddr>,
    /// The function to enable; none for the plain proxy.
    pub fragment: Option<Fragment>,
    /// The protocol.
    pub codec: Codec,
    /// Downstream TLS; plaintext if not given.
    pub downstream: Option<TlsSettings>,
    /// Upstream TLS; plaintext if not given.
    pub upstream: Option<TlsSettings>,
    /// The files that Envoy loads its listener and its clusters from, and reloads when they are replaced; both are in
    /// the bootstrap if not given.
    pub watched: Option<WatchedFiles>,
}

impl ProxyPlan {
    /// The plain proxy that is left when the function is removed: with one origin, as every plain proxy has.
    #[must_use]
    pub fn without_function(&self) -> Self {
        let origins = self.origins.first().copied().into_iter().collect();
        Self { fragment: None, origins, ..self.clone() }
    }
}

/// The files of the configuration that Envoy reloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedFiles {
    /// The listener.
    pub listeners: PathBuf,
    /// The cluster of the origins, and those that a function adds.
    pub clusters: PathBuf,
}

impl WatchedFiles {
    /// The files in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { listeners: folder.join("listener.json"), clusters: folder.join("clusters.json") }
    }
}

/// The contents of [`WatchedFiles`], in the format that Envoy expects.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedContents {
    /// The listeners.
    pub listeners: Value,
    /// The clusters.
    pub clusters: Value,
}

/// The bootstrap for a plan.
///
/// # Errors
/// There is no origin, or the fragment does not fit: it overrides a field of the plain proxy without listing it in
/// `replaces`, or lists one that it does not override.
pub fn bootstrap(plan: &ProxyPlan) -> Result<Bootstrap, MergeError> {
    Ok(Bootstrap(parts(plan)?.bootstrap))
}

/// The contents of the files that Envoy reloads.
///
/// # Errors
/// As for [`bootstrap`].
pub fn watched_contents(plan: &ProxyPlan) -> Result<WatchedContents, MergeError> {
    let parts = parts(plan)?;
    Ok(WatchedContents {
        listeners: resources("type.googleapis.com/envoy.config.listener.v3.Listener", &parts.listeners),
        clusters: resources("type.googleapis.com/envoy.config.cluster.v3.Cluster", &parts.clusters),
    })
}

/// Messages as the resources of a discovery response.
fn resources(type_url: &str, messages: &[Merged]) -> Value {
    let with_type = |message: &Merged| {
        let mut resource = json!({"@type": type_url});
        if let (Some(resource), Value::Object(own)) = (resource.as_object_mut(), json!(message)) {
            resource.extend(own);
        }
        resource
    };
    json!({"resources": messages.iter().map(with_type).collect::<Vec<_>>()})
}

/// The parts of a configuration.
struct Parts {
    /// The bootstrap, which contains the other parts unless Envoy reads them from files.
    bootstrap: Merged,
    listeners: Vec<Merged>,
    clusters: Vec<Merged>,
}

fn parts(plan: &ProxyPlan) -> Result<Parts, MergeError> {
    if plan.origins.is_empty() {
        return Err(MergeError::NoOrigin);
    }
    let none = Fragment::default();
    let fragment = plan.fragment.as_ref().unwrap_or(&none);
    let mut merging = Merge::new(&fragment.replaces);
    let group = fragment.key_exchange_group;

    let cluster = merging.extend("cluster", &cluster(plan, group), &fragment.cluster)?;
    let filter = if plan.codec == Codec::Tcp {
        let proxy = TcpProxy {
            type_url: TcpProxy::TYPE_URL,
            stat_prefix: INGRESS,
            cluster: ORIGIN,
            access_log: fragment.access_log.clone(),
        };
        NetworkFilter {
            name: "envoy.filters.network.tcp_proxy",
            typed_config: merging.extend("tcp_proxy", &proxy, &Map::new())?,
        }
    } else {
        NetworkFilter {
            name: "envoy.filters.network.http_connection_manager",
            typed_config: connection_manager(plan.codec, fragment, &mut merging)?,
        }
    };
    let mut filters = fragment.network_filters.clone();
    filters.push(merge::object("network_filters", &filter)?);
    let listener = Listener {
        name: INGRESS,
        address: Address::new(&plan.listen),
        filter_chains: [FilterChain {
            filters,
            transport_socket: plan.downstream.as_ref().map(|tls| {
                let is_quic = fragment.quic_downstream;
                if is_quic {
                    secure::quic_downstream(tls, group)
                } else {
                    secure::downstream(tls, plan.codec, group, &fragment.certificate_source)
                }
            }),
        }],
    };
    let listener = merging.extend("listener", &listener, &fragment.listener)?;
    let nothing = Map::new();
    let more = repeated(&fragment.listeners);
    let more = more.iter().map(|listener| merging.extend("listeners", &nothing, listener));
    let more = more.collect::<Result<Vec<_>, _>>()?;
    let listeners: Vec<Merged> = std::iter::once(listener).chain(more).collect();
    // With the default of 1,024, requests and spans would be dropped unnoticed if a companion is slow, which would make
    // the function look cheap.
    let unlimited = Unlimited { circuit_breakers: CircuitBreakers { thresholds: [Thresholds::unlimited()] } };
    let more = repeated(&fragment.clusters);
    let more = more
        .iter()
        .map(|cluster| merging.extend("clusters", &unlimited, cluster))
        .collect::<Result<Vec<_>, _>>()?;
    let clusters: Vec<Merged> = std::iter::once(cluster).chain(more).collect();
    let watched = plan.watched.as_ref();
    let source = |path: &Path| json!({"path_config_source": {"path": path}});
    let bootstrap = Plain {
        node: watched.map(|_| Node { id: INGRESS, cluster: INGRESS }),
        dynamic_resources: watched.map(
            |files| json!({"lds_config": source(&files.listeners), "cds_config": source(&files.clusters)}),
        ),
        admin: Admin { address: Address::loopback(plan.admin_port) },
        static_resources: match watched {
            Some(_) => StaticResources { listeners: Vec::new(), clusters: Vec::new() },
            None => StaticResources { listeners: listeners.clone(), clusters: clusters.clone() },
        },
        overload_manager: OverloadManager { resource_monitors: [ResourceMonitor::downstream_connections()] },
        watchdogs: Watchdogs::slow("20s", "60s"),
    };
    let bootstrap = merging.extend("bootstrap", &bootstrap, &fragment.bootstrap)?;
    merging.finish()?;
    Ok(Parts { bootstrap, listeners, clusters })
}

/// The connection manager, extended by the fragment.
fn connection_manager(
    codec: Codec,
    fragment: &Fragment,
    merging: &mut Merge<'_>,
) -> Result<Merged, MergeError> {
    let routes = routes(fragment, merging)?;
    let virtual_host = VirtualHost { name: ORIGIN, domains: ["*"], routes };
    let virtual_host = merging.extend("virtual_host", &virtual_host, &fragment.virtual_host)?;
    let connection_manager = HttpConnectionManager {
        type_url: HttpConnectionManager::TYPE_URL,
        stat_prefix: INGRESS,
        generate_request_id: false,
        route_config: RouteConfiguration { name: INGRESS, virtual_hosts: [virtual_host] },
        http_filters: http_filters(fragment)?,
        access_log: fragment.access_log.clone(),
        upgrade_configs: (codec == Codec::WebSocket).then_some([UpgradeConfig { upgrade_type: "websocket" }]),
    };
    merging.extend("connection_manager", &connection_manager, &fragment.connection_manager)
}

/// The routes of the fragment, or one that matches every path, all with the same action.
fn routes(fragment: &Fragment, merge: &mut Merge<'_>) -> Result<Vec<Merged>, MergeError> {
    let action = RouteAction { cluster: ORIGIN };
    if fragment.routes.is_empty() {
        let route = Route { r#match: Some(RouteMatch { prefix: "/" }), route: action };
        return Ok(vec![merge.extend("route", &route, &fragment.route)?]);
    }
    let route = Route { r#match: None, route: action };
    fragment
        .routes
        .iter()
        .map(|own| {
            let matched = merge.extend("routes", &route, own)?;
            merge.extend("route", &matched, &fragment.route)
        })
        .collect()
}

/// The filters of the fragment, followed by the router.
fn http_filters(fragment: &Fragment) -> Result<Vec<Map<String, Value>>, MergeError> {
    let router =
        HttpFilter { name: "envoy.filters.http.router", typed_config: Router { type_url: Router::TYPE_URL } };
    let mut filters = fragment.http_filters.clone();
    filters.push(merge::object("http_filters", &router)?);
    Ok(filters)
}

fn cluster(plan: &ProxyPlan, group: KeyExchangeGroup) -> Cluster {
    let endpoints = |origins: &[SocketAddr], zone: Option<&String>| LocalityEndpoints {
        locality: zone.map(|zone| Locality { zone: zone.clone() }),
        lb_endpoints: origins
            .iter()
            .map(|origin| NamedEndpoint { endpoint: Endpoint { address: Address::new(origin) } })
            .collect(),
    };
    let zones = plan.fragment.as_ref().map_or(&[][..], |fragment| &fragment.origin_zones);
    let endpoints = if zones.is_empty() {
        vec![endpoints(&plan.origins, None)]
    } else {
        let each = plan.origins.len().div_ceil(zones.len()).max(1);
        plan.origins.chunks(each).zip(zones).map(|(origins, zone)| endpoints(origins, Some(zone))).collect()
    };
    Cluster {
        name: ORIGIN,
        r#type: "STATIC",
        // Envoy's default. With 10,000 connections an event loop may need a second to notice that one is established.
        connect_timeout: "5s",
        circuit_breakers: CircuitBreakers { thresholds: [Thresholds::unlimited()] },
        load_assignment: LoadAssignment { cluster_name: ORIGIN, endpoints },
        typed_extension_protocol_options: http_options(plan),
        transport_socket: plan.upstream.as_ref().map(|tls| {
            let is_quic = plan.fragment.as_ref().is_some_and(|fragment| fragment.quic_upstream);
            if is_quic { secure::quic_upstream(tls, group) } else { secure::upstream(tls, plan.codec, group) }
        }),
    }
}

/// The options of HTTP to the origin. Envoy takes one protocol, and demands that it is stated beside all other options.
fn http_options(plan: &ProxyPlan) -> Option<Value> {
    let fragment = plan.fragment.as_ref();
    if fragment.is_some_and(|fragment| fragment.protocol_to_origin().is_some()) {
        return None;
    }
    if plan.codec == Codec::Http2 {
        return Some(messages::protocol_upstream("http2_protocol_options"));
    }
    let has_others = fragment.is_some_and(Fragment::has_http_options);
    has_others.then(|| messages::protocol_upstream("http_protocol_options"))
}

#[cfg(test)]
mod tests;
