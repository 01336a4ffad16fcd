//! The plans of the built-in studies, arm by arm. A snapshot that changes shows that a study file
//! means something else than before.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use hoptax_functions::Catalogue;
use hoptax_study::file;
use hoptax_study::plan::{Arm, Plan};

/// Everything that the runner takes from a plan, a line for each load and each arm.
fn shown(plan: &Plan) -> String {
    let mut text = format!(
        "{} seed {} rounds {} application {:?} link {} slices {}\n",
        plan.name,
        plan.seed,
        plan.rounds,
        plan.application,
        plan.link.is_some(),
        plan.slices_per_round()
    );
    let headers: Vec<String> = plan.headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(text, "headers {}", headers.join(" "));
    for load in &plan.loads {
        let _ = writeln!(text, "load {load:?}");
    }
    for (number, arm) in plan.arms.iter().enumerate() {
        let copies = plan.subjects.iter().filter(|subject| subject.arm == number).count();
        let _ = writeln!(text, "{number} {} x{copies} {}", arm.id, arm_text(plan, arm));
    }
    text
}

fn arm_text(plan: &Plan, arm: &Arm) -> String {
    let connections: Vec<usize> = plan.loads.iter().map(|load| arm.connections(load)).collect();
    let conditions = &arm.conditions;
    let query = conditions.query().as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let body = conditions.body.as_ref().map_or_else(String::new, |body| format!(" body {}", body.len()));
    format!(
        "{:?} in {} versus {:?} knobs {:?} connections {connections:?}{query}{body} headers {:?} environment {:?} subject `{}` upstreams {} workers {:?} unloaded {}",
        arm.kind,
        arm.folder(0),
        arm.compared_with,
        arm.knobs(),
        conditions.headers,
        conditions.environment,
        arm.subject,
        arm.upstreams,
        arm.workers(),
        arm.is_unloaded
    )
}

#[test]
fn plans_of_the_bundled_studies_are_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let catalogue = Catalogue::load().unwrap();
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (file, positions) = file::read(name, &fs::read_to_string(&path).unwrap()).unwrap();
        let plan = Plan::new(&file, &positions, &catalogue).unwrap();
        insta::assert_snapshot!(name, shown(&plan));
    }
}
