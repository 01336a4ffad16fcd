//! There is no limit for all connections together.

use hoptax_result::counted;

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "connection-limit",
    severity: Severity::Info,
    title: "no limit on the total number of connections",
    why: "Each connection uses a file descriptor. When none is left, nothing works, not even the interface that would show why.",
    cure: "Add the resource monitor `envoy.resource_monitors.global_downstream_max_connections` to the overload manager.",
    source: "operations-puppet of Wikimedia, change 2b7fcf3b; https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // A file of listeners cannot contain such a limit.
    if proxy.is_part || proxy.has_global_limit() {
        return;
    }
    let open = proxy.listeners.iter().filter(|listener| listener.is_open_to_others());
    let limits = proxy.listener_limits();
    let open: Vec<&Node<'_>> = open.filter(|listener| !limits.has(listener)).collect();
    found.extend(open.first().map(|first| {
        let count = counted(open.len() as u64, "listener");
        first.found("/name", format!("nothing limits the connections of {count} to other machines"))
    }));
}
