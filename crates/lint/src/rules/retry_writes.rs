//! Requests with side effects are retried.

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "retry-writes",
    severity: Severity::Warning,
    title: "requests that change something are retried",
    why: "After `5xx`, `reset` or a timeout, the server may already have done the work, and a retry does it again: two orders, two videos. At Wikimedia, the entry of shellbox-video says not to retry for this reason.",
    cure: "Retry on `connect-failure,refused-stream` only, or retry more only on a separate route for methods that change nothing.",
    source: "operations-puppet of Wikimedia, hieradata of services_proxy; https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/router_filter",
    check,
};

/// Retry conditions under which the server may already have acted.
const AFTER_ACTING: [&str; 4] = ["5xx", "gateway-error", "reset", "http3-post-connect-failure"];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for (policy, routes) in proxy.retry_policies() {
        let condition =
            policy.text("/retry_on").split(',').map(str::trim).find(|word| AFTER_ACTING.contains(word));
        // A route that matches methods is limited to these, and all gRPC calls use POST.
        let is_of_all = |route: &&Route<'_>| {
            let headers = route.node.items("/match/headers");
            !headers.iter().any(|header| header.name() == ":method") && !route.node.has("/match/grpc")
        };
        let Some(condition) = condition.filter(|_| routes.iter().any(is_of_all)) else { continue };
        if Route::retries_of(&policy) > 0.0 {
            found.push(policy.found(
                "/retry_on",
                format!("`{condition}` also retries requests that change something, such as POST"),
            ));
        }
    }
}
