//! Derives a request that a listener forwards from its filter chains and routes.

mod authorization;
mod causes;
pub(crate) mod conditions;
mod credentials;
mod line;
mod matching;
mod stated;
mod tokens;

use serde_json::Value;

use crate::adapt::{Adapted, Listener};
use crate::place::Problem;
use crate::tree::{extension_type, is_tls, items, join, sockets, text};
use conditions::Scopes;

pub use line::RequestLine;
pub use stated::{StatedRequest, stated};

/// The host of requests if a route accepts every host.
const HOST: &str = "hoptax.test";

/// A request that goes through a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DerivedRequest {
    /// Method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Host, the value of `:authority`.
    pub host: String,
    /// Further headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// TLS of the connection; plaintext if none.
    pub tls: Option<RequestTls>,
    /// True if the listener forwards bytes instead of requests. Any request then goes through it.
    pub is_tcp: bool,
    /// Pointer of the filter chain that it takes.
    pub chain: String,
    /// Pointer of the route that it takes, or of the virtual host if only the running proxy knows the route. Empty for bytes, and if it
    /// takes no route.
    pub route: String,
    /// The clusters that it may be forwarded to.
    pub clusters: Vec<String>,
    /// True if it is forwarded, but only the running proxy knows by which route or to which cluster.
    pub is_decided_later: bool,
}

/// TLS of a request's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTls {
    /// Server name; none if any will do.
    pub server_name: Option<String>,
    /// True if the client must present a certificate.
    pub presents_certificate: bool,
    /// Protocols to offer; empty if any will do.
    pub application_protocols: Vec<String>,
}

impl DerivedRequest {
    /// True if the listener forwards it. False if the listener responds itself.
    pub fn is_forwarded(&self) -> bool {
        !self.clusters.is_empty() || self.is_decided_later
    }

    /// True if it needs HTTP/2, as gRPC does.
    pub fn is_http2(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("application/grpc"))
    }

    fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Derives a request that goes through a listener to a cluster, or, if no route leads to a cluster, one to which the listener responds.
///
/// # Errors
/// When no request can be derived from any filter chain or route, with the reason and advice.
pub fn derive(adapted: &Adapted, listener: &Listener) -> Result<DerivedRequest, Problem> {
    let chains = chains(adapted, listener)?;
    // HTTP chains have more parts than chains for bytes, and a forwarded request passes more parts than one that the listener responds to.
    let mut answered = None;
    for (pointer, chain) in &chains {
        match through_http(adapted, pointer, chain) {
            Some(request) if request.is_forwarded() => return Ok(request),
            other => answered = answered.or(other),
        }
    }
    let bytes = chains.iter().find_map(|(pointer, chain)| through_tcp(adapted, pointer, chain));
    bytes.or(answered).ok_or_else(|| no_request(adapted, listener, &causes::of_chains(adapted, &chains)))
}

/// Returns the problem that no request goes through a listener, with the reason.
fn no_request(adapted: &Adapted, listener: &Listener, message: &str) -> Problem {
    Problem { place: adapted.place(&listener.pointer), message: message.to_owned() }
}

/// The TLS of a request where nodes were removed after it was derived.
pub fn tls_of(adapted: &Adapted, request: &DerivedRequest) -> Option<RequestTls> {
    adapted.tree.pointer(&request.chain).and_then(tls)
}

/// The filter chains of a listener, with their pointers.
fn chains<'a>(adapted: &'a Adapted, listener: &Listener) -> Result<Vec<(String, &'a Value)>, Problem> {
    if let Some(message) = causes::of_listener(adapted, listener) {
        return Err(no_request(adapted, listener, &message));
    }
    let mut chains = items(&adapted.tree, &join(&listener.pointer, "filter_chains"));
    let default = join(&listener.pointer, "default_filter_chain");
    chains.extend(
        adapted.tree.pointer(&default).filter(|chain| chain.is_object()).map(|chain| (default, chain)),
    );
    Ok(chains)
}

fn through_tcp(adapted: &Adapted, pointer: &str, chain: &Value) -> Option<DerivedRequest> {
    let (_, last) = items(&adapted.tree, &join(pointer, "filters")).into_iter().next_back()?;
    if !extension_type(last).ends_with(".tcp_proxy.v3.TcpProxy") {
        return None;
    }
    let tls = tls(chain);
    let name = tls.as_ref().and_then(|tls| tls.server_name.clone());
    Some(DerivedRequest {
        method: "GET".to_owned(),
        path: "/".to_owned(),
        host: name.unwrap_or_else(|| HOST.to_owned()),
        tls,
        is_tcp: true,
        chain: pointer.to_owned(),
        clusters: cluster_names(last.get("typed_config")?),
        ..DerivedRequest::default()
    })
}

fn through_http(adapted: &Adapted, pointer: &str, chain: &Value) -> Option<DerivedRequest> {
    let manager = connection_manager(&adapted.tree, pointer)?;
    let hosts = items(&adapted.tree, &format!("{manager}/route_config/virtual_hosts"));
    let mut answered = None;
    for (host_pointer, host) in &hosts {
        let routes = items(&adapted.tree, &join(host_pointer, "routes"));
        for (route_pointer, route) in &routes {
            let has = |key: &str| route.get(key).is_some_and(Value::is_object);
            let is_answered = has("direct_response") || has("redirect");
            // One route to which the listener responds is enough.
            if !has("route") && (!is_answered || answered.is_some()) {
                continue;
            }
            let mut request = DerivedRequest {
                method: "GET".to_owned(),
                host: host_of(host),
                tls: tls(chain),
                chain: pointer.to_owned(),
                route: route_pointer.clone(),
                ..DerivedRequest::default()
            };
            let Some(matching) = route.get("match") else { continue };
            if matching::satisfy(matching, &mut request).is_none() {
                continue;
            }
            lead(adapted, route, &mut request);
            if !request.is_forwarded() && !is_answered {
                continue;
            }
            let is_first = |request: &DerivedRequest| {
                let is_taken = |route: &Value| {
                    route.get("match").is_some_and(|matching| matching::is_matched(matching, request))
                };
                let first = routes.iter().find(|(_, route)| is_taken(route));
                first.is_some_and(|(first, _)| first == route_pointer)
            };
            let scopes = Scopes { route, host };
            credentials::add(adapted, &manager, scopes, &[], &mut request, &is_first);
            if redirects_to_tls(host) && request.tls.is_none() {
                request.set_header("x-forwarded-proto", "https");
            }
            if !is_first(&request) {
                continue;
            }
            if request.is_forwarded() {
                return Some(request);
            }
            answered.get_or_insert(request);
        }
    }
    answered
}

/// The pointer of the configuration of the connection manager in a filter chain.
pub(crate) fn connection_manager(tree: &Value, chain: &str) -> Option<String> {
    let filters = items(tree, &join(chain, "filters"));
    let is_manager = |filter: &Value| {
        extension_type(filter).ends_with(".http_connection_manager.v3.HttpConnectionManager")
    };
    let (pointer, _) = filters.into_iter().find(|(_, filter)| is_manager(filter))?;
    Some(join(&pointer, "typed_config"))
}

/// Records where a route forwards a request.
fn lead(adapted: &Adapted, route: &Value, request: &mut DerivedRequest) {
    let Some(action) = route.get("route").filter(|action| action.is_object()) else { return };
    request.clusters = cluster_names(action);
    let of_header = action.get("cluster_header").and_then(Value::as_str);
    // Envoy itself responds to a request whose header names no cluster.
    let clusters = items(&adapted.tree, "/static_resources/clusters");
    let is_cluster = |name: &&str| clusters.iter().any(|(_, cluster)| text(cluster, "/name") == *name);
    let named = of_header.and_then(|header| matching::value_of(header, request).filter(is_cluster));
    let named = named.map(str::to_owned);
    request.clusters.extend(named);
    // Without the header, the listener responds. Otherwise an extension of Envoy chooses the cluster.
    request.is_decided_later = request.clusters.is_empty() && of_header.is_none();
}

/// The clusters that a route action or a TCP proxy leads to.
fn cluster_names(action: &Value) -> Vec<String> {
    let one = action.get("cluster").and_then(Value::as_str);
    let weighted = action.pointer("/weighted_clusters/clusters").and_then(Value::as_array);
    let weighted = weighted.into_iter().flatten().filter_map(|cluster| cluster.get("name")?.as_str());
    one.into_iter().chain(weighted).map(str::to_owned).collect()
}

fn host_of(virtual_host: &Value) -> String {
    let domain = virtual_host.pointer("/domains/0").and_then(Value::as_str).unwrap_or("*");
    if domain == "*" { HOST.to_owned() } else { domain.replacen('*', "hoptax", 1) }
}

fn redirects_to_tls(virtual_host: &Value) -> bool {
    matches!(text(virtual_host, "/require_tls"), "ALL" | "EXTERNAL_ONLY")
}

fn tls(chain: &Value) -> Option<RequestTls> {
    let matching = chain.get("filter_chain_match").unwrap_or(&Value::Null);
    let strings = |key: &str| {
        let list = matching.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(|name| name.replacen('*', "hoptax", 1)).collect::<Vec<_>>()
    };
    let names = strings("server_names");
    let sockets = sockets(chain, "");
    let context =
        sockets.into_iter().find(|(_, socket)| is_tls(socket)).map(|(_, socket)| &socket["typed_config"]);
    if context.is_none() && names.is_empty() && text(matching, "/transport_protocol") != "tls" {
        return None;
    }
    let required =
        context.and_then(|context| context.get("require_client_certificate")).and_then(Value::as_bool);
    Some(RequestTls {
        server_name: names.into_iter().next(),
        presents_certificate: required.unwrap_or(false),
        application_protocols: strings("application_protocols"),
    })
}

#[cfg(test)]
mod tests;
