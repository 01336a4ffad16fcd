//! Retries without a timeout for each try.

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "retry-without-try-timeout",
    severity: Severity::Warning,
    title: "retries without a timeout for each try",
    why: "The timeout of the route covers all tries together: a try that hangs uses all of it, so a request that times out is never retried. At Wikimedia, 13 of 14 listeners with retries had no timeout for each try.",
    cure: "Set `per_try_timeout` to the timeout of the route divided by the number of tries.",
    source: "operations-puppet of Wikimedia, change d5af0b53; https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto",
    check,
};

/// Retry conditions that a timed-out try meets. Source: `wouldRetryFromReset` of Envoy.
const OF_SILENCE: [&str; 3] = ["5xx", "gateway-error", "reset"];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for (policy, _) in proxy.retry_policies() {
        let is_meant = policy.text("/retry_on").split(',').any(|word| OF_SILENCE.contains(&word.trim()));
        let has_own = policy.has("/per_try_timeout") || policy.has("/per_try_idle_timeout");
        if !is_meant || has_own || Route::retries_of(&policy) == 0.0 {
            continue;
        }
        found.push(
            policy.found(
                "/retry_on",
                "a try that hangs uses up the timeout of the route, and is never retried",
            ),
        );
    }
}
