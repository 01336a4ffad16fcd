//! A request that the user states, in whole or in part, instead of one derived from the routes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conditions::Scopes;
use super::{
    DerivedRequest, HOST, causes, chains, cluster_names, connection_manager, credentials, derive, lead,
    matching, no_request, tls,
};
use crate::adapt::{Adapted, Listener};
use crate::place::Problem;
use crate::tree::{extension_type, items, join, walk};

/// Properties of a request that the user states. Properties that are None or empty are derived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedRequest {
    /// Method.
    pub method: Option<String>,
    /// Host, the value of `:authority`.
    pub host: Option<String>,
    /// Path with query.
    pub path: Option<String>,
    /// Headers.
    pub headers: Vec<(String, String)>,
}

/// Completes a stated request. If not stated, host and path are those of the derived request, and the method is `GET`. If only headers are
/// stated, they are added to the derived request. Headers with credentials of the lab are added, because the user does not know them. The
/// request takes the route that it matches, if any: a listener's response without a route can be measured too.
///
/// # Errors
/// When requests cannot be sent to the listener, or none of its filter chains forwards requests or bytes.
pub fn stated(
    adapted: &Adapted,
    listener: &Listener,
    stated: &StatedRequest,
) -> Result<DerivedRequest, Problem> {
    if stated.method.is_none() && stated.host.is_none() && stated.path.is_none() {
        let mut request = derive(adapted, listener)?;
        set_headers(&mut request, stated);
        return Ok(request);
    }
    let chains = chains(adapted, listener)?;
    let derived = derive(adapted, listener).unwrap_or_default();
    let is_http = |(pointer, _): &&(String, &Value)| connection_manager(&adapted.tree, pointer).is_some();
    let is_tcp = |(pointer, _): &&(String, &Value)| {
        let last = items(&adapted.tree, &join(pointer, "filters")).into_iter().next_back();
        last.is_some_and(|(_, filter)| extension_type(filter).ends_with(".tcp_proxy.v3.TcpProxy"))
    };
    let of_derived = chains.iter().find(|(pointer, _)| *pointer == derived.chain);
    let taken = of_derived.or_else(|| chains.iter().find(is_http)).or_else(|| chains.iter().find(is_tcp));
    let (chain, node) =
        taken.ok_or_else(|| no_request(adapted, listener, &causes::of_chains(adapted, &chains)))?;
    let manager = connection_manager(&adapted.tree, chain);
    let or = |stated: &Option<String>, derived: &str, usual: &str| {
        let derived = if derived.is_empty() { usual } else { derived };
        stated.clone().unwrap_or_else(|| derived.to_owned())
    };
    let mut request = DerivedRequest {
        method: or(&stated.method, "", "GET"),
        host: or(&stated.host, &derived.host, HOST),
        path: or(&stated.path, &derived.path, "/"),
        tls: tls(node),
        is_tcp: manager.is_none(),
        chain: chain.clone(),
        clusters: if manager.is_none() { derived.clusters } else { Vec::new() },
        ..DerivedRequest::default()
    };
    set_headers(&mut request, stated);
    let Some(manager) = manager else { return Ok(request) };
    let hosts = items(&adapted.tree, &format!("{manager}/route_config/virtual_hosts"));
    let host = virtual_host(&hosts, &request.host);
    let routes = host.map(|(pointer, _)| items(&adapted.tree, &join(pointer, "routes"))).unwrap_or_default();
    let is_taken = |(_, route): &&(String, &Value)| {
        route.get("match").is_some_and(|matching| matching::is_matched(matching, &request))
    };
    let route = routes.iter().find(is_taken);
    match (host, route) {
        (_, Some((pointer, route))) => {
            request.route.clone_from(pointer);
            lead(adapted, route, &mut request);
        }
        (Some((pointer, host)), None) => take_later(pointer, host, &routes, &mut request),
        (None, None) => {}
    }
    let none = &Value::Null;
    let scopes =
        Scopes { route: route.map_or(none, |(_, route)| *route), host: host.map_or(none, |(_, host)| *host) };
    let (method, host, path) = (request.method.clone(), request.host.clone(), request.path.clone());
    let is_as_stated =
        |changed: &DerivedRequest| changed.method == method && changed.host == host && changed.path == path;
    credentials::add(adapted, &manager, scopes, &stated.headers, &mut request, &is_as_stated);
    // The user may state other credentials, for example so that requests are refused.
    set_headers(&mut request, stated);
    Ok(request)
}

/// Records the clusters of a virtual host among which only the running proxy can choose, if any: those of its matcher, and those of routes
/// with conditions that cannot be evaluated here.
fn take_later(pointer: &str, host: &Value, routes: &[(String, &Value)], request: &mut DerivedRequest) {
    let matcher = host.get("matcher").filter(|matcher| matcher.is_object());
    // hoptax sends no CONNECT.
    let is_unknown = |route: &&Value| {
        let condition = route.get("match").and_then(matching::unknown);
        condition.is_some_and(|condition| condition != matching::CONNECT)
    };
    let unknown = routes.iter().map(|(_, route)| *route).filter(is_unknown);
    let mut clusters = BTreeSet::new();
    for node in matcher.into_iter().chain(unknown) {
        walk(node, "", &mut |_, node| {
            clusters.extend(node.get("route").map(cluster_names).unwrap_or_default());
        });
        pointer.clone_into(&mut request.route);
        request.is_decided_later = true;
    }
    request.clusters = clusters.into_iter().collect();
}

fn set_headers(request: &mut DerivedRequest, stated: &StatedRequest) {
    for (name, value) in &stated.headers {
        request.set_header(&name.to_ascii_lowercase(), value);
    }
}

/// The virtual host that Envoy selects for a host: by its exact name, the longest suffix, the longest prefix, or `*`.
fn virtual_host<'a, 'v>(hosts: &'a [(String, &'v Value)], host: &str) -> Option<&'a (String, &'v Value)> {
    let host = host.to_ascii_lowercase();
    let rank = |domain: &str| {
        let domain = domain.to_ascii_lowercase();
        if domain == host {
            return Some((3, 0));
        }
        if domain == "*" {
            return Some((0, 0));
        }
        // A wildcard matches at least one character.
        let is_longer = host.len() >= domain.len();
        let suffix = domain.strip_prefix('*').is_some_and(|suffix| host.ends_with(suffix));
        let prefix = domain.strip_suffix('*').is_some_and(|prefix| host.starts_with(prefix));
        match (suffix && is_longer, prefix && is_longer) {
            (true, _) => Some((2, domain.len())),
            (_, true) => Some((1, domain.len())),
            _ => None,
        }
    };
    let best = |(_, node): &(String, &Value)| {
        let domains = node.get("domains").and_then(Value::as_array).into_iter().flatten();
        domains.filter_map(Value::as_str).filter_map(rank).max()
    };
    hosts.iter().filter(|one| best(one).is_some()).max_by_key(|one| best(one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{EDGE, adapted};

    fn derived(stated_request: &StatedRequest) -> DerivedRequest {
        let adapted = adapted(EDGE);
        stated(&adapted, &adapted.listeners[0], stated_request).unwrap()
    }

    #[test]
    fn a_stated_request_takes_the_route_that_it_matches_with_credentials_of_the_lab() {
        let request = derived(&StatedRequest {
            method: Some("POST".to_owned()),
            host: Some("a.shop.example".to_owned()),
            path: Some("/health".to_owned()),
            headers: vec![("X-Own".to_owned(), "1".to_owned())],
        });
        assert_eq!((request.method.as_str(), request.host.as_str()), ("POST", "a.shop.example"));
        assert!(request.route.ends_with("/virtual_hosts/1/routes/0"), "{}", request.route);
        assert!(request.clusters.is_empty());
        assert_eq!(request.header("x-own"), Some("1"));
        assert_eq!(request.header("authorization"), Some("Basic bGFiOmxhYg=="));
        assert!(request.tls.is_some());
    }

    #[test]
    fn stated_headers_replace_those_of_the_lab_and_what_is_not_stated_is_derived() {
        let headers = vec![("Authorization".to_owned(), "none".to_owned())];
        let request = derived(&StatedRequest { headers, ..StatedRequest::default() });
        assert_eq!(request.header("authorization"), Some("none"));
        assert_eq!((request.host.as_str(), request.path.as_str()), ("hoptax.shop.example", "/cart"));
        assert_eq!(request.header("x-region"), Some("north"));
        assert_eq!(request.clusters, ["cart"]);
        // Without the header that the route of `/cart` requires, a request takes the next route.
        let other = derived(&StatedRequest { method: Some("GET".to_owned()), ..StatedRequest::default() });
        assert_eq!(
            (other.path.as_str(), other.clusters.as_slice()),
            ("/cart", ["pages".to_owned()].as_slice())
        );
    }

    #[test]
    fn a_virtual_host_is_selected_as_envoy_does() {
        let hosts: Vec<Value> = ["*", "*.example", "*.shop.example", "shop.*", "shop.example"]
            .map(|domain| serde_json::json!({"domains": [domain]}))
            .into();
        let hosts: Vec<(String, &Value)> =
            hosts.iter().map(|host| (crate::tree::text(host, "/domains/0").to_owned(), host)).collect();
        let of = |host: &str| virtual_host(&hosts, host).map(|(name, _)| name.clone()).unwrap();
        assert_eq!(of("SHOP.example"), "shop.example");
        assert_eq!(of("a.shop.example"), "*.shop.example");
        assert_eq!(of("b.example"), "*.example");
        assert_eq!(of("shop.test"), "shop.*");
        assert_eq!(of("other"), "*");
    }
}
