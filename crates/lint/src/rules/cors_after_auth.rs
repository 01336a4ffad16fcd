//! CORS is answered behind a filter that denies.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Node, Proxy};

pub(super) static RULE: Rule = Rule {
    id: "cors-after-auth",
    severity: Severity::Warning,
    title: "CORS is answered behind a filter that denies",
    why: "A browser asks with OPTIONS and without credentials first; the filter in front refuses that, so no page of another origin ever gets an answer.",
    cure: "Place the CORS filter before those that deny.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/cors_filter; the Fetch standard, \"CORS-preflight fetch\"",
    check,
};

/// Filters that deny a request without credentials.
const DENY: [&str; 5] = ["JwtAuthentication", "ExtAuthz", "BasicAuth", "ApiKeyAuth", "OAuth2"];

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for manager in &proxy.managers {
        let filters = manager.filters();
        let denies =
            |filter: &Node<'_>| DENY.iter().any(|end| filter.extension().rsplit('.').next() == Some(end));
        let Some(first) = filters.iter().position(denies) else { continue };
        let is_cors = |filter: &&Node<'_>| filter.extension().ends_with(".cors.v3.Cors");
        for filter in filters.iter().skip(first).filter(is_cors) {
            let before = filters.get(first).map(Node::name).unwrap_or_default();
            found.push(filter.found(
                "/name",
                format!("`{before}` before it refuses the question that a browser asks first"),
            ));
        }
    }
    found
}
