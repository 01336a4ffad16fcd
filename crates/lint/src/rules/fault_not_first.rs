//! Faults are injected behind other filters.

use crate::finding::{Found, Rule, Severity};
use crate::proxy::{Proxy, counted};

pub(super) static RULE: Rule = Rule {
    id: "fault-not-first",
    severity: Severity::Info,
    title: "faults are injected behind other filters",
    why: "What is injected there misses the work of the filters before it, so an experiment with delays measures less than the failure would cost.",
    cure: "Place the filter first.",
    source: "operations-deployment-charts of Wikimedia, comment at the fault filter",
    check,
};

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for manager in &proxy.managers {
        for (number, filter) in manager.filters().iter().enumerate() {
            if number > 0 && filter.extension() == "envoy.extensions.filters.http.fault.v3.HTTPFault" {
                found.push(
                    filter
                        .found("/name", format!("faults are injected behind {}", counted(number, "filter"))),
                );
            }
        }
    }
    found
}
