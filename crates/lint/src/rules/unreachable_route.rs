//! A route that no request can reach.

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};
use std::collections::{BTreeMap, BTreeSet};

pub(super) static RULE: Rule = Rule {
    id: "unreachable-route",
    severity: Severity::Error,
    title: "a route that no request can reach",
    why: "Envoy takes the first route that matches. If an earlier route matches every request that this one would match, this one is never used.",
    cure: "Place the more specific route before the general one, or remove it.",
    source: "istioctl analyze IST0130; https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/route_matching",
    check,
};

/// Conditions besides the path. A route with such a condition may leave requests to later routes.
const CONDITIONS: [&str; 9] = [
    "/headers",
    "/query_parameters",
    "/cookies",
    "/grpc",
    "/tls_context",
    "/runtime_fraction",
    "/dynamic_metadata",
    "/filter_state",
    "/case_sensitive",
];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut hosts = BTreeSet::new();
    for host in proxy.routes.iter().map(|route| &route.host).filter(|host| hosts.insert(host.at.clone())) {
        // The prefixes and paths without a condition so far, with the indexes of their routes.
        let mut open: Vec<(String, usize)> = Vec::new();
        let mut exact: BTreeMap<String, usize> = BTreeMap::new();
        for (number, route) in host.items("/routes").iter().enumerate() {
            let Some(condition) = route.get("/match") else { continue };
            let is_open = !CONDITIONS.iter().any(|field| condition.has(field));
            let path = path_of(&condition);
            let is_exact = condition.has("/path");
            let before = path.as_deref().and_then(|path| {
                let covers = |(open, _): &&(String, usize)| path.starts_with(open.as_str());
                let of_prefix = open.iter().find(covers).map(|(prefix, first)| (prefix.as_str(), *first));
                of_prefix.or_else(|| Some((path, *exact.get(path).filter(|_| is_exact)?)))
            });
            if let Some((path, first)) = before {
                let message = format!(
                    "route {} of this host, `{path}`, takes every request that would match this one",
                    first + 1
                );
                found.push(condition.found("", message));
            } else if let Some(path) = path.filter(|_| is_open) {
                if is_exact {
                    exact.insert(path, number);
                } else if condition.has("/prefix") {
                    open.push((path, number));
                }
            }
        }
    }
}

/// The common prefix of all paths of a match; none if it is not known.
fn path_of(condition: &Node<'_>) -> Option<String> {
    let field =
        ["/prefix", "/path", "/path_separated_prefix"].into_iter().find(|field| condition.has(field))?;
    // Paths that ignore case may begin differently.
    (!condition.is_off("/case_sensitive") || condition.text(field) == "/")
        .then(|| condition.text(field).to_owned())
}
