//! Faults are injected after other filters.

use hoptax_result::counted;

use crate::found::Found;
use crate::proxy::{Manager, Node, Places, Proxy};
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "fault-not-first",
    severity: Severity::Info,
    title: "faults are injected behind other filters",
    why: "A fault injected there does not affect the filters before it, so an experiment with delays measures less than a real failure would cost.",
    cure: "Place the filter first.",
    source: "operations-deployment-charts of Wikimedia, comment at the fault filter",
    check,
};

const FAULT: &str = "envoy.extensions.filters.http.fault.v3.HTTPFault";

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let mut faults = proxy.index.of_type(|of| of == FAULT);
    faults.retain(|fault| has_fault(&fault.message().1));
    let faults = Places::new(faults);
    for manager in &proxy.managers {
        for (number, filter) in manager.filters().iter().enumerate() {
            if number > 0 && filter.extension() == FAULT && injects(manager, filter, &faults) {
                found.push(filter.found(
                    "/name",
                    format!("faults are injected behind {}", counted(number as u64, "filter")),
                ));
            }
        }
    }
}

/// Returns true if settings inject a fault.
fn has_fault(settings: &Node<'_>) -> bool {
    ["/abort", "/delay", "/response_rate_limit"].iter().any(|field| settings.has(field))
}

/// Returns true if a filter injects a fault, for all routes or for one.
fn injects(manager: &Manager<'_>, filter: &Node<'_>, faults: &Places<'_>) -> bool {
    let table = manager.node.get("/route_config");
    has_fault(&filter.fields()) || table.is_some_and(|table| faults.has_inside(&table))
}
