//! Outlier detection that cannot eject any server.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "outlier-ejects-none",
    severity: Severity::Warning,
    title: "outlier detection that cannot eject any server",
    why: "By default, at most 10 % of the servers are ejected, and 10 % of fewer than ten servers is none.",
    cure: "Set `max_ejection_percent` to the share of servers that may be missing, or set `always_eject_one_host`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/outlier_detection.proto",
    check,
};

const DEFAULT: f64 = 10.0;

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for cluster in &proxy.clusters {
        let Some(detection) = cluster.node.get("/outlier_detection") else { continue };
        let count = cluster.endpoints().len();
        // A name may resolve to many servers.
        let is_known = cluster.is_static() && count > 1;
        let most = detection.number("/max_ejection_percent").unwrap_or(DEFAULT);
        // A stated 0 means that the owner only wants to observe.
        if is_known
            && most > 0.0
            && most * (count as f64) < 100.0
            && !detection.is_set("/always_eject_one_host")
        {
            let message = format!(
                "at most {most} % of the {count} servers of cluster `{}` may be ejected, which is none",
                cluster.name()
            );
            found.push(
                detection
                    .found("/max_ejection_percent", message)
                    .set(detection.field("/always_eject_one_host"), true),
            );
        }
    }
}
