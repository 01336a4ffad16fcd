//! Headers for internal clients are used, but no address is internal.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "internal-address",
    severity: Severity::Warning,
    title: "headers for internal clients, but no address is internal",
    why: "Since Envoy 1.33, no address is internal unless the file says so: Envoy removes the `x-envoy-` headers of every client, and features that depend on them stop working.",
    cure: "List the internal networks in `internal_address_config.cidr_ranges`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/version_history/v1.33/v1.33.0",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for manager in &proxy.managers {
        if manager.node.has("/internal_address_config") {
            continue;
        }
        let Some(table) = manager.node.get("/route_config") else { continue };
        let mut first = table.get("/internal_only_headers");
        for route in table.items("/virtual_hosts").iter().flat_map(|host| host.items("/routes")) {
            let headers = route.items("/match/headers");
            let of_internal =
                headers.into_iter().find(|header| header.name().eq_ignore_ascii_case("x-envoy-internal"));
            first = first.or(of_internal);
        }
        if let Some(node) = first {
            found.push(
                node.found("", "since Envoy 1.33, no client is internal without `internal_address_config`"),
            );
        }
    }
}
