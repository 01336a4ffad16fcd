//! Idle connections are kept longer than servers keep them.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "keepalive-race",
    severity: Severity::Warning,
    title: "idle connections are kept longer than servers keep them",
    why: "If the server closes a connection at the moment when the proxy sends the next request on it, that request is lost: 503 with `UC`. Node.js closes after 5 s without a request, Apache after 5 s, nginx after 75 s.",
    cure: "Let the proxy close first: set `idle_timeout` below the idle timeout of the server, such as 4 s to 4.5 s for Node.js.",
    source: "https://phabricator.wikimedia.org/T247484, T263043; https://github.com/envoyproxy/envoy/issues/14981; docs/results/keepalive-race.md",
    check,
};

/// The longest default of common servers, in seconds: that of nginx.
const LONGEST: f64 = 75.0;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // With HTTP/2, a server announces the end of a connection, so no request is lost.
    for cluster in proxy.clusters.iter().filter(|cluster| cluster.has_routes && !cluster.is_http2()) {
        let Some(idle) = cluster.common_option("idle_timeout") else { continue };
        let Some(seconds) = idle.seconds("") else { continue };
        if seconds == 0.0 || seconds > LONGEST {
            let message = format!(
                "cluster `{}` keeps idle connections longer than common servers do, which close them after 5 s to 75 s",
                cluster.name()
            );
            found.push(idle.found("", message));
        }
    }
}
