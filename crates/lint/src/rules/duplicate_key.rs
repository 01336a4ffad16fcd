//! A key occurs twice in a mapping.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use hoptax_bootstrap::Duplicate;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-key",
    severity: Severity::Error,
    title: "a key is in one mapping twice",
    why: "Of equal keys in YAML, Envoy takes the last and says nothing. Files in JSON are not searched for them. At Wikimedia a second key of the same name took the place of the first without a word (operations-puppet, change 3ce57d8a).",
    cure: "Keep one of the two; merge them if both hold something that is meant.",
    source: "https://gerrit.wikimedia.org/r/plugins/gitiles/operations/puppet/ change 3ce57d8a; yaml-cpp, as Envoy reads YAML",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let duplicates = proxy.configuration.duplicates();
    found.extend(duplicates.into_iter().map(|Duplicate { text, place, key }| {
        Found::elsewhere(
            text,
            place,
            format!("the key `{key}` is in this mapping twice, and Envoy takes the last"),
        )
    }));
}
