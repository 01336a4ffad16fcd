//! Two clusters have the same name.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-cluster",
    severity: Severity::Error,
    title: "two clusters have the same name",
    why: "Envoy refuses the file. Where files are merged, the first cluster wins: at Wikimedia, listeners that shared the name of a cluster got the options of the one that came first, and the others lost their keepalive.",
    cure: "Rename one of them, for instance after what differs.",
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
