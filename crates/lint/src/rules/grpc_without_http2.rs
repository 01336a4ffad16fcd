//! A gRPC service over HTTP/1.1.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "grpc-without-http2",
    severity: Severity::Error,
    title: "a gRPC service is called over HTTP/1.1",
    why: "Envoy sends the calls of its filters and logs over the connections of the cluster, and gRPC needs HTTP/2: the calls fail, and so does everything that depends on the service.",
    cure: "Set `explicit_http_config.http2_protocol_options` in the HTTP options of the cluster.",
    source: "https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/other_protocols/grpc",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    for node in proxy.index.with_any(&["envoy_grpc"]) {
        let Some(name) = node.get("/envoy_grpc/cluster_name") else { continue };
        let Some(cluster) = proxy.cluster(name.text("")).filter(|cluster| cluster.is_http1()) else {
            continue;
        };
        let one = name.found(
            "",
            format!("cluster `{}` speaks HTTP/1.1, but gRPC needs HTTP/2: every call fails", cluster.name()),
        );
        found.push(cluster.set_http2(one));
    }
}
