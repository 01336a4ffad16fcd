//! Faults of requests, names and configurations that `hoptax lint` names, on real Envoy: each happens with the file that it names, and no
//! longer with its cure.
//!
//! They are facts about Envoy, which change with its releases. `make test` guards the rules by files that trigger them and files that do not
//! (`crates/lint/tests/rules`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hoptax_certs::Authority;
use hoptax_subject::envoy::release::Envoy;

use crate::lint::{PLAIN, Running, bootstrap, cluster, finds, listener, routed, server};
use crate::lint_faults::{NO_CLUSTER, certified, status};
use crate::listeners_run::free_port;
use crate::support::proxied::{Witness, get};
use crate::support::{run, wait_until};

/// A route that Envoy answers by itself.
const DIRECT: &str = "- match: {prefix: /}\n  direct_response: {status: 200}";

/// A filter that refuses all requests.
const REFUSE: &str = "- name: envoy.filters.http.rbac\n  typed_config:\n    \"@type\": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC\n    \
                      rules: {action: DENY, policies: {all: {permissions: [{any: true}], principals: [{any: true}]}}}\n";

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_service_that_fails_decides_by_a_default() {
    let witness = Witness::start();
    let gone: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    for (more, is_fault, expected) in [("", true, "403"), ("    failure_mode_allow: true\n", false, "200")] {
        let filter = format!(
            "- name: envoy.filters.http.ext_authz\n  typed_config:\n    \"@type\": \
             type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz\n    \
             http_service: {{server_uri: {{uri: 'http://auth.internal', cluster: auth, timeout: 1s}}}}\n{more}"
        );
        let clusters = cluster("shop", &[witness.address], "") + &cluster("auth", &[gone], "");
        let text = bootstrap(&listener("in", "127.0.0.1", 0, &routed(PLAIN, &filter)), &clusters);
        assert_eq!(Running::of("failure-mode-unstated", &text, is_fault).status(), expected);
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_fault_behind_other_filters_is_not_injected_into_what_they_refuse() {
    let fault = "- name: envoy.filters.http.fault\n  typed_config:\n    \"@type\": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault\n    \
                 abort: {http_status: 500, percentage: {numerator: 100}}\n";
    for (filters, is_fault, expected) in
        [(REFUSE.to_owned() + fault, true, "403"), (fault.to_owned() + REFUSE, false, "500")]
    {
        let text = bootstrap(&listener("in", "127.0.0.1", 0, &routed(DIRECT, &filters)), NO_CLUSTER);
        assert_eq!(Running::of("fault-not-first", &text, is_fault).status(), expected);
    }
}

/// A server whose response has a header of mixed case.
fn mixed() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let head = BufReader::new(stream.try_clone().unwrap());
            head.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            // The test sees what is missing.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX-MiXed: 1\r\ncontent-length: 0\r\n\r\n");
        }
    });
    address
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn headers_of_one_direction_lose_their_case() {
    let server = mixed();
    let format = "header_key_format: {stateful_formatter: {name: preserve_case, typed_config: {\"@type\": \
                  type.googleapis.com/envoy.extensions.http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig}}}";
    let of_cluster = format!(
        "typed_extension_protocol_options:\n  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:\n    \"@type\": \
         type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions\n    explicit_http_config: {{http_protocol_options: {{{format}}}}}"
    );
    for (more, is_fault) in [("", true), (of_cluster.as_str(), false)] {
        let fields = format!("http_protocol_options: {{{format}}}\n{}", routed(PLAIN, ""));
        let text = bootstrap(&listener("in", "127.0.0.1", 0, &fields), &cluster("shop", &[server], more));
        let running = Running::of("header-case-half", &text, is_fault);
        let response = get(running.proxy.address, "/", &BTreeMap::new());
        let expected = if is_fault { "\r\nx-mixed: 1\r\n" } else { "\r\nX-MiXed: 1\r\n" };
        assert!(response.contains(expected), "{response}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn no_client_is_internal_unless_the_file_says_so() {
    let route = "- match: {prefix: /, headers: [{name: x-envoy-internal, string_match: {exact: 'true'}}]}\n  direct_response: {status: 200}";
    let networks = "internal_address_config: {cidr_ranges: [{address_prefix: 127.0.0.0, prefix_len: 8}]}\n";
    for (more, is_fault, expected) in [("", true, "404"), (networks, false, "200")] {
        let fields = format!("{more}{}", routed(route, ""));
        let text = bootstrap(&listener("in", "127.0.0.1", 0, &fields), NO_CLUSTER);
        let running = Running::of("internal-address", &text, is_fault);
        let answered = status(&running, "GET", "/", &[("x-forwarded-for", "127.0.0.1")]);
        assert_eq!(answered, expected, "{more}");
    }
}

/// A tracer that sends its spans to the cluster of the service.
fn traced(more: &str) -> String {
    format!(
        "tracing:\n  provider:\n    name: envoy.tracers.zipkin\n    typed_config: {{\"@type\": type.googleapis.com/envoy.config.trace.v3.ZipkinConfig, \
         collector_cluster: shop, collector_endpoint: /api/v2/spans, collector_endpoint_version: HTTP_JSON}}\n{more}{}",
        routed(PLAIN, "")
    )
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_tracer_changes_the_request_id_of_a_client() {
    let sent = "0f3a4b5c-1d2e-4f60-8a7b-9c0d1e2f3a4b";
    let unchanged = "request_id_extension:\n  typed_config: {\"@type\": type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig, \
                     pack_trace_reason: false}\n";
    for (more, is_fault) in [("", true), (unchanged, false)] {
        let witness = Witness::start();
        let text = bootstrap(
            &listener("in", "127.0.0.1", 0, &traced(more)),
            &cluster("shop", &[witness.address], ""),
        );
        let running = Running::of("request-id-changed", &text, is_fault);
        assert_eq!(status(&running, "GET", "/", &[("x-request-id", sent)]), "200");
        let head = witness.heads().into_iter().find(|head| head.starts_with("get / ")).unwrap();
        assert_eq!(!head.contains(&format!("x-request-id: {sent}\r\n")), is_fault, "{head}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn every_request_is_traced_by_default() {
    let witness = Witness::start();
    // One of 10,000: that one of 20 is traced has a probability of 0.2 %, and that all are is impossible.
    for (more, is_fault) in [("", true), ("  random_sampling: {value: 0.01}\n", false)] {
        let text = bootstrap(
            &listener("in", "127.0.0.1", 0, &traced(more)),
            &cluster("shop", &[witness.address], ""),
        );
        let running = Running::of("tracing-every-request", &text, is_fault);
        running.statuses(20);
        let traced = running.statistic("http.in.tracing.random_sampling");
        assert!(if is_fault { traced == 20 } else { traced < 5 }, "{traced} of 20");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn an_open_admin_interface_ends_the_proxy_for_whoever_asks() {
    let open = bootstrap(&listener("in", "127.0.0.1", 0, &routed(DIRECT, "")), NO_CLUSTER).replacen(
        "address: 127.0.0.1",
        "address: 0.0.0.0",
        1,
    );
    let closed = open.replacen("address: 0.0.0.0", "address: 127.0.0.1", 1);
    for (text, is_fault) in [(open, true), (closed, false)] {
        let running = Running::of("admin-exposed", &text, is_fault);
        // Another address of this machine stands for that of another machine.
        let elsewhere = SocketAddr::new(IpAddr::from([127, 0, 0, 2]), running.proxy.admin.unwrap().port());
        let Ok(mut stranger) = TcpStream::connect(elsewhere) else {
            assert!(!is_fault);
            continue;
        };
        assert!(is_fault);
        stranger.write_all(b"POST /quitquitquit HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n").unwrap();
        wait_until("the end of the proxy", || TcpStream::connect(running.proxy.address).is_err());
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_client_of_ipv6_finds_no_listener_of_ipv4() {
    // Nothing can be shown on a machine without IPv6.
    if TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let port = free_port();
    let text = bootstrap(&listener("in", "127.0.0.1", port, &routed(DIRECT, "")), NO_CLUSTER);
    let both = text.replacen(
        "    filter_chains:\n",
        &format!("    additional_addresses: [{{address: {{socket_address: {{address: '::1', port_value: {port}}}}}}}]\n    filter_chains:\n"),
        1,
    );
    for (text, is_fault) in [(text, true), (both, false)] {
        let _running = Running::of("listener-ipv4-only", &text, is_fault);
        assert_eq!(TcpStream::connect(("::1", port)).is_err(), is_fault, "{text}");
    }
}

/// A listener with TLS that answers requests for each of these hosts by itself, and only if the handshake named it.
fn secure(folder: &Path, authority: &Authority, port: u16, hosts: &[&str]) -> String {
    let chain = |host: &&str| {
        let [certificate, key] = certified(folder, host, authority);
        let fields = format!(
            "route_config: {{virtual_hosts: [{{name: all, domains: ['{host}'], routes: [{{match: {{prefix: /}}, direct_response: {{status: 200}}}}]}}]}}\n\
             http_filters: [{{name: envoy.filters.http.router, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}}}]"
        );
        // The chain of an ordinary listener, with a condition and a certificate.
        let whole = listener("secure", "127.0.0.1", port, &fields);
        let (_, chain) = whole.split_once("    filter_chains:\n    - ").unwrap();
        format!(
            "    - filter_chain_match: {{server_names: ['{host}']}}\n      transport_socket:\n        name: envoy.transport_sockets.tls\n        typed_config:\n          \
             \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext\n          \
             common_tls_context: {{tls_certificates: [{{certificate_chain: {{filename: {certificate}}}, private_key: {{filename: {key}}}}}]}}\n      {chain}"
        )
    };
    let chains: String = hosts.iter().map(chain).collect();
    format!(
        "  - name: secure\n    address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}\n    listener_filters:\n    \
         - name: envoy.filters.listener.tls_inspector\n      typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}}\n    \
         filter_chains:\n{chains}"
    )
}

/// The transport socket of a cluster that names a host in its handshakes.
fn tls(host: &str) -> String {
    format!(
        "transport_socket:\n  name: envoy.transport_sockets.tls\n  typed_config: {{\"@type\": \
         type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, sni: {host}}}"
    )
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_server_of_tls_does_not_answer_plain_text_nor_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("public", 3600).unwrap();
    let port = free_port();
    let secure = secure(folder.path(), &authority, port, &["shop.internal", "cart.internal"]);
    let text = |host: &str, socket: &str| {
        let route = format!(
            "- match: {{prefix: /}}\n  route: {{cluster: shop, timeout: 5s, host_rewrite_literal: {host}}}"
        );
        let inside = listener("in", "127.0.0.1", 0, &routed(&route, ""));
        bootstrap(&(inside + &secure), &cluster("shop", &[([127, 0, 0, 1], port).into()], socket))
    };
    let sound = text("shop.internal", &tls("shop.internal"));
    assert_eq!(Running::new(&sound).status(), "200");
    let other_name = text("cart.internal", &tls("shop.internal"));
    assert!(finds("sni-and-host", &other_name) && !finds("sni-and-host", &sound));
    assert_eq!(Running::new(&other_name).status(), "404");
    let plain = text("shop.internal", "");
    // Only who may open any port can have a server at port 443.
    let named = |text: &str| {
        text.replace(
            &format!("{{address: 127.0.0.1, port_value: {port}}}}}}}\n"),
            "{address: 192.0.2.1, port_value: 443}}}\n",
        )
    };
    assert!(finds("plain-text-to-443", &named(&plain)) && !finds("plain-text-to-443", &named(&sound)));
    assert!(Running::new(&plain).status().starts_with("50"), "plain text is answered");
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_chain_for_a_name_is_never_taken_without_the_inspector() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("public", 3600).unwrap();
    let port = free_port();
    let cured = secure(folder.path(), &authority, port, &["shop.internal"]);
    let (before, after) = cured.split_once("    listener_filters:\n").unwrap();
    let (_, after) = after.split_once("    filter_chains:\n").unwrap();
    let faulty = format!("{before}    filter_chains:\n{after}");
    let route =
        "- match: {prefix: /}\n  route: {cluster: shop, timeout: 5s, host_rewrite_literal: shop.internal}";
    let inside = listener("in", "127.0.0.1", 0, &routed(route, ""));
    let server = cluster("shop", &[([127, 0, 0, 1], port).into()], &tls("shop.internal"));
    for (secure, is_fault, expected) in [(faulty, true, "503"), (cured, false, "200")] {
        let text = bootstrap(&(inside.clone() + &secure), &server);
        assert_eq!(Running::of("sni-without-inspector", &text, is_fault).status(), expected);
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn who_states_an_address_gets_past_rules_by_address() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("public", 3600).unwrap();
    let [certificate, key] = certified(folder.path(), "edge.example", &authority);
    let office = "- name: envoy.filters.http.rbac\n  typed_config:\n    \"@type\": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC\n    \
                  rules: {policies: {office: {permissions: [{any: true}], principals: [{remote_ip: {address_prefix: 192.0.2.0, prefix_len: 24}}]}}}\n";
    let socket = format!(
        "      transport_socket:\n        name: envoy.transport_sockets.tls\n        typed_config:\n          \"@type\": \
         type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext\n          \
         common_tls_context: {{tls_certificates: [{{certificate_chain: {{filename: {certificate}}}, private_key: {{filename: {key}}}}}]}}\n"
    );
    for (more, is_fault, expected) in [("", true, "200"), ("use_remote_address: true\n", false, "403")] {
        let fields = format!("{more}{}", routed(DIRECT, office));
        let text = bootstrap(&(listener("in", "0.0.0.0", 0, &fields) + &socket), NO_CLUSTER);
        let running = Running::of("client-address-trusted", &text, is_fault);
        let url = format!("https://127.0.0.1:{}/", running.proxy.address.port());
        let asked = "load -n 1 -c 1 --insecure --json -".split(' ');
        let asked = asked.chain(["-H", "x-forwarded-for: 192.0.2.7", &url]);
        let json: serde_json::Value = serde_json::from_str(&run(asked).stdout).unwrap();
        assert_eq!(json["statuses"][expected], 1, "{json:#}");
    }
}

/// A bootstrap with clusters beside that of the service.
fn with_clusters(server: SocketAddr, number: usize, more: &str) -> String {
    let clusters: String = (0..number).map(|number| cluster(&format!("c{number}"), &[server], "")).collect();
    let listener = listener("in", "127.0.0.1", 0, &routed(PLAIN, ""));
    bootstrap(&listener, &(cluster("shop", &[server], "") + &clusters)) + more
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn each_of_many_clusters_has_a_hundred_statistics() {
    let server = server(|_, _, _| Some(200));
    let matched = "stats_config: {stats_matcher: {inclusion_list: {patterns: [{prefix: http.}]}}}\n";
    for (more, is_fault) in [("", true), (matched, false)] {
        let text = with_clusters(server, 100, more);
        let running = Running::of("histogram-cardinality", &text, is_fault);
        let all = get(running.proxy.admin.unwrap(), "/stats", &BTreeMap::new());
        let of_clusters = all.lines().filter(|line| line.starts_with("cluster.c")).count();
        assert!(if is_fault { of_clusters > 8_000 } else { of_clusters == 0 }, "{of_clusters}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_cluster_that_nothing_leads_to_is_still_checked() {
    let checked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&checked);
    let server = server(move |_, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(200)
    });
    let health = "health_checks:\n- {timeout: 1s, interval: 0.2s, no_traffic_interval: 0.2s, unhealthy_threshold: 2, healthy_threshold: 1, \
                  http_health_check: {path: /healthy}}";
    let listener = listener("in", "127.0.0.1", 0, &routed(PLAIN, ""));
    let cured = bootstrap(&listener, &cluster("shop", &[server], ""));
    let faulty = cured.clone() + &cluster("cart", &[server], health);
    assert!(finds("unused-cluster", &faulty) && !finds("unused-cluster", &cured));
    let _cured = Running::new(&cured);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(checked.load(Ordering::Relaxed), 0);
    let _faulty = Running::new(&faulty);
    wait_until("health checks", || checked.load(Ordering::Relaxed) > 2);
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn envoy_warns_of_deprecated_fields() {
    let server = server(|_, _, _| Some(200));
    let listener = listener("in", "127.0.0.1", 0, &routed(PLAIN, ""));
    let folder = tempfile::tempdir().unwrap();
    let envoy = Envoy::usual().unwrap();
    for (more, is_fault) in [("respect_dns_ttl: true\ndns_lookup_family: V4_ONLY", true), ("", false)] {
        let text = bootstrap(&listener, &cluster("shop", &[server], more).replace("STATIC", "STRICT_DNS"));
        assert_eq!(finds("deprecated-field", &text), is_fault);
        let path = folder.path().join("envoy.yaml");
        fs::write(&path, &text).unwrap();
        let mut validate = Command::new(&envoy.program);
        validate.args(["--mode", "validate", "--log-level", "warning", "--config-path"]).arg(&path);
        let output = validate.output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{log}");
        assert_eq!(log.contains("Cluster.respect_dns_ttl' from file"), is_fault, "{log}");
    }
}
