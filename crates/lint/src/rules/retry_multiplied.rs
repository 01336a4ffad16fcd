//! Retries of one listener multiply those of another.

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "retry-multiplied",
    severity: Severity::Warning,
    title: "retries of one listener multiply those of another",
    why: "If a listener that retries forwards to another that retries, the server gets the product of their tries: 3 times 3 is 9, just when it is overloaded.",
    cure: "Retry at one place, nearest to the server.",
    source: "https://sre.google/sre-book/addressing-cascading-failures/",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for (policy, routes) in proxy.retry_policies() {
        let behind = routes.into_iter().map(|route| retries_behind(proxy, route)).fold(0.0, f64::max);
        let own = Route::retries_of(&policy);
        if behind > 0.0 && own > 0.0 {
            let tries = (own + 1.0) * (behind + 1.0);
            found.push(policy.found(
                "/retry_on",
                format!("the listener behind retries too: the server may get {tries} tries of one request"),
            ));
        }
    }
}

/// The retries of the listener behind a route. It is not known which route a request takes there, so the smallest number of retries counts.
fn retries_behind(proxy: &Proxy<'_>, route: &Route<'_>) -> f64 {
    let inner = proxy.own_routes(route).into_iter().filter(|inner| inner.action().is_some());
    let retries = |inner: &Route<'_>| inner.retries().map_or(0.0, |policy| Route::retries_of(&policy));
    inner.map(retries).reduce(f64::min).unwrap_or_default()
}
