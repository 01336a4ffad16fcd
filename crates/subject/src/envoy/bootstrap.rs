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
//! A function's [`Fragment`] is merged in at fixed places. Envoy's `--mode validate` checks the whole.
//!
//! [advice for benchmarks]: https://www.envoyproxy.io/docs/envoy/v1.40.0/faq/performance/how_to_benchmark_envoy

mod codec;
mod merge;
mod messages;
mod secure;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use hoptax_functions::{Fragment, KeyExchangeGroup, repeated};
use serde_json::{Map, Value, json};

use crate::lab::TlsSettings;
use merge::Merge;
use messages::{address, breakers_that_never_open, overload_manager, slow_watchdogs, stated};

pub use codec::Codec;
pub use merge::MergeError;

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
    /// The files from which Envoy loads its listener and its clusters, and reloads them when they are replaced. If not given, both are in
    /// the bootstrap.
    pub watched: Option<WatchedFiles>,
}

impl ProxyPlan {
    /// The plain proxy: HTTP/1.1 without TLS, with a free port for the admin interface.
    pub fn plain(listen: SocketAddr, origins: Vec<SocketAddr>) -> Self {
        Self {
            admin_port: 0,
            listen,
            origins,
            fragment: None,
            codec: Codec::Http1,
            downstream: None,
            upstream: None,
            watched: None,
        }
    }

    /// The plain proxy that remains when the function is removed, with one origin like every plain proxy.
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

/// The bootstrap for a plan: the JSON that `--config-path` expects.
///
/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/config/bootstrap/v3/bootstrap.proto>
///
/// # Errors
/// There is no origin, or the fragment does not fit: it overrides a field of the plain proxy without listing it in
/// `replaces`, or lists one that it does not override.
pub fn bootstrap(plan: &ProxyPlan) -> Result<Value, MergeError> {
    Ok(parts(plan)?.bootstrap)
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
fn resources(type_url: &str, messages: &[Value]) -> Value {
    let with_type = |message: &Value| {
        let of_type = [("@type".to_owned(), json!(type_url))];
        of_type.into_iter().chain(message.as_object().cloned().into_iter().flatten()).collect::<Value>()
    };
    json!({"resources": messages.iter().map(with_type).collect::<Vec<_>>()})
}

/// The parts of a configuration.
struct Parts {
    /// The bootstrap, which contains the other parts unless Envoy reads them from files.
    bootstrap: Value,
    listeners: Vec<Value>,
    clusters: Vec<Value>,
}

fn parts(plan: &ProxyPlan) -> Result<Parts, MergeError> {
    if plan.origins.is_empty() {
        return Err(MergeError::NoOrigin);
    }
    let none = Fragment::default();
    let fragment = plan.fragment.as_ref().unwrap_or(&none);
    let mut merging = Merge::new(&fragment.replaces);
    let group = fragment.key_exchange_group;

    let cluster = merging.extend("cluster", cluster(plan, group), &fragment.cluster)?;
    let filter = if plan.codec == Codec::Tcp {
        json!({"name": "envoy.filters.network.tcp_proxy", "typed_config": tcp_proxy(fragment)})
    } else {
        let manager = connection_manager(plan.codec, fragment, &mut merging)?;
        json!({"name": "envoy.filters.network.http_connection_manager", "typed_config": manager})
    };
    let transport_socket = plan.downstream.as_ref().map(|tls| {
        if fragment.quic_downstream {
            secure::quic_downstream(tls, group)
        } else {
            secure::downstream(tls, plan.codec, group, &fragment.certificate_source)
        }
    });
    let filters = followed_by(&fragment.network_filters, filter);
    let listener = json!({
        "name": INGRESS,
        "address": address(plan.listen),
        "filter_chains": [stated(json!({"filters": filters, "transport_socket": transport_socket}))],
    });
    let listener = merging.extend("listener", listener, &fragment.listener)?;
    let more = repeated(&fragment.listeners).into_iter().map(Value::Object);
    let listeners: Vec<Value> = std::iter::once(listener).chain(more).collect();
    // With the default of 1,024, requests and spans would be dropped silently if a companion is slow, and the function would look cheap.
    let unlimited = json!({"circuit_breakers": breakers_that_never_open()});
    let mut clusters = vec![cluster];
    for cluster in repeated(&fragment.clusters) {
        clusters.push(merging.extend("clusters", unlimited.clone(), &cluster)?);
    }
    let watched = plan.watched.as_ref();
    let source = |path: &Path| json!({"path_config_source": {"path": path}});
    let bootstrap = stated(json!({
        "node": watched.map(|_| json!({"id": INGRESS, "cluster": INGRESS})),
        "dynamic_resources": watched.map(
            |files| json!({"lds_config": source(&files.listeners), "cds_config": source(&files.clusters)}),
        ),
        "admin": {"address": address(SocketAddr::from((Ipv4Addr::LOCALHOST, plan.admin_port)))},
        "static_resources": match watched {
            Some(_) => json!({"listeners": [], "clusters": []}),
            None => json!({"listeners": listeners, "clusters": clusters}),
        },
        "overload_manager": overload_manager(),
        "watchdogs": slow_watchdogs(),
    }));
    let bootstrap = merging.extend("bootstrap", bootstrap, &fragment.bootstrap)?;
    merging.finish()?;
    Ok(Parts { bootstrap, listeners, clusters })
}

/// The filters of a fragment, followed by `last`.
fn followed_by(filters: &[Map<String, Value>], last: Value) -> Vec<Value> {
    filters.iter().cloned().map(Value::Object).chain([last]).collect()
}

/// The access loggers of a fragment, if it has any.
fn access_log(fragment: &Fragment) -> Option<&[Map<String, Value>]> {
    Some(fragment.access_log.as_slice()).filter(|loggers| !loggers.is_empty())
}

/// <https://www.envoyproxy.io/docs/envoy/v1.40.0/api-v3/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto>
fn tcp_proxy(fragment: &Fragment) -> Value {
    stated(json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": INGRESS,
        "cluster": ORIGIN,
        "access_log": access_log(fragment),
    }))
}

/// The connection manager, extended by the fragment.
fn connection_manager(
    codec: Codec,
    fragment: &Fragment,
    merging: &mut Merge<'_>,
) -> Result<Value, MergeError> {
    let virtual_host = json!({"name": ORIGIN, "domains": ["*"], "routes": routes(fragment, merging)?});
    let virtual_host = merging.extend("virtual_host", virtual_host, &fragment.virtual_host)?;
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    });
    let upgrades = (codec == Codec::WebSocket).then(|| json!([{"upgrade_type": "websocket"}]));
    let connection_manager = stated(json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": INGRESS,
        "generate_request_id": false,
        "route_config": {"name": INGRESS, "virtual_hosts": [virtual_host]},
        "http_filters": followed_by(&fragment.http_filters, router),
        "access_log": access_log(fragment),
        "upgrade_configs": upgrades,
    }));
    merging.extend("connection_manager", connection_manager, &fragment.connection_manager)
}

/// The routes of the fragment, or one that matches every path, all with the same action.
fn routes(fragment: &Fragment, merging: &mut Merge<'_>) -> Result<Vec<Value>, MergeError> {
    let action = json!({"cluster": ORIGIN});
    if fragment.routes.is_empty() {
        let route = json!({"match": {"prefix": "/"}, "route": action});
        return Ok(vec![merging.extend("route", route, &fragment.route)?]);
    }
    let route = json!({"route": action});
    let with_own = |own| {
        let matched = merging.extend("routes", route.clone(), own)?;
        merging.extend("route", matched, &fragment.route)
    };
    fragment.routes.iter().map(with_own).collect()
}

fn cluster(plan: &ProxyPlan, group: KeyExchangeGroup) -> Value {
    let endpoints = |origins: &[SocketAddr], zone: Option<&String>| {
        let endpoint = |origin: &SocketAddr| json!({"endpoint": {"address": address(*origin)}});
        let endpoints: Vec<Value> = origins.iter().map(endpoint).collect();
        stated(json!({"locality": zone.map(|zone| json!({"zone": zone})), "lb_endpoints": endpoints}))
    };
    let zones = plan.fragment.as_ref().map_or(&[][..], |fragment| &fragment.origin_zones);
    let endpoints = if zones.is_empty() {
        vec![endpoints(&plan.origins, None)]
    } else {
        let each = plan.origins.len().div_ceil(zones.len()).max(1);
        plan.origins.chunks(each).zip(zones).map(|(origins, zone)| endpoints(origins, Some(zone))).collect()
    };
    let transport_socket = plan.upstream.as_ref().map(|tls| {
        let is_quic = plan.fragment.as_ref().is_some_and(|fragment| fragment.quic_upstream);
        if is_quic { secure::quic_upstream(tls, group) } else { secure::upstream(tls, plan.codec, group) }
    });
    stated(json!({
        "name": ORIGIN,
        "type": "STATIC",
        // Envoy's default. With 10,000 connections, an event loop may take a second to notice an established one.
        "connect_timeout": "5s",
        "circuit_breakers": breakers_that_never_open(),
        "load_assignment": {"cluster_name": ORIGIN, "endpoints": endpoints},
        "typed_extension_protocol_options": http_options(plan),
        "transport_socket": transport_socket,
    }))
}

/// The HTTP options for the origin. Envoy accepts exactly one protocol, and requires it whenever other options are set.
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
