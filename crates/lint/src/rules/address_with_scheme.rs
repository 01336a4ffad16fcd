//! An address that is not a host name.

use std::net::Ipv6Addr;

use crate::found::Found;
use crate::proxy::{Address, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "address-with-scheme",
    severity: Severity::Error,
    title: "an address that is not a host name",
    why: "Envoy starts, the name never resolves, and every request gets 503 with `UH`.",
    cure: "Write the bare host into `address` and the port into `port_value`.",
    source: "https://github.com/envoyproxy/envoy/issues/26720",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in &proxy.clusters {
        for Address { socket, host, .. } in cluster.addresses() {
            // A custom resolver may accept any text.
            if !socket.has("/resolver_name") && !is_host(host) {
                found.push(socket.found(
                    "/address",
                    format!(
                        "`{host}` is not a host name or address and never resolves: write the bare host here, and the port into \
                         `port_value`"
                    ),
                ));
            }
        }
    }
}

/// Returns true if a text may be a host name or an address.
fn is_host(text: &str) -> bool {
    let without_zone = text.split('%').next().unwrap_or_default();
    !text.contains(['/', ' ', '@', '?', '#', '[', ']'])
        && (!text.contains(':') || without_zone.parse::<Ipv6Addr>().is_ok())
}
