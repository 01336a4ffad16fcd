use std::fmt::Write;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::fixture::{EDGE, adapted, nested, passed_parts};

/// The fixture with its parts.
fn edge() -> &'static (Adapted, Vec<Part>) {
    static EDGE_PARTS: OnceLock<(Adapted, Vec<Part>)> = OnceLock::new();
    EDGE_PARTS.get_or_init(|| {
        let adapted = adapted(EDGE);
        let parts = passed_parts(&adapted);
        (adapted, parts)
    })
}

#[test]
fn the_parts_that_a_request_passes_are_listed_in_its_order() {
    let mut text = String::new();
    for part in &edge().1 {
        writeln!(text, "{} {} ({}): {}", part.kind, part.name, part.place, part.proof.join(", ")).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn everything_off_leaves_a_router_and_the_route() {
    let (adapted, parts) = edge();
    let rest = adapted.without(parts.iter().flat_map(|part| &part.pointers));
    let chain = &rest["static_resources"]["listeners"][0]["filter_chains"][0];
    assert!(chain.get("transport_socket").is_none() && chain.get("filter_chain_match").is_none());
    let manager = &chain["filters"][0]["typed_config"];
    assert_eq!(manager["http_filters"].as_array().map(Vec::len), Some(1));
    let hosts = manager["route_config"]["virtual_hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 1);
    assert_eq!(hosts[0]["routes"].as_array().map(Vec::len), Some(1));
    for key in ["access_log", "tracing"] {
        assert!(manager.get(key).is_none_or(|node| *node == Value::Array(Vec::new())), "{key}");
    }
}

#[test]
fn statistics_are_matched_with_wildcards() {
    let (_, parts) = edge();
    let cors = parts.iter().find(|part| part.name == "cors").unwrap();
    let moved = ["http.edge.cors.origin_valid".to_owned(), "http.other.cors.origin_valid".to_owned()];
    assert_eq!(cors.moved(&moved), [&moved[0]]);
}

/// The parts of a connection manager with this setting.
fn parts_with(setting: &str) -> Vec<Part> {
    parts_of(setting, "{name: a}")
}

/// The parts of a connection manager with this setting, and of this cluster.
fn parts_of(setting: &str, cluster: &str) -> Vec<Part> {
    let text = format!(
        "static_resources:
  listeners:
    - filter_chains:
        - filters:
            - typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: edge
                {setting}
                route_config: {{virtual_hosts: [{{name: all, domains: ['*'], routes: [{{match: {{prefix: /}}, route: {{cluster: a}}}}, {{match: {{path: /b}}, route: {{cluster: a}}}}]}}]}}
  clusters: [{cluster}]"
    );
    passed_parts(&adapted(&text))
}

#[test]
fn a_part_without_a_name_is_called_by_its_key() {
    let parts = parts_with("tracing: {random_sampling: {value: 1}}");
    assert_eq!(names(&parts), [(PartKind::Tracer, "tracing"), (PartKind::OtherRoutes, "routes")]);
}

/// Two upstream filters. The last one is the codec.
const UPSTREAM: &str = "[{name: script, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua}}, \
     {name: codec, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec}}]";

/// The kinds and names of parts.
fn names(parts: &[Part]) -> Vec<(PartKind, &str)> {
    parts.iter().map(|part| (part.kind, part.name.as_str())).collect()
}

#[test]
fn the_log_and_the_upstream_filters_of_a_router_are_parts_unless_the_cluster_has_its_own_filters() {
    let router = format!(
        "http_filters: [{{name: router, typed_config: {{'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router, \
         upstream_http_filters: {UPSTREAM}, \
         upstream_log: [{{name: log, typed_config: {{'@type': type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog}}}}]}}}}]"
    );
    let of_router = parts_of(&router, "{name: a}");
    let log = (PartKind::AccessLog, "log");
    let routes = (PartKind::OtherRoutes, "routes");
    assert_eq!(names(&of_router), [(PartKind::UpstreamFilter, "script"), log, routes]);
    assert!(of_router[0].pointers[0].ends_with("/http_filters/0/typed_config/upstream_http_filters/0"));
    // Envoy's name of the statistic does not have the prefix of the connection manager.
    let moved = ["lua.executions".to_owned(), "cluster.a.lua.executions".to_owned()];
    assert_eq!(of_router[0].moved(&moved).len(), 2);
    let own = UPSTREAM.replace("script", "own");
    let options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let cluster =
        format!("{{name: a, typed_extension_protocol_options: {{{options}: {{http_filters: {own}}}}}}}");
    assert_eq!(names(&parts_of(&router, &cluster)), [log, routes, (PartKind::UpstreamFilter, "own")]);
}

/// The parts of a proxy whose cluster has this transport socket, and its bootstrap without some of them.
fn with_socket(socket: &str) -> (Adapted, Vec<Part>) {
    let text = format!(
        "stats_config: {{stats_tags: [{{tag_name: shop, fixed_value: north}}, {{tag_name: rack, fixed_value: a}}]}}
stats_sinks: [{{name: one, typed_config: {{'@type': x.A}}}}, {{name: two, typed_config: {{'@type': x.B}}}}]
static_resources:
  listeners:
    - filter_chains:
        - filters:
            - typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
                cluster: a
  clusters: [{{name: a, transport_socket: {socket}}}]"
    );
    let adapted = adapted(&text);
    let parts = passed_parts(&adapted);
    (adapted, parts)
}

#[test]
fn a_cluster_that_chooses_among_sockets_has_tls_if_one_of_these_is_tls() {
    let kinds = |kind: &str| {
        let socket = nested(&[kind]);
        let cluster = format!(
            "{{name: a, transport_socket_matches: [{{name: one, match: {{tlsMode: istio}}, transport_socket: {socket}}}]}}"
        );
        let parts = parts_of("generate_request_id: true", &cluster);
        parts
            .into_iter()
            .filter(|part| part.kind == PartKind::UpstreamTls)
            .flat_map(|part| part.pointers)
            .collect::<Vec<_>>()
    };
    let all = "/static_resources/clusters/0/transport_socket_matches";
    assert_eq!(kinds("tls.v3.UpstreamTlsContext"), [all]);
    assert_eq!(kinds("raw_buffer.v3.RawBuffer"), [""; 0]);
}

#[test]
fn each_transport_socket_that_wraps_another_is_a_part_and_leaves_the_other() {
    let (tap, http) = ("tap.v3.Tap", "http_11_proxy.v3.Http11ProxyUpstreamTransport");
    let tls = "tls.v3.UpstreamTlsContext";
    let (adapted, parts) = with_socket(&nested(&[http, tap, tls]));
    assert_eq!(
        names(&parts)[..3],
        [(PartKind::TransportSocket, http), (PartKind::TransportSocket, tap), (PartKind::UpstreamTls, "a")]
    );
    let left = |removed: &[usize]| {
        let rest = adapted.without(removed.iter().flat_map(|index| &parts[*index].pointers));
        let mut socket = &rest["static_resources"]["clusters"][0]["transport_socket"];
        let mut names = Vec::new();
        while let Some(name) = socket["name"].as_str() {
            names.push(name.to_owned());
            socket = &socket["typed_config"]["transport_socket"];
        }
        names
    };
    let plain = "envoy.transport_sockets.raw_buffer";
    assert_eq!(left(&[0]), [tap, tls]);
    assert_eq!(left(&[1]), [http, tls]);
    assert_eq!(left(&[2]), [http, tap, plain], "a wrapper needs a socket");
    assert_eq!(left(&[0, 1]), [tls]);
    assert_eq!(left(&[1, 2]), [http, plain]);
    assert_eq!(left(&[0, 1, 2]), [plain]);
}

#[test]
fn plain_sockets_are_no_parts_and_one_that_may_start_tls_is_no_tls() {
    let kinds = |kind: &str| {
        let (_, parts) = with_socket(&nested(&[kind]));
        parts.iter().map(|part| part.kind).filter(|kind| *kind < PartKind::StatisticsSink).collect::<Vec<_>>()
    };
    assert_eq!(kinds("raw_buffer.v3.RawBuffer"), []);
    assert_eq!(kinds("starttls.v3.UpstreamStartTlsConfig"), [PartKind::TransportSocket]);
    assert_eq!(kinds("tls.v3.UpstreamTlsContext"), [PartKind::UpstreamTls]);
}

/// Otherwise, the cost of a filter would include TLS to the service that it calls.
#[test]
fn tls_with_a_service_that_a_filter_of_the_chain_calls_is_a_part() {
    let cluster = |name: &str| {
        let of = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
        format!(
            "{{name: {name}, transport_socket: {{name: tls, typed_config: {{'@type': {of}, common_tls_context: {{tls_certificates: [{{}}]}}}}}}}}"
        )
    };
    let clusters = ["c", "called", "other"].map(cluster).join(", ");
    let text = format!(
        "static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters:
            - typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                route_config: {{virtual_hosts: [{{name: h, domains: ['*'], routes: [{{match: {{prefix: /}}, route: {{cluster: c}}}}]}}]}}
                http_filters:
                  - name: ask
                    typed_config: {{'@type': type.googleapis.com/{}, grpc_service: {{envoy_grpc: {{cluster_name: called}}}}}}
                  - {{name: router, typed_config: {{'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}}}
    - {{name: b, filter_chains: [{{filters: [{{typed_config: {{grpc_service: {{envoy_grpc: {{cluster_name: other}}}}}}}}]}}]}}
  clusters: [{clusters}]",
        "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz"
    );
    let adapted = adapted(&text);
    assert!(adapted.files.presents_certificate);
    let parts = passed_parts(&adapted);
    let tls = parts.iter().filter(|part| part.kind == PartKind::UpstreamTls);
    assert_eq!(tls.map(|part| part.name.as_str()).collect::<Vec<_>>(), ["c", "called"]);
}

#[test]
fn each_sink_and_each_tag_of_statistics_is_a_part() {
    let (adapted, parts) = with_socket("null");
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "shop", "rack"]);
    let rest = adapted.without(&parts[2].pointers);
    assert_eq!(rest["stats_config"]["stats_tags"].as_array().map(Vec::len), Some(1));
    let of = |most: usize| with_joined_tags(parts.clone(), most);
    assert_eq!(of(2), parts);
    let joined = of(1).pop().unwrap();
    assert_eq!((joined.kind, joined.name.as_str()), (PartKind::StatisticsTags, "stats_tags"));
    assert_eq!(joined.pointers.len(), 2);
}

#[test]
fn what_exercises_a_compressor_follows_from_its_configuration() {
    let with = |settings: &str| {
        let compressor = "type.googleapis.com/envoy.extensions.filters.http.compressor.v3.Compressor";
        let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
        let parts = parts_with(&format!(
            "http_filters: [{{name: gzip, typed_config: {{'@type': {compressor}{settings}}}}}, {{name: router, typed_config: {{'@type': {router}}}}}]"
        ));
        parts.into_iter().find(|part| part.name == "gzip").unwrap().exercised_by.unwrap()
    };
    let stated = with(
        ", response_direction_config: {common_config: {min_content_length: 100, content_type: [application/json, text/css]}}",
    );
    assert_eq!(
        stated,
        "a request that accepts its encoding, with a response of at least 100 bytes of type application/json or text/css"
    );
    assert!(with(", content_length: 50").contains("at least 50 bytes of type text/html"));
    assert!(with("").contains("at least 30 bytes"));
}

#[test]
fn a_part_of_a_known_type_says_what_exercises_it_with_statistics_or_without() {
    let found = |name: &str, of: &str, more: &str| {
        let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
        let parts = parts_with(&format!(
            "http_filters: [{{name: {name}, typed_config: {{'@type': type.googleapis.com/envoy.extensions.filters.http.{of}{more}}}}}, {{name: router, typed_config: {{'@type': {router}}}}}]"
        ));
        let part = parts.into_iter().find(|part| part.name == name).unwrap();
        (part.proof, part.exercised_by.unwrap())
    };
    let (proof, by) = found("b", "buffer.v3.Buffer", "");
    assert_eq!((proof.len(), by.as_str()), (0, "a request with a body"));
    let (proof, by) = found("j", "json_to_metadata.v3.JsonToMetadata", "");
    assert!(proof[0] == "json_to_metadata.rq.success" && by.contains("JSON"), "{proof:?} {by}");
    // Envoy counts sessions only if they have a name.
    assert!(found("s", "stateful_session.v3.StatefulSession", "").0.is_empty());
    let (proof, _) = found("s", "stateful_session.v3.StatefulSession", ", stat_prefix: own");
    assert_eq!(proof, ["http.edge.stateful_session.own.*"]);
    for part in &edge().1 {
        assert!(part.exercised_by.is_some(), "{part:?}");
    }
}

proptest! {
    #[test]
    fn removing_a_part_leaves_all_others(chosen in prop::collection::vec(any::<bool>(), 16)) {
        let (adapted, parts) = edge();
        let (off, on): (Vec<_>, Vec<_>) = parts.iter().zip(chosen).partition(|(_, is_off)| *is_off);
        let rest = adapted.without(off.iter().flat_map(|(part, _)| &part.pointers)).to_string();
        for (part, _) in on.iter().filter(|(part, _)| part.kind == PartKind::HttpFilter) {
            let name = format!("\"name\":\"{}\"", part.name);
            prop_assert!(rest.contains(&name), "{name} is gone");
        }
        for (part, _) in off.iter().filter(|(part, _)| part.kind == PartKind::HttpFilter) {
            let name = format!("\"name\":\"{}\"", part.name);
            prop_assert!(!rest.contains(&name), "{name} is left");
        }
    }
}
