//! The keys that describe an arm beside its proxies: protocol, TLS, application.

use hoptax_host::running::Running;

use super::given::with;
use super::*;
use crate::file::Protocol;

/// The example of the issue that asked for one description of a subject, with the knob of `rbac` spelt as it is.
const EVERY_KIND: &str = r#"arms:
  - baseline
  - name: our-edge
    hops:
      - {name: edge, proxy: envoy, functions: [jwt, "rbac{rules=50}", access-log/json], tls: {downstream: mutual}}
      - {name: inner, proxy: envoy, functions: [retry/policy], workers: 2}
    protocol: http2
    application: {command: [./server, --port, "{port}"], ready: /health}   # or origin, or go
  - {name: mine, hops: [{config: envoy.yaml}]}
  - {name: next-release, hops: [{config: envoy.yaml, envoy: 1.41.0}]}
  - {name: on-mesh, url: "http://127.0.0.1:15001/", account: {cgroup: /system.slice/envoy.service}}
  - {name: off-mesh, url: "http://127.0.0.1:8080/"}
"#;

fn reference<'a>(plan: &'a Plan, id: &str) -> &'a Arm {
    &plan.arms[arm(plan, id).compared_with.unwrap()]
}

#[test]
fn one_file_has_every_kind_of_arm_side_by_side() {
    let plan = with(EVERY_KIND).unwrap();
    let edge = arm(&plan, "our-edge @ http2, application=./server");
    assert_eq!((edge.conditions.protocol, edge.tls()[0]), (Protocol::Http2, Some(Tls::Mtls)));
    assert_eq!(edge.application().unwrap().name(), "./server --port {port}");
    let plain = reference(&plan, &edge.id);
    assert_eq!((plain.kind, plain.conditions.protocol), (ArmKind::Baseline, Protocol::Http2));
    assert_eq!(plain.application(), edge.application());
    let workers: Vec<(&str, Option<u64>)> =
        edge.chain.hops.iter().map(|hop| (hop.name.as_str(), hop.workers)).collect();
    assert_eq!(workers, [("edge", None), ("inner", Some(2))]);
    for id in ["baseline", "mine", "next-release", "off-mesh", "on-mesh"] {
        assert!(arm(&plan, id).application().is_none(), "{id}");
    }
    for (id, envoy) in [("mine", None), ("next-release", Some("1.41.0"))] {
        let arm = arm(&plan, id);
        let hop = &arm.chain.hops[0];
        let config = hop.given.as_ref().map(|given| given.path.as_str());
        assert_eq!((config, arm.envoy(hop)), (Some("envoy.yaml"), envoy), "{id}");
    }
    let account = |id: &str| arm(&plan, id).external.clone().unwrap().account;
    assert_eq!(account("on-mesh"), Some(Running::Cgroup("/system.slice/envoy.service".into())));
    assert_eq!(account("off-mesh"), None);
    let misspelt = with(&EVERY_KIND.replace("rules=50", "policies=50")).unwrap_err().to_string();
    assert!(misspelt.contains("test.yaml:6:") && misspelt.contains("`rules`"), "{misspelt}");
}

#[test]
fn the_protocol_of_an_arm_is_that_of_its_conditions() {
    let arms = |short: &str| {
        plan(&format!(
            "baseline, {{function: lua, {short}}}, {{name: edge, functions: [jwt, lua], {short}}}, \
             {{name: mesh, url: 'http://127.0.0.1:1/', {short}}}"
        ))
    };
    let ids = |plan: Plan| plan.arms.into_iter().map(|arm| arm.id).collect::<Vec<_>>();
    let short = ids(arms("protocol: http2").unwrap());
    assert_eq!(short, ids(arms("at: {protocol: http2}").unwrap()));
    assert!(short.contains(&"edge @ http2".to_owned()), "{short:?}");
    assert_eq!(short, ids(arms("protocol: http2, at: {protocol: http2}").unwrap()));
    let found = arms("protocol: http2, at: {protocol: http1}").unwrap_err().to_string();
    assert_eq!(found.matches("is not the `protocol` of `at`: remove one").count(), 3, "{found}");
}

#[test]
fn mutual_is_another_word_for_mutual_tls() {
    let of = |word: &str| {
        plan(&format!(
            "baseline, {{function: lua, at: {{tls: {word}}}}}, {{name: a, hops: [{{tls: {{upstream: {word}}}}}, b]}}"
        ))
        .unwrap()
    };
    let text =
        |plan: &Plan| plan.arms.iter().map(|arm| format!("{} {:?}", arm.id, arm.tls())).collect::<Vec<_>>();
    assert_eq!(text(&of("mutual")), text(&of("mtls")));
    let found =
        problems(&format!("name: test\narms: [baseline, {{function: lua, at: {{tls: mutal}}}}]\n{LOADS}"));
    assert!(found.contains("`mutual`"), "{found}");
}

#[test]
fn an_arm_is_compared_with_a_plain_proxy_in_front_of_its_application() {
    let text = |arms: &str| format!("name: test\napplication: go\narms: [baseline, {arms}]\n{LOADS}");
    let own = "application: {command: [./server, '{port}']}";
    let plan = planned(&text(&format!(
        "lua, {{name: a, functions: [lua], {own}}}, {{name: b, functions: [jwt], {own}}}, \
         {{name: c, hops: [], {own}}}, {{name: d, functions: [lua], application: origin}}, {{name: e, functions: [cors], application: go}}"
    )))
    .unwrap();
    assert_eq!(
        compared(&plan),
        [
            ("lua", "baseline"),
            ("a @ application=./server", "baseline @ application=./server"),
            ("b @ application=./server", "baseline @ application=./server"),
            ("c @ application=./server", "baseline @ application=./server"),
            ("d @ application=origin", "baseline @ application=origin"),
            ("e", "baseline"),
        ]
    );
    let applications: Vec<&str> = plan.applications().into_iter().map(Application::short_name).collect();
    assert_eq!(applications, ["go", "./server"]);
    assert!(plan.needs().iter().any(|need| need.contains("./server")), "{:?}", plan.needs());
    // Two commands of one program are two applications.
    let two = "{name: a, functions: [lua], application: {command: [./server, '{port}', one]}}, \
               {name: b, functions: [lua], application: {command: [./server, '{port}', two]}}";
    let plan = planned(&text(two)).unwrap();
    assert_ne!(
        reference(&plan, "a @ application=./server").id,
        reference(&plan, "b @ application=./server").id
    );
    let found = problems(&text("{name: a, functions: [lua], application: {command: [./server]}}"));
    assert!(found.contains("`--port={port}`"), "{found}");
    let found = problems(&text(&format!(
        "{{name: a, functions: [lua]}}, {{name: b, functions: [cors], compared_with: a, {own}}}"
    )));
    assert!(found.contains("under the same conditions"), "{found}");
}

#[test]
fn a_function_is_refused_where_the_protocol_leaves_it_no_work() {
    let of = |function: &str, protocol: &str| {
        plan(&format!("baseline, {{function: '{function}', protocol: {protocol}}}"))
    };
    for function in [
        "connection-limit",
        "connection-rate-limit",
        "tls/terminate",
        "access-log/json",
        "circuit-breaker",
        "workers/two",
    ] {
        let plan = of(function, "tcp").unwrap();
        let arm = plan.arms.last().unwrap();
        assert_eq!(plan.arms[arm.compared_with.unwrap()].conditions.protocol, Protocol::Tcp, "{function}");
        // A proxy of TCP counts no requests.
        let proofs = arm.proofs(&arm.chain.hops[0]);
        assert!(
            proofs.iter().all(|(_, proof)| !proof.name.contains("upstream_rq")),
            "{function}: {proofs:?}"
        );
    }
    for function in ["jwt", "rbac", "access-log/json", "connection-limit", "tls/terminate"] {
        of(function, "websocket").unwrap();
    }
    for (function, protocol, why) in [
        ("jwt", "tcp", "has HTTP filters"),
        ("route/path", "tcp", "has routes"),
        ("idle-timeout", "tcp", "HTTP options of the cluster"),
        ("access-log/grpc", "tcp", "an access log of HTTP requests"),
        ("compress/gzip", "websocket", "needs a query string"),
        ("buffer", "websocket", "processes the request body"),
        ("http3/terminate", "websocket", "uses HTTP/3"),
    ] {
        let found = of(function, protocol).expect_err(function).to_string();
        assert!(found.contains(why), "{function}: {found}");
    }
    let found = problems(&format!(
        "name: test\nconditions: {{protocol: tcp, response_bytes: 100}}\narms: [baseline, same]\n{LOADS}"
    ));
    assert!(found.contains("does not support `response_bytes: 100`"), "{found}");
}
