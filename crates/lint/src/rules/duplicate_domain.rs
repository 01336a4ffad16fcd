//! Two virtual hosts have the same domain.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-domain",
    severity: Severity::Error,
    title: "two virtual hosts have the same domain",
    why: "Envoy refuses the whole route table. If it comes from a control plane, the proxy keeps its previous table.",
    cure: "Put the routes into one virtual host.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto; istioctl analyze IST0109",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for table in proxy.managers.iter().filter_map(|manager| manager.node.get("/route_config")) {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for host in table.items("/virtual_hosts") {
            for domain in host.items("/domains") {
                let name = domain.text("").to_ascii_lowercase();
                match seen.get(&name) {
                    None => drop(seen.insert(name, host.name())),
                    Some(first) => found.push(
                        domain.found("", format!("virtual host `{first}` already has the domain `{name}`")),
                    ),
                }
            }
        }
    }
}
