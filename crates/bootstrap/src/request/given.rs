//! A request that the user gives: finds the filter chain and the route that it takes.

use std::str::FromStr;

use serde_json::Value;

use super::{
    DerivedRequest, chains, cluster_names, connection_manager, credentials, matching, through_tcp, tls,
};
use crate::adapt::{Adapted, Listener};
use crate::place::Problem;
use crate::tree::{items, join};

/// A request of the user. Its text is `METHOD URL`, for example `GET https://shop.example/cart`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenRequest {
    /// Method.
    pub method: String,
    /// Whether its scheme is `https`.
    pub is_tls: bool,
    /// Host, the value of `:authority`.
    pub host: String,
    /// Path with query.
    pub path: String,
    /// Further headers, with lower-case names.
    pub headers: Vec<(String, String)>,
}

impl FromStr for GivenRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not a request; write it as `GET https://HOST/PATH`");
        let (method, url) = text.trim().split_once(' ').ok_or_else(form)?;
        let (scheme, rest) = url.trim().split_once("://").ok_or_else(form)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let is_method = !method.is_empty() && method.chars().all(|c| c.is_ascii_uppercase());
        if !is_method || host.is_empty() || host.contains(['@', ' ']) || path.contains(' ') {
            return Err(form());
        }
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(form()),
        };
        Ok(Self {
            method: method.to_owned(),
            is_tls,
            host: host.to_owned(),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
            headers: Vec::new(),
        })
    }
}

/// Finds the filter chain and the route that a request takes. Filters that ask for credentials get those of the lab, unless
/// the request has its own.
///
/// # Errors
/// When no filter chain takes a connection with or without TLS as the request has, and when no route matches.
pub fn find(adapted: &Adapted, listener: &Listener, given: &GivenRequest) -> Result<DerivedRequest, Problem> {
    let problem = |message: String| Problem { place: adapted.place(&listener.pointer), message };
    let scheme = if given.is_tls { "https" } else { "http" };
    let mut has_chain = false;
    for (pointer, chain) in chains(adapted, listener) {
        if tls(chain).is_some() != given.is_tls || !is_server(chain, &given.host) {
            continue;
        }
        has_chain = true;
        let found = match connection_manager(&adapted.tree, &pointer) {
            Some(manager) => through_http(adapted, (&pointer, chain), &manager, given),
            None => through_tcp(adapted, &pointer, chain).map(|request| with_own(request, given)),
        };
        if let Some(request) = found {
            return Ok(request);
        }
    }
    Err(problem(if has_chain {
        format!(
            "no route matches {} {}{}; see its virtual hosts and routes",
            given.method, given.host, given.path
        )
    } else {
        format!(
            "no filter chain takes {scheme} connections for {}; use the other scheme or another host",
            given.host
        )
    }))
}

fn through_http(
    adapted: &Adapted,
    (pointer, chain): (&str, &Value),
    manager: &str,
    given: &GivenRequest,
) -> Option<DerivedRequest> {
    let hosts = items(&adapted.tree, &format!("{manager}/route_config/virtual_hosts"));
    let (host_pointer, host) = hosts
        .into_iter()
        .filter_map(|host| Some((rank_of(host.1, &given.host)?, host)))
        .max_by_key(|(rank, _)| *rank)?
        .1;
    let request = DerivedRequest { tls: tls(chain), chain: pointer.to_owned(), ..DerivedRequest::default() };
    let mut request = with_own(request, given);
    let routes = items(&adapted.tree, &join(&host_pointer, "routes"));
    let is_route =
        |route: &Value| route.get("match").is_some_and(|matching| matching::is_matched(matching, &request));
    let (route_pointer, route) = routes.into_iter().find(|(_, route)| is_route(route))?;
    request.route = route_pointer;
    request.clusters = route.get("route").map(cluster_names).unwrap_or_default();
    credentials::add(adapted, manager, host, route, &mut request);
    Some(with_own(request, given))
}

/// The request with what the user gives.
fn with_own(mut request: DerivedRequest, given: &GivenRequest) -> DerivedRequest {
    request.method.clone_from(&given.method);
    request.host.clone_from(&given.host);
    request.path.clone_from(&given.path);
    for (name, value) in &given.headers {
        request.set_header(name, value);
    }
    if let Some(tls) = &mut request.tls {
        tls.server_name = Some(without_port(&given.host).to_owned());
    }
    request
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(host, _)| host)
}

/// Whether a filter chain accepts a server name: it lists none, or one that matches.
fn is_server(chain: &Value, host: &str) -> bool {
    let names = chain.pointer("/filter_chain_match/server_names").and_then(Value::as_array);
    let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
    names.is_empty() || names.iter().any(|name| rank(name, without_port(host)).is_some())
}

/// The rank of the best domain of a virtual host that matches; none if none does.
fn rank_of(virtual_host: &Value, host: &str) -> Option<(u8, usize)> {
    let domains = virtual_host.get("domains").and_then(Value::as_array)?;
    domains.iter().filter_map(Value::as_str).filter_map(|domain| rank(domain, host)).max()
}

/// How specifically a domain matches a host: exactly, by its end, by its beginning, or as `*`, and by its length.
fn rank(domain: &str, host: &str) -> Option<(u8, usize)> {
    let (domain, host) = (domain.to_ascii_lowercase(), host.to_ascii_lowercase());
    let longer = host.len() >= domain.len();
    let kind = if domain == "*" {
        0
    } else if let Some(end) = domain.strip_prefix('*') {
        (longer && host.ends_with(end)).then_some(2)?
    } else if let Some(start) = domain.strip_suffix('*') {
        (longer && host.starts_with(start)).then_some(1)?
    } else {
        (domain == host).then_some(3)?
    };
    Some((kind, domain.len()))
}
