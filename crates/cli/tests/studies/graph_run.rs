//! `hoptax graph run` on real Envoy.

use std::fs;

use serde_json::Value;

use crate::support::{TOLERANT, checked, root, run};

const GRAPH: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, functions: [jwt], calls: [{service: orders, factor: 0.5}, [{service: stock}, {service: mail}]]}
  - {name: orders, outbound: {functions: [access-log/json]}, calls: [{service: stock, factor: 2}]}
  - {name: stock, service_time_us: 300, functions: [\"rbac{rules=50}\"]}
  - {name: mail, proxy: false, response_bytes: 1000}
";

/// Flags of a run that is as short as possible and accepts a busy machine. Whether its numbers are withheld is left open.
const SHORT: [&str; 6] = ["--rounds", "2", "--slices", "1", "--json", "-"];

#[test]
fn every_proxy_handles_the_calls_that_the_graph_states() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    fs::write(&file, GRAPH).unwrap();
    let arguments = ["graph", "run", file.to_str().unwrap(), "--rate", "100"];
    let ran = run(arguments.into_iter().chain(SHORT).chain(TOLERANT));
    assert!([Some(0), Some(4)].contains(&ran.code), "{}", ran.stderr);
    let result = checked("graph-run", &ran.stdout);
    let names: Vec<&str> = result["proxies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|proxy| proxy["service"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["gateway", "orders", "stock"]);
    let rounds = result["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        // The proxy of orders passes half a request and one call for each request to the entry; that of the stock has two callers.
        let requests: Vec<f64> = round["proxies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|proxy| proxy["requests"].as_f64().unwrap())
            .collect();
        // Each of the connections of a service spreads fractions by itself.
        for (number, per_request) in [(0, 1.0), (1, 1.5), (2, 2.0)] {
            let expected = per_request * requests[0];
            assert!((requests[number] - expected).abs() <= 0.02 * expected + 48.0, "{requests:?}");
        }
        assert!(requests[0] > 100.0, "{requests:?}");
        assert_eq!(round["unproven"], Value::Array(Vec::new()), "every function had work");
        let slices = round["slices"].as_array().unwrap();
        assert_eq!(slices.len(), 2);
        for slice in slices {
            assert!(slice["answered"].as_u64().unwrap() > 50, "{slice}");
            let proxies = slice["cpu_us"].as_array().unwrap();
            assert_eq!(proxies.len(), if slice["condition"] == "proxied" { 3 } else { 0 });
            assert!(proxies.iter().all(|cpu_us| cpu_us.as_f64().unwrap() > 0.0), "{slice}");
        }
    }
    let findings = result["findings"].as_array().unwrap();
    let is_about_calls = |finding: &&Value| finding["id"] == "calls" || finding["id"] == "functions";
    assert_eq!(findings.iter().find(is_about_calls), None, "{findings:?}");
}

#[test]
fn what_cannot_be_run_or_predicted_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    let list = root().join("docs/price-list");
    let refused = |graph: &str, more: &[&str]| {
        fs::write(&file, graph).unwrap();
        let arguments = ["graph", "run", file.to_str().unwrap(), "--rate", "100"];
        let ran = run(arguments.into_iter().chain(more.iter().copied()));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        ran.stderr
    };
    assert!(refused(&GRAPH.replace("jwt", "tls/terminate"), &[]).contains("without TLS"));
    assert!(refused(&format!("protocol: grpc{GRAPH}"), &[]).contains("sends HTTP/1.1 only"));
    let unpriced = GRAPH.replace("jwt", "\"rbac{rules=7}\"");
    let missing = refused(&unpriced, &["--from", list.to_str().unwrap()]);
    assert!(missing.contains("do not state what the graph needs"), "{missing}");
    let unknown = run(["graph", "run", "chian", "--rate", "100"]);
    assert!(
        unknown.code == Some(2) && unknown.stderr.contains("did you mean `chain`?"),
        "{}",
        unknown.stderr
    );
}
