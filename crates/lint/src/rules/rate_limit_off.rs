//! A local rate limit that limits nothing.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::Proxy;

pub(super) static RULE: Rule = Rule {
    id: "rate-limit-off",
    severity: Severity::Error,
    title: "a local rate limit that limits nothing",
    why: "Without `filter_enabled` and `filter_enforced` the filter acts on 0 % of the requests: it is loaded, counts nothing, and every request passes.",
    cure: "Set both to 100 %.",
    source: "https://github.com/envoyproxy/envoy/issues/14992; https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/local_ratelimit/v3/local_rate_limit.proto",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    proxy.root.walk(&mut |node| {
        let (of, limit) = node.message();
        let is_limit = of == "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit";
        if !is_limit || !limit.has("/token_bucket") {
            return;
        }
        let missing: Vec<&str> =
            ["filter_enabled", "filter_enforced"].into_iter().filter(|field| !limit.has(&format!("/{field}"))).collect();
        if missing.is_empty() {
            return;
        }
        let message = if missing.contains(&"filter_enabled") {
            "this rate limit has no `filter_enabled`, whose default is 0 %: it limits nothing"
        } else {
            "this rate limit has no `filter_enforced`, whose default is 0 %: it counts, and lets every request pass"
        };
        let always = serde_json::json!({"default_value": {"numerator": 100, "denominator": "HUNDRED"}});
        let one = limit.found("/token_bucket", message);
        found.push(missing.iter().fold(one, |one, field| one.set(limit.field(&format!("/{field}")), always.clone())));
    });
    found
}
