//! A route that no request can reach.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Node, Proxy};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "unreachable-route",
    severity: Severity::Error,
    title: "a route that no request can reach",
    why: "The first route that matches is taken, so a route behind one that matches everything it matches never is: what it promises does not happen.",
    cure: "Place the special route before the general one, or remove it.",
    source: "istioctl analyze IST0130; https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/route_matching",
    check,
};

/// Conditions beside the path. A route with one of them may leave requests to those behind it.
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

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut hosts = BTreeSet::new();
    for host in proxy.routes.iter().map(|route| &route.host).filter(|host| hosts.insert(host.at.clone())) {
        // The prefixes without a condition so far, with the number of their routes.
        let mut open: Vec<(String, usize)> = Vec::new();
        for (number, route) in host.items("/routes").iter().enumerate() {
            let Some(condition) = route.get("/match") else { continue };
            let is_open = !CONDITIONS.iter().any(|field| condition.has(field));
            let path = path_of(&condition);
            let before = path.as_ref().and_then(|path| open.iter().find(|(open, _)| covers(open, path)));
            if let Some((prefix, first)) = before {
                let message = format!(
                    "route {} of this host, `{prefix}`, takes every request that would match this one",
                    first + 1
                );
                found.push(condition.found("", message));
            } else if let Some(prefix) = condition.get("/prefix").filter(|_| is_open) {
                open.push((prefix.text("").to_owned(), number));
            }
        }
    }
    found
}

/// The beginning that all paths of a match have; none if it is not known.
fn path_of(condition: &Node<'_>) -> Option<String> {
    let field =
        ["/prefix", "/path", "/path_separated_prefix"].into_iter().find(|field| condition.has(field))?;
    // Paths without regard to case may begin differently.
    let ignores_case =
        condition.value.pointer("/case_sensitive").and_then(serde_json::Value::as_bool) == Some(false);
    (!ignores_case || condition.text(field) == "/").then(|| condition.text(field).to_owned())
}

fn covers(open: &str, path: &str) -> bool {
    path.starts_with(open)
}
