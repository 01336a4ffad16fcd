//! Arms with several functions.

use super::*;

fn names(arm: &Arm) -> Vec<&str> {
    arm.functions.components().iter().map(|component| component.name.as_str()).collect()
}

#[test]
fn an_arm_has_the_functions_that_it_lists() {
    let plan =
        plan("baseline, {name: edge, functions: [jwt, 'rbac{rules=50}', access-log/json]}, lua").unwrap();
    assert_eq!(ids(&plan), ["baseline", "edge", "lua"]);
    let [_, edge, lua] = plan.arms.as_slice() else { panic!("{:?}", ids(&plan)) };
    assert_eq!(names(edge), ["jwt", "rbac{rules=50}", "access-log/json"]);
    assert_eq!((edge.kind, edge.compared_with), (ArmKind::Function, Some(0)));
    // A failure of one of several proofs names its function.
    let prefixes =
        |arm: &Arm| arm.proofs(&arm.chain.hops[0]).into_iter().map(|(prefix, _)| prefix).collect::<Vec<_>>();
    assert_eq!(prefixes(edge), ["`jwt`: ", "`rbac{rules=50}`: ", "`access-log/json`: "]);
    assert_eq!(prefixes(lua), [""]);
    for header in ["authorization", "x-hoptax-role"] {
        assert!(plan.headers.contains_key(header), "{:?}", plan.headers);
    }
}

#[test]
fn the_baseline_of_a_composition_has_its_traffic() {
    let plan =
        plan("baseline, {name: edge, functions: [buffer, compress/gzip, control/delay]}, compress/gzip")
            .unwrap();
    let baseline = "baseline{size=4096,body=5 B,connections=64,EVENT_PRECISE_TIMER=1}";
    assert_eq!(ids(&plan), ["baseline", baseline, "edge", "baseline{size=4096}", "compress/gzip"]);
    assert_eq!(plan.arms[2].compared_with, Some(1));
    assert_eq!(plan.arms[1].conditions, plan.arms[2].conditions);
    assert!(plan.arms[1].functions.is_empty());
}

#[test]
fn a_composition_has_conditions_of_its_own() {
    let plan =
        plan("baseline, {name: edge, functions: [lua, cors], at: {protocol: [http1, http2], tls: mtls}}")
            .unwrap();
    let own = ["baseline @ mtls", "edge @ mtls", "baseline @ http2, mtls", "edge @ http2, mtls"];
    assert_eq!(ids(&plan), [["baseline"].as_slice(), &own].concat());
}

#[test]
fn compositions_whose_order_does_not_matter_are_duplicates() {
    let text = |second: &str| {
        format!("name: test\narms: [baseline, {{name: a, functions: [jwt, rbac]}}, {second}]\n{LOADS}")
    };
    let found = problems(&text("{name: b, functions: [rbac, jwt]}"));
    assert!(found.contains("duplicate arm `b`"), "{found}");
    // The recommended order, in words.
    let found = problems(&text("{name: b, functions: [jwt, rbac], order: as-written}"));
    assert!(found.contains("duplicate arm `b`"), "{found}");
    plan("baseline, {name: a, functions: [jwt, rbac]}, {name: b, functions: [rbac, jwt], order: as-written}")
        .unwrap();
}

#[test]
fn a_list_of_one_function_is_that_function() {
    let text = |arms: &str| format!("name: test\narms: [{arms}]\n{LOADS}");
    let found = problems(&text("baseline, lua, {name: mine, functions: [lua]}"));
    assert!(found.contains("duplicate arm `mine`"), "{found}");
    let one = plan("baseline, {name: mine, functions: ['rbac{rules=5}']}").unwrap();
    let other = plan("baseline, 'rbac{rules=5}'").unwrap();
    let (one, other) = (&one.arms[1], &other.arms[1]);
    assert!(one.functions.is_same(&other.functions));
    assert_eq!(
        (one.knobs(), &one.conditions, one.proofs(&one.chain.hops[0])),
        (other.knobs(), &other.conditions, other.proofs(&other.chain.hops[0]))
    );
}

#[test]
fn every_problem_of_a_composition_is_reported_at_its_place() {
    let text = format!(
        "name: test
arms:
  - baseline
  - name: balanced
    functions:
      - balance/random
      - lua
      - balance/maglev
      - rate-limit/lua
  - {{name: lua, functions: [cors, nonsense, 'jwt{{alg=none}}']}}
  - {{name: two words, functions: [cors]}}
  - {{name: none, functions: []}}
  - {{name: tables, functions: [route/path, route/header, buffer, grpc-json]}}
  - {{name: same, functions: [cors, csrf]}}
  - {{name: sized, functions: [cors, csrf], at: {{request_bytes: 500}}}}
  - {{name: twice, functions: [lua, cors]}}
  - {{name: twice, functions: [lua, jwt]}}
  - {{name: equal, functions: [lua, cors]}}
  - {{name: called, functions: [lua, route/path], at: {{protocol: grpc}}}}
  - {{name: ordered, functions: [lua, cors], order: written}}
{LOADS}"
    );
    let shape = problems(&text);
    let sound: String = text
        .lines()
        .filter(|line| !["two words", "name: none", "name: ordered"].iter().any(|part| line.contains(part)))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(format!("{shape}\n---\n{}", problems(&sound)));
}
