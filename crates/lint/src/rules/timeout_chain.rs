//! A listener times out before the listener behind it.

use crate::found::Found;
use crate::proxy::{Proxy, Route};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "timeout-chain",
    severity: Severity::Warning,
    title: "a listener gives up before the one behind it",
    why: "The listener in front answers 504 and gives the request up, so the longer timeout and the retries of the listener behind have no effect, and the server continues work that nobody waits for.",
    cure: "Let timeouts shrink from the client to the server.",
    source: "operations-mediawiki-config of Wikimedia, change 31fcd1bb",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for route in &proxy.routes {
        let Some(action) = route.action() else { continue };
        let inner = proxy.own_routes(route).into_iter().filter(|inner| inner.action().is_some());
        // A request may take any of these routes, so the finding is certain only if all their timeouts are too long.
        let Some(shortest) = inner.map(Route::timeout).reduce(f64::min) else { continue };
        if shortest > route.timeout() {
            let longer = if shortest.is_finite() { format!("{shortest} s") } else { "no timeout".to_owned() };
            let message = format!(
                "this route gives up after {} s, but the listener behind it has {longer}",
                route.timeout()
            );
            found.push(action.found("/timeout", message));
        }
    }
}
