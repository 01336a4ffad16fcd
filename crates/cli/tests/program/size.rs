//! `hoptax predict size` on results of studies.

use std::fs;

use crate::support::{checked, root, run};

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
    let list = root().join("docs/results/price-list");
    let arguments =
        ["predict", "size", file.to_str().unwrap(), "--rate", "12000", "--from", list.to_str().unwrap()];
    let ran = run(arguments).succeeded();
    for words in [
        "At 12,000 requests/s, the proxies of shop use",
        "The first bottleneck is `gateway`",
        "response times are not predicted: `price-list` has no rounds",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let details = run(arguments.into_iter().chain(["--details"]));
    for words in ["saved when off", "without rounds", "requests.cpu"] {
        assert!(details.stdout.contains(words), "{words}: {}", details.stdout);
    }
    let json = checked("size", &run(arguments.into_iter().chain(["--json", "-"])).stdout);
    assert_eq!(json["proxies"][1]["requests_per_second"], 6_000.0);
    let findings = json["findings"].as_array().unwrap();
    let is_of_source = |finding: &serde_json::Value| finding["id"] == "source-verdict";
    assert_eq!(findings.iter().any(is_of_source), json["verdict"] != "sound", "{findings:?}");
    let cores = |value: &serde_json::Value| value["cores"]["estimate"].as_f64().unwrap();
    let sum = cores(&json["proxies"][0]) + cores(&json["proxies"][1]);
    assert!((cores(&json) / sum - 1.0).abs() < 1e-9, "{json}");
}

#[test]
fn graphs_of_the_program_have_names_and_a_proxy_with_too_few_workers_comes_first() {
    let list = root().join("docs/results/price-list");
    let sized = |graph: &str, rate: &str| {
        run(["predict", "size", graph, "--rate", rate, "--from", list.to_str().unwrap()])
    };
    let chain = sized("chain", "40000");
    assert!(chain.code == Some(0), "{}", chain.stderr);
    assert!(chain.stdout.trim_start().starts_with("At 40,000 requests/s, `"), "{}", chain.stdout);
    assert!(chain.stdout.contains("needs 2 workers instead of 1 (busy"), "{}", chain.stdout);
    sized("chian", "1").fails(2, "did you mean `chain`?");
}

#[test]
fn prices_make_money_of_cores_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    fs::write(&file, GRAPH).unwrap();
    let list = root().join("docs/results/price-list");
    let arguments =
        ["predict", "size", file.to_str().unwrap(), "--rate", "12000", "--from", list.to_str().unwrap()];
    let money = |prices: &[&str]| {
        let ran = run(arguments.into_iter().chain(prices.iter().copied()).chain(["--json", "-"])).succeeded();
        checked("size", &ran.stdout)
    };
    assert!(money(&[])["money"].is_null());
    let cpu = money(&["--price-per-core-hour", "0.03"]);
    let estimate = |value: &serde_json::Value| value["estimate"].as_f64().unwrap();
    let expected = estimate(&cpu["cores"]) * 0.03 * 730.0;
    assert!((estimate(&cpu["money"]["per_month"]) / expected - 1.0).abs() < 1e-9, "{}", cpu["money"]);
    let both = money(&["--price-per-core-hour", "0.03", "--price-per-gib-hour", "0.004"]);
    let bytes: f64 = (0..2).map(|proxy| estimate(&both["proxies"][proxy]["memory_bytes"])).sum();
    let expected = expected + bytes / 1_073_741_824.0 * 0.004 * 730.0;
    assert!((estimate(&both["money"]["per_month"]) / expected - 1.0).abs() < 1e-9, "{}", both["money"]);
    let wrong = run(arguments.into_iter().chain(["--price-per-core-hour", "-1"]));
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn topologies_and_manifests_become_graphs_that_are_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let (topology, manifests) = (folder.path().join("topology.yaml"), folder.path().join("manifests"));
    fs::write(
        &topology,
        "services:
  - {name: front, isEntrypoint: true, script: [[{call: a}, {call: b}]]}
  - {name: a}
  - {name: b}
",
    )
    .unwrap();
    fs::create_dir_all(manifests.join("more")).unwrap();
    let workload = |name: &str, args: &str| {
        format!(
            "kind: Deployment
metadata: {{name: {name}}}
spec:
  template:
    metadata: {{labels: {{app: {name}, sidecar.istio.io/inject: 'true'}}}}
    spec: {{containers: [{{args: [{args}]}}]}}
---
kind: Service
metadata: {{name: {name}}}
spec: {{selector: {{app: {name}}}}}
"
        )
    };
    fs::write(manifests.join("front.yaml"), workload("front", "'http://back'")).unwrap();
    fs::write(manifests.join("more/back.yml"), workload("back", "")).unwrap();
    let list = root().join("docs/results/price-list");
    for (arguments, services) in [
        (["lab", "graph", "isotope", topology.to_str().unwrap()], 3),
        (["lab", "graph", "kubernetes", manifests.to_str().unwrap()], 2),
    ] {
        let (source, ran) = (arguments[3], run(arguments));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let graph = folder.path().join("graph.yaml");
        fs::write(&graph, &ran.stdout).unwrap();
        let arguments =
            ["predict", "size", graph.to_str().unwrap(), "--rate", "1000", "--from", list.to_str().unwrap()];
        let sized = run(arguments.into_iter().chain(["--json", "-"])).succeeded();
        let sized = checked("size", &sized.stdout);
        assert_eq!(sized["proxies"].as_array().unwrap().len(), services);
        // The same without a graph file.
        let given = ["predict", "size", source, "--rate", "1000", "--from", list.to_str().unwrap()];
        let direct = run(given.into_iter().chain(["--json", "-"]));
        assert_eq!(checked("size", &direct.stdout)["proxies"], sized["proxies"], "{}", direct.stderr);
        assert!(direct.stderr.contains("hoptax: `"), "what was assumed: {}", direct.stderr);
    }
    fs::write(&topology, "services: [{name: front, isEntrypoint: true, retries: 3}]").unwrap();
    let rendered = folder.path().join("rendered.yaml");
    let all = format!("{}---\n{}", workload("front", "'http://back'"), workload("back", ""));
    fs::write(&rendered, all).unwrap();
    let of_file = run(["lab", "graph", "kubernetes", rendered.to_str().unwrap()]);
    assert!(of_file.code == Some(0) && of_file.stdout.contains("calls: [{service: back}]"), "{of_file:?}");
    run(["lab", "graph", "isotope", topology.to_str().unwrap()]).fails(2, "unknown key `retries`");
    run(["lab", "graph", "kubernetes", "/nonexistent"]).fails(2, "cannot read the folder");
}

#[test]
fn what_is_wrong_with_graph_or_results_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.yaml");
    let list = root().join("docs/results/price-list");
    let size = |graph: &str| {
        fs::write(&file, graph).unwrap();
        run(["predict", "size", file.to_str().unwrap(), "--rate", "100", "--from", list.to_str().unwrap()])
    };
    size(&GRAPH.replace("jwt", "jtw")).fails(2, "did you mean `jwt`?");
    size(&GRAPH.replace("name: cart,", "name: cart, protocol: grpc,")).fails(2, "at: {protocol: grpc}}");
    assert_eq!(run(["predict", "size"]).code, Some(2));
    run(["predict", "size", "--check", list.to_str().unwrap()]).fails(2, "has no rounds");
}
