//! Rules apply to paths that are not normalised.

use crate::found::{Found, Price};
use crate::proxy::{Node, Places, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "path-not-normalised",
    severity: Severity::Warning,
    title: "access rules match paths that are not normalised",
    why: "A path such as /public/../admin matches the rule for /public, but reaches /admin. Rules of RBAC and JWT have been bypassed in \
        this way.",
    cure: "Set `normalize_path: true`, `merge_slashes: true` and `path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT`.",
    source: "CVE-2019-9901; https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // RBAC conditions about paths.
    let conditions = Places::new(proxy.index.with_any(&["url_path"]));
    let mut of_routes = proxy.index.of_type(|of| of.ends_with(".RBACPerRoute"));
    of_routes.retain(|rules| conditions.has_inside(rules));
    let of_routes = Places::new(of_routes);
    for manager in proxy.managers.iter().filter(|manager| !manager.node.has("/normalize_path")) {
        let filters = manager.filters();
        if let Some(filter) = filters.iter().find(|filter| has_rules_of_paths(filter, &conditions)) {
            let one = filter
                .found("/name", "rules of this filter match paths, but paths are not normalised before it");
            found.push(one.at_price(Price::OfCure("path/normalize")));
        }
        let Some(table) = manager.node.get("/route_config") else { continue };
        let rules = of_routes.inside(&table);
        found.extend(rules.map(|rules| {
            rules.found("", "these rules match paths, but paths are not normalised before them")
        }));
    }
}

/// Ways to match a path, besides the prefix that matches everything.
const PATHS: [&str; 4] = ["/path", "/path_separated_prefix", "/safe_regex", "/path_match_policy"];

/// Returns true if a filter has rules for some paths, not only one rule for all paths.
fn has_rules_of_paths(filter: &Node<'_>, conditions: &Places<'_>) -> bool {
    let of = filter.extension();
    if of.ends_with(".rbac.v3.RBAC") {
        return conditions.has_inside(&filter.fields());
    }
    let is_of_path = |rule: &Node<'_>| {
        let prefix = rule.text("/match/prefix");
        let has_path = PATHS.iter().any(|field| rule.has(&format!("/match{field}")));
        has_path || !prefix.is_empty() && prefix != "/"
    };
    of.ends_with(".JwtAuthentication") && filter.fields().items("/rules").iter().any(is_of_path)
}
