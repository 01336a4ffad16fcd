//! Faults of limits, retries and servers that `hoptax lint` names, on real Envoy: each happens with the file that it names, and no longer
//! with its cure.
//!
//! They are facts about Envoy, which change with its releases. `make test` guards the rules by files that trigger them and files that do not
//! (`crates/lint/tests/rules`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit};

use crate::lint::{
    HIGH, PLAIN, Running, assert_overflow, bootstrap, finds, http_options, listener, routed, server, shop,
};
use crate::listeners_run::free_port;
use crate::support::proxied::get;
use crate::support::{origin, wait_until};

/// A route that waits longer than any server of these tests.
const PATIENT: &str = "- match: {prefix: /}\n  route: {cluster: shop, timeout: 60s}";

/// A limit of two connections.
const MONITOR: &str = "overload_manager:\n  resource_monitors:\n  - name: envoy.resource_monitors.global_downstream_max_connections\n    typed_config:\n      \
                       \"@type\": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig\n      \
                       max_active_downstream_connections: 2\n";

/// A server that answers after a second.
fn slow(status: u16) -> SocketAddr {
    server(move |_, _, _| {
        std::thread::sleep(Duration::from_secs(1));
        Some(status)
    })
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn connections_limit_no_requests_of_http_2() {
    let (_origin, url) = origin(&["--default", "delay=2s"]);
    let address = url.trim_end_matches('/').rsplit('/').next().unwrap().parse().unwrap();
    let http2 = "typed_extension_protocol_options:\n  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:\n    \"@type\": \
                 type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions\n    \
                 explicit_http_config: {http2_protocol_options: {}}";
    for (limits, is_fault, expected) in
        [("max_connections: 1", true, 5), ("max_connections: 1, max_requests: 1", false, 1)]
    {
        let more = format!("{http2}\ncircuit_breakers: {{thresholds: [{{{limits}}}]}}");
        let text = shop(PATIENT, "", &[address], &more);
        let running = Running::of("circuit-breaker-http2", &text, is_fault);
        let answered = running.at_once(5).iter().filter(|status| *status == "200").count();
        assert_eq!(answered, expected, "{limits}");
        assert_eq!(running.statistic("cluster.shop.upstream_cx_total"), 1);
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn limits_of_a_thousand_million_admit_whatever_comes() {
    let slow = slow(200);
    for (limit, is_fault) in [(1_000_000_000, true), (5, false)] {
        let more = format!(
            "circuit_breakers: {{thresholds: [{{max_connections: {limit}, max_pending_requests: {limit}, max_requests: {limit}}}]}}"
        );
        let text = shop(PATIENT, "", &[slow], &more);
        let running = Running::of("circuit-breaker-off", &text, is_fault);
        let refused = running.at_once(30).iter().filter(|status| *status == "503").count();
        assert_eq!(refused > 0, !is_fault, "{limit}: {refused} refused");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_number_of_requests_leaves_a_connection_old() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let server = server(move |_, request, _| {
        counted.fetch_add(usize::from(request == 0), Ordering::Relaxed);
        Some(200)
    });
    for (more, is_fault, expected) in [("", true, 1), (", max_connection_duration: 0.5s", false, 2)] {
        let options = http_options(&format!("max_requests_per_connection: 1000{more}"));
        let text = shop(PLAIN, "", &[server], &options);
        let named = text
            .replace("type: STATIC", "type: STRICT_DNS")
            .replace("address: 127.0.0.1, port_value: ", "address: balancer.internal, port_value: ");
        assert_eq!(finds("connection-age", &named), is_fault, "{named}");
        let running = Running::new(&text);
        for pause_s in [2, 0] {
            assert_eq!(running.status(), "200");
            std::thread::sleep(Duration::from_secs(pause_s));
        }
        assert_eq!(connections.swap(0, Ordering::Relaxed), expected, "{more}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_server_that_is_gone_gets_its_share_until_something_notices() {
    let sound = server(|_, _, _| Some(200));
    let gone: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let detection =
        "outlier_detection: {consecutive_5xx: 1, max_ejection_percent: 50, base_ejection_time: 600s}";
    for (more, is_fault) in [("", true), (detection, false)] {
        let text = shop(PLAIN, "", &[sound, gone], more);
        let running = Running::of("no-health-check", &text, is_fault);
        assert!(running.statuses(2).iter().any(|status| status == "503"));
        if !is_fault {
            wait_until("the ejection", || {
                running.statistic("cluster.shop.outlier_detection.ejections_active") == 1
            });
        }
        let failed = running.statuses(20).iter().filter(|status| *status == "503").count();
        // The worker may learn of the ejection after one more request.
        assert!(if is_fault { failed == 10 } else { failed <= 1 }, "{failed} failed: {more}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_retry_goes_to_the_server_that_just_failed() {
    let sound = server(|_, _, _| Some(200));
    let gone: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let predicate = "\n      host_selection_retry_max_attempts: 50\n      retry_host_predicate:\n      - name: envoy.retry_host_predicates.previous_hosts\n        \
                     typed_config: {\"@type\": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate}";
    for (more, is_fault) in [("", true), (predicate, false)] {
        let route = format!(
            "- match: {{prefix: /}}\n  route:\n    cluster: shop\n    timeout: 9s\n    retry_policy:\n      num_retries: 1\n      retry_on: connect-failure{more}"
        );
        let text = shop(&route, "", &[sound, gone], "lb_policy: RANDOM");
        assert_eq!(finds("retry-same-host", &text), is_fault);
        // Of requests with a retry at random, a quarter fails: that none of 80 does has a probability of 1e-10.
        let failed = Running::new(&text).statuses(80).iter().filter(|status| *status == "503").count();
        assert_eq!(failed > 0, is_fault, "{failed} failed: {more}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn three_retries_at_a_time_are_soon_too_few() {
    let failing = slow(503);
    let budget = "circuit_breakers: {thresholds: [{retry_budget: {budget_percent: {value: 20}, min_retry_concurrency: 30}}]}";
    for (more, is_fault) in [("", true), (budget, false)] {
        let route = "- match: {prefix: /}\n  route: {cluster: shop, timeout: 60s, retry_policy: {num_retries: 1, retry_on: 5xx}}";
        let text = shop(route, "", &[failing], more);
        let running = Running::of("retry-budget", &text, is_fault);
        running.at_once(20);
        let refused = running.statistic("cluster.shop.upstream_rq_retry_overflow");
        assert_eq!(refused > 0, is_fault, "{refused} retries refused: {more}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn who_raises_one_limit_is_held_by_the_others() {
    assert_overflow(
        "circuit-breaker-partial",
        "circuit_breakers:\n  thresholds:\n  - max_connections: 5000",
        true,
    );
    assert_overflow("circuit-breaker-partial", HIGH, false);
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn connections_without_a_limit_leave_no_descriptor_for_the_admin_interface() {
    let route = "- match: {prefix: /}\n  direct_response: {status: 200}";
    let text = bootstrap(&listener("in", "0.0.0.0", 0, &routed(route, "")), "  - name: unused\n");
    let limited = text.clone() + MONITOR;
    for (text, is_fault) in [(text, true), (limited, false)] {
        let running = Running::of("connection-limit", &text, is_fault);
        let process = running.proxy.id();
        let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64;
        let few = Rlimit { current: Some(open + 20), maximum: Some(open + 20) };
        let of = Pid::from_raw(process as i32);
        rustix::process::prlimit(of, Resource::Nofile, few).unwrap();
        let listener = SocketAddr::from(([127, 0, 0, 1], running.proxy.address.port()));
        let held: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(listener).unwrap()).collect();
        // Those that Envoy accepts wait for a request, and the others in the queue of the kernel.
        let answer = || {
            let mut admin = TcpStream::connect(running.proxy.admin.unwrap()).ok()?;
            admin.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
            admin.write_all(b"GET /ready HTTP/1.1\r\nhost: a\r\n\r\n").ok()?;
            let mut first = [0; 12];
            admin.read_exact(&mut first).ok()?;
            Some(first)
        };
        if is_fault {
            wait_until("the last descriptor", || answer().is_none());
        } else {
            wait_until("an answer", || answer() == Some(*b"HTTP/1.1 200"));
        }
        drop(held);
    }
}

/// A connection that has had a response and stays open; none if it was refused.
fn kept(address: SocketAddr) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").ok()?;
    let mut first = [0; 12];
    stream.read_exact(&mut first).ok()?;
    (&first == b"HTTP/1.1 200").then_some(stream)
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn an_admin_interface_in_the_limit_cannot_be_reached_when_it_is_needed() {
    let runtime = "layered_runtime: {layers: [{name: limits, static_layer: {overload.global_downstream_max_connections: 2}}]}\n";
    let route = "- match: {prefix: /}\n  direct_response: {status: 200}";
    let text = bootstrap(&listener("in", "127.0.0.1", 0, &routed(route, "")), "  - name: unused\n");
    let cured = text.replacen("admin:\n", "admin:\n  ignore_global_conn_limit: true\n", 1);
    for (text, is_fault) in
        [(text.clone() + runtime, true), (cured + runtime, false), (text + MONITOR, false)]
    {
        let running = Running::of("admin-in-limit", &text, is_fault);
        let mut all = Vec::new();
        // Connections of the start may still count.
        wait_until("two connections", || {
            all.extend(kept(running.proxy.address));
            all.len() == 2
        });
        assert!(kept(running.proxy.address).is_none(), "there is no limit");
        let response = get(running.proxy.admin.unwrap(), "/ready", &BTreeMap::new());
        assert_eq!(response.starts_with("HTTP/1.1 200"), !is_fault, "{response}");
        drop(all);
    }
}
