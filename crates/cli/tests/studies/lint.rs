//! Faults that `hoptax lint` names, on real Envoy: each happens with the file that it names, and no longer with the file that is mended.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use hoptax_subject::envoy::process::Proxy;

use crate::listeners_run::free_port;
use crate::support::proxied::{Witness, get, given, statistics};
use crate::support::{Guarded, Ran, hoptax, run, wait_until};

const MANAGER: &str =
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER: &str = "{name: envoy.filters.http.router, typed_config: {\"@type\": \
    type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}";

/// A listener whose connection manager has these fields.
pub(super) fn listener(name: &str, address: &str, port: u16, fields: &str) -> String {
    let fields: String = fields.lines().map(|line| format!("          {line}\n")).collect();
    format!(
        "  - name: {name}\n    address: {{socket_address: {{address: {address}, port_value: {port}}}}}\n    filter_chains:\n    - filters:\n      \
         - name: envoy.filters.network.http_connection_manager\n        typed_config:\n          \"@type\": {MANAGER}\n          \
         stat_prefix: {name}\n{fields}"
    )
}

/// The fields of a manager with one route, and with filters before the router.
pub(super) fn routed(route: &str, filters: &str) -> String {
    let route: String = route.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "route_config:\n  virtual_hosts:\n  - name: all\n    domains: ['*']\n    routes:\n{route}http_filters:\n{filters}- {ROUTER}"
    )
}

/// A cluster of static servers, with more fields.
pub(super) fn cluster(name: &str, servers: &[SocketAddr], more: &str) -> String {
    let endpoints: String = servers
        .iter()
        .map(|server| {
            format!(
                "        - endpoint: {{address: {{socket_address: {{address: {}, port_value: {}}}}}}}\n",
                server.ip(),
                server.port()
            )
        })
        .collect();
    let more: String = more.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "  - name: {name}\n    connect_timeout: 0.25s\n    type: STATIC\n{more}    load_assignment:\n      cluster_name: {name}\n      \
         endpoints:\n      - lb_endpoints:\n{endpoints}"
    )
}

pub(super) fn bootstrap(listeners: &str, clusters: &str) -> String {
    format!(
        "admin:\n  address: {{socket_address: {{address: 127.0.0.1, port_value: 0}}}}\nstatic_resources:\n  listeners:\n{listeners}  clusters:\n{clusters}"
    )
}

/// A listener with one route to the servers of the cluster `shop`, which has more fields.
pub(super) fn shop(route: &str, filters: &str, servers: &[SocketAddr], more: &str) -> String {
    bootstrap(&listener("in", "127.0.0.1", 0, &routed(route, filters)), &cluster("shop", servers, more))
}

/// Options of HTTP/1 connections of a cluster.
pub(super) fn http_options(options: &str) -> String {
    format!(
        "typed_extension_protocol_options:\n  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:\n    \"@type\": \
         type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions\n    explicit_http_config: {{http_protocol_options: {{}}}}\n    \
         common_http_protocol_options: {{{options}}}"
    )
}

/// A running Envoy with a configuration.
pub(super) struct Running {
    pub(super) proxy: Proxy,
    _folder: tempfile::TempDir,
}

impl Running {
    pub(super) fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bootstrap = hoptax_text::yaml::envoy::first(text).unwrap().to_value();
        Self { proxy: given(bootstrap, folder.path(), &[]), _folder: folder }
    }

    /// One in whose configuration the program finds the fault of a rule if `is_fault`.
    pub(super) fn of(rule: &str, text: &str, is_fault: bool) -> Self {
        assert_eq!(finds(rule, text), is_fault, "{rule}:\n{text}");
        Self::new(text)
    }

    fn get(&self) -> String {
        get(self.proxy.address, "/", &BTreeMap::new())
    }

    /// The status of a response.
    pub(super) fn status(&self) -> String {
        self.get().split(' ').nth(1).unwrap_or_default().to_owned()
    }

    pub(super) fn statuses(&self, number: usize) -> Vec<String> {
        (0..number).map(|_| self.status()).collect()
    }

    /// The statuses of requests that are sent at once, each on a connection of its own.
    pub(super) fn at_once(&self, number: usize) -> Vec<String> {
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..number).map(|_| scope.spawn(|| self.status())).collect();
            asked.into_iter().map(|one| one.join().unwrap()).collect()
        })
    }

    /// The value of a statistic.
    pub(super) fn statistic(&self, name: &str) -> u64 {
        let all = statistics(&self.proxy);
        let line = all.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{name}"))
    }
}

/// Lints a file with a text. Returns the run, and the text afterwards.
fn linted(text: &str, flags: &[&str]) -> (Ran, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    fs::write(&path, text).unwrap();
    let ran = run([&["lint", path.to_str().unwrap()], flags].concat());
    (ran, fs::read_to_string(&path).unwrap())
}

/// Returns true if the program finds a fault in a text.
pub(super) fn finds(id: &str, text: &str) -> bool {
    let (ran, _) = linted(text, &["--only", id, "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    !json["files"][0]["findings"].as_array().unwrap().is_empty()
}

/// A text as the program mends it.
pub(super) fn mended(id: &str, text: &str) -> String {
    assert!(finds(id, text), "{id} is not found:\n{text}");
    let (ran, mended) = linted(text, &["--only", id, "--fix"]);
    assert!(ran.stderr.contains("fixed 1"), "{ran:?}");
    mended
}

/// A server of HTTP/1.1 that calls `serve` for each request, with the number of its connection, that of the request on it and the time since
/// the one before; it closes the connection for `None`.
pub(super) fn server(
    serve: impl Fn(usize, usize, Duration) -> Option<u16> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for (connection, stream) in listener.incoming().flatten().enumerate() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || answer(stream, connection, &*serve));
        }
    });
    address
}

fn answer(mut stream: TcpStream, connection: usize, serve: &dyn Fn(usize, usize, Duration) -> Option<u16>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut before = Instant::now();
    for request in 0.. {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).unwrap_or_default() == 0 {
                return;
            }
        }
        let Some(status) = serve(connection, request, before.elapsed()) else { return };
        if write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n").is_err() {
            return;
        }
        before = Instant::now();
    }
}

pub(super) const PLAIN: &str = "- match: {prefix: /}\n  route: {cluster: shop, timeout: 5s}";

/// Fields by which a limit holds for all requests.
const ALWAYS: &str =
    "\nfilter_enabled: {default_value: {numerator: 100}}\nfilter_enforced: {default_value: {numerator: 100}}";

fn limit(fields: &str, indent: usize) -> String {
    let lines = format!(
        "\"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit\nstat_prefix: limit\n\
         token_bucket: {{max_tokens: 1, tokens_per_fill: 1, fill_interval: 3600s}}{fields}\n"
    );
    lines.lines().map(|line| format!("{:indent$}{line}\n", "")).collect()
}

#[test]
fn a_rate_limit_without_its_percentages_limits_nothing() {
    let witness = Witness::start();
    let text = |fields: &str| {
        let filter =
            format!("- name: envoy.filters.http.local_ratelimit\n  typed_config:\n{}", limit(fields, 4));
        shop(PLAIN, &filter, &[witness.address], "")
    };
    let (faulty, cured) = (text(""), text(ALWAYS));
    assert_eq!(Running::of("rate-limit-off", &faulty, true).statuses(3), ["200", "200", "200"]);
    assert_eq!(Running::of("rate-limit-off", &cured, false).statuses(3), ["200", "429", "429"]);
}

#[test]
fn settings_of_a_route_for_a_filter_that_is_not_there_do_nothing() {
    let witness = Witness::start();
    let route = format!(
        "{PLAIN}\n  typed_per_filter_config:\n    envoy.filters.http.local_ratelimit:\n{}",
        limit(ALWAYS, 6)
    );
    let filter = "- name: envoy.filters.http.local_ratelimit\n  typed_config: {\"@type\": \
                  type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit, stat_prefix: limit}\n";
    let text = |filter: &str| shop(&route, filter, &[witness.address], "");
    let (faulty, cured) = (text(""), text(filter));
    assert_eq!(Running::of("per-route-without-filter", &faulty, true).statuses(3), ["200", "200", "200"]);
    assert_eq!(Running::of("per-route-without-filter", &cured, false).statuses(3), ["200", "429", "429"]);
}

#[test]
fn retries_of_two_listeners_multiply() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let failing = server(move |_, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(503)
    });
    let inner_port = free_port();
    let inner: SocketAddr = ([127, 0, 0, 1], inner_port).into();
    let retried = |cluster: &str, retries: usize| {
        let policy = "retry_back_off: {base_interval: 0.001s}, retry_on: retriable-status-codes, retriable_status_codes: [503]";
        routed(
            &format!(
                "- match: {{prefix: /}}\n  route: {{cluster: {cluster}, timeout: 9s, retry_policy: {{num_retries: {retries}, {policy}}}}}"
            ),
            "",
        )
    };
    let text = |of_inner: usize| {
        let listeners = listener("in", "127.0.0.1", 0, &retried("inner", 2))
            + &listener("inner", "127.0.0.1", inner_port, &retried("shop", of_inner));
        bootstrap(&listeners, &(cluster("inner", &[inner], "") + &cluster("shop", &[failing], "")))
    };
    for (of_inner, expected) in [(2, 9), (0, 3)] {
        tries.store(0, Ordering::Relaxed);
        assert_eq!(Running::of("retry-multiplied", &text(of_inner), of_inner > 0).status(), "503");
        assert_eq!(tries.load(Ordering::Relaxed), expected);
    }
}

#[test]
fn a_try_that_hangs_is_never_retried_without_a_timeout_of_its_own() {
    let text = |of_try: &str| {
        // The first request of all hangs.
        let slow = server(|connection, _, _| {
            if connection == 0 {
                std::thread::sleep(Duration::from_secs(4));
            }
            Some(200)
        });
        let route = format!(
            "- match: {{prefix: /}}\n  route:\n    cluster: shop\n    timeout: 2s\n    retry_policy:\n      num_retries: 1\n      retry_on: 5xx{of_try}"
        );
        shop(&route, "", &[slow], "")
    };
    for (of_try, expected) in [("", "504"), ("\n      per_try_timeout: 1s", "200")] {
        let running = Running::of("retry-without-try-timeout", &text(of_try), of_try.is_empty());
        assert_eq!(running.status(), expected, "{of_try}");
    }
}

#[test]
fn an_appended_scheme_becomes_two() {
    let witness = Witness::start();
    let route =
        format!("{PLAIN}\n  request_headers_to_add:\n  - header: {{key: x-forwarded-proto, value: https}}");
    let text = shop(&route, "", &[witness.address], "");
    assert_eq!(Running::new(&text).status(), "200");
    assert_eq!(Running::new(&mended("forwarded-proto-appended", &text)).status(), "200");
    let scheme = |head: &String| {
        head.lines()
            .filter_map(|line| line.strip_prefix("x-forwarded-proto: ").map(str::to_owned))
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(witness.heads().iter().map(scheme).collect::<Vec<_>>(), ["http,https", "https"]);
}

#[test]
fn clients_are_sent_to_themselves() {
    let text = |host: &str| {
        let route =
            format!("- match: {{prefix: /}}\n  redirect: {{host_redirect: {host}, port_redirect: 6101}}");
        bootstrap(&listener("in", "0.0.0.0", 0, &routed(&route, "")), "  - name: unused\n")
    };
    for (host, is_fault) in [("localhost", true), ("video.example.org", false)] {
        let running = Running::of("localhost-leak", &text(host), is_fault);
        let address = ([127, 0, 0, 1], running.proxy.address.port()).into();
        let response = get(address, "/", &BTreeMap::new());
        assert!(response.contains(&format!("location: http://{host}:6101/")), "{response}");
    }
}

/// Time after which the server of the race closes a connection without a request.
const KEPT: Duration = Duration::from_millis(600);

#[test]
fn a_connection_that_the_server_gives_up_first_loses_a_request() {
    // As a server that decides to close when the next request is on its way.
    let closing = server(|_, request, idle| (request == 0 || idle < KEPT).then_some(200));
    let text = |idle: &str| {
        let options = http_options(&format!("idle_timeout: {idle}"));
        shop(PLAIN, "", &[closing], &options)
    };
    for (idle, is_fault, expected) in [("3600s", true, ["200", "503"]), ("0.2s", false, ["200", "200"])] {
        let text = text(idle);
        let running = Running::of("keepalive-race", &text, is_fault);
        let first = running.status();
        std::thread::sleep(KEPT + KEPT);
        assert_eq!([first, running.status()], expected, "{idle}");
        assert_eq!(
            running.statistic("cluster.shop.upstream_cx_destroy_remote_with_active_rq"),
            u64::from(is_fault)
        );
    }
}

#[test]
fn endless_connections_keep_the_server_that_a_balancer_of_connections_chose() {
    // A balancer of connections gives them to two servers in turn.
    let of_server = Arc::new(Mutex::new([0, 0]));
    let counted = Arc::clone(&of_server);
    let behind = server(move |connection, _, _| {
        counted.lock().unwrap()[connection % 2] += 1;
        Some(200)
    });
    for (options, expected) in
        [("max_headers_count: 100", [20, 0]), ("max_requests_per_connection: 5", [10, 10])]
    {
        *of_server.lock().unwrap() = [0, 0];
        let text = shop(PLAIN, "", &[behind], &http_options(options));
        let running = Running::new(&text);
        // The connections of the case before count on.
        assert!(running.statuses(20).iter().all(|status| status == "200"));
        let mut found = *of_server.lock().unwrap();
        found.sort_by_key(|number| std::cmp::Reverse(*number));
        assert_eq!(found, expected, "{options}");
        let named = text
            .replace("type: STATIC", "type: STRICT_DNS")
            .replace("address: 127.0.0.1, port_value: ", "address: balancer.internal, port_value: ");
        assert_eq!(finds("requests-per-connection", &named), expected[1] == 0, "{named}");
    }
}

#[test]
fn outlier_detection_of_two_servers_ejects_none_by_default() {
    let (sound, failing) = (server(|_, _, _| Some(200)), server(|_, _, _| Some(500)));
    let text = shop(PLAIN, "", &[sound, failing], "outlier_detection:\n  consecutive_5xx: 2");
    let ejected = |text: &str| {
        let running = Running::new(text);
        running.statuses(12);
        running.statistic("cluster.shop.outlier_detection.ejections_active")
    };
    assert_eq!(ejected(&text), 0);
    let cured = mended("outlier-ejects-none", &text);
    assert_eq!(ejected(&cured), 1, "{cured}");
}

#[test]
fn a_service_of_grpc_is_asked_in_http_1_unless_the_cluster_says_otherwise() {
    let witness = Witness::start();
    let filter = "- name: envoy.filters.http.ext_authz\n  typed_config:\n    \"@type\": \
                  type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz\n    transport_api_version: V3\n    \
                  grpc_service: {envoy_grpc: {cluster_name: auth}, timeout: 1s}\n";
    let clusters = cluster("shop", &[witness.address], "") + &cluster("auth", &[witness.address], "");
    let text = bootstrap(&listener("in", "127.0.0.1", 0, &routed(PLAIN, filter)), &clusters);
    assert_eq!(Running::new(&text).status(), "403");
    let of_fault = witness.heads();
    assert!(
        of_fault
            .iter()
            .all(|head| head.starts_with("post /envoy.service.auth.v3.authorization/check http/1.1")),
        "{of_fault:?}"
    );
    assert_eq!(
        Running::new(&mended("grpc-without-http2", &text)).status(),
        "403",
        "the witness speaks no HTTP/2"
    );
    let first = witness.heads().into_iter().nth(of_fault.len()).unwrap();
    assert!(first.starts_with("pri * http/2.0"), "{first}");
}

#[test]
fn an_address_with_a_scheme_starts_and_never_resolves() {
    let address: SocketAddr = ([127, 0, 0, 1], 80).into();
    let text = shop(PLAIN, "", &[address], "");
    let text = text
        .replace("type: STATIC", "type: STRICT_DNS")
        .replace("address: 127.0.0.1, port_value: 80", "address: 'http://localhost', port_value: 80");
    assert_eq!(Running::of("address-with-scheme", &text, true).status(), "503");
}

/// More requests at once than a cluster admits by default: 1024 on connections of their own, and as many that wait.
const AT_ONCE: &str = "2100";

/// Limits above [`AT_ONCE`].
pub(super) const HIGH: &str = "circuit_breakers:\n  thresholds:\n  - {max_connections: 5000, max_pending_requests: 5000, max_requests: 5000}";

/// Sends more requests at once than a cluster admits by default. Asserts that one with these fields refuses some if it has the fault of a
/// rule, and else none.
pub(super) fn assert_overflow(rule: &str, fields: &str, is_fault: bool) {
    let gate = Arc::new(RwLock::new(()));
    let waiting = Arc::clone(&gate);
    let server = server(move |_, _, _| {
        drop(waiting.read());
        Some(200)
    });
    let route = "- match: {prefix: /}\n  route: {cluster: shop, timeout: 600s}";
    let text = bootstrap(
        &listener("in", "127.0.0.1", 0, &routed(route, "")),
        &cluster("shop", &[server], fields).replace("0.25s", "60s"),
    );
    assert_eq!(finds(rule, &text), is_fault);
    let closed = gate.write().unwrap();
    let running = Running::new(&text);
    let url = format!("http://{}/", running.proxy.address);
    let mut load = hoptax();
    load.args(["load", "-c", AT_ONCE, "-n", AT_ONCE, "-d", "1h", "--timeout", "10m", &url]);
    let load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let load = Guarded(load);
    let statistic = |name: &str| running.statistic(&format!("cluster.shop.{name}"));
    if is_fault {
        wait_until("an overflow", || statistic("upstream_rq_pending_overflow") > 0);
    } else {
        wait_until("all requests", || statistic("upstream_rq_active").to_string() == AT_ONCE);
        assert_eq!(statistic("upstream_rq_pending_overflow"), 0);
    }
    drop((load, closed));
}

#[test]
fn a_cluster_without_limits_refuses_what_is_above_1024() {
    assert_overflow("circuit-breaker-default", "", true);
    assert_overflow("circuit-breaker-default", HIGH, false);
}
