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
    let request = derived(&with_hosts(hosts)).unwrap();
    assert!(request.route.ends_with("/routes/0") && !request.is_forwarded(), "{request:?}");
    let hosts = "[{domains: ['*'], routes: [{match: {prefix: /a}, redirect: {}}, {match: {prefix: /}, route: {cluster: c}}]}]";
    let request = derived(&with_hosts(hosts)).unwrap();
    assert!(request.path == "/" && request.is_forwarded(), "{request:?}");
}

#[test]
fn each_cause_without_a_request_is_named_with_its_place_and_what_to_do() {
    let route = |route: &str| with_hosts(&format!("[{{name: shop, domains: ['*'], routes: [{route}]}}]"));
    let manager = "http_connection_manager.v3.HttpConnectionManager";
    let redis = "redis_proxy.v3.RedisProxy";
    let state = "--request 'GET http://HOST/PATH'`";
    let another = "`--listener NAME`";
    for (text, cause, advice) in [
        (
            with_hosts("[{name: shop, domains: ['*'], matcher: {matcher_tree: {}}}]"),
            "the `matcher` of virtual host `shop`",
            state,
        ),
        (
            route("{match: {prefix: /}, route: {cluster_header: x-cluster}}"),
            "the header `x-cluster`",
            "--request 'GET http://HOST/PATH' --header 'x-cluster: CLUSTER'`",
        ),
        (
            route("{match: {prefix: /, dynamic_metadata: [{filter: a}]}, route: {cluster: c}}"),
            "`dynamic_metadata`",
            state,
        ),
        (route("{match: {safe_regex: {regex: '('}}, route: {cluster: c}}"), "meets the conditions", state),
        (route("{match: {connect_matcher: {}}, route: {cluster: c}}"), "takes CONNECT", another),
        (with_hosts("[]"), "no route", another),
        (with_hosts("[]").replace(manager, redis), redis, another),
        (with_hosts("[]").replace("typed_config", "config"), "no `typed_config`", another),
        ("static_resources:\n  listeners:\n    - name: a".to_owned(), "no filter chain", another),
        ("static_resources:\n  listeners:\n    - api_listener: {}".to_owned(), "`api_listener`", another),
        (
            "static_resources:\n  listeners:\n    - internal_listener: {}".to_owned(),
            "in front of it",
            another,
        ),
        (
            "static_resources:\n  listeners:\n    - address: {socket_address: {protocol: UDP}}".to_owned(),
            "QUIC",
            another,
        ),
    ] {
        let problem = derived(&text).unwrap_err();
        assert_eq!(problem.place.line, 3, "{cause}");
        assert!(problem.message.contains(cause), "{cause}: {}", problem.message);
        assert!(problem.message.ends_with(advice), "{cause}: {}", problem.message);
    }
}

#[test]
fn a_chain_that_forwards_is_taken_before_one_that_answers() {
    let hosts =
        |action: &str| format!("[{{name: h, domains: ['*'], routes: [{{match: {{prefix: /}}, {action}}}]}}]");
    let listener = with_hosts(&hosts("redirect: {https_redirect: true}"));
    assert!(!derived(&listener).unwrap().is_forwarded());
    let (_, chain) = listener.split_once("filter_chains:\n").unwrap();
    // Chains with the same match are merged into one.
    let tls = "- filter_chain_match: {transport_protocol: tls}\n          filters:";
    let second =
        chain.replace("redirect: {https_redirect: true}", "route: {cluster: c}").replace("- filters:", tls);
    let request = derived(&format!("{listener}\n{second}")).unwrap();
    assert_eq!(request.clusters, ["c"]);
    assert!(request.chain.ends_with("/filter_chains/1"), "{}", request.chain);
}

#[test]
fn a_route_whose_cluster_an_extension_chooses_is_taken_without_one() {
    let hosts =
        "[{name: h, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster_specifier_plugin: p}}]}]";
    let request = derived(&with_hosts(hosts)).unwrap();
    assert!(request.is_decided_later && request.is_forwarded() && request.clusters.is_empty(), "{request:?}");
    assert!(request.route.ends_with("/routes/0"), "{}", request.route);
}

#[test]
fn a_stated_request_has_the_clusters_that_only_the_running_proxy_chooses_between() {
    let route = "{match: {prefix: /}, route: {cluster: cart}}";
    let hosts = format!(
        "[{{name: other, domains: [other.example], routes: [{route}]}}, {{name: shop, domains: ['*'], \
         matcher: {{matcher_tree: {{exact_match_map: {{map: {{/cart: {{action: {{typed_config: {route}}}}}}}}}}}}}}}]"
    );
    let adapted = adapted(&with_hosts(&hosts));
    let wanted = StatedRequest {
        host: Some("shop.example".to_owned()),
        path: Some("/cart".to_owned()),
        ..StatedRequest::default()
    };
    let request = stated(&adapted, &adapted.listeners[0], &wanted).unwrap();
    assert!(request.is_decided_later && request.clusters == ["cart"], "{request:?}");
    assert!(request.route.ends_with("/virtual_hosts/1"), "{}", request.route);
    // The virtual host that responds is not part of the other routes.
    let parts = crate::parts::parts(&adapted, &adapted.listeners[0], &request);
    let others: Vec<&String> = parts.iter().flat_map(|part| &part.pointers).collect();
    assert!(matches!(others.as_slice(), [one] if one.ends_with("/virtual_hosts/0")), "{others:?}");
}

#[test]
fn a_stated_header_names_the_cluster_of_a_route_that_takes_it_from_there() {
    let hosts =
        "[{name: h, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster_header: X-Cluster}}]}]";
    let adapted = adapted(&format!("{}\n  clusters: [{{name: cart}}]", with_hosts(hosts)));
    let clusters = |headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let wanted = StatedRequest { path: Some("/".to_owned()), headers, ..StatedRequest::default() };
        let request = stated(&adapted, &adapted.listeners[0], &wanted).unwrap();
        assert!(!request.is_decided_later, "without the header, Envoy answers: {request:?}");
        request.clusters
    };
    assert_eq!(clusters(&[("x-cluster", "cart")]), ["cart"]);
    assert_eq!(clusters(&[("x-cluster", "no-such")]), Vec::<String>::new());
    assert_eq!(clusters(&[]), Vec::<String>::new());
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
