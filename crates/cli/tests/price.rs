//! `hoptax price` on real Envoy: a configuration of the user runs here, whole and without each of its parts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{checked, root, run};

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
    let ran = run(["price", &edge(), "--try", "--out", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let variants = section(&ran.stdout, "Variants of listener edge");
    assert_eq!(variants.len(), 12, "{variants:#?}");
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
    let whole = fs::read_to_string(folder.path().join("tries/whole/bootstrap.json")).unwrap();
    assert!(!whole.contains("hunter2") && !whole.contains("192.0.2.9"), "{whole}");
}

#[test]
fn a_part_that_costs_much_leads_the_bill_of_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let config = root().join("crates/cli/tests/fixtures/bill.yaml");
    let ran = run([
        "price",
        config.to_str().unwrap(),
        "--request",
        "GET http://shop.example/cart/1",
        "--header",
        "x-own: secret-of-the-user",
        "--rounds",
        "3",
        "--json",
        "-",
        "--out",
        out.to_str().unwrap(),
    ]);
    let bill = checked("bill", &ran.stdout);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let kept: Value = serde_json::from_str(&fs::read_to_string(out.join("bill.json")).unwrap()).unwrap();
    assert_eq!(bill, kept);
    assert!(!ran.stdout.contains("secret-of-the-user") && ran.stdout.contains("x-own"));
    assert_eq!(bill["request"]["url"], "http://shop.example/cart/1");
    assert_eq!(bill["request"]["statuses"], json!([200]));
    assert_eq!(bill["rate"], Value::Null, "CPU time is that at saturation");
    let parts = bill["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    // Twenty thousand conversions of numbers cost more than anything else that a proxy does for a request.
    assert_eq!((names.len(), names[0]), (4, "script"), "{names:?}");
    let part = |name: &str| parts.iter().find(|part| part["name"] == name).unwrap();
    let cpu_us = |name: &str, end: &str| part(name)["cost"]["cpu_us_per_request"][end].as_f64();
    assert!(cpu_us("script", "low") > Some(300.0), "{:?}", part("script"));
    assert!(cpu_us("script", "low") > cpu_us("header", "high"), "{:?}", part("header"));
    for (name, state) in
        [("script", "exercised"), ("to-file", "exercised"), ("cors", "not-exercised"), ("header", "unknown")]
    {
        assert_eq!(part(name)["activity"]["state"], state, "{name}");
    }
    let markdown = fs::read_to_string(out.join("bill.md")).unwrap();
    assert!(markdown.contains("The most expensive part is HTTP filter script"), "{markdown}");
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
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    fails_with("static_resources: {no_such_field: 1}", &["--out", out], "no_such_field");
    let ran = run(["price", &edge(), "--dry-run", "--without", "cor"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("did you mean `cors`"), "{}", ran.stderr);
    let ran = run(["price", &edge(), "--price-per-core-hour", "0.04"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--rate"), "{}", ran.stderr);
    let ran = run(["price", &edge(), "--dry-run", "--request", "GET http://a.shop.example/cart"]);
    assert!(ran.stdout.contains("no request") && ran.stdout.contains("takes https"), "{}", ran.stdout);
}
