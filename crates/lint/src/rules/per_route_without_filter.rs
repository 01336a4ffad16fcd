//! Settings of a route for a filter that does not exist.

use crate::found::Found;
use crate::proxy::{Manager, Node, Proxy, Route};
use crate::rule::{Rule, Severity};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "per-route-without-filter",
    severity: Severity::Error,
    title: "route settings for a filter that is not in the chain",
    why: "Envoy accepts route settings for any name of a filter, but uses them only if a filter of that name is in the chain: a rate limit or an authorization that only the route states does nothing.",
    cure: "Add the filter to `http_filters`, with the same name.",
    source: "https://github.com/envoyproxy/envoy/issues/13805",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let (mut missing, mut present) = (Vec::new(), Vec::new());
    for route in &proxy.routes {
        let Some(manager) = proxy.managers.get(route.manager) else { continue };
        let filters = filters_of(proxy, manager, route);
        // The names of filters that are chosen at run time are not known.
        let is_choosing = |filter: &Node<'_>| CHOOSING.iter().any(|end| filter.extension().ends_with(end));
        if filters.is_empty() || filters.iter().any(is_choosing) {
            continue;
        }
        let weighted =
            route.action().map(|action| action.items("/weighted_clusters/clusters")).unwrap_or_default();
        for owner in [&route.node, &route.host, &route.table].into_iter().chain(&weighted) {
            for (name, settings) in owner.entries("/typed_per_filter_config") {
                let is_there = |filter: &Node<'_>| filter.name() == name || is_of_type(filter, &settings);
                if filters.iter().any(is_there) {
                    present.push(settings.at);
                } else if !is_nothing(&settings) {
                    missing.push((settings, format!("filter `{name}`"), manager));
                }
            }
        }
        let limits = [route.action(), Some(route.host.clone())].into_iter().flatten();
        for limits in limits.filter_map(|owner| owner.get("/rate_limits")) {
            if filters.iter().any(|filter| LIMITS.iter().any(|end| filter.extension().ends_with(end))) {
                present.push(limits.at);
            } else if !limits.items("").is_empty() {
                missing.push((limits, "rate limit filter".to_owned(), manager));
            }
        }
    }
    // Listeners may share a table, by its file, by an alias or from a control plane. It is enough if one of them has the filter.
    let place = |at: &str| {
        let place = proxy.configuration.place(at);
        (proxy.configuration.origin(at).0, place.line, place.column)
    };
    let used: BTreeSet<_> =
        if missing.is_empty() { BTreeSet::new() } else { present.iter().map(|at| place(at)).collect() };
    let mut seen = BTreeSet::new();
    missing.retain(|(settings, ..)| {
        let place = place(&settings.at);
        !used.contains(&place) && seen.insert(place)
    });
    found.extend(missing.into_iter().map(|(settings, what, manager)| {
        let listener = manager.listener.label();
        settings.found("", format!("no {what} is in the chain of listener `{listener}`: this has no effect"))
    }));
}

/// The filters that a request on a route passes: those of the listener, of the router, and of the route's clusters.
fn filters_of<'a>(proxy: &Proxy<'a>, manager: &Manager<'a>, route: &Route<'a>) -> Vec<Node<'a>> {
    let own = manager.filters();
    let clusters = route.clusters().into_iter().filter_map(|name| proxy.cluster(name));
    let of_clusters = clusters.filter_map(|cluster| cluster.http.as_ref());
    let upstream: Vec<Node<'a>> = own
        .iter()
        .flat_map(|filter| filter.fields().items("/upstream_http_filters"))
        .chain(of_clusters.flat_map(|http| http.items("/http_filters")))
        .collect();
    own.into_iter().chain(upstream).collect()
}

/// Suffixes of the filters that use `rate_limits`.
const LIMITS: [&str; 4] = [".RateLimit", ".LocalRateLimit", ".ratelimit", ".local_ratelimit"];
/// Filters that contain other filters.
const CHOOSING: [&str; 3] = ["ExtensionWithMatcher", "Composite", "FilterChainConfig"];
/// A wrapper around the settings of any filter.
const ANY: &str = "envoy.config.route.v3.FilterConfig";

/// Returns true if settings are valid without their filter: they disable it, or are optional.
fn is_nothing(settings: &Node<'_>) -> bool {
    let (of, message) = settings.message();
    message.is_set("/disabled") || of == ANY && message.is_set("/is_optional")
}

/// Returns true if settings belong to the same package as a filter: older releases matched them by type.
fn is_of_type(filter: &Node<'_>, settings: &Node<'_>) -> bool {
    let package = |of: &str| of.rsplit_once('.').map(|(package, _)| package.to_owned()).unwrap_or_default();
    let (of, message) = settings.message();
    let inner = if of == ANY { message.get("/config") } else { None };
    let of = inner.as_ref().map_or(of, |inner| inner.message().0);
    let of_filter = package(filter.extension());
    of_filter.contains(".filters.") && of_filter == package(of)
}
