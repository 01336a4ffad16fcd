//! Faults of times that `hoptax lint` names, on real Envoy: each happens with the file that it names, and no longer with its cure.
//!
//! They are facts about Envoy, which change with its releases. `make test` guards the rules by files that trigger them and files that do not
//! (`crates/lint/tests/rules`).

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::lint::{
    PLAIN, Running, bootstrap, cluster, finds, http_options, listener, mended, routed, server, shop,
};
use crate::listeners_run::free_port;
use crate::support::wait_until;

/// A server that answers after a time, s.
fn after(seconds: u64) -> SocketAddr {
    server(move |_, _, _| {
        std::thread::sleep(Duration::from_secs(seconds));
        Some(200)
    })
}

/// A proxy in front of a server, with the fields of a route to it after `cluster: shop`.
fn routed_to(server: SocketAddr, fields: &str) -> String {
    let route = format!("- match: {{prefix: /}}\n  route: {{cluster: shop{fields}}}");
    shop(&route, "", &[server], "")
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_response_of_seventeen_seconds_needs_a_timeout_of_the_route() {
    let server = after(17);
    for (fields, is_fault, expected) in [("", true, "504"), (", timeout: 60s", false, "200")] {
        let text = routed_to(server, fields);
        assert_eq!(Running::of("route-timeout-default", &text, is_fault).status(), expected, "{fields}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_request_that_hangs_keeps_its_place_without_a_timeout() {
    let server = after(15);
    for (timeout, is_fault) in [("0s", true), ("1s", false)] {
        let text = routed_to(server, &format!(", timeout: {timeout}"));
        let running = Running::of("timeout-off", &text, is_fault);
        let active = || running.statistic("cluster.shop.upstream_rq_active");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| running.status());
            wait_until("the request", || running.statistic("cluster.shop.upstream_rq_total") == 1);
            std::thread::sleep(Duration::from_secs(5));
            assert_eq!(active(), u64::from(is_fault), "{timeout}");
            assert_eq!(asked.join().unwrap(), if is_fault { "200" } else { "504" });
        });
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn the_idle_timeout_of_streams_cuts_a_long_timeout_short() {
    let server = after(5);
    let route = "- match: {prefix: /}\n  route:\n    cluster: shop\n    timeout: 60s";
    let fields = format!("stream_idle_timeout: 1s\n{}", routed(route, ""));
    let text = bootstrap(&listener("in", "127.0.0.1", 0, &fields), &cluster("shop", &[server], ""));
    let faulty = Running::new(&text);
    assert_eq!(faulty.status(), "504");
    assert_eq!(faulty.statistic("http.in.downstream_rq_idle_timeout"), 1);
    assert_eq!(Running::new(&mended("stream-idle-timeout", &text)).status(), "200");
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn the_retry_of_a_listener_behind_an_impatient_one_never_happens() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    // The first try of all hangs.
    let slow = server(move |_, _, _| {
        if counted.fetch_add(1, Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_secs(20));
        }
        Some(200)
    });
    let port = free_port();
    let inner: SocketAddr = ([127, 0, 0, 1], port).into();
    for (timeout, is_fault, expected) in [("1s", true, ("504", 1)), ("9s", false, ("200", 2))] {
        tries.store(0, Ordering::Relaxed);
        let front = format!("- match: {{prefix: /}}\n  route: {{cluster: inner, timeout: {timeout}}}");
        let behind = "- match: {prefix: /}\n  route: {cluster: shop, timeout: 6s, retry_policy: {num_retries: 1, retry_on: 5xx, per_try_timeout: 3s}}";
        let listeners = listener("in", "127.0.0.1", 0, &routed(&front, ""))
            + &listener("inner", "127.0.0.1", port, &routed(behind, ""));
        let text = bootstrap(&listeners, &(cluster("inner", &[inner], "") + &cluster("shop", &[slow], "")));
        let running = Running::of("timeout-chain", &text, is_fault);
        let status = running.status();
        // Longer than the try of the listener behind.
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!((status.as_str(), tries.load(Ordering::Relaxed)), expected, "{timeout}");
    }
}

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn a_server_whose_connections_never_open_costs_five_seconds_by_default() {
    // With a full queue of connections, the kernel drops the first packet of more.
    let full = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&full, 0).unwrap();
    let address = full.local_addr().unwrap();
    let _queued = TcpStream::connect(address).unwrap();
    let text = shop("- match: {prefix: /}\n  route: {cluster: shop, timeout: 60s}", "", &[address], "");
    let took = |text: &str| {
        let running = Running::new(text);
        let began = Instant::now();
        assert_eq!(running.status(), "503");
        assert_eq!(running.statistic("cluster.shop.upstream_cx_connect_timeout"), 1);
        began.elapsed()
    };
    let by_default = text.replace("    connect_timeout: 0.25s\n", "");
    assert!(finds("connect-timeout-default", &by_default) && !finds("connect-timeout-default", &text));
    let (by_default, stated) = (took(&by_default), took(&text));
    // Envoy counts whole milliseconds.
    assert!(by_default >= Duration::from_millis(4_900) && stated < by_default, "{by_default:?}, {stated:?}");
}

/// Time after which the server of the race closes a connection without a request.
const KEPT: Duration = Duration::from_millis(600);

#[test]
#[ignore = "facts about Envoy: run by `make test-long`"]
fn an_hour_is_longer_than_servers_keep_connections() {
    // As a server that decides to close when the next request is on its way.
    let closing = server(|_, request, idle| (request == 0 || idle < KEPT).then_some(200));
    for (options, is_fault, expected) in
        [("", true, ["200", "503"]), (&*http_options("idle_timeout: 0.2s"), false, ["200", "200"])]
    {
        let text = shop(PLAIN, "", &[closing], options);
        let running = Running::of("keepalive-default", &text, is_fault);
        let first = running.status();
        std::thread::sleep(KEPT + KEPT);
        assert_eq!([first, running.status()], expected, "{options}");
    }
}
