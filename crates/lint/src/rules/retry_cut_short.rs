//! The timeout of a route ends before its retries can complete.

use hoptax_result::grouped;

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "retry-cut-short",
    severity: Severity::Warning,
    title: "the timeout of a route ends before all its tries can finish",
    why: "The tries need more time than the route allows, so the last of them are cut off or never begin.",
    cure: "Set the timeout of the route to at least `per_try_timeout` times the number of tries.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for (policy, routes) in proxy.retry_policies() {
        let Some(of_try) = policy.seconds("/per_try_timeout").filter(|seconds| *seconds > 0.0) else {
            continue;
        };
        let tries = Route::retries_of(&policy) + 1.0;
        let needed = of_try * tries;
        let shortest = routes.into_iter().map(Route::timeout).fold(f64::INFINITY, f64::min);
        if needed > shortest * 1.001 && tries > 1.0 {
            let message = format!(
                "{tries} tries of {of_try} s need {needed} s, but the route allows {shortest} s",
                needed = grouped(needed, 3)
            );
            found.push(policy.found("/per_try_timeout", message));
        }
    }
}
