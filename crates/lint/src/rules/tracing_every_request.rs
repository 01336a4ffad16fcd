//! Every request is traced.

use crate::found::{Found, Price};
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "tracing-every-request",
    severity: Severity::Info,
    title: "every request is traced",
    why: "Without `random_sampling`, Envoy starts a trace for each request. Tracing is one of the most expensive functions: it costs CPU time and memory, and raises the bill of the collector.",
    cure: "Set `random_sampling`, such as 1 %.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for manager in &proxy.managers {
        let Some(tracing) = proxy.tracing(manager) else { continue };
        if !tracing.has("/random_sampling") && !tracing.has("/overall_sampling") {
            let message = format!("listener `{}` traces every request", manager.listener.label());
            found.push(tracing.found("", message).at_price(Price::OfFault("tracing/opentelemetry")));
        }
    }
}
