//! A key occurs twice in a mapping.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use hoptax_bootstrap::Duplicate;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-key",
    severity: Severity::Error,
    title: "a key occurs twice in one mapping",
    why: "In YAML, Envoy takes the last of the two and says nothing. JSON files are not checked for this. At Wikimedia, a second key of the same name silently replaced the first (operations-puppet, change 3ce57d8a).",
    cure: "Keep one of the two; merge them if the values of both are needed.",
    source: "https://gerrit.wikimedia.org/r/plugins/gitiles/operations/puppet/ change 3ce57d8a; yaml-cpp, as Envoy reads YAML",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let duplicates = proxy.configuration.duplicates();
    found.extend(duplicates.into_iter().map(|Duplicate { text, place, key }| {
        Found::elsewhere(
            text,
            place,
            format!("the key `{key}` occurs twice in this mapping, and Envoy takes the last"),
        )
    }));
}
