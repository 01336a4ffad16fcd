//! The stream idle timeout cuts short a longer timeout.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "stream-idle-timeout",
    severity: Severity::Warning,
    title: "the stream idle timeout cuts a longer route timeout short",
    why: "By default, Envoy ends a stream on which nothing moves for 5 minutes, whatever the timeout of the route: a server that works for 6 minutes never answers.",
    cure: "Set `idle_timeout` on the route, too.",
    source: "operations-puppet of Wikimedia, change 039059f1; https://github.com/vllm-project/aibrix/issues/1810",
    check,
};

const DEFAULT: f64 = 300.0;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for route in &proxy.routes {
        let Some(action) = route.action() else { continue };
        let stated = action.seconds("/timeout").unwrap_or_default();
        let manager = proxy.managers.get(route.manager);
        let of_streams =
            manager.and_then(|manager| manager.node.seconds("/stream_idle_timeout")).unwrap_or(DEFAULT);
        if stated > of_streams && of_streams > 0.0 && !action.has("/idle_timeout") {
            let message = format!(
                "this route has a timeout of {stated} s, but a stream without data ends after {of_streams} s"
            );
            found.push(
                action.found("/timeout", message).set(action.field("/idle_timeout"), format!("{stated}s")),
            );
        }
    }
}
