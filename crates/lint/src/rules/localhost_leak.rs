//! A response to other machines names localhost.

use std::collections::BTreeSet;

use crate::found::Found;
use crate::proxy::{Proxy, is_loopback};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "localhost-leak",
    severity: Severity::Warning,
    title: "a response to other machines names localhost",
    why: "A client on another machine follows the address to itself. At Wikimedia, a setting that was passed on to other machines held the address of a local listener. It broke transcoding, and the change was reverted six times.",
    cure: "Use the public name in everything that leaves the machine, and the local one for the proxy only.",
    source: "operations-mediawiki-config of Wikimedia, changes 74cf3ef5 to 855ee9ce",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut seen = BTreeSet::new();
    for route in &proxy.routes {
        if !proxy.managers.get(route.manager).is_some_and(|manager| manager.listener.is_open_to_others()) {
            continue;
        }
        let fields = ["/redirect/host_redirect", "/direct_response/body/inline_string"];
        let owners = [&route.node, &route.host, &route.table].into_iter();
        let headers = owners.flat_map(|owner| owner.items("/response_headers_to_add"));
        let headers = headers.filter_map(|header| header.get("/header/value"));
        for node in fields.iter().filter_map(|field| route.node.get(field)).chain(headers) {
            if names_this_machine(node.text("")) && seen.insert(node.at.clone()) {
                found.push(
                    node.found("", "clients on other machines are sent to localhost, that is, to themselves"),
                );
            }
        }
    }
}

fn names_this_machine(text: &str) -> bool {
    let host = text.split("://").nth(1).unwrap_or(text);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    is_loopback(host) || text.contains("://localhost") || text.contains("://127.0.0.1")
}
