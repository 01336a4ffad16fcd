//! Tests of conditions of a study and of an arm, and of points of functions.

use std::collections::BTreeMap;

use hoptax_functions::Function;
use hoptax_subject::application::Application;

use super::*;

/// The arm ids of a study of these arms, with `before` placed before them.
fn ids(before: &str, arms: &str) -> Vec<String> {
    planned_with(before, arms).arms.into_iter().map(|arm| arm.id).collect()
}

fn text(before: &str, arms: &str) -> String {
    format!("name: test\n{before}\narms: [{arms}]\n{LOADS}")
}

fn planned_with(before: &str, arms: &str) -> Plan {
    planned(&text(before, arms)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_arm_is_measured_at_each_condition_against_its_own_baseline() {
    let plan =
        planned_with("conditions: {protocol: [http1, http2], response_bytes: [64, 16384]}", "baseline, jwt");
    let ends = ["", " @ response_bytes=16384", " @ http2", " @ http2, response_bytes=16384"];
    let expected: Vec<String> =
        ["baseline", "jwt"].iter().flat_map(|name| ends.map(|end| format!("{name}{end}"))).collect();
    assert_eq!(plan.arms.iter().map(|arm| arm.id.clone()).collect::<Vec<_>>(), expected);
    for (number, arm) in plan.arms.iter().enumerate().skip(4) {
        let other = &plan.arms[arm.compared_with.unwrap()];
        assert_eq!(arm.compared_with, Some(number - 4));
        assert_eq!(arm.conditions, other.conditions);
    }
    let last = &plan.arms[7].conditions;
    assert_eq!((last.protocol, last.query()), (file::Protocol::Http2, Some("size=16384".to_owned())));
}

#[test]
fn each_condition_changes_its_part_of_the_plan() {
    let conditions = "conditions: {tls: mtls, request_bytes: 500, headers: 3, connections: 32, workers: 2}";
    let plan = planned_with(conditions, "baseline, lua");
    let arm = &plan.arms[1];
    assert_eq!(arm.id, "lua @ mtls, request_bytes=500, headers=3, connections=32, workers=2");
    assert_eq!(arm.caller_security(), Some(Tls::Mtls));
    assert_eq!(arm.conditions.body.as_ref().map(Vec::len), Some(500));
    assert_eq!(arm.conditions.all_headers().count(), 3);
    assert_eq!(plan.loads.iter().map(|load| arm.connections(load)).collect::<Vec<_>>(), [32, 16]);
    assert_eq!(arm.workers(&arm.chain.hops[0]), Some(2));
}

#[test]
fn default_conditions_keep_the_plain_id() {
    let usual = "conditions: {protocol: http1, tls: none, request_bytes: 0, response_bytes: 64, headers: 0, connections: 16, workers: 1}";
    let arms = "direct, baseline, same, lua, compress/gzip, control/delay";
    assert_eq!(ids(usual, arms), ids("", arms));
    assert_eq!(
        ids("conditions: {protocol: grpc, request_bytes: 64}", "baseline, lua"),
        ["baseline @ grpc", "lua @ grpc"]
    );
}

#[test]
fn conditions_of_a_function_override_the_study_and_those_of_its_arm_override_both() {
    let wide = "conditions: {response_bytes: [1024, 16384]}";
    let arms = ids(wide, "baseline, compress/gzip");
    assert_eq!(
        arms,
        [
            "baseline @ response_bytes=1024",
            "baseline @ response_bytes=16384",
            "baseline{size=4096}",
            "compress/gzip"
        ]
    );
    let arms = ids(wide, "baseline, {function: compress/gzip, at: {response_bytes: [1024, 4096]}}");
    assert_eq!(arms[2..], ["compress/gzip @ response_bytes=1024", "baseline{size=4096}", "compress/gzip"]);
    // Sixteen connections are too few for it, many are not.
    let arms = ids("conditions: {connections: [8, 256]}", "baseline, control/delay");
    assert_eq!(
        arms[2..],
        [
            "baseline{connections=64,EVENT_PRECISE_TIMER=1}",
            "control/delay",
            "baseline{EVENT_PRECISE_TIMER=1} @ connections=256",
            "control/delay @ connections=256"
        ]
    );
    // A function that sets up TLS itself is compared with a plain proxy.
    let arms = ids("conditions: {tls: [none, tls]}", "baseline, tls/terminate");
    assert_eq!(arms, ["baseline", "baseline @ tls", "tls/terminate"]);
}

#[test]
fn no_proxy_has_neither_tls_before_it_nor_workers() {
    let plan = planned_with("conditions: {tls: [none, tls], workers: 2, headers: 5}", "baseline, direct");
    let direct = plan.arms.iter().filter(|arm| arm.kind == ArmKind::Direct).collect::<Vec<_>>();
    assert_eq!(direct.len(), 1);
    assert_eq!(direct[0].id, "direct @ headers=5");
    assert_eq!(plan.arms[direct[0].compared_with.unwrap()].id, "baseline @ headers=5");
}

#[test]
fn conditions_of_a_proxy_are_refused_at_an_arm_without_one() {
    for keys in ["tls: mtls", "workers: 2", "envoy: 1.39.3"] {
        for arm in ["function: direct", "name: a, hops: []", "name: a, url: 'http://127.0.0.1:1/'"] {
            let found = plan(&format!("baseline, {{{arm}, at: {{{keys}}}}}")).expect_err(arm).to_string();
            let expected = format!("has no proxy that hoptax starts, so `{keys}` does not apply: remove it");
            assert!(found.contains(&expected), "{arm}: {found}");
        }
    }
    plan("baseline, {function: direct, at: {tls: none, headers: 5}}").unwrap();
}

#[test]
fn functions_that_look_at_the_path_do_not_support_grpc() {
    for id in ["route/path", "route/regex", "route/rewrite"] {
        let found = plan(&format!("baseline, {{function: {id}, protocol: grpc}}")).expect_err(id).to_string();
        assert!(found.contains("since it matches the request path, which gRPC sets"), "{id}: {found}");
    }
}

#[test]
fn points_come_from_the_file_of_the_function_one_condition_at_a_time() {
    assert_eq!(
        ids("points: true", "baseline, rbac, buffer"),
        [
            "baseline",
            "rbac",
            "rbac{rules=5}",
            "rbac{rules=50}",
            "rbac{rules=500}",
            "baseline{body=5 B}",
            "buffer",
            "baseline @ request_bytes=1024",
            "buffer @ request_bytes=1024",
            "baseline @ request_bytes=16384",
            "buffer @ request_bytes=16384"
        ]
    );
    // A quantity that a call or an arm sets has no points, and an arm that is also named appears once.
    assert_eq!(ids("points: true", "baseline, 'rbac{rules=7}'"), ["baseline", "rbac{rules=7}"]);
    let arms = ids("points: true", "baseline, rbac, 'rbac{rules=50}'");
    assert_eq!(arms.iter().filter(|id| *id == "rbac{rules=50}").count(), 1);
    let arms = ids("", "baseline, {function: rbac, points: true}, lua");
    assert_eq!(arms, ["baseline", "rbac", "rbac{rules=5}", "rbac{rules=50}", "rbac{rules=500}", "lua"]);
}

#[test]
fn every_point_of_the_catalogue_can_be_planned() {
    let catalogue = Catalogue::load().unwrap();
    // By the application that performs them; none for those of the proxy.
    let mut by_application: BTreeMap<Option<String>, Vec<&Function>> = BTreeMap::new();
    for function in catalogue.iter() {
        let flags = function.application(&function.default_knobs()).unwrap();
        let flags: Vec<String> = flags.into_iter().map(|(flag, _)| flag).collect();
        let application = (!flags.is_empty()).then(|| Application::with_flags(&flags).unwrap().name());
        by_application.entry(application).or_default().push(function);
    }
    let names: Vec<Option<&str>> = by_application.keys().map(Option::as_deref).collect();
    assert_eq!(names, [None, Some("go"), Some("image-registry")]);
    let plan_of = |(application, functions): (&Option<String>, &Vec<&Function>)| {
        let names: Vec<&str> = functions.iter().map(|function| function.id.as_str()).collect();
        let application = application.as_deref().unwrap_or("origin");
        let before = format!("points: true\napplication: {application}");
        planned_with(&before, &format!("baseline, {}", names.join(", ")))
    };
    let plans: Vec<Plan> = by_application.iter().map(plan_of).collect();
    let is_of =
        |arm: &&Arm, id: &str| arm.functions.only().is_some_and(|component| component.function.id == id);
    for function in by_application.into_values().flatten() {
        let points: usize = function
            .points
            .iter()
            .map(|(name, values)| {
                let default = function.knobs.get(name).map(|knob| &knob.default);
                values.iter().filter(|value| Some(*value) != default).count()
            })
            .sum();
        let arms = plans.iter().flat_map(|plan| &plan.arms).filter(|arm| is_of(arm, &function.id)).count();
        assert_eq!(arms, 1 + points, "{}", function.id);
    }
}

#[test]
fn folders_of_arms_differ_under_all_conditions() {
    let plan = planned_with(
        "conditions: {protocol: [http1, http2], tls: [none, tls], headers: [0, 20]}\npoints: true",
        "direct, baseline, same, lua, route/path, {function: compress/gzip, at: {headers: 5}}",
    );
    let folders: std::collections::BTreeSet<String> = plan.arms.iter().map(|arm| arm.folder(0)).collect();
    assert_eq!(folders.len(), plan.arms.len());
    let ids: std::collections::BTreeSet<&String> = plan.arms.iter().map(|arm| &arm.id).collect();
    assert_eq!(ids.len(), plan.arms.len());
    assert!(folders.contains("lua-at-http2-tls-headers-20"), "{folders:?}");
}

#[test]
fn every_point_has_as_many_copies_of_its_baseline_as_its_arms_require() {
    let functions = "lua, rbac, cors, jwt, route/header, route/path, route/prefix, csrf, buffer, request-id";
    let plan = planned_with("conditions: {protocol: [http1, http2]}", &format!("baseline, {functions}"));
    let copies = |id: &str| arm(&plan, id).copies;
    // Eight arms are compared with each of these, and two with each of those with a body.
    assert_eq!((copies("baseline"), copies("baseline @ http2")), (3, 3));
    assert_eq!((copies("baseline{body=5 B}"), copies("baseline{body=5 B} @ http2")), (1, 1));
}

#[test]
fn unsupported_combinations_are_reported_with_both_sides() {
    insta::assert_snapshot!(problems(&format!(
        "name: test
conditions:
  protocol: [http1, grpc]
  headers: 5
arms:
  - baseline
  - lua
  - compress/gzip
  - route/path
  - grpc-json
  - {{function: tls/terminate, at: {{tls: mtls}}}}
  - {{function: workers/two, at: {{workers: 4}}}}
  - {{function: route/query, at: {{protocol: http1, response_bytes: 1024}}}}
  - {{function: csrf, at: {{protocol: http2, request_bytes: 1024}}}}
  - {{function: control/delay, at: {{connections: 8}}}}
  - {{function: lua, at: {{response_bytes: 1024}}}}
  - {{function: 'lua', at: {{protocol: http1}}}}
  - subject: {{position: both}}
{LOADS}"
    )));
}

#[test]
fn malformed_conditions_are_reported_at_their_place() {
    insta::assert_snapshot!(problems(&format!(
        "name: test
conditions:
  protocol: [http1, htp2]
  tls: yes
  request_bytes: -1
  response_bytes: [64, 99999999999]
  headers: many
  connections: []
  workers: [1, 1]
  requests_per_connection: 3
arms:
  - baseline
  - {{function: lua, att: {{}}}}
  - {{at: {{headers: 5}}}}
  - {{functon: lua}}
  - {{}}
{LOADS}"
    )));
}

#[test]
fn an_outline_lists_loads_and_arms_of_a_plan() {
    let plan = planned_with(
        "conditions: {protocol: [http1, http2]}",
        "direct, baseline, same, lua, {function: rbac, at: {protocol: http1}, points: true}",
    );
    insta::assert_snapshot!(plan.outline());
}
