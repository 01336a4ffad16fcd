//! `hoptax price` on real Envoy: a configuration of the user runs here, whole and without each of its parts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

use support::{root, run};

fn edge() -> String {
    root().join("crates/bootstrap/fixtures/edge.yaml").to_str().unwrap().to_owned()
}

/// The lines of a section, without their indentation.
fn section<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let behind = text.split_once(title).unwrap_or_else(|| panic!("no {title} in:\n{text}")).1;
    behind.lines().skip(1).take_while(|line| line.starts_with("  ")).map(str::trim).collect()
}

#[test]
fn the_whole_and_every_variant_answer_and_the_parts_act() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(["price", &edge(), "--out", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let variants = section(&ran.stdout, "Variants of listener edge");
    assert_eq!(variants.len(), 11, "{variants:#?}");
    for variant in &variants {
        assert!(variant.ends_with("10 of status 200"), "{variants:#?}");
    }
    let activity = section(&ran.stdout, "Activity of the parts");
    for part in [
        "users",
        "authorization",
        "cors",
        "to-file",
        "envoy.tracers.zipkin",
        "envoy.transport_sockets.tls",
        "cart",
    ] {
        let line = activity.iter().find(|line| line.contains(&format!("  {part}  ")));
        assert!(line.is_some_and(|line| line.contains('+')), "{part}: {activity:#?}");
    }
    let whole = fs::read_to_string(folder.path().join("variants/whole/bootstrap.json")).unwrap();
    assert!(!whole.contains("hunter2") && !whole.contains("192.0.2.9"), "{whole}");
}

#[test]
fn a_dry_run_lists_requests_parts_and_replacements_without_secrets() {
    let ran = run(["price", &edge(), "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("GET https://hoptax.shop.example/cart"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    assert!(section(&ran.stdout, "Replacements").len() > 10);
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    let path = path.to_str().unwrap();
    let fails_with = |text: &str, more: &[&str], expected: &str| {
        fs::write(path, text).unwrap();
        let ran = run(["price", path].into_iter().chain(more.iter().copied()));
        assert_eq!(ran.code, Some(2), "{text}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{text}: {}", ran.stderr);
    };
    fails_with("a: [", &["--dry-run"], "neither YAML nor JSON");
    fails_with("dynamic_resources: {lds_config: {ads: {}}}", &["--dry-run"], "/config_dump");
    fails_with(
        "static_resources: {listeners: [{name: north}]}",
        &["--dry-run", "--listener", "nort"],
        "`north`",
    );
    fails_with("static_resources: {no_such_field: 1}", &[], "no_such_field");
}
