//! Needs that application, origin and callers cannot meet: each is refused with its line.

use hoptax_subject::front;

use super::*;
use crate::file::Protocol;

const CLOSED: &str = "loads: [{name: callers, loop: closed, caller: php}]";

/// The problems of a study file, a line each: where, and the message.
fn lines(text: &str) -> Vec<String> {
    let text = problems(text);
    text.lines().map(|line| line.strip_prefix("test.yaml:").unwrap().to_owned()).collect()
}

/// Asserts that each problem is at its line and contains its words, in this order, and that there are no others.
fn assert_lines(text: &str, expected: &[(u32, &str)]) {
    let found = lines(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, (line, words)) in found.iter().zip(expected) {
        assert!(found.starts_with(&format!("{line}:")) && found.contains(words), "{words}: {found}");
    }
}

#[test]
fn the_application_in_go_serves_plain_http1_without_queries() {
    let text = format!(
        "name: test
application: go
arms:
  - baseline
  - tls/originate
  - compress/gzip
  - {{function: lua, at: {{protocol: grpc}}}}
  - grpc-json
  - subject: {{position: direct}}
  - subject: {{position: both, mtls: true}}
  - subject: {{position: gateway, tls: true}}
  - subject: {{position: direct, protocol: tcp}}
{LOADS}"
    );
    assert_lines(
        &text,
        &[
            (
                5,
                "`tls/originate` needs TLS to the application, but the application in Go serves plaintext only",
            ),
            (
                6,
                "`compress/gzip` needs responses of 4096 bytes, but the application in Go chooses the size itself",
            ),
            (7, "`lua @ grpc` needs `protocol: grpc`, but the application in Go serves HTTP/1.1 only"),
            (
                8,
                "`grpc-json` needs HTTP/2 to the application, but the application in Go serves HTTP/1.1 only",
            ),
            (11, "`gateway http1 tls` needs TLS to the application"),
            (12, "`direct tcp` needs `protocol: tcp`"),
        ],
    );
    assert!(lines(&text).iter().all(|line| line.ends_with("remove it, or set `application: origin`")));
    // TLS between proxies, and in front of one, is no concern of the application.
    let arms = "baseline, tls/terminate, 'rate-limit/library{per_second=5}', {subject: {position: direct}}";
    planned(&format!("name: test\napplication: go\narms: [{arms}]\n{LOADS}")).unwrap();
    // A proxy translates HTTP/2; without one, nothing does.
    let text = |arm: &str| {
        format!("name: test\napplication: go\narms: [baseline, {{{arm}, at: {{protocol: http2}}}}]\n{LOADS}")
    };
    planned(&text("function: lua")).unwrap();
    assert!(lines(&text("function: direct"))[0].contains("serves HTTP/1.1 only"));
}

#[test]
fn a_command_is_called_over_plain_http1_and_has_no_flags_of_functions() {
    let of = |command: &str| {
        format!(
            "name: test
application: {{command: [{command}]}}
arms: [baseline, tls/originate, rate-limit/library]
{LOADS}"
        )
    };
    assert_lines(
        &of("./server, '{port}'"),
        &[
            (
                3,
                "`tls/originate` needs TLS to the application, but the application `./server` serves plaintext",
            ),
            (
                3,
                "`rate-limit/library` needs an application with the flags `--limit`, but the application `./server` may not have them",
            ),
        ],
    );
    let found = lines(&of("./server"));
    assert!(found[0].starts_with("2:") && found[0].contains("`--port={port}`"), "{found:?}");
    let mistyped = of("./server, '{port}'").replace("']}", "'], redy: /health}");
    let found = lines(&mistyped);
    assert!(found[0].contains("unknown key `redy`; did you mean `ready`?"), "{found:?}");
    let found = lines(&format!("name: test\napplication: orign\narms: [baseline, lua]\n{LOADS}"));
    assert!(
        found[0].contains("one of `origin`, `go`, `image-registry`, not `orign`; did you mean `origin`?"),
        "{found:?}"
    );
}

#[test]
fn a_proxy_other_than_envoy_has_what_its_entry_states() {
    for front in front::ALL {
        let words = Protocol::ALL.map(Protocol::as_str);
        assert!(front.protocols.iter().all(|word| words.contains(word)), "{front:?}");
        for protocol in words {
            let found = plan(&format!(
                "baseline, {{name: front, hops: [{{proxy: {}}}], protocol: {protocol}}}",
                front.name
            ));
            let is_served = front.protocols.contains(&protocol);
            assert_eq!(found.is_ok(), is_served, "{front:?}, {protocol}: {:?}", found.err());
            let position = plan(&format!(
                "{{subject: {{position: direct, protocol: {protocol}}}}}, \
                 {{subject: {{position: gateway, protocol: {protocol}, proxy: {}}}}}",
                front.name
            ));
            assert_eq!(position.is_ok(), is_served, "{front:?}, {protocol}: {:?}", position.err());
        }
    }
    let arm = "{name: front, hops: [{proxy: haproxy-tcp}], at: {tls: tls, workers: 2}}";
    let found = problems(&format!("name: test\narms: [baseline, {arm}]\n{LOADS}"));
    for words in [
        "needs TLS at `hop-1`, but haproxy-tcp serves plaintext only in a study",
        "needs 2 workers, but haproxy-tcp has one thread in a study",
    ] {
        assert!(found.contains(words), "{words}: {found}");
    }
    // Only Envoy translates.
    let arm = "{name: front, hops: [{proxy: haproxy-tcp}], protocol: http2}";
    let found = problems(&format!("name: test\napplication: go\narms: [baseline, {arm}]\n{LOADS}"));
    assert!(found.contains("`front @ http2` needs `protocol: http2`, but the application in Go"), "{found}");
}

#[test]
fn an_origin_requests_client_certificates_of_all_or_of_none() {
    let with = |arms: &str| {
        format!("name: test\narms:\n  - baseline\n  - subject: {{position: direct}}\n{arms}{LOADS}")
    };
    assert_lines(
        &with(
            "  - tls/originate
  - subject: {position: direct, mtls: true}
  - subject: {position: client, tls: true}
  - subject: {position: server, tls: true}
",
        ),
        &[
            (
                5,
                "`tls/originate` needs an origin that takes TLS without a client certificate, but `direct http1 mtls`",
            ),
            (7, "`client http1 tls` needs an origin"),
        ],
    );
    // These do not reach the origin over TLS.
    for arms in [
        "  - tls/originate\n  - subject: {position: server, mtls: true}\n",
        "  - tls/originate\n  - tls/terminate-mutual\n",
        "  - subject: {position: server, tls: true}\n  - subject: {position: both, mtls: true}\n",
    ] {
        assert!(planned(&with(arms)).is_ok(), "{arms}");
    }
}

#[test]
fn a_function_over_quic_sets_the_protocol() {
    let text = |caller: &str| {
        format!(
            "name: test
arms:
  - baseline
  - http3/originate
  - http3/terminate
  - {{function: http3/originate, at: {{protocol: http2}}}}
  - {{function: http3/terminate, at: {{protocol: grpc}}}}
loads: [{{name: callers, loop: closed, caller: {caller}}}]"
        )
    };
    assert_lines(
        &text("hoptax"),
        &[
            (6, "`http3/originate @ http2` needs `protocol: http2`, but its function uses HTTP/3"),
            (7, "`http3/terminate @ grpc` needs `protocol: grpc`, but its function uses HTTP/3"),
        ],
    );
    assert!(
        lines(&text("php")).iter().any(|line| line.contains("`http3/terminate` needs callers over HTTP/3"))
    );
}

#[test]
fn callers_in_php_send_plain_get_requests() {
    let text = format!(
        "name: test
arms:
  - baseline
  - jwt
  - buffer
  - control/delay
  - {{function: lua, at: {{protocol: grpc}}}}
  - {{function: lua, at: {{headers: 5}}}}
  - {{function: lua, at: {{tls: mtls}}}}
  - {{function: lua, at: {{connections: 32}}}}
  - {{function: lua, at: {{response_bytes: 1024, tls: tls}}}}
  - subject: {{position: direct}}
  - subject: {{position: server, mtls: true}}
{CLOSED}"
    );
    assert_lines(
        &text,
        &[
            (
                4,
                "`jwt` needs the request headers `authorization`, `x-hoptax-es256`, but the callers in PHP of load",
            ),
            (
                5,
                "`buffer` needs a request body of 5 bytes, but the callers in PHP of load `callers` send none",
            ),
            (6, "`control/delay` needs 64 connections, but load `callers` has 16 callers in PHP"),
            (7, "`lua @ grpc` needs `protocol: grpc`"),
            (8, "`lua @ headers=5` needs 5 additional request headers"),
            (
                9,
                "`lua @ mtls` needs client certificates, but the callers in PHP of load `callers` present none",
            ),
            (10, "`lua @ connections=32` needs 32 connections, but load `callers` has 16"),
            (13, "`server http1 mtls` needs client certificates"),
        ],
    );
    // The generator does all of that.
    assert!(planned(&text.replace("php", "hoptax")).is_ok());
}

#[test]
fn callers_in_php_follow_neither_expected_statuses_nor_kept_connections() {
    let text = "name: test
arms: [baseline, same]
loads:
  - name: callers
    loop: closed
    caller: php
    expect: [200, 429]
    requests_per_connection: 10
    resumption: true
";
    assert_lines(
        text,
        &[
            (7, "accept every status below 400 and no other: remove `expect`, or set `caller: hoptax`"),
            (8, "open a connection for each request: remove `requests_per_connection`"),
            (9, "keep no TLS sessions: remove `resumption`"),
        ],
    );
    let kept = text.replace("    expect: [200, 429]\n", "").replace("connection: 10", "connection: 1");
    assert!(planned(&kept.replace("resumption: true", "resumption: false")).is_ok());
}

#[test]
fn what_a_study_states_for_all_arms_is_refused_once() {
    let text = format!(
        "name: test
conditions:
  request_bytes: 500
arms:
  - baseline
  - same
  - lua
  - buffer
{CLOSED}"
    );
    assert_lines(
        &text,
        &[
            (3, "`baseline @ request_bytes=500` needs a request body of 500 bytes"),
            (8, "`buffer` needs a request body of 5 bytes"),
        ],
    );
}

#[test]
fn all_problems_of_a_file_come_at_once() {
    let text = "name: test
application: go
arms:
  - baseline
  - nonsense
  - tls/originate
loads:
  - {name: callers, loop: closed, caller: php, expect: [429]}
  - {name: open, loop: open, rate: 5, caller: php, slice: 1ms}
";
    let found = lines(text);
    for words in
        ["nonsense", "TLS to the application", "accept every status", "only a closed loop", "`slice`"]
    {
        assert_eq!(found.iter().filter(|line| line.contains(words)).count(), 1, "{words}: {found:#?}");
    }
}
