//! Faults are injected behind other filters.

use hoptax_result::counted;

use crate::found::Found;
use crate::proxy::{Manager, Node, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "fault-not-first",
    severity: Severity::Info,
    title: "faults are injected behind other filters",
    why: "What is injected there misses the work of the filters before it, so an experiment with delays measures less than the failure would cost.",
    cure: "Place the filter first.",
    source: "operations-deployment-charts of Wikimedia, comment at the fault filter",
    check,
};

const FAULT: &str = "envoy.extensions.filters.http.fault.v3.HTTPFault";

fn check(proxy: &Proxy<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for manager in &proxy.managers {
        for (number, filter) in manager.filters().iter().enumerate() {
            if number > 0 && filter.extension() == FAULT && injects(manager, filter) {
                found.push(filter.found(
                    "/name",
                    format!("faults are injected behind {}", counted(number as u64, "filter")),
                ));
            }
        }
    }
    found
}

/// Returns true if a filter injects a fault, for all routes or for one.
fn injects(manager: &Manager<'_>, filter: &Node<'_>) -> bool {
    let has_fault = |fields: &Node<'_>| {
        ["/abort", "/delay", "/response_rate_limit"].iter().any(|field| fields.has(field))
    };
    let mut injects = has_fault(&filter.fields());
    if let Some(table) = manager.node.get("/route_config") {
        table.walk(&mut |node| {
            injects |= node.message_type() == FAULT && has_fault(&node.message().1);
        });
    }
    injects
}
