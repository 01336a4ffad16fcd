//! A local listener for IPv4 only.

use std::collections::BTreeSet;

use crate::found::Found;
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "listener-ipv4-only",
    severity: Severity::Info,
    title: "a local listener on IPv4 only",
    why: "Clients that resolve `localhost` to ::1 first, as Node.js does since 17, are refused.",
    cure: "Add ::1 in `additional_addresses`.",
    source: "https://phabricator.wikimedia.org/T255568, T355686",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let port_of = |socket: &Node<'_>| socket.number("/port_value").unwrap_or_default() as u64;
    let all = proxy.listeners.iter().flat_map(Node::sockets);
    let of_six: BTreeSet<u64> =
        all.filter(|socket| socket.text("/address").contains(':')).map(|socket| port_of(&socket)).collect();
    for listener in &proxy.listeners {
        let Some(socket) = listener.get("/address/socket_address") else { continue };
        if socket.text("/address") == "127.0.0.1" && !of_six.contains(&port_of(&socket)) {
            let message = format!(
                "listener `{}` does not listen on ::1, to which some clients resolve localhost first",
                listener.label()
            );
            found.push(socket.found("/address", message));
        }
    }
}
