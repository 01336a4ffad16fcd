//! A route without a timeout.

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "timeout-off",
    severity: Severity::Info,
    title: "a route without a timeout",
    why: "With `timeout: 0s` a request that hangs holds its connection, its memory and its place in the circuit breaker until a stream idles out.",
    cure: "Set a timeout that no healthy response exceeds, unless the route is for streams.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let actions =
        proxy.routes.iter().filter(|route| !route.node.has("/match/grpc")).filter_map(Route::action);
    let off =
        actions.filter(|action| action.seconds("/timeout") == Some(0.0) && !action.has("/upgrade_configs"));
    found.extend(off.map(|action| action.found("/timeout", "requests of this route never time out")));
}
