//! Rules about paths that are not normalised.

use crate::found::{Found, Price};
use crate::proxy::{Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "path-not-normalised",
    severity: Severity::Warning,
    title: "rules about paths that are not normalised",
    why: "A path such as /public/../admin matches the rule for /public and reaches /admin: rules of RBAC and JWT were got around so.",
    cure: "Set `normalize_path: true`, `merge_slashes: true` and `path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT`.",
    source: "CVE-2019-9901; https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for manager in proxy.managers.iter().filter(|manager| !manager.node.has("/normalize_path")) {
        if let Some(filter) = manager.filters().into_iter().find(has_rules_of_paths) {
            let one = filter.found(
                "/name",
                "rules of this filter are about paths, and paths are not normalised before it",
            );
            found.push(one.at_price(Price::OfCure("path/normalize")));
        }
        let Some(table) = manager.node.get("/route_config") else { continue };
        table.walk(&mut |node| {
            if node.message_type().ends_with(".RBACPerRoute") && is_about_paths(node) {
                found.push(
                    node.found("", "these rules are about paths, and paths are not normalised before them"),
                );
            }
        });
    }
    found
}

/// Returns true if conditions of RBAC are about paths.
fn is_about_paths(rules: &Node<'_>) -> bool {
    let mut is_about_paths = false;
    rules.walk(&mut |node| is_about_paths |= node.has("/url_path"));
    is_about_paths
}

/// Ways to match a path, beside that of everything by its prefix.
const PATHS: [&str; 4] = ["/path", "/path_separated_prefix", "/safe_regex", "/path_match_policy"];

/// Returns true if a filter has rules for some paths, not only one for all of them.
fn has_rules_of_paths(filter: &Node<'_>) -> bool {
    let of = filter.extension();
    if of.ends_with(".rbac.v3.RBAC") {
        return is_about_paths(&filter.fields());
    }
    let is_of_path = |rule: &Node<'_>| {
        let prefix = rule.text("/match/prefix");
        let has_path = PATHS.iter().any(|field| rule.has(&format!("/match{field}")));
        has_path || !prefix.is_empty() && prefix != "/"
    };
    of.ends_with(".JwtAuthentication") && filter.fields().items("/rules").iter().any(is_of_path)
}
