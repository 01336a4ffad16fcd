use hoptax_plan::file;
use hoptax_plan::plan::Plan;
use hoptax_result::ArmKind;

use super::*;
use crate::fixture;

const LOADS: &str = "loads: [{name: saturation, loop: closed}]\n";

fn study(name: &str, arms: &str) -> StudyOfComparison {
    let text = format!("name: mine\nrounds: 7\n{LOADS}arms:\n{arms}");
    of_text(name, &text)
}

fn of_text(name: &str, text: &str) -> StudyOfComparison {
    let (file, _) = file::read(name, text).unwrap_or_else(|error| panic!("{error}"));
    StudyOfComparison { name: name.to_owned(), file, folder: "/conf".into() }
}

fn compared(first: &str, second: &str) -> Result<JointStudy, String> {
    of_studies(&[study("old.yaml", first), study("new.yaml", second)])
}

fn names(found: &JointStudy) -> Vec<(&str, &str, usize)> {
    found
        .arms
        .iter()
        .flat_map(|arm| {
            arm.others
                .iter()
                .map(|other| (arm.reference.measured_as.as_str(), other.measured_as.as_str(), other.study))
        })
        .collect()
}

fn plan(found: &JointStudy) -> Plan {
    fixture::plan(&file::write(&found.file).unwrap().0)
}

const FIRST: &str = r#"
  - baseline
  - same
  - lua
  - "rbac{rules=5}"
  - {name: edge, functions: [jwt]}
  - {name: gone, functions: [cors]}
  - {unloaded: lua}
"#;
const SECOND: &str = r#"
  - baseline
  - {name: edge, functions: [jwt, lua], flags: [--disable-extensions, a]}
  - lua
  - {name: added, envoy: 1.39.3}
  - {function: "rbac{rules=5}", points: false}
"#;

#[test]
fn arms_of_the_same_name_that_differ_are_compared() {
    let found = compared(FIRST, SECOND).unwrap();
    assert_eq!(names(&found), [("edge.A", "edge.B", 1)]);
    let left_out: Vec<String> = found.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "`lua` (unloaded in old.yaml)",
            "`added` (only in new.yaml)",
            "`lua` (does not differ)",
            "`rbac{rules=5}` (does not differ)",
            "`gone` (only in old.yaml)",
        ]
    );
    let plan = plan(&found);
    assert_eq!(plan.rounds, 7);
    let place = |id: &str| plan.arms.iter().position(|arm| arm.id == id);
    for (id, kind) in [("edge.B", ArmKind::Function), ("edge.A-again", ArmKind::Same)] {
        let arm = &plan.arms[place(id).unwrap()];
        assert_eq!((arm.compared_with, arm.kind), (place("edge.A"), kind), "{id}");
    }
}

#[test]
fn arms_may_equal_arms_of_other_pairs() {
    let found = compared(
        "  - baseline\n  - {name: a, functions: [jwt]}\n  - {name: b, functions: [lua]}\n",
        "  - baseline\n  - {name: a, functions: [lua]}\n  - {name: b, functions: [jwt]}\n",
    )
    .unwrap();
    let plan = plan(&found);
    let place = |id: &str| plan.arms.iter().position(|arm| arm.id == id).unwrap();
    for (id, reference) in [("a.B", "a.A"), ("b.B", "b.A")] {
        let arm = &plan.arms[place(id)];
        assert_eq!((arm.compared_with, arm.kind), (Some(place(reference)), ArmKind::Function), "{id}");
    }
}

#[test]
fn a_load_for_some_arms_is_refused_since_a_comparison_names_them_otherwise() {
    let text = |function: &str| {
        format!(
            "name: x\narms: [baseline, {function}]\nloads: [{{name: a, loop: open}}, {{name: b, loop: open, only: [{function}]}}]\n"
        )
    };
    let studies = [("old.yaml", "lua"), ("new.yaml", "jwt")].map(|(name, arm)| of_text(name, &text(arm)));
    let error = of_studies(&studies).unwrap_err();
    let expected = "the load `b` of `old.yaml` has `only` or `except`, which `hoptax compare` cannot use, because it renames the arms: remove \
                    them";
    assert_eq!(error, expected);
}

#[test]
fn the_only_arms_are_compared_whatever_their_names_are() {
    let found =
        compared("  - baseline\n  - jwt\n", "  - {name: next, functions: [lua]}\n  - baseline\n").unwrap();
    assert_eq!(names(&found), [("jwt.A", "jwt.B", 1)]);
    assert_eq!(found.arms[0].others[0].name, "next");
    assert_eq!(found.left_out, []);
}

#[test]
fn more_than_two_studies_are_compared_with_the_first() {
    let arms = |function: &str| format!("  - baseline\n  - {{name: a, functions: [{function}]}}\n  - lua\n");
    let all = [("one.yaml", "jwt"), ("two.yaml", "jwt"), ("three.yaml", "cors")];
    let mut studies = all.map(|(name, function)| study(name, &arms(function))).to_vec();
    studies.push(study("four.yaml", "  - baseline\n  - lua\n"));
    let found = of_studies(&studies).unwrap();
    assert_eq!(names(&found), [("a.A", "a.C", 2)]);
    let left_out: Vec<String> = found.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left_out, ["`a` (not in four.yaml)", "`lua` (does not differ)"]);
}

#[test]
fn configurations_start_at_the_folder_of_their_study() {
    let arms = "  - baseline\n  - {name: ours, hops: [{config: envoy.yaml}]}\n";
    let (first, mut second) = (study("a/s.yaml", arms), study("b/s.yaml", arms));
    assert!(of_studies(&[first.clone(), second.clone()]).unwrap_err().contains("`ours` (does not differ)"));
    second.folder = "/next".into();
    let found = of_studies(&[first, second]).unwrap();
    let entries = serde_json::to_value(&found.file.arms).unwrap();
    let configs: Vec<&serde_json::Value> = (1..4).map(|arm| &entries[arm]["hops"][0]["config"]).collect();
    assert_eq!(configs, ["/conf/envoy.yaml", "/next/envoy.yaml", "/conf/envoy.yaml"]);
}

#[test]
fn servers_that_already_run_are_compared() {
    let arms = |port: u16| {
        format!("  - baseline\n  - {{name: mesh, url: 'http://127.0.0.1:{port}/', account: {{pid: 1}}}}\n")
    };
    let plan = plan(&compared(&arms(1), &arms(2)).unwrap());
    let kinds: Vec<(&str, ArmKind)> = plan.arms.iter().map(|arm| (arm.id.as_str(), arm.kind)).collect();
    let expected = [
        ("baseline", ArmKind::Baseline),
        ("mesh.A", ArmKind::External),
        ("mesh.B", ArmKind::External),
        ("mesh.A-again", ArmKind::Same),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn studies_that_cannot_be_compared_are_refused_with_the_reason() {
    let arm = |at: &str| format!("  - baseline\n  - {{function: lua, at: {{{at}}}}}\n");
    let error = compared(&arm("workers: 1"), &arm("workers: 2")).unwrap_err();
    assert!(error.contains("arm `lua` has other conditions in `new.yaml` than in `old.yaml`"), "{error}");
    let error = compared("  - baseline\n  - lua\n", "  - baseline\n  - lua\n").unwrap_err();
    assert!(error.contains("`lua` (does not differ)"), "{error}");
    let first = study("old.yaml", "  - baseline\n  - lua\n");
    let text = "name: x\nconditions: {tls: tls}\narms: [baseline, lua]\nloads: [{name: a, loop: closed}]\n";
    let error = of_studies(&[first.clone(), of_text("new.yaml", text)]).unwrap_err();
    assert!(error.contains("`new.yaml` has other `loads` and `conditions` than `old.yaml`"), "{error}");
    let text = "name: x\nobserve: timeline\narms: [baseline]\nloads: [{name: a, loop: open, rate: 100, slice: 1s}]\n";
    let error = of_studies(&[first, of_text("t.yaml", text)]).unwrap_err();
    assert!(error.contains("`t.yaml` observes a timeline"), "{error}");
}
