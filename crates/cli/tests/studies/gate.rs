//! `hoptax gate` on real Envoy.

use std::fs;

use serde_json::Value;

use crate::gate_in_ci::gated;
use crate::support::{checked, hoptax, ran, run};

pub(crate) const STUDY: &str = r"
name: edge
rounds: 4
arms:
  - baseline
  - {name: ours, hops: [{config: conf/old.yaml}]}
loads:
  - {name: saturation, loop: closed, connections: 8, blocks: 2, slice: 100ms}
";

/// The candidate calculates for each request, which is far beyond any limit; the A/A arm does not.
#[test]
fn a_candidate_that_costs_more_fails_and_reports_in_every_format() {
    let gated = gated();
    let ran = &gated.ran;
    let gate = checked("gate", gated.read("gate.json"));
    assert_eq!(gate, serde_json::from_str::<Value>(gated.read("out/gate.json")).unwrap());
    let outcomes: Vec<(&str, &str)> = gate["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["arm"].as_str().unwrap(), one["outcome"].as_str().unwrap()))
        .collect();
    // On a busy machine, the numbers may be withheld.
    let is_unknown = gate["limits"][0]["change_share"].is_null();
    let expected = if is_unknown { ["unknown", "unknown"] } else { ["failed", "passed"] };
    assert_eq!(outcomes, expected.map(|outcome| ("ours", outcome)), "{}", ran.stderr);
    assert_eq!(ran.code, Some(if is_unknown { 4 } else { 1 }), "{}", ran.stderr);
    assert_ne!(gate["same"][0]["outcome"], "failed", "{gate:#}");
    assert!(ran.stdout.contains("config=new.yaml") && ran.stdout.contains("(A/A)"), "{}", ran.stdout);
    assert!(gated.read("summary.md").contains("cpu>+3%"));
    let junit = gated.read("gate.xml");
    assert!(junit.contains("<testcase classname=\"ours\" name=\"cpu>+3%\">") || junit.contains("cpu&gt;+3%"));
    let sarif: Value = serde_json::from_str(gated.read("gate.sarif")).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "edge.yaml"
    );
    assert_eq!(gated.temporary, Vec::<String>::new(), "the temporary study file is removed");
}

/// A proxy whose only route ends in `action`.
fn proxy(action: &str) -> String {
    format!(
        r#"static_resources:
  listeners:
  - name: web
    address: {{socket_address: {{address: 0.0.0.0, port_value: 8080}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: web
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
          route_config:
            virtual_hosts: [{{name: shop, domains: ["*"], routes: [{{match: {{prefix: /}}, {action}}}]}}]
  clusters:
  - name: shop
    type: STRICT_DNS
    load_assignment:
      cluster_name: shop
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: shop.internal, port_value: 80}}}}}}}}]}}]
"#
    )
}

/// The candidate answers itself, with the status and the size of the origin's answer: only the origin can tell.
#[test]
fn a_cheaper_candidate_that_does_other_work_fails() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("conf")).unwrap();
    // One arm is enough, because the candidate is another, and one connection, because no cost is read.
    let study =
        STUDY.replace("  - baseline\n", "").replace("connections: 8, blocks: 2", "connections: 1, blocks: 1");
    write("edge.yaml", &study);
    write("conf/old.yaml", &proxy("route: {cluster: shop}"));
    let body = "x".repeat(64);
    write("new.yaml", &proxy(&format!("direct_response: {{status: 200, body: {{inline_string: {body}}}}}")));
    let mut command = hoptax();
    command.current_dir(folder.path()).args(["gate", "edge.yaml", "--candidate", "config=new.yaml"]);
    command.args(["--rounds", "2", "--fail-on", "cpu>+3%", "--json", "gate.json", "--junit", "gate.xml"]);
    let ran = ran(&mut command);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let gate = checked("gate", &read("gate.json"));
    let differences = serde_json::json!(["no requests reach the origin instead of all requests"]);
    assert_eq!(gate["answer_differences"], serde_json::json!([{"arm": "ours", "differences": differences}]));
    assert_eq!((&gate["limits"][0]["outcome"], ran.code), (&"failed".into(), Some(1)), "{}", ran.stderr);
    assert!(
        ran.stdout.trim_start().starts_with("Failed: config=new.yaml answers differently"),
        "{}",
        ran.stdout
    );
    assert!(read("gate.xml").contains("failures=\"1\""), "{}", read("gate.xml"));
}

#[test]
fn invalid_gates_are_refused_with_the_reason() {
    let limit = ["--fail-on", "cpu>+3%"];
    for (arguments, expected) in [
        (vec!["gate", "quick", "--candidate", "nginx=1.2"], "`envoy=1.41.0` or `config=new.yaml`"),
        (vec!["gate", "quick", "--candidate", "config=new.yaml"], "changes no arm of `quick`"),
        (vec!["gate", "quik", "--candidate", "envoy=1.39.3"], "did you mean `quick`"),
        (vec!["gate", "slow-upstream", "--candidate", "envoy=1.39.3"], "observes a timeline"),
        (vec!["gate", "slow-upstream", "--reference", "nightly"], "observes a timeline"),
        (vec!["gate", "quick", "--reference", "nightly", "--store", "/nowhere/store"], "there is no store"),
        (vec!["gate", "quick"], "--candidate"),
    ] {
        run(arguments.iter().chain(&limit).copied()).fails(2, expected);
    }
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed.yaml");
    let text = "name: closed\narms: [baseline, lua]\nloads: [{name: saturation, loop: closed}]\n";
    fs::write(&closed, text).unwrap();
    let closed = closed.to_str().unwrap();
    run(["gate", closed, "--candidate", "envoy=1.39.3", "--fail-on", "p99>+3%"])
        .fails(2, "needs a load in open loop");
    run(["gate", "quick", "--candidate", "envoy=1.39.3", "--fail-on", "cqu>+3%"])
        .fails(2, "did you mean `cpu`");
    run(["gate", "quick", "--candidate", "envoy=1.39.3", "--fail-on", "p99>+3%", "--until-decided", "1m"])
        .fails(2, "cpu>+3%");
}
