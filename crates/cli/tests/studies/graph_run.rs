//! `hoptax lab graph run` on real Envoy.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Guarded, TOLERANT, checked, hoptax, is_alive, root, run, sockets, wait_at_pace};

const GRAPH: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, functions: [jwt], calls: [{service: orders, factor: 0.5}, [{service: stock}, {service: mail}]]}
  - {name: orders, outbound: {functions: [access-log/json]}, calls: [{service: stock, factor: 2}]}
  - {name: stock, service_time_us: 300, functions: [\"rbac{rules=50}\"]}
  - {name: mail, proxy: false, response_bytes: 1000}
";

/// Connections of the load.
const CONNECTIONS: usize = 32;

/// Flags of a run that is as short as possible. On a busy machine, its numbers may be withheld.
const SHORT: [&str; 6] = ["--rounds", "2", "--slices", "1", "--json", "-"];

#[test]
fn every_proxy_handles_the_calls_that_the_graph_states() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    fs::write(&file, GRAPH).unwrap();
    let arguments = ["lab", "graph", "run", file.to_str().unwrap(), "--rate", "100"];
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
fn an_interrupt_ends_a_slice_that_would_take_an_hour_with_all_processes() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = hoptax();
    command.args(["lab", "graph", "run", "chain", "--rate", "50", "--slice", "1h", "--json"]);
    command.arg(folder.path().join("result.json")).env("TMPDIR", &temporary);
    let running = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut running = Guarded(running.unwrap());
    let mut children = Vec::new();
    // The graph has two services, which run with a proxy each and without: requests come once the last of the six listens. A check of
    // a program is a child, too, for a moment.
    wait_at_pace(Duration::from_millis(50), "the connections of the load to a round", || {
        children = running.children();
        children.len() >= 6 && children.iter().any(|child| sockets(*child) > CONNECTIONS)
    });
    running.signal("INT");
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert!(children.iter().all(|child| !is_alive(*child)), "{children:?}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!folder.path().join("result.json").exists(), "an incomplete round is no result");
}

#[test]
fn what_cannot_be_run_or_predicted_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    let list = root().join("docs/results/price-list");
    let refused = |graph: &str, more: &[&str]| {
        fs::write(&file, graph).unwrap();
        let arguments = ["lab", "graph", "run", file.to_str().unwrap(), "--rate", "100"];
        let ran = run(arguments.into_iter().chain(more.iter().copied()));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        ran.stderr
    };
    assert!(refused(&GRAPH.replace("jwt", "tls/terminate"), &[]).contains("without TLS"));
    assert!(refused(&format!("protocol: grpc{GRAPH}"), &[]).contains("sends HTTP/1.1 only"));
    let unpriced = GRAPH.replace("jwt", "\"rbac{rules=7}\"");
    let missing = refused(&unpriced, &["--from", list.to_str().unwrap()]);
    assert!(missing.contains("do not state what the graph needs"), "{missing}");
    run(["lab", "graph", "run", "chian", "--rate", "100"]).fails(2, "did you mean `chain`?");
}
