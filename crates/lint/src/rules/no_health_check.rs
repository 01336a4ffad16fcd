//! A cluster has several servers, but nothing detects that one is gone.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "no-health-check",
    severity: Severity::Info,
    title: "several servers, and nothing notices when one fails",
    why: "Without health checks and outlier detection, a dead server gets its share of the requests until somebody notices.",
    cure: "Add `health_checks` or `outlier_detection`.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/health_checking",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let blind = proxy.clusters.iter().filter(|cluster| {
        let checks = ["/health_checks", "/outlier_detection"];
        cluster.endpoints().len() > 1 && !checks.iter().any(|field| cluster.node.has(field))
    });
    found.extend(blind.map(|cluster| {
        let message = format!(
            "nothing notices when one of the {} servers of cluster `{}` fails",
            cluster.endpoints().len(),
            cluster.name()
        );
        cluster.node.found("/name", message)
    }));
}
