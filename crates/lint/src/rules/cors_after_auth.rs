//! The CORS filter comes after a filter that denies requests.

use crate::found::Found;
use crate::proxy::{Manager, Node, Places, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "cors-after-auth",
    severity: Severity::Warning,
    title: "the CORS filter is behind a filter that denies requests",
    why: "A browser first sends a preflight request: OPTIONS without credentials. The filter in front refuses it, so no page of another origin ever gets an answer.",
    cure: "Place the CORS filter before the filters that deny requests.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/cors_filter; the Fetch standard, \"CORS-preflight fetch\"",
    check,
};

/// Filters that deny a request without credentials.
const DENY: [&str; 5] = ["JwtAuthentication", "ExtAuthz", "BasicAuth", "ApiKeyAuth", "OAuth2"];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // The filter has no effect unless a route, or a level around it, has a policy.
    let fields = proxy.index.with_any(&["cors"]).into_iter();
    let policies =
        Places::new(fields.chain(proxy.index.of_type(|of| of.ends_with(".cors.v3.CorsPolicy"))).collect());
    let has_policy = |manager: &&Manager<'_>| {
        manager.node.get("/route_config").is_some_and(|table| policies.has_inside(&table))
    };
    for manager in proxy.managers.iter().filter(has_policy) {
        let filters = manager.filters();
        let Some(first) = filters.iter().position(denies) else { continue };
        let is_cors = |filter: &&Node<'_>| filter.extension().ends_with(".cors.v3.Cors");
        for filter in filters.iter().skip(first).filter(is_cors) {
            let before = filters.get(first).map(Node::name).unwrap_or_default();
            found.push(filter.found(
                "/name",
                format!("`{before}` is in front of it and refuses the preflight requests of browsers"),
            ));
        }
    }
}

/// Returns true if a filter denies a preflight request, which has no credentials.
fn denies(filter: &Node<'_>) -> bool {
    let of = filter.extension().rsplit('.').next().unwrap_or_default();
    DENY.contains(&of) && !filter.is_set("/disabled") && !filter.fields().is_set("/bypass_cors_preflight")
}
