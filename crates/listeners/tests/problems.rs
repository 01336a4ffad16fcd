//! Every problem of a file is reported at once, at its line and column, with a correction.

use hoptax_listeners::{Source, read, render};
use proptest::prelude::*;

/// The problems of a file.
fn problems(text: &str) -> String {
    match read(Source { name: "x.yaml", text }, None) {
        Ok(plan) => render(&plan).map_or_else(|problems| problems.to_string(), |_| "none".to_owned()),
        Err(problems) => problems.to_string(),
    }
}

/// A sound file.
const BASIC: &str = "listeners:\n  - name: a\n    port: 6102\n    timeout: 2s\n    upstream: {address: a.example, port: 443, encryption: true}\n";

#[test]
fn keys_and_values_that_do_not_fit() {
    insta::assert_snapshot!(problems(include_str!("problems/shape.yaml")));
}

#[test]
fn names_that_lead_nowhere_and_options_without_effect() {
    insta::assert_snapshot!(problems(include_str!("problems/meaning.yaml")));
}

/// Changes of the sound file, with what each reports.
const CHANGES: &[(&str, &str, &str)] = &[
    ("port: 6102", "port: 70000", "x.yaml:3:11: `port` must be from 1 to 65535"),
    ("timeout: 2s", "timeout: 0s", "x.yaml:4:14: `timeout` is `0s`: a time must be above zero"),
    ("timeout: 2s", "timeout:", "x.yaml:4:12: `timeout` is empty"),
    ("timeout: 2s", "timeout: 2s\n    san: []", "x.yaml:5:10: `san` is an empty list"),
    ("name: a", "name: yes", "x.yaml:2:11: `name` must be a text, in quotes"),
    (
        "address: a.example",
        "address: 'a.example:443'",
        "a host must not have a port: write `{address: a.example, port: 443}`",
    ),
    (", encryption: true", "", "none"),
    (
        ", encryption: true}",
        "}\n    sets_sni: true",
        "x.yaml:6:5: `sets_sni` has no effect without encryption",
    ),
    (", port: 443", "", "x.yaml:5:15: `upstream` has no key `port`"),
    ("{address: a.example, port: 443, encryption: true}", "a.example", "x.yaml:5:5: the port is missing"),
    (
        "listeners:",
        "admin: {port: 6102}\nlisteners:",
        "x.yaml:4:5: port 6102 is the port of the admin interface",
    ),
    ("port: 6102", "port: 6102\n    listen: [127.0.0.1, 127.0.0.1]", "`127.0.0.1` is in the list twice"),
    (
        "listeners:",
        "static_resources: {}\nlisteners:",
        "x.yaml:1:1: this is an Envoy configuration; `hoptax listeners import`",
    ),
    (
        "listeners:",
        "restart: {drain: 1500ms}\nlisteners:",
        "x.yaml:1:11: Envoy takes whole seconds here: write `2s`",
    ),
    (
        "listeners:",
        "restart: {drain: 20s, shutdown: 10s}\nlisteners:",
        "x.yaml:1:23: is below `drain`, 20 s: Envoy would end before its clients have moved to the next one",
    ),
    ("port: 6102", "port: 6102\n    listen: []", "`listen` is an empty list"),
    ("port: 6102", "port: 6102\n    <<: 5", "`<<` merges mappings only"),
    (
        "port: 6102",
        "port: 6102\n    routes: [{upstream: {address: b, port: 1}}]",
        "x.yaml:2:5: its own upstream gets no requests: entry 1 of `routes` takes all",
    ),
    (
        "port: 6102",
        "port: 6102\n    routes: [{prefix: /a, upstream: {address: b, port: 1}}, {prefix: /ab, upstream: {address: b, port: 1}}]",
        "x.yaml:4:61: is never reached: entry 1 of `routes` takes its requests",
    ),
    (
        "port: 6102",
        "port: 6102\n    functions: [tracing/opentelemetry]",
        "use `tracing` at the top level of the file",
    ),
    ("port: 6102", "port: 6102\n    functions: [workers/two]", "set at the start of the process"),
    (
        "port: 6102",
        "port: '6102'",
        "x.yaml:3:11: `port` must be a whole number, but the quotes make `6102` a text: remove them",
    ),
    ("timeout: 2s", "timeout: -1s", "`timeout` is `-1s`: a time must be above zero"),
    ("timeout: 2s", "timeout: 99999999999999999999s", "a time must be a year at most"),
    (
        "timeout: 2s",
        "timeout: 2s\n    circuit_breakers: {max_connections: 2147483648}",
        "`max_connections` must be from 0 to 2147483647, not `2147483648`",
    ),
    (
        "listeners:",
        "tracing: {address: b, port: 1}\nlisteners:\n  - {name: b, port: 1, timeout: 1s, cluster: tracing_collector, upstream: {address: c, port: 1}}",
        "x.yaml:3:5: `tracing_collector` is the name of the cluster of `tracing`; choose another one with `cluster: NAME`",
    ),
    (
        "address: a.example, port: 443",
        "address: localhost, port: 6102",
        "x.yaml:5:5: its requests would come back to it",
    ),
    (
        "port: 6102",
        "port: 6102\n    routes: [{hosts: [A.example], upstream: {address: b, port: 1}}, {hosts: [a.example], upstream: {address: b, port: 1}}]",
        "`a.example` is also in another list of hosts",
    ),
    (
        "port: 6102",
        "port: 6102\n    splits: [{name: x, host_regex: 'a{1001}', upstream: {address: b, port: 1}}]",
        "is too large for Envoy: about 2006 instructions, more than 100",
    ),
    (
        "port: 6102",
        "port: 6102\n    retry: {retry_on: reset}\n    retry_policy: {}",
        "are the same: keep one",
    ),
];

#[test]
fn a_sound_file_has_no_problems_and_each_change_of_it_has_its_own() {
    assert_eq!(problems(BASIC), "none");
    for (from, to, expected) in CHANGES {
        let text = BASIC.replace(from, to);
        assert_ne!(text, BASIC, "{from}");
        let found = problems(&text);
        assert!(found.contains(expected), "{to}:\n{found}");
    }
}

#[test]
fn merge_keys_and_aliases_are_resolved() {
    let text = "listeners:\n  - &a\n    name: a\n    port: 6102\n    timeout: &t 2s\n    upstream: {address: a.example, port: 80}\n  - <<: *a\n    name: b\n    port: 6103\n    timeout: *t\n";
    assert_eq!(problems(text), "none");
    assert!(problems(&text.replace("    port: 6103\n", "")).contains("x.yaml:4:5: duplicate port 6102"));
}

#[test]
fn what_would_take_memory_or_time_is_refused_with_its_line() {
    let aliases = (1..30).fold("a0: &a0 [1, 2]\n".to_owned(), |text, number| {
        let before = number - 1;
        format!("{text}a{number}: &a{number} [*a{before}, *a{before}]\n")
    });
    assert!(problems(&aliases).contains("its aliases refer to more than a million nodes"));
    for (text, expected) in [
        ("[".repeat(100_000), "x.yaml:1: not YAML"),
        ("a: ".repeat(10_000), "x.yaml:1: not YAML"),
        ("listeners:\n\t- a\n".to_owned(), "x.yaml:2: not YAML: tabs"),
        ("a: &a [*a]\n".to_owned(), "x.yaml:1: not YAML: an alias refers to a node that contains it"),
        (format!("{BASIC}---\n{BASIC}"), "x.yaml:7: a second document"),
        (String::new(), "x.yaml:1: the file is empty"),
        ("x".repeat(81 << 20), "x.yaml:1: the file has 81 MiB"),
    ] {
        let found = problems(&text);
        assert!(found.contains(expected), "{expected}:\n{found}");
    }
}

/// The lines of a file, of which any may be there or not, in any order.
const LINES: [&str; 16] = [
    "listeners:",
    "- name: a",
    "  port: 1",
    "  timeout: 2s",
    "  upstream: {address: a, port: 1}",
    "  service: b",
    "services: {b: {port: 1}}",
    "domain: d",
    "  <<: *x",
    "  retry: &x {retry_on: 5xx}",
    "  routes:",
    "  - prefix: /",
    "  split: {percentage: 5}",
    "x::y: 1",
    "profile::services_proxy::envoy::listeners:",
    "  san: [a]",
];

proptest! {
    #[test]
    fn no_text_is_more_than_refused(
        text in prop::collection::vec(prop_oneof![prop::sample::select(&LINES[..]).prop_map(str::to_owned), "\\PC{0,20}"], 0..20)
    ) {
        problems(&text.join("\n"));
    }
}
