//! `hoptax size` on results of studies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

use support::{checked, root, run};

const GRAPH: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, workers: 2, functions: [jwt, \"rbac{rules=50}\"], calls: [{service: cart, factor: 0.5}]}
  - {name: cart, functions: [access-log/json]}
";

#[test]
fn a_graph_is_predicted_from_the_published_price_list() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    fs::write(&file, GRAPH).unwrap();
    let list = root().join("docs/price-list");
    let arguments = ["size", file.to_str().unwrap(), "--rate", "12000", "--from", list.to_str().unwrap()];
    let ran = run(arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for words in
        ["shop at 12,000 requests/s", "first bottleneck: `gateway`", "saved when off", "without rounds"]
    {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let json = checked("size", &run(arguments.into_iter().chain(["--json", "-"])).stdout);
    assert_eq!(json["proxies"][1]["requests_per_second"], 6_000.0);
    let cores = |value: &serde_json::Value| value["cores"]["estimate"].as_f64().unwrap();
    let sum = cores(&json["proxies"][0]) + cores(&json["proxies"][1]);
    assert!((cores(&json) / sum - 1.0).abs() < 1e-9, "{json}");
}

#[test]
fn what_is_wrong_with_graph_or_results_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    let list = root().join("docs/price-list");
    let size = |graph: &str| {
        fs::write(&file, graph).unwrap();
        run(["size", file.to_str().unwrap(), "--rate", "100", "--from", list.to_str().unwrap()])
    };
    let unknown = size(&GRAPH.replace("jwt", "jtw"));
    assert!(unknown.code == Some(2) && unknown.stderr.contains("did you mean `jwt`?"), "{}", unknown.stderr);
    let unpriced = size(&GRAPH.replace("name: cart,", "name: cart, protocol: grpc,"));
    assert_eq!(unpriced.code, Some(2));
    assert!(unpriced.stderr.contains("at: {protocol: grpc}}"), "{}", unpriced.stderr);
    assert_eq!(run(["size"]).code, Some(2));
    let check = run(["size", "--check", list.to_str().unwrap()]);
    assert!(check.code == Some(2) && check.stderr.contains("has no rounds"), "{}", check.stderr);
}
