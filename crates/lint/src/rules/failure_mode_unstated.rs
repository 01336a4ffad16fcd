//! A filter does not state its behaviour when the service that decides about requests fails.

use crate::found::Found;
use crate::proxy::{Manager, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "failure-mode-unstated",
    severity: Severity::Info,
    title: "a filter does not state what happens to requests when its service fails",
    why: "By default, a rate limit then admits every request, and an authorization denies every request: a surprise in an outage.",
    cure: "Set `failure_mode_deny` of the rate limit, or `failure_mode_allow` of the authorization or the external processor.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/ratelimit/v3/rate_limit.proto; https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/ext_authz/v3/ext_authz.proto",
    check,
};

const FILTERS: [(&str, &str, &str); 3] = [
    ("envoy.extensions.filters.http.ratelimit.v3.RateLimit", "failure_mode_deny", "admits every request"),
    ("envoy.extensions.filters.http.ext_authz.v3.ExtAuthz", "failure_mode_allow", "denies every request"),
    (
        "envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
        "failure_mode_allow",
        "answers every request with 500",
    ),
];

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for filter in proxy.managers.iter().flat_map(Manager::filters) {
        let Some((_, field, what)) = FILTERS.iter().find(|(of, ..)| filter.extension() == *of) else {
            continue;
        };
        let fields = filter.fields();
        if !fields.has(&format!("/{field}")) {
            let one = filter.found(
                "/name",
                format!("if its service fails, this filter {what}: set `{field}` to confirm or change that"),
            );
            found.push(one.set(fields.field(&format!("/{field}")), false));
        }
    }
}
