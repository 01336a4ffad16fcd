//! Reasons why no request is derived for a listener, with advice.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{connection_manager, matching};
use crate::adapt::{Adapted, Listener};
use crate::tree::{extension_type, items, join, text};

/// Advice if no request from hoptax can get through.
const ANOTHER: &str = "measure another listener: `--listener NAME`";

/// Advice if only the user can state a request that gets through, with `more` options.
fn state(more: &str) -> String {
    format!("state a request: `--request 'GET http://HOST/PATH'{more}`")
}

/// Returns the reason why hoptax sends no request to a listener at all; None if it does.
pub(super) fn of_listener(adapted: &Adapted, listener: &Listener) -> Option<String> {
    if listener.is_udp {
        return Some(format!("it takes datagrams, such as QUIC, which hoptax does not send here; {ANOTHER}"));
    }
    if listener.is_internal {
        let in_front = "measure the listener in front of it: `--listener NAME`";
        return Some(format!("only other listeners connect to it; {in_front}"));
    }
    let is_api = adapted.has(&join(&listener.pointer, "api_listener"));
    is_api.then(|| format!("it is an `api_listener`, to which nothing connects; {ANOTHER}"))
}

/// Returns the reason why none of the filter chains of a listener gives a request.
pub(super) fn of_chains(adapted: &Adapted, chains: &[(String, &Value)]) -> String {
    if chains.is_empty() {
        return format!("it has no filter chain; {ANOTHER}");
    }
    let managers = chains.iter().filter_map(|(chain, _)| connection_manager(&adapted.tree, chain));
    let managers: Vec<String> = managers.collect();
    if managers.is_empty() {
        let ends: BTreeSet<String> = chains.iter().map(|(chain, _)| end_of(adapted, chain)).collect();
        let ends: Vec<String> = ends.into_iter().collect();
        return format!(
            "hoptax sends HTTP, which needs a filter chain that ends in the HTTP connection manager or in a TCP proxy, but its chains end \
             in {}; {ANOTHER}",
            ends.join(" and ")
        );
    }
    let mut has_routes = false;
    for manager in managers {
        for (pointer, host) in items(&adapted.tree, &format!("{manager}/route_config/virtual_hosts")) {
            if host.get("matcher").is_some_and(Value::is_object) {
                let name = text(host, "/name");
                let why = format!("hoptax derives no request from the `matcher` of virtual host `{name}`");
                return format!("{why}; {}", state(""));
            }
            for (_, route) in items(&adapted.tree, &join(&pointer, "routes")) {
                has_routes = true;
                if let Some(cause) = of_route(route) {
                    return cause;
                }
            }
        }
    }
    if has_routes {
        let why = "hoptax found no request that meets the conditions of one of its routes, but not those of an earlier one";
        format!("{why}; {}", state(""))
    } else {
        format!("it has no route, so each request is answered with 404; {ANOTHER}")
    }
}

/// The last filter of a chain.
fn end_of(adapted: &Adapted, chain: &str) -> String {
    match items(&adapted.tree, &join(chain, "filters")).last() {
        None => "no filter".to_owned(),
        Some((_, filter)) if filter.get("typed_config").is_none() => {
            format!("`{}`, which has no `typed_config`", text(filter, "/name"))
        }
        Some((_, filter)) => format!("`{}`", extension_type(filter)),
    }
}

/// Returns the reason why no request is derived from a route; None if the route alone does not show it.
fn of_route(route: &Value) -> Option<String> {
    let condition = route.get("match").and_then(matching::unknown);
    let header = route.pointer("/route/cluster_header").and_then(Value::as_str);
    match (condition, header) {
        (Some(matching::CONNECT), _) => {
            Some(format!("one of its routes takes CONNECT, which hoptax does not send; {ANOTHER}"))
        }
        (Some(condition), _) => {
            let why = format!(
                "only the running proxy can evaluate the condition `{condition}` of one of its routes"
            );
            Some(format!("{why}; {}", state("")))
        }
        (None, Some(header)) => {
            let more = format!(" --header '{header}: CLUSTER'");
            // The host and other parts of the first line belong to the request itself.
            let more = if header.starts_with(':') { "" } else { more.as_str() };
            Some(format!("one of its routes takes the cluster from the header `{header}`; {}", state(more)))
        }
        (None, None) => None,
    }
}
