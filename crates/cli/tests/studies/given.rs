//! Arms with a configuration of the user on real Envoy.

use std::fs;

use serde_json::json;

use crate::support::study::{StudyFolder, arm};
use crate::support::{hoptax, ran, root};

/// The filter of the fixture that costs CPU time.
const LUA: &str = "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0";

/// A study of a copy of the fixture, with a few requests to each arm: one takes milliseconds of CPU time.
fn of_few(arms: &str) -> StudyFolder {
    with_load(arms, "")
}

/// With a closed loop as well.
fn at_saturation(arms: &str) -> StudyFolder {
    with_load(arms, "  - {name: saturation, loop: closed, connections: 4, blocks: 2, slice: 50ms}\n")
}

fn with_load(arms: &str, load: &str) -> StudyFolder {
    let text = format!(
        "name: given\nrounds: 2\narms:\n  - baseline\n{arms}loads:\n{load}  \
         - {{name: fixed-rate, loop: open, rate: 50, arrivals: uniform, connections: 4, blocks: 1, slice: 100ms}}\n"
    );
    let study = StudyFolder::new(&text);
    fs::copy(root().join("crates/cli/tests/fixtures/given.yaml"), study.path("envoy.yaml")).unwrap();
    study
}

#[test]
fn a_configuration_is_measured_whole_and_without_a_part() {
    let folder = at_saturation(&format!(
        "  - {{name: whole, hops: [{{config: envoy.yaml}}]}}
  - {{name: whole-again, hops: [{{config: envoy.yaml}}], compared_with: whole}}
  - {{name: no-lua, hops: [{{config: envoy.yaml, without: ['{LUA}']}}], compared_with: whole}}
"
    ));
    let ran = folder.run();
    let result = folder.result_of(&ran);
    for id in ["whole", "whole-again", "no-lua"] {
        let arm = arm(&result, id);
        assert_eq!((&arm["unproven"], &arm["failures"]), (&json!([]), &json!({})), "{id}: {}", ran.stderr);
        assert_eq!(arm["answer"]["statuses"], json!({"200": 10}), "{id}");
        assert_eq!(arm["answer"]["statistics"]["http.web.downstream_rq_2xx"], json!(10), "{id}");
        assert_eq!(arm["subject"]["request"]["url"], json!("http://shop.example/cart"), "{id}");
        assert_eq!(arm["subject"]["expect"]["saturation"], json!([200]), "{id}");
        let bootstrap = folder.path("out/arms").join(id).join("bootstrap.json");
        let bootstrap = fs::read_to_string(bootstrap).unwrap();
        assert!(!bootstrap.contains("192.0.2.") && !bootstrap.contains("hunter2"), "{bootstrap}");
        assert_eq!(bootstrap.contains("filters.http.lua"), id != "no-lua", "{id}");
    }
    let config = &arm(&result, "no-lua")["subject"]["hops"][0]["config"];
    assert_eq!((&config["listener"], &config["without"]), (&json!("web"), &json!([LUA])));
    // A hundred thousand conversions of numbers cost more than anything else that a proxy does.
    let cost = |id: &str| arm(&result, id)["cost"]["cpu_us_per_request"]["high"].as_f64();
    assert!(cost("no-lua") < Some(-1_000.0), "{:?}: {}", cost("no-lua"), ran.stderr);
    assert_eq!(arm(&result, "whole-again")["kind"], "same");
}

#[test]
fn tls_of_a_configuration_and_what_it_answers_are_those_of_the_configuration() {
    let folder = of_few(
        "  - {name: secure, hops: [{config: envoy.yaml, listener: secure}], request: {path: /secure, host: a.shop.example}}
  - {name: moved, hops: [{config: envoy.yaml}], request: {path: /old}}
  - {name: behind, hops: [{name: edge, functions: [jwt]}, {name: mine, config: envoy.yaml}], request: {path: /none}}
",
    );
    let config = fs::read_to_string(folder.path("envoy.yaml")).unwrap();
    // Clients select the filter chain by a name that virtual hosts do not have.
    fs::write(folder.path("envoy.yaml"), config.replace("domains: [shop.example]", "domains: ['*']"))
        .unwrap();
    let result = folder.short_form();
    for (id, status) in [("secure", "200"), ("moved", "301"), ("behind", "404")] {
        let arm = arm(&result, id);
        assert_eq!(arm["failures"], json!({}), "{id}");
        assert_eq!(arm["answer"]["statuses"], json!({status: 10}), "{id}");
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{id}");
    }
    assert_eq!(arm(&result, "secure")["subject"]["tls"], json!(["mtls", "none"]));
    // Requests that the proxy in front does not let through would leave no trace in the configuration behind it.
    for id in ["secure", "moved", "behind"] {
        assert_eq!(arm(&result, id)["unproven"], json!([]), "{id}");
    }
}

/// The filter in front of the script asks a service to which its cluster connects over TLS.
#[test]
fn a_service_that_a_configuration_calls_over_tls_answers() {
    let folder = of_few("  - {name: asks, hops: [{config: envoy.yaml}]}\n");
    let config = fs::read_to_string(folder.path("envoy.yaml")).unwrap();
    let filter = "                http_filters:
                  - name: envoy.filters.http.ext_authz
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
                      grpc_service: {envoy_grpc: {cluster_name: authorization}}
                  - name: envoy.filters.http.lua
";
    let cluster = "  clusters:
    - name: authorization
      type: STRICT_DNS
      load_assignment:
        cluster_name: authorization
        endpoints:
          - lb_endpoints:
              - endpoint: {address: {socket_address: {address: 192.0.2.9, port_value: 443}}}
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {http2_protocol_options: {}}
";
    // With a certificate of its own, the service asks for it and verifies it.
    let mutual = cluster.replace(
        "v3.UpstreamTlsContext\n",
        "v3.UpstreamTlsContext\n          common_tls_context: {tls_certificates: [{certificate_chain: {filename: a.pem}, private_key: {filename: a.key}}]}\n",
    );
    for cluster in [cluster, mutual.as_str()] {
        let with_filter = config.replacen(
            "                http_filters:\n                  - name: envoy.filters.http.lua\n",
            filter,
            1,
        );
        fs::write(folder.path("envoy.yaml"), with_filter.replacen("  clusters:\n", cluster, 1)).unwrap();
        drop(fs::remove_dir_all(folder.path("out")));
        let result = folder.short_form();
        let arm = arm(&result, "asks");
        assert_eq!(arm["answer"]["statuses"], json!({"200": 10}), "{arm:#}");
        let calls = &arm["answer"]["statistics"]["cluster.authorization.ssl.handshake"];
        assert!(calls.as_u64() > Some(0), "{}", arm["answer"]);
    }
}

#[test]
fn what_envoy_refuses_is_bad_input_and_reported_with_its_reason_and_line() {
    let folder = of_few("  - {name: ours, hops: [{config: envoy.yaml}]}\n");
    let config = fs::read_to_string(folder.path("envoy.yaml")).unwrap();
    let wrong = config.replace("stat_prefix: web", "stat_prefix: web\n                no_such_field: 1");
    let line = wrong.lines().position(|line| line.contains("no_such_field")).unwrap() + 1;
    fs::write(folder.path("envoy.yaml"), wrong).unwrap();
    let ran = folder.run();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for part in ["arm `ours`", &format!("envoy.yaml:{line}: Envoy refuses"), "no such field: 'no_such_field'"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let lacking = config.replace("filters.http.lua.v3.Lua", "filters.http.private.v3.Private");
    fs::write(folder.path("envoy.yaml"), lacking).unwrap();
    let ran = self::ran(folder.command().arg("--force"));
    ran.fails(2, &format!("without: [{LUA}]"));
    assert!(ran.stderr.contains("envoy.yaml:15: Envoy refuses"), "{}", ran.stderr);
}

#[test]
fn a_study_resumes_with_the_same_configuration_only() {
    let folder = of_few("  - {name: ours, hops: [{config: envoy.yaml}], request: {path: /old}}\n");
    let first = folder.run();
    assert!(folder.path("out/result.json").exists(), "{}", first.stderr);
    let resume = || {
        ran(hoptax().current_dir("/").args(["study", "--rounds", "3", "--resume"]).arg(folder.path("out")))
    };
    let resumed = resume();
    let three = folder.result_of(&resumed);
    assert_eq!(three["plan"]["rounds_completed"], 3, "{}", resumed.stderr);
    assert_eq!(arm(&three, "ours")["answer"]["statuses"], json!({"301": 10}));
    let config = fs::read_to_string(folder.path("envoy.yaml")).unwrap();
    fs::write(folder.path("envoy.yaml"), format!("{config}\n# changed\n")).unwrap();
    resume().fails(2, "the configuration `envoy.yaml` has changed");
}
