//! A local rate limit that limits nothing.

use crate::found::Found;
use crate::proxy::{Places, Proxy};
use crate::rule::{Rule, Severity};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "rate-limit-off",
    severity: Severity::Error,
    title: "a local rate limit that limits nothing",
    why: "Without `filter_enabled` and `filter_enforced`, the filter acts on 0 % of the requests: it is loaded, counts nothing, and every request passes.",
    cure: "Set both to 100 %.",
    source: "https://github.com/envoyproxy/envoy/issues/14992; https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/local_ratelimit/v3/local_rate_limit.proto",
    check,
};

const LIMIT: &str = "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit";

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // A filter may be off because routes have their own limits. Limits in a table outside of the file are not known.
    let limits = Places::new(proxy.index.of_type(|of| of == LIMIT));
    let mut bases = BTreeSet::new();
    for manager in &proxy.managers {
        let Some(table) = manager.node.get("/route_config") else {
            bases.extend(manager.filters().iter().map(|filter| filter.fields().at));
            continue;
        };
        if limits.has_inside(&table) {
            bases.extend(manager.filters().iter().map(|filter| filter.fields().at));
        }
    }
    for node in limits.inside(&proxy.root) {
        let (_, limit) = node.message();
        if !limit.has("/token_bucket") || bases.contains(&limit.at) {
            continue;
        }
        let message = if !limit.has("/filter_enabled") {
            "this rate limit has no `filter_enabled`, whose default is 0 %: it limits nothing"
        } else if !limit.has("/filter_enforced") {
            "this rate limit has no `filter_enforced`, whose default is 0 %: it counts, and lets every request pass"
        } else {
            continue;
        };
        found.push(limit.found("/token_bucket", message));
    }
}
