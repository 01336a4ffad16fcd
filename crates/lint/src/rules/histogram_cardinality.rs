//! Many clusters with all of their statistics.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "histogram-cardinality",
    severity: Severity::Info,
    title: "many clusters with all of their statistics",
    why: "Each cluster has about a hundred statistics, and each histogram about twenty series. They fill the memory of the proxy and of the system that scrapes it.",
    cure: "Choose the statistics to keep in `stats_config.stats_matcher`, and the bounds of histograms in `histogram_bucket_settings`.",
    source: "https://phabricator.wikimedia.org/T391333; https://github.com/envoyproxy/envoy/issues/7525",
    check,
};

const MANY: usize = 100;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let is_limited = ["stats_matcher", "histogram_bucket_settings"]
        .iter()
        .any(|field| proxy.root.has(&format!("/stats_config/{field}")));
    // A file of clusters cannot contain such a limit.
    if let Some(next) = proxy.clusters.get(MANY).filter(|_| !is_limited && !proxy.is_part) {
        let count = proxy.clusters.len();
        let message =
            format!("{count} clusters, but neither `stats_matcher` nor `histogram_bucket_settings`");
        found.push(next.node.found("/name", message));
    }
}
