//! Rules about paths that are not normalised.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Node, Proxy};

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
        let Some(filter) = manager.filters().into_iter().find(has_rules_of_paths) else { continue };
        found.push(
            filter.found(
                "/name",
                "rules of this filter are about paths, and paths are not normalised before it",
            ),
        );
    }
    found
}

/// Whether a filter decides by paths that are not that of everything.
fn has_rules_of_paths(filter: &Node<'_>) -> bool {
    let of = filter.extension();
    let mut is_of_paths = false;
    if of.ends_with(".rbac.v3.RBAC") {
        filter.fields().walk(&mut |node| is_of_paths |= node.has("/url_path"));
    } else if of.ends_with(".JwtAuthentication") {
        for rule in filter.fields().items("/rules") {
            let prefix = rule.text("/match/prefix");
            is_of_paths |= !prefix.is_empty() && prefix != "/" || rule.has("/match/path");
        }
    }
    is_of_paths
}
