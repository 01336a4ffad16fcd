//! Two listeners have the same address.

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-address",
    severity: Severity::Error,
    title: "two listeners have the same address",
    why: "Envoy refuses the second listener. In separate processes, one of the two never gets a connection: at Wikimedia, a service could not be reached because two listeners had the same port (operations-puppet, change b9b46343).",
    cure: "Give each listener a port of its own.",
    source: "https://gerrit.wikimedia.org/r/plugins/gitiles/operations/puppet/ change b9b46343",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut seen: BTreeMap<(String, u64), &Node<'_>> = BTreeMap::new();
    for listener in proxy.listeners.iter().filter(|listener| !listener.is_off("/bind_to_port")) {
        for socket in listener.sockets() {
            let port = socket.number("/port_value").unwrap_or_default() as u64;
            // Port 0 means any free port.
            if port == 0 {
                continue;
            }
            let protocol = if socket.text("/protocol") == "UDP" { "UDP" } else { "TCP" };
            let namespace = socket.text("/network_namespace_filepath");
            let address = format!("{} {protocol} {namespace}", socket.text("/address"));
            match seen.get(&(address.clone(), port)) {
                None => drop(seen.insert((address, port), listener)),
                Some(first) => {
                    let message = format!(
                        "listener `{}` has the address and port of `{}`",
                        listener.label(),
                        first.label()
                    );
                    found.push(socket.found("/port_value", message));
                }
            }
        }
    }
}
