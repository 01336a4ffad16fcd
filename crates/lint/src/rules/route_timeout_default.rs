//! A route has the default timeout of 15 s.

use hoptax_result::counted;

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    id: "route-timeout-default",
    severity: Severity::Info,
    title: "a route has the default timeout of 15 s",
    why: "If a response is not complete after 15 s, Envoy ends it with 504, whatever the server is doing.",
    cure: "Set `timeout` on the route.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto; https://github.com/envoyproxy/envoy/issues/14606",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut without: BTreeMap<&str, Vec<Node<'_>>> = BTreeMap::new();
    for route in &proxy.routes {
        let Some(action) = route.action() else { continue };
        if !action.has("/timeout") && !action.has("/max_stream_duration") {
            without.entry(&route.host.at).or_default().push(action);
        }
    }
    found.extend(without.into_values().filter_map(|actions| {
        let count = counted(actions.len() as u64, "route");
        let first = actions
            .first()?
            .found("", format!("{count} of this host without `timeout`: a response ends after 15 s"));
        Some(actions.iter().fold(first, |one, action| one.set(action.field("/timeout"), "15s")))
    }));
}
