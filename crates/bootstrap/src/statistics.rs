//! Names of Envoy's statistics: matching by patterns, and the one that counts the requests of a listener.

use crate::adapt::Adapted;
use crate::request::{DerivedRequest, connection_manager};
use crate::tree::{extension_type, items, join, text};

/// True if a name matches a pattern in which `*` is a wildcard.
pub fn is_matched(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((before, behind)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| is_matched(rest, behind)))
        }),
    }
}

/// The statistic that every request through the filter chain of `request` increments; the bytes received, if the chain
/// forwards bytes. None if the chain has neither a connection manager nor a TCP proxy.
pub fn of_requests(adapted: &Adapted, request: &DerivedRequest) -> Option<String> {
    let prefix = |pointer: &str| adapted.tree.pointer(pointer).map(|node| text(node, "/stat_prefix"));
    if let Some(manager) = connection_manager(&adapted.tree, &request.chain) {
        return Some(format!("http.{}.downstream_rq_total", prefix(&manager)?));
    }
    let (last, node) = items(&adapted.tree, &join(&request.chain, "filters")).into_iter().next_back()?;
    let is_tcp = extension_type(node).ends_with(".tcp_proxy.v3.TcpProxy");
    let prefix = prefix(&join(&last, "typed_config")).filter(|_| is_tcp)?;
    Some(format!("tcp.{prefix}.downstream_cx_rx_bytes_total"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{EDGE, adapted, request_of};

    #[test]
    fn a_wildcard_stands_for_any_text() {
        assert!(is_matched("abab", "*ab") && is_matched("a.b", "a*") && is_matched("a", "a"));
        assert!(!is_matched("aba", "*ab") && !is_matched("a.b", "a"));
    }

    #[test]
    fn requests_are_counted_by_the_connection_manager_or_the_tcp_proxy() {
        let of = |text: &str| {
            let adapted = adapted(text);
            of_requests(&adapted, &request_of(&adapted))
        };
        assert_eq!(of(EDGE).as_deref(), Some("http.edge.downstream_rq_total"));
        let bytes = "static_resources:
  listeners:
    - filter_chains:
        - filters:
            - typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
                stat_prefix: bytes
                cluster: a";
        assert_eq!(of(bytes).as_deref(), Some("tcp.bytes.downstream_cx_rx_bytes_total"));
    }
}
