//! `hoptax listeners check` on real Envoy: a rendered configuration keeps the promises of its file, and each promise that a changed
//! configuration breaks is named.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use hoptax_subject::envoy::release::Envoy;
use serde_json::Value;

use crate::support::{Ran, install, run};

/// A listener for each promise, with numbers of its own by which a change of the configuration finds it. The first has the usual limit of
/// requests per connection; the thousand requests that it takes to reach that are not sent to the others.
const FILE: &str = "\
listeners:
  - {name: plain, port: 6001, timeout: 1s, keepalive: 300ms, connect_timeout: 700ms, upstream: {address: plain.example, port: 80}}
  - name: tried
    port: 6002
    timeout: 1500ms
    keepalive: 300ms
    upstream: {address: tried.example, port: 80}
    max_requests_per_connection: 9
    circuit_breakers: {max_pending_requests: 5000}
    retry: {retry_on: 5xx, num_retries: 2, retry_back_off: {base_interval: 1ms}}
    retry_budget: {budget_percent: 37, min_retry_concurrency: 2}
  - name: named
    port: 6003
    timeout: 300ms
    keepalive: 300ms
    xfp: https
    sets_sni: true
    upstream: {address: named.example, port: 443, encryption: true}
    max_requests_per_connection: 8
    circuit_breakers: {max_pending_requests: 5000}
    splits:
      - name: tests
        host_regex: '(www\\.)?test[0-9]*\\.example'
        keepalive: 300ms
        upstream: {address: tests.example, port: 80}
        max_requests_per_connection: 8
        circuit_breakers: {max_pending_requests: 5000}
  - name: divided
    port: 6004
    timeout: 300ms
    keepalive: 300ms
    http_host: divided.example
    upstream: {address: 192.0.2.1, port: 80}
    max_requests_per_connection: 50
    circuit_breakers: {max_connections: 3, max_pending_requests: 7}
    split:
      percentage: 20
      keepalive: 300ms
      upstream: {address: south.example, port: 443, encryption: true}
      max_requests_per_connection: 50
      circuit_breakers: {max_connections: 3, max_pending_requests: 7}
  - name: slow
    port: 6005
    timeout: 600s
    keepalive: 2m
    upstream: {address: slow.example, port: 80}
    max_requests_per_connection: 8
    circuit_breakers: {max_connections: 4, max_pending_requests: 2}
  - name: edge
    port: 6006
    listen: 0.0.0.0
    timeout: 300ms
    tls: {certificate: /absent/edge.pem, key: /absent/edge.key, client_ca: /absent/ca.pem}
    routes:
      - {hosts: ['*.shop.example'], prefix: /cart, keepalive: 300ms, max_requests_per_connection: 8, circuit_breakers: {max_requests: 2}, upstream: {address: cart.example, port: 80}}
      - {keepalive: 300ms, max_requests_per_connection: 8, circuit_breakers: {max_requests: 3}, upstream: {address: rest.example, port: 80}}
  - name: crowded
    port: 6007
    timeout: 1600ms
    keepalive: 310ms
    upstream: {address: crowded.example, port: 443, encryption: true}
    max_requests_per_connection: 8
    circuit_breakers: {max_connections: 8, max_pending_requests: 5}
  - name: busy
    port: 6008
    timeout: 1600ms
    keepalive: 300ms
    upstream: {address: busy.example, port: 80}
    max_requests_per_connection: 8
    circuit_breakers: {max_requests: 6}
  - name: asked
    port: 6009
    timeout: 300ms
    keepalive: 300ms
    upstream: {address: asked.example, port: 80}
    max_requests_per_connection: 8
    circuit_breakers: {max_pending_requests: 5000}
    ratelimit: {domain: api, by: user-agent}
  - name: bucket
    port: 6010
    timeout: 300ms
    keepalive: 300ms
    upstream: {address: bucket.example, port: 80}
    circuit_breakers: {max_pending_requests: 5000}
    functions: ['rate-limit/local{per_second=50}']
  - name: ejected
    port: 6011
    timeout: 300ms
    keepalive: 300ms
    upstream: {address: ejected.example, port: 443, encryption: true}
    max_requests_per_connection: 8
    circuit_breakers: {max_pending_requests: 5000}
    outlier_detection: {consecutive_5xx: 4, interval: 200ms, base_ejection_time: 2s}
ratelimit_service: {address: limits.example, port: 8081}
";

/// The part of a listener that divides its requests. It takes thousands of them to tell a share, which only [`MORE`] changes.
const SPLIT: &str = "
    split:
      percentage: 20
      keepalive: 300ms
      upstream: {address: south.example, port: 443, encryption: true}
      max_requests_per_connection: 50
      circuit_breakers: {max_connections: 3, max_pending_requests: 7}
";

/// A change of the configuration, and the promise that it breaks: the listener, the subject of the promise, and the observation of the
/// check.
type Change = (&'static str, &'static str, &'static str, &'static str);

/// More than the file says, or something else.
const MORE: [Change; 16] = [
    ("s/\"timeout\": \"1s\"/\"timeout\": \"2.5s\"/", "plain", "timeout", "status 504 after 2."),
    ("s/\"num_retries\": 2/\"num_retries\": 3/", "tried", "tries", "4 tries"),
    ("s/\"sni\": \"named.example\"/\"sni\": \"other.example\"/", "named", "arrival", "SNI `other.example`"),
    ("s/\"auto_host_rewrite\": true/\"auto_host_rewrite\": false/", "named", "arrival", "Host `check."),
    ("s/\"exact\": \"named.example\"/\"contains\": \".\"/", "named", "certificate", "gets the request"),
    (
        "s/\"numerator\": 20$/\"numerator\": 25/;s/\"numerator\": 20,/\"numerator\": 25,/",
        "divided",
        "share",
        "interval",
    ),
    ("s/\"prefix\": \"\\/cart\"/\"prefix\": \"\\/other\"/", "edge", "arrival", "cluster `rest_example_80`"),
    (
        "s/\"require_client_certificate\": true/\"require_client_certificate\": false/",
        "edge",
        "client",
        "gets status 200",
    ),
    ("s/\"max_connections\": 8,/\"max_connections\": 9,/", "crowded", "circuit_breaker", "9 at a time"),
    ("s/\"idle_timeout\": \"0.31s\"/\"idle_timeout\": \"0.6s\"/", "crowded", "keepalive", "it ends after 0."),
    (
        "s/\"connect_timeout\": \"0.7s\"/\"connect_timeout\": \"2.2s\"/",
        "plain",
        "connect_timeout",
        "status 503 after 2.",
    ),
    (
        "s/\"max_requests_per_connection\": 9$/\"max_requests_per_connection\": 12/",
        "tried",
        "requests_per_connection",
        "carries 10 requests",
    ),
    ("s/\"value\": 37$/\"value\": 80/", "tried", "retry_budget", "are not retried"),
    (
        "s/\"consecutive_5xx\": 4,/\"consecutive_5xx\": 6,/",
        "ejected",
        "outlier_detection",
        "it gets a request 1.",
    ),
    ("s/\"domain\": \"api\"/\"domain\": \"other\"/", "asked", "rate_limit", "in domain `other`"),
    ("s/\\(max_tokens\\|tokens_per_fill\\)\": 50/\\1\": 75/", "bucket", "rate_limit", " expected, "),
];

/// Less than the file says, or nothing at all.
const LESS: [Change; 13] = [
    ("s/\"timeout\": \"1s\"/\"timeout\": \"0.8s\"/", "plain", "timeout", "status 504 after 0."),
    ("s/\"num_retries\": 2/\"num_retries\": 1/", "tried", "tries", "2 tries"),
    ("s/\"value\": \"https\"/\"value\": \"http\"/", "named", "arrival", "x-forwarded-proto `http`"),
    (
        "s/\"host_rewrite_literal\": \"divided.example\"/\"auto_host_rewrite\": true/",
        "divided",
        "arrival",
        "Host `",
    ),
    (
        "s/\"max_pending_requests\": 5,/\"max_pending_requests\": 2,/",
        "crowded",
        "circuit_breaker",
        "6 get status 503",
    ),
    ("s/\"max_requests\": 6,/\"max_requests\": 5,/", "busy", "circuit_breaker", "5 at a time"),
    ("s/\"idle_timeout\": \"0.31s\"/\"idle_timeout\": \"0.2s\"/", "crowded", "keepalive", "it ends after 0."),
    (
        "s/\"header_name\": \"user-agent\"/\"header_name\": \"x-other\"/",
        "asked",
        "rate_limit",
        "is not asked",
    ),
    (
        "s/\"connect_timeout\": \"0.7s\"/\"connect_timeout\": \"0.41s\"/",
        "plain",
        "connect_timeout",
        "status 503 after 0.4",
    ),
    (
        "s/\"max_requests_per_connection\": 9$/\"max_requests_per_connection\": 5/",
        "tried",
        "requests_per_connection",
        "carries 5 requests",
    ),
    ("s/\"value\": 37$/\"value\": 10/", "tried", "retry_budget", "are not retried"),
    (
        "s/\"base_ejection_time\": \"2s\"/\"base_ejection_time\": \"1.4s\"/",
        "ejected",
        "outlier_detection",
        "s after 4 failures",
    ),
    ("s/\\(max_tokens\\|tokens_per_fill\\)\": 50/\\1\": 25/", "bucket", "rate_limit", " expected, "),
];

/// A folder with a listeners file, and with programs that change Envoy's configuration before they run Envoy.
struct Lab {
    folder: tempfile::TempDir,
    envoy: Envoy,
}

impl Lab {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), envoy: Envoy::usual().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, text: &str) -> String {
        let path = self.path("listeners.yaml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A program that runs Envoy on its configuration as `sed` changes it.
    fn sabotaged(&self, edit: &str) -> String {
        let path = self.path("envoy");
        let script = format!(
            "for one in \"$@\"; do\n  case \"$one\" in */bootstrap.json) sed -i '{edit}' \"$one\";; esac\ndone\nexec '{}' \"$@\"",
            self.envoy.program.display()
        );
        install(&path, &script);
        path.display().to_string()
    }
}

/// The promises that have an outcome: their listener, their subject, and the observation.
fn promises(ran: &Ran, outcome: &str) -> Vec<[String; 3]> {
    let result: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut found = Vec::new();
    for listener in result["listeners"].as_array().unwrap() {
        for promise in listener["promises"].as_array().unwrap() {
            if promise["outcome"] == outcome {
                found.push([text(&listener["name"]), text(&promise["about"]), text(&promise["seen"])]);
            }
        }
    }
    found
}

#[test]
fn what_is_rendered_keeps_the_promises_of_its_file() {
    let lab = Lab::new();
    let ran = run(["listeners", "check", &lab.file(FILE), "--json", "-"]);
    assert_eq!((ran.code, promises(&ran, "broken")), (Some(0), Vec::new()), "{ran:?}");
    let kept = promises(&ran, "kept");
    let abouts: BTreeSet<&str> = kept.iter().map(|[_, about, _]| about.as_str()).collect();
    assert_eq!(abouts.len(), 13, "{abouts:?}");
    let untried = promises(&ran, "untried");
    let untried_of = |wanted: &str| {
        let of = untried.iter().filter(|[_, about, _]| about == wanted);
        of.map(|[listener, ..]| listener.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((untried_of("timeout"), untried_of("keepalive")), (vec!["slow"], vec!["slow"]), "{ran:?}");
    // More than a check sends.
    let breakers = untried_of("circuit_breaker");
    let many = ["tried", "named", "named", "asked", "bucket", "ejected"];
    assert_eq!(breakers, many, "{ran:?}");
    let at_a_time = ["plain", "circuit_breaker", "1,024 at a time, 1,024 wait, 3 get status 503"];
    assert!(kept.contains(&at_a_time.map(str::to_owned)), "{kept:?}");
    // Requests that end before a connection is given up, or go the way of a share.
    let connects = untried_of("connect_timeout");
    let soon = ["named", "named", "divided", "divided", "edge", "edge", "asked", "bucket", "ejected"];
    assert_eq!(connects, soon, "{ran:?}");
    assert_eq!(untried_of("requests_per_connection"), ["bucket"], "{ran:?}");
    assert_eq!(untried.len(), 2 + breakers.len() + connects.len() + 1, "{untried:?}");
}

/// Checks the file on a configuration with changes: each breaks its promise, and no listener without a change breaks one. The two
/// thousand requests at a time of a listener without limits of its own, and its thousand of a connection, which a file that is kept has,
/// say nothing here.
fn assert_named(file: &str, changes: &[Change]) {
    let lab = Lab::new();
    let file = file.replace(
        "connect_timeout: 700ms, upstream",
        "connect_timeout: 700ms, max_requests_per_connection: 8, circuit_breakers: {max_pending_requests: 5000}, upstream",
    );
    assert_ne!(file, FILE);
    let edits: Vec<&str> = changes.iter().map(|(edit, ..)| *edit).collect();
    let sabotaged = lab.sabotaged(&edits.join(";"));
    let ran = run(["listeners", "check", &lab.file(&file), "--envoy", &sabotaged, "--json", "-"]);
    let broken = promises(&ran, "broken");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for (edit, listener, about, seen) in changes {
        let is_named =
            |[name, kind, words]: &[String; 3]| name == listener && kind == about && words.contains(seen);
        assert!(broken.iter().any(is_named), "{edit}: {broken:#?}\n{}", ran.stderr);
    }
    let changed: BTreeSet<&str> = changes.iter().map(|(_, listener, ..)| *listener).collect();
    assert!(broken.iter().all(|[name, ..]| changed.contains(name.as_str())), "{broken:#?}");
}

#[test]
fn each_promise_of_which_a_configuration_does_more_is_named() {
    assert_named(FILE, &MORE);
}

#[test]
fn each_promise_of_which_a_configuration_does_less_is_named() {
    let file = FILE.replace(SPLIT, "\n");
    assert_ne!(file, FILE);
    assert_named(&file, &LESS);
}

#[test]
fn a_refusal_without_the_overload_header_is_named_and_http2_connections_are_not_tried() {
    let lab = Lab::new();
    let file = lab.file(
        "listeners:\n  - {name: a, port: 6001, timeout: 500ms, keepalive: 200ms, circuit_breakers: {max_requests: 2}, \
         upstream: {address: a.example, port: 80}}\n  - {name: b, port: 6002, timeout: 500ms, http2: true, \
         upstream: {address: b.example, port: 80}}\n",
    );
    let sabotaged =
        lab.sabotaged("s/\\(filters.http.router.v3.Router\"\\)/\\1, \"suppress_envoy_headers\": true/");
    let ran = run(["listeners", "check", &file, "--envoy", &sabotaged, "--json", "-"]);
    let broken = promises(&ran, "broken");
    assert_eq!(broken.len(), 1, "{broken:?} {ran:?}");
    assert_eq!((broken[0][0].as_str(), broken[0][1].as_str()), ("a", "circuit_breaker"));
    assert!(broken[0][2].contains("3 of them without `x-envoy-overloaded`"), "{broken:?}");
    let untried = promises(&ran, "untried");
    let of = untried.iter().map(|[listener, about, _]| (listener.as_str(), about.as_str()));
    let connections = ["circuit_breaker", "keepalive", "requests_per_connection"].map(|about| ("b", about));
    assert_eq!(of.collect::<Vec<_>>(), connections, "{untried:?}");
    assert!(untried.iter().all(|[.., why]| why.contains("speaks HTTP/2")), "{untried:?}");
}

#[test]
fn the_first_screen_names_the_promise_and_a_wrong_file_or_a_missing_envoy_has_its_code() {
    let lab = Lab::new();
    let text = "listeners:\n  - {name: a, port: 6001, timeout: 500ms, keepalive: 200ms, circuit_breakers: {max_requests: 2}, upstream: {address: a.example, port: 80}}\n";
    let file = lab.file(text);
    let ran = run(["listeners", "check", &file]).succeeded();
    // Sentences wrap at the width of the terminal.
    let shown = ran.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(shown.contains("7 promises of 1 listener kept, none broken"), "{ran:?}");
    let late = lab.sabotaged("s/\"timeout\": \"0.5s\"/\"timeout\": \"1.5s\"/");
    let ran = run(["listeners", "check", &file, "--envoy", &late]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let words =
        "Listener `a` (line 2) breaks its timeout: a request ends after 0.5s; seen: status 504 after 1.";
    assert!(ran.stdout.contains(words), "{ran:?}");
    let refused = lab.sabotaged("s/\"timeout\": \"0.5s\"/\"timeout\": \"never\"/");
    run(["listeners", "check", &file, "--envoy", &refused]).fails(2, "refuses the rendered file");
    let ran = run(["listeners", "check", &file, "--envoy", "/absent/envoy"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    run(["listeners", "check", &lab.file(&text.replace("timeout", "tiemout"))])
        .fails(2, "did you mean `timeout`?");
}
