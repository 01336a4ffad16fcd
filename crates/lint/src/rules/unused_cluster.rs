//! A cluster to which nothing refers.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    id: "unused-cluster",
    severity: Severity::Info,
    title: "a cluster that nothing refers to",
    why: "It costs health checks, name resolution and statistics, and may hide a wrong name elsewhere.",
    cure: "Remove it, or use it.",
    source: "operations-deployment-charts of Wikimedia, change 254cd7b4: keys that nothing read",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    // A name may also come from a header, a plugin or the node.
    if !proxy.is_complete || proxy.listeners.is_empty() || proxy.index.has_any(&NAMED_ELSEWHERE) {
        return;
    }
    let mut named: HashMap<&str, usize> = proxy.clusters.iter().map(|cluster| (cluster.name(), 0)).collect();
    let mut texts = Vec::new();
    for text in proxy.index.texts() {
        if text.contains(['\n', ' ', ':', ',']) {
            texts.push(text);
        } else if let Some(number) = named.get_mut(text) {
            *number += 1;
        }
    }
    let unused = proxy.clusters.iter().filter(|cluster| {
        // Counts its own name, and the name in its endpoints.
        let own = 1 + usize::from(cluster.node.text("/load_assignment/cluster_name") == cluster.name());
        let is_named = named.get(cluster.name()).copied().unwrap_or_default() > own;
        !is_named && !texts.iter().any(|text| text.contains(cluster.name()))
    });
    found.extend(unused.map(|cluster| {
        let message = format!("nothing refers to cluster `{}`", cluster.name());
        cluster.node.found("/name", message).remove(&cluster.node.at)
    }));
}

/// Fields that choose a cluster at run time.
const NAMED_ELSEWHERE: [&str; 4] =
    ["cluster_header", "cluster_specifier_plugin", "inline_cluster_specifier_plugin", "dynamic_resources"];
