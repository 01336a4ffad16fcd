//! The admin interface can be reached from other machines.

use crate::found::Found;
use crate::proxy::{Proxy, is_loopback};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "admin-exposed",
    severity: Severity::Warning,
    title: "the admin interface can be reached from other machines",
    why: "Anyone who reaches it can stop the proxy, drain its listeners, and read its configuration with certificates and addresses. It has no authentication.",
    cure: "Bind it to 127.0.0.1 or to a Unix socket, and pass what others need, such as /stats/prometheus, through a listener with a route to it.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/operations/admin; operations-deployment-charts of Wikimedia, change 3ba50654",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let socket = proxy.root.get("/admin/address/socket_address");
    let exposed = socket.filter(|socket| !is_loopback(socket.text("/address")));
    found.extend(exposed.map(|socket| {
        let message =
            "the admin interface does not listen on loopback: anyone who reaches it can stop this proxy";
        socket.found("/address", message)
    }));
}
