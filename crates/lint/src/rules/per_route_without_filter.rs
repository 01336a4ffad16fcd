//! Settings of a route for a filter that is not there.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Node, Proxy};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "per-route-without-filter",
    severity: Severity::Error,
    title: "settings of a route for a filter that is not there",
    why: "Envoy accepts settings for a filter by its name, and uses them only if a filter of that name is in the chain: a rate limit or an authorization that is only stated at the route does nothing.",
    cure: "Add the filter to `http_filters`, with the same name.",
    source: "https://github.com/envoyproxy/envoy/issues/13805",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for route in &proxy.routes {
        let Some(manager) = proxy.managers.get(route.manager) else { continue };
        // Of filters that are chosen while the proxy runs, the names are not known.
        let filters = manager.filters();
        let is_open = filters.iter().any(|filter| {
            filter.has("/config_discovery") || CHOOSING.iter().any(|end| filter.extension().ends_with(end))
        });
        if is_open || filters.is_empty() {
            continue;
        }
        let weighted =
            route.action().map(|action| action.items("/weighted_clusters/clusters")).unwrap_or_default();
        for owner in [&route.node, &route.host, &route.table].into_iter().chain(&weighted) {
            for (name, settings) in owner.entries("/typed_per_filter_config") {
                let is_there = |filter: &Node<'_>| filter.name() == name || is_of_type(filter, &settings);
                if !filters.iter().any(is_there) && seen.insert(settings.at.clone()) {
                    found.push(settings.found(
                        "",
                        format!(
                            "no filter `{name}` is in the chain of listener `{}`: this has no effect",
                            manager.listener.label()
                        ),
                    ));
                }
            }
        }
    }
    found
}

/// Filters with others inside of them.
const CHOOSING: [&str; 3] = ["ExtensionWithMatcher", "Composite", "FilterChainConfig"];

/// Whether settings are of the same package as a filter: older releases found them by their type.
fn is_of_type(filter: &Node<'_>, settings: &Node<'_>) -> bool {
    let package = |of: &str| of.rsplit_once('.').map(|(package, _)| package.to_owned()).unwrap_or_default();
    let (of, _) = settings.message();
    let of_filter = package(filter.extension());
    of_filter.contains(".filters.") && of_filter == package(of)
}
