//! Two clusters have the same name.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-cluster",
    severity: Severity::Error,
    title: "two clusters have the same name",
    why: "Envoy refuses the file, or with files that are put together the first one wins: at Wikimedia listeners that shared a cluster by its name got the options of whichever came first, and the keepalive of the others was lost.",
    cure: "Rename one, or put what differs into the name.",
    source: "operations-puppet of Wikimedia, modules/profile/manifests/services_proxy/envoy.pp",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut seen = BTreeSet::new();
    let again = proxy.clusters.iter().filter(|cluster| !seen.insert(cluster.name()));
    found.extend(again.map(|cluster| {
        cluster.node.found("/name", format!("a second cluster is called `{}`", cluster.name()))
    }));
}
