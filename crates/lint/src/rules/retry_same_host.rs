//! A retry may go to the server that just failed.

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "retry-same-host",
    severity: Severity::Info,
    title: "a retry may go to the server that just failed",
    why: "With several servers, a retry helps only if it goes to another one.",
    cure: "Add the predicate `envoy.retry_host_predicates.previous_hosts` to the retry policy.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for (policy, routes) in proxy.retry_policies() {
        let names = routes.into_iter().flat_map(Route::clusters);
        let mut clusters = names.filter_map(|name| proxy.cluster(name));
        let has_several = clusters.any(|cluster| cluster.endpoints().len() > 1);
        if has_several && !policy.has("/retry_host_predicate") {
            let predicate = serde_json::json!([{
                "name": "envoy.retry_host_predicates.previous_hosts",
                "typed_config": {"@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"},
            }]);
            let one = policy.found(
                "/retry_on",
                "a retry may go to the server that just failed, although there are others",
            );
            found.push(one.set(policy.field("/retry_host_predicate"), predicate));
        }
    }
}
