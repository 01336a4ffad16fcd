use crate::fixture::{EDGE, adapted};

use super::*;

fn derived(text: &str) -> Result<DerivedRequest, Problem> {
    let adapted = adapted(text);
    derive(&adapted, &adapted.listeners[0])
}

/// A listener with these virtual hosts.
fn with_hosts(hosts: &str) -> String {
    format!(
        "static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters:
            - typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                route_config: {{virtual_hosts: {hosts}}}"
    )
}

#[test]
fn a_request_takes_the_first_route_to_a_cluster_and_has_what_filters_ask_for() {
    let request = derived(EDGE).unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/cart"));
    assert_eq!(request.host, "hoptax.shop.example");
    assert_eq!(request.clusters, ["cart"]);
    let header = |name| request.header(name);
    assert_eq!(header("x-region"), Some("north"));
    assert_eq!(header("authorization"), Some("Basic bGFiOmxhYg=="));
    assert_eq!(header("origin"), Some("https://shop.example"));
    let tls = request.tls.unwrap();
    assert_eq!(tls.server_name.as_deref(), Some("hoptax.shop.example"));
    assert!(!tls.presents_certificate);
}

#[test]
fn each_kind_of_match_gets_a_request_that_it_accepts() {
    for (matching, path) in [
        ("{path: /a}", "/a"),
        ("{prefix: /a/}", "/a/"),
        ("{path_separated_prefix: /api}", "/api"),
        ("{safe_regex: {regex: '/users/[0-9]+'}}", "/users/1"),
        ("{prefix: /, query_parameters: [{name: q, string_match: {exact: x}}]}", "/?q=x"),
    ] {
        let hosts = format!("[{{domains: ['*'], routes: [{{match: {matching}, route: {{cluster: c}}}}]}}]");
        assert_eq!(derived(&with_hosts(&hosts)).unwrap().path, path, "{matching}");
    }
}

#[test]
fn methods_headers_and_grpc_follow_the_match() {
    let hosts = "[{domains: [a.example], routes: [{match: {prefix: /s, grpc: {}, headers: [\
        {name: ':method', string_match: {exact: PUT}}, {name: x-n, range_match: {start: 5, end: 9}}, \
        {name: x-none, present_match: true, invert_match: true}]}, route: {cluster: c}}]}]";
    let request = derived(&with_hosts(hosts)).unwrap();
    assert_eq!(request.method, "PUT");
    assert_eq!(request.host, "a.example");
    assert!(request.is_http2());
    assert_eq!((request.header("x-n"), request.header("x-none")), (Some("5"), None));
}

#[test]
fn a_route_that_an_earlier_one_hides_is_not_taken() {
    let hosts = "[{domains: ['*'], routes: [{match: {prefix: /}, redirect: {}}, {match: {prefix: /a}, route: {cluster: c}}]}]";
    assert!(derived(&with_hosts(hosts)).is_err());
    let hosts = "[{domains: ['*'], routes: [{match: {prefix: /a}, redirect: {}}, {match: {prefix: /}, route: {cluster: c}}]}]";
    assert_eq!(derived(&with_hosts(hosts)).unwrap().path, "/");
}

#[test]
fn a_listener_without_a_way_through_says_so_with_its_place() {
    let hosts = "[{domains: ['*'], routes: [{match: {connect_matcher: {}}, route: {cluster: c}}]}]";
    let problem = derived(&with_hosts(hosts)).unwrap_err();
    assert_eq!(problem.place.line, 3);
    assert!(problem.message.contains("no request can be derived"), "{}", problem.message);
}

#[test]
fn a_listener_whose_tls_is_inside_of_another_socket_takes_https() {
    let kind = |of: &str| format!("'@type': type.googleapis.com/envoy.extensions.transport_sockets.{of}");
    let tls =
        format!("{{typed_config: {{{}, common_tls_context: {{}}}}}}", kind("tls.v3.DownstreamTlsContext"));
    let hosts = "[{name: h, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster: c}}]}]";
    for (socket, has_tls) in [
        (format!("{{typed_config: {{{}, transport_socket: {tls}}}}}", kind("tap.v3.Tap")), true),
        (format!("{{typed_config: {{{}}}}}", kind("raw_buffer.v3.RawBuffer")), false),
    ] {
        let filters = "- filters:";
        let with_socket = format!("- transport_socket: {socket}\n          filters:");
        let request = derived(&with_hosts(hosts).replace(filters, &with_socket)).unwrap();
        assert_eq!(request.tls.is_some(), has_tls, "{socket}");
    }
}

#[test]
fn bytes_are_forwarded_with_any_request() {
    let request = derived(
        "static_resources:
  listeners:
    - filter_chains:
        - filters:
            - typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
                weighted_clusters: {clusters: [{name: a}, {name: b}]}",
    )
    .unwrap();
    assert!(request.is_tcp);
    assert_eq!(request.clusters, ["a", "b"]);
}
