//! X-forwarded-proto is appended to an existing value.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "forwarded-proto-appended",
    severity: Severity::Warning,
    title: "a value is appended to x-forwarded-proto",
    why: "Envoy sets x-forwarded-proto itself, so appending gives `http,https`, which no application understands. With a wrong scheme, an application redirects to https for ever: at Wikimedia, for 15 hours and 1.4 million requests on 2020-07-14.",
    cure: "Overwrite it: `append_action: OVERWRITE_IF_EXISTS_OR_ADD`.",
    source: "Wikimedia incident of 2020-07-14; operations-puppet, change 759b2e6a",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut seen = BTreeSet::new();
    for route in &proxy.routes {
        for owner in [&route.node, &route.host, &route.table] {
            if !seen.insert(owner.at.clone()) {
                continue;
            }
            let removed = owner.items("/request_headers_to_remove");
            if removed.iter().any(|name| is_meant(name.text(""))) {
                continue;
            }
            for header in owner.items("/request_headers_to_add") {
                // The older field takes effect if it is set, and Envoy rejects another action next to it.
                let has_old = header.has("/append");
                let is_appended = if has_old {
                    header.is_set("/append")
                } else {
                    ["", "APPEND_IF_EXISTS_OR_ADD"].contains(&header.text("/append_action"))
                };
                if is_meant(header.text("/header/key")) && is_appended {
                    let one = header.found(
                        "/header",
                        "the server gets two values in x-forwarded-proto: Envoy sets one, and this appends another",
                    );
                    found.push(if has_old {
                        one.set(header.field("/append"), false)
                    } else {
                        one.set(header.field("/append_action"), "OVERWRITE_IF_EXISTS_OR_ADD")
                    });
                }
            }
        }
    }
}

fn is_meant(name: &str) -> bool {
    name.eq_ignore_ascii_case("x-forwarded-proto")
}
