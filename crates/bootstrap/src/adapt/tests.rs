use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{EDGE, adapted, configuration, lab, nested};
use crate::missing_extension;
use crate::outside::{finding_clusters, outside_addresses};

#[test]
fn every_replacement_names_its_line() {
    let mut text = String::new();
    for one in adapted(EDGE).replacements {
        writeln!(text, "{}: {} -> {}", one.place, one.node, one.with).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn no_secret_is_in_the_bootstrap_or_in_the_list_of_replacements() {
    assert_eq!(EDGE.matches("hunter2").count(), 3, "the fixture has secrets");
    let adapted = adapted(EDGE);
    let text = format!("{} {:?} {:?}", adapted.bootstrap(), adapted.replacements, adapted.files);
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn the_origin_gets_the_names_that_clusters_verify_and_listeners_the_names_that_clients_ask_for() {
    let files = adapted(EDGE).files;
    assert!(files.origin_names.contains("cart.example"), "{files:?}");
    assert!(files.identities[0].names.contains("*.shop.example"), "{files:?}");
}

#[test]
fn a_cluster_keeps_the_number_of_its_endpoints() {
    let bootstrap = adapted(EDGE).bootstrap();
    let endpoints = |cluster: usize| {
        let pointer =
            format!("/static_resources/clusters/{cluster}/load_assignment/endpoints/0/lb_endpoints");
        bootstrap.pointer(&pointer).and_then(Value::as_array).map(Vec::len)
    };
    assert_eq!((endpoints(0), endpoints(1)), (Some(2), Some(1)));
}

#[test]
fn a_listener_says_which_address_it_has_and_that_it_has_none() {
    let address = |more: &str| {
        let adapted = adapted(&format!("static_resources: {{listeners: [{{name: a{more}}}]}}"));
        adapted.listeners[0].address.clone()
    };
    assert_eq!(address(""), "no address");
    let inside = ", address: {envoy_internal_address: {server_listener_name: b}}";
    assert_eq!(address(inside), "internal listener `b`");
    assert_eq!(address(", address: {pipe: {path: /run/a.sock}}"), "/run/a.sock");
}

#[test]
fn a_cluster_without_endpoints_gets_one_that_selects_the_first_of_its_transport_sockets() {
    let endpoint = |matches: &str, endpoints: &str| {
        let adapted = adapted(&format!(
            "static_resources: {{clusters: [{{name: a, type: EDS, transport_socket_matches: {matches}{endpoints}}}]}}"
        ));
        let with =
            adapted.replacements.iter().find(|one| one.node.contains("cluster `a`")).unwrap().with.clone();
        let metadata = adapted.bootstrap().pointer(
            "/static_resources/clusters/0/load_assignment/endpoints/0/lb_endpoints/0/metadata/filter_metadata/envoy.transport_socket_match",
        ).cloned();
        (metadata, with)
    };
    let tunnel = "{name: tunnel, match: {tunnel: http}, transport_socket: {typed_config: {'@type': \
         type.googleapis.com/envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport}}}";
    let matches =
        format!("[{tunnel}, {{name: mutual, match: {{tlsMode: istio}}}}, {{name: plain, match: {{}}}}]");
    let (metadata, with) = endpoint(&matches, "");
    assert_eq!(metadata, Some(json!({"tlsMode": "istio"})));
    assert!(with.contains("`mutual`"), "{with}");
    let (metadata, with) = endpoint("[{name: plain, match: {}}]", "");
    assert!(metadata.is_none() && !with.contains("metadata"), "{with}");
    let given = ", load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.1, port_value: 80}}}}]}]}";
    let (metadata, with) = endpoint(&matches, given);
    assert!(metadata.is_none() && !with.contains("metadata"), "{with}");
}

#[test]
fn only_settings_of_an_aggregate_make_a_cluster_one() {
    let of = |settings: &str| {
        let adapted = adapted(&format!(
            "static_resources: {{clusters: [{{name: a, cluster_type: {{name: envoy.clusters.aggregate{settings}}}}}]}}"
        ));
        adapted.bootstrap()["static_resources"]["clusters"][0].clone()
    };
    let typed = |of: &str| format!(", typed_config: {{'@type': type.googleapis.com/{of}}}");
    let wrapped = |of: &str| {
        format!(
            ", typed_config: {{'@type': type.googleapis.com/xds.type.v3.TypedStruct, type_url: x/{of}, value: {{a: b}}}}"
        )
    };
    let aggregate = "envoy.extensions.clusters.aggregate.v3.ClusterConfig";
    for settings in [String::new(), typed(aggregate), wrapped(aggregate)] {
        assert!(of(&settings)["cluster_type"].is_object(), "{settings}");
    }
    for other in
        ["envoy.extensions.clusters.original_dst.v3.OriginalDstClusterConfig", "google.protobuf.Struct"]
    {
        for settings in [typed(other), wrapped(other)] {
            let cluster = of(&settings);
            assert_eq!(
                (&cluster["type"], &cluster["cluster_type"]),
                (&json!("STATIC"), &Value::Null),
                "{settings}"
            );
        }
    }
}

#[test]
fn clusters_that_find_their_servers_are_told_from_those_that_are_led() {
    let clusters = |cluster: Value| finding_clusters(&json!({"static_resources": {"clusters": [cluster]}}));
    let aggregate = json!({"name": "envoy.clusters.aggregate"});
    let other = json!({"name": "envoy.clusters.aggregate", "typed_config": {"@type": "x/envoy.extensions.clusters.original_dst.v3.C"}});
    for led in [json!({"type": "STATIC"}), json!({"cluster_type": aggregate}), Value::Null, json!("a")] {
        assert_eq!(clusters(led), [""; 0]);
    }
    for finding in [json!({"type": "ORIGINAL_DST"}), json!({"cluster_type": other}), json!({})] {
        assert_eq!(clusters(finding), ["/static_resources/clusters/0"]);
    }
}

#[test]
fn upstream_servers_are_offered_the_protocols_that_the_origin_speaks() {
    let offered = |given: &str, certificates: &str| {
        let adapted = adapted(&format!(
            "static_resources:
  clusters:
    - name: a
      transport_socket:
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          common_tls_context: {{alpn_protocols: {given}{certificates}}}"
        ));
        let tls = "/static_resources/clusters/0/transport_socket/typed_config/common_tls_context";
        let left = adapted.bootstrap().pointer(tls).unwrap()["alpn_protocols"].clone();
        let with: Vec<String> = adapted.replacements.iter().map(|one| one.node.clone()).collect();
        (left, with.into_iter().filter(|what| what.starts_with("ALPN")).collect::<Vec<_>>(), adapted.files)
    };
    let (left, replaced, files) = offered("[istio-peer-exchange, istio]", "");
    assert_eq!((left, replaced), (Value::Null, vec!["ALPN `istio-peer-exchange`, `istio`".to_owned()]));
    assert!(!files.presents_certificate);
    let secret =
        ", tls_certificates: [{certificate_chain: {filename: a.pem}, private_key: {filename: a.key}}]";
    let (left, replaced, files) = offered("[istio-h2, h2]", secret);
    assert_eq!((left, replaced), (json!(["h2"]), vec!["ALPN `istio-h2`".to_owned()]));
    assert!(files.presents_certificate);
    let (left, replaced, _) = offered("istio", "");
    assert_eq!((left, replaced), (Value::Null, vec!["ALPN `istio`".to_owned()]), "a single value");
    let (left, replaced, _) = offered("[h2, http/1.1]", "");
    assert_eq!((left, replaced), (json!(["h2", "http/1.1"]), Vec::new()));
}

#[test]
fn the_context_of_quic_is_that_of_a_server() {
    let adapted = adapted(
        "static_resources:
  listeners:
    - name: edge
      filter_chains:
        - transport_socket:
            name: quic
            typed_config:
              '@type': type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport
              downstream_tls_context:
                common_tls_context:
                  alpn_protocols: [h3, h3-29]
                  tls_certificates: [{certificate_chain: {filename: a.pem}, private_key: {filename: a.key}}]
          filters: []",
    );
    assert!(!adapted.files.presents_certificate);
    assert!(adapted.files.identities[0].names.contains("localhost"), "{:?}", adapted.files);
    let common = "/static_resources/listeners/0/filter_chains/0/transport_socket/typed_config/downstream_tls_context/common_tls_context";
    assert_eq!(adapted.bootstrap().pointer(common).unwrap()["alpn_protocols"], json!(["h3", "h3-29"]));
}

#[test]
fn a_transport_socket_that_cannot_run_here_leaves_the_one_that_it_wraps() {
    let socket_of = |kinds: &[&str]| {
        let adapted = adapted(&format!(
            "static_resources: {{clusters: [{{name: a, transport_socket: {}}}]}}",
            nested(kinds)
        ));
        let socket = adapted.bootstrap()["static_resources"]["clusters"][0]["transport_socket"].clone();
        let of = |socket: &Value| socket["typed_config"]["@type"].as_str().unwrap_or_default().to_owned();
        let all = [of(&socket), of(&socket["typed_config"]["transport_socket"])];
        all.map(|of| of.rsplit('.').next().unwrap_or_default().to_owned())
    };
    let (proxy, alts) = ("proxy_protocol.v3.ProxyProtocolUpstreamTransport", "alts.v3.Alts");
    assert_eq!(socket_of(&[proxy, "raw_buffer.v3.RawBuffer"]), ["RawBuffer", ""]);
    assert_eq!(socket_of(&[proxy, alts]), ["", ""], "both are removed");
    assert_eq!(socket_of(&["tap.v3.Tap", alts]), ["Tap", "RawBuffer"], "a wrapper needs one");
}

#[test]
fn a_locality_without_a_weight_has_none_although_a_dump_says_zero() {
    let weight = |weight: u32| {
        let adapted = adapted(&format!(
            "static_resources: {{clusters: [{{name: a, load_assignment: {{endpoints: [{{load_balancing_weight: {weight}, lb_endpoints: [{{endpoint: {{}}}}]}}]}}}}]}}"
        ));
        let bootstrap = adapted.bootstrap();
        let locality = bootstrap.pointer("/static_resources/clusters/0/load_assignment/endpoints/0");
        locality.and_then(|locality| locality.get("load_balancing_weight").cloned())
    };
    assert_eq!((weight(0), weight(3)), (None, Some(json!(3))));
}

#[test]
fn limits_of_the_proxy_itself_admit_every_request() {
    let adapted = adapted(
        "static_resources:
  listeners:
    - name: a
      filter_chains:
        - filters:
            - typed_config:
                http_filters:
                  - name: limit
                    typed_config:
                      '@type': type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
                      token_bucket: {max_tokens: 2, fill_interval: 5s}
                      descriptors: [{token_bucket: {max_tokens: 7, tokens_per_fill: 7, fill_interval: 10s}}]",
    );
    let limits: Vec<String> = adapted
        .replacements
        .iter()
        .filter(|one| one.node.starts_with("a limit"))
        .map(|one| format!("{}: {}", one.place, one.node))
        .collect();
    assert_eq!(limits, ["envoy.yaml:11: a limit of 2 tokens", "envoy.yaml:12: a limit of 7 tokens"]);
    let text = adapted.bootstrap().to_string();
    assert_eq!(text.matches("\"tokens_per_fill\":1000000000").count(), 2, "{text}");
    assert!(text.contains("\"fill_interval\":\"5s\""), "the interval stays: {text}");
}

#[test]
fn an_extension_that_envoy_lacks_is_removed_and_named() {
    let messages = [
        ("Didn't find a registered implementation for name: 'cors'", Some("cors")),
        ("Didn't find a registered implementation for 'cors' with type URL: 'a.b.C'", Some("a.b.C")),
        ("Invalid type URL, unknown type: envoy.x.v3.Y for type Any", Some("envoy.x.v3.Y")),
        ("could not find @type 'type.googleapis.com/envoy.x.v3.Y'", Some("envoy.x.v3.Y")),
        ("duplicate listener", None),
    ];
    for (message, name) in messages {
        assert_eq!(missing_extension(message), name);
    }
    let mut adapted = adapted(EDGE);
    assert!(adapted.remove_extension("cors") && !adapted.remove_extension("no-such"));
    assert!(adapted.remove_extension("envoy.config.trace.v3.ZipkinConfig"));
    let last: Vec<String> = adapted.replacements.iter().rev().take(2).map(|one| one.node.clone()).collect();
    assert_eq!(last, ["extension `envoy.tracers.zipkin`", "HTTP filter `cors`"]);
    assert!(!adapted.bootstrap().to_string().contains("envoy.extensions.filters.http.cors.v3.Cors\""));
}

/// Places where an address may occur, each as a function that inserts it.
const PLACES: [fn(&mut Value, Value, &str); 15] = [
    |root, address, _| root["static_resources"]["listeners"][0]["address"] = address,
    |root, address, _| {
        root["static_resources"]["listeners"][0]["additional_addresses"] = json!([{"address": address}]);
    },
    |root, address, _| {
        root["static_resources"]["clusters"][0]["load_assignment"] = json!({"endpoints": [{"lb_endpoints": [{"endpoint": {
            "address": address,
            "additional_addresses": [{"address": address}],
            "health_check_config": {"address": address, "port_value": 1},
        }}]}]});
    },
    |root, address, _| {
        root["static_resources"]["clusters"][0]["load_assignment"] = json!({"endpoints": [{
            "lb_endpoints": [{"endpoint": {"address": address}}],
            "metadata": {"typed_filter_metadata": {
                "envoy.http11_proxy_transport_socket.proxy_address": address,
            }},
        }]});
    },
    |root, address, _| {
        root["static_resources"]["clusters"][0]["upstream_bind_config"] = json!({"source_address": address});
    },
    |root, address, _| root["static_resources"]["clusters"][0]["dns_resolvers"] = json!([address]),
    |root, address, _| root["admin"] = json!({"address": address}),
    |root, address, _| root["typed_dns_resolver_config"] = json!({"typed_config": {"resolvers": [address]}}),
    |root, address, _| root["stats_sinks"] = json!([{"name": "s", "typed_config": {"address": address}}]),
    |root, address, _| root["unknown_extension"] = json!({"list": [{"typed_config": {"peer": address}}]}),
    |root, _, host| {
        root["tracing"] =
            json!({"http": {"typed_config": {"endpoint_url": format!("https://{host}:443/v1?key=1")}}});
    },
    |root, _, host| {
        root["unknown_service"] =
            json!({"server_uri": {"uri": format!("http://{host}/check"), "cluster": "c"}});
    },
    |root, _, host| {
        root["unknown_grpc"] =
            json!({"grpc_service": {"google_grpc": {"target_uri": format!("{host}:443")}}});
    },
    |root, _, host| root["list_of_uris"] = json!([format!("tcp://{host}:1"), format!("dns://user@{host}")]),
    |root, _, host| root["daemon_endpoint"] = json!({"address": host, "port_value": 2000}),
];

fn camel_case(value: &Value) -> Value {
    let camel = |key: &str| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
    };
    match value {
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (camel(key), camel_case(value))).collect()
        }
        Value::Array(items) => items.iter().map(camel_case).collect(),
        other => other.clone(),
    }
}

proptest! {
    /// Searches the text of the whole bootstrap, so that the code under test does not decide which nodes are addresses.
    #[test]
    fn no_address_outside_of_the_machine_survives(
        places in prop::collection::vec((0..PLACES.len(), 0..4_usize, 0..3_usize), 1..12),
        kind in prop::sample::select(vec!["STATIC", "STRICT_DNS", "LOGICAL_DNS", "EDS", "ORIGINAL_DST"]),
        is_camel: bool,
    ) {
        let mut root = json!({"static_resources": {
            "listeners": [{"name": "a"}],
            "clusters": [{"name": "c", "type": kind}],
        }});
        for (place, host, form) in places {
            let host = ["outside.example", "outside-2.internal", "203.0.113.7", "2001:db8::7"][host];
            let address = match form {
                0 => json!({"socket_address": {"address": host, "port_value": 80}}),
                1 => json!({"socket_address": {"address": host, "named_port": "http"}}),
                _ => json!({"pipe": {"path": format!("/var/run/{host}/outside.sock")}}),
            };
            let in_uri = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            PLACES[place](&mut root, address, &in_uri);
        }
        let text = if is_camel { camel_case(&root) } else { root }.to_string();
        let adapted = adapted(&text);
        let bootstrap = adapted.bootstrap();
        let left = bootstrap.to_string();
        for trace in ["outside", "203.0.113", "2001:db8", "/var/run"] {
            prop_assert!(!left.contains(trace), "{trace} in {left}");
        }
        prop_assert_eq!(outside_addresses(&bootstrap, &lab().folder), Vec::<String>::new());
    }
}

/// Values that may replace a node by mistake.
fn mistakes() -> [Value; 5] {
    [json!("x"), json!(7), Value::Null, json!([]), json!({})]
}

/// The fixture and the pointers of all its nodes.
static NODES_OF_EDGE: std::sync::LazyLock<(Value, Vec<String>)> = std::sync::LazyLock::new(|| {
    let tree = configuration(EDGE).unwrap().tree;
    let mut pointers = Vec::new();
    crate::tree::walk(&tree, "", &mut |pointer, _| pointers.push(pointer.to_owned()));
    (tree, pointers)
});

/// Reads a configuration, and adapts it if that is possible.
fn read_and_adapt(root: &Value) {
    if let Ok(configuration) = configuration(&root.to_string()) {
        drop(configuration.adapt(&lab(), &|_| None).map(|adapted| adapted.bootstrap()));
    }
}

proptest! {
    // The reader also has a fuzz target, whose stored inputs are tested with each change.
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Fails if the code panics.
    #[test]
    fn a_node_of_another_kind_is_no_reason_to_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..mistakes().len()), 1..4),
        is_discovered: bool,
    ) {
        let (mut root, pointers) = NODES_OF_EDGE.clone();
        if is_discovered {
            root["dynamic_resources"] = json!({"lds_config": {"ads": {}}});
        }
        for (place, mistake) in places {
            if let Some(node) = root.pointer_mut(&pointers[place.index(pointers.len())]) {
                *node = mistakes()[mistake].clone();
            }
        }
        read_and_adapt(&root);
        // Also with values that parsing would exclude.
        let all = std::collections::BTreeMap::from([(String::new(), root)]);
        let changed = configuration("static_resources: {}").unwrap().with(&all).unwrap();
        drop(changed.adapt(&lab(), &|_| None).map(|adapted| adapted.bootstrap()));
    }
}

#[test]
fn a_listener_is_named_by_its_name_or_by_a_beginning_that_only_it_has() {
    let listener = |name: &str, port: u16| {
        let address = json!({"socket_address": {"address": "0.0.0.0", "port_value": port}});
        json!({"name": name, "address": address})
    };
    let names = ["public_listener:127.0.0.1:21001", "outbound:1", "outbound:11"];
    let listeners: Vec<Value> = names.iter().zip(21_001..).map(|(name, port)| listener(name, port)).collect();
    let adapted = adapted(&json!({"static_resources": {"listeners": listeners}}).to_string());
    let named = |wanted: &str| adapted.named_listeners(Some(wanted)).map(|meant| meant[0].name.clone());
    assert_eq!(named("public_listener").as_deref(), Ok(names[0]));
    assert_eq!(named("outbound:1").as_deref(), Ok(names[1]), "the whole name comes first");
    assert_eq!(named("outbound:11").as_deref(), Ok(names[2]));
    let several = named("outbound").unwrap_err();
    assert!(
        several.contains("several listeners begin with `outbound`: `outbound:1`, `outbound:11`;"),
        "{several}"
    );
    let unknown = named("public_listenr:127.0.0.1:21001").unwrap_err();
    assert!(unknown.contains("did you mean `public_listener:127.0.0.1:21001`"), "{unknown}");
    assert!(named("").unwrap_err().contains("no listener ``"));
    assert_eq!(adapted.named_listeners(None).map(<[_]>::len), Ok(3));
}
