//! The plans of the built-in studies, arm by arm. A snapshot that changes shows that a study file
//! means something else than before.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hoptax_functions::{Catalogue, Tls};
use hoptax_plan::plan::{Arm, Plan};

/// Everything that the runner takes from a plan, a line for each load and each arm.
fn shown(plan: &Plan) -> String {
    let mut text = format!(
        "{} seed {} rounds {} application {} link {} slices {}\n",
        plan.name,
        plan.seed,
        plan.rounds,
        plan.applications().first().map_or_else(|| "origin".to_owned(), |application| application.name()),
        plan.link.is_some(),
        plan.slices_per_round()
    );
    let headers: Vec<String> = plan.headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(text, "headers {}", headers.join(" "));
    for load in &plan.loads {
        let _ = writeln!(text, "load {load:?}");
    }
    if let Some(timeline) = &plan.timeline {
        let _ = writeln!(text, "{timeline:?}");
    }
    for (number, arm) in plan.arms.iter().enumerate() {
        let copies = arm.copies;
        let _ = writeln!(text, "{number} {} x{copies} {}", arm.id, arm_text(plan, arm));
    }
    text
}

fn arm_text(plan: &Plan, arm: &Arm) -> String {
    let connections: Vec<usize> = plan.loads.iter().map(|load| arm.connections(load)).collect();
    let conditions = &arm.conditions;
    let query = conditions.query().as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let body = conditions.body.as_ref().map_or_else(String::new, |body| format!(" body {}", body.len()));
    let network = arm.network.map_or_else(String::new, |network| format!(" network {network:?}"));
    format!(
        "{:?} in {} versus {:?} knobs {:?} connections {connections:?}{query}{body} headers {:?} environment {:?} subject `{}` upstreams {} workers {:?} unloaded {}{network}",
        arm.kind,
        arm.folder(0),
        arm.compared_with,
        arm.knobs(),
        conditions.headers,
        conditions.environment,
        subject_text(arm),
        arm.upstreams,
        arm.chain.hops.first().and_then(|hop| arm.workers(hop)),
        arm.is_unloaded
    )
}

/// The position of the proxies of an arm, its protocol, TLS that the position sets, and the software.
fn subject_text(arm: &Arm) -> String {
    let is_mutual = arm.functions.is_empty() && arm.chain.tls().contains(&Some(Tls::Mtls));
    let is_secure = arm.functions.is_empty() && arm.chain.tls().contains(&Some(Tls::Tls));
    let parts = [
        Some(arm.chain.to_string()),
        Some(arm.conditions.protocol.as_str().to_owned()),
        is_mutual.then(|| "mtls".to_owned()),
        is_secure.then(|| "tls".to_owned()),
        arm.chain.hops.first().and_then(|hop| hop.proxy.front()).map(|front| front.program.to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The built-in studies by their names, planned once for all tests.
fn plans() -> &'static [(String, Plan)] {
    static PLANS: LazyLock<Vec<(String, Plan)>> = LazyLock::new(plan_all);
    &PLANS
}

fn plan_all() -> Vec<(String, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The folder within it holds graphs.
    paths.retain(|path| path.is_file());
    paths.sort();
    let plan = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        let plan = Plan::read(&name, &text, Catalogue::load().unwrap()).unwrap();
        (name, plan)
    };
    paths.iter().map(plan).collect()
}

#[test]
fn plans_of_the_bundled_studies_are_unchanged() {
    for (name, plan) in plans() {
        insta::assert_snapshot!(name.as_str(), shown(plan));
    }
}

#[test]
fn no_study_takes_cpu_time_from_saturated_proxies() {
    // Over a link, its delay limits a closed loop before the proxies do.
    for (name, plan) in plans().iter().filter(|(_, plan)| plan.link.is_none()) {
        for arm in plan.arms.iter().filter(|arm| arm.has_proxy()) {
            let load = plan.cpu_load_of(arm).unwrap();
            assert!(load.open.is_some(), "{name}: `{}` has its CPU time from `{}`", arm.id, load.name);
        }
    }
}

#[test]
fn every_function_of_the_catalogue_is_measured_by_a_study() {
    let catalogue = Catalogue::load().unwrap();
    let arms = plans().iter().flat_map(|(_, plan)| &plan.arms);
    let components = arms.flat_map(|arm| {
        let of_hops = arm.chain.hops.iter().flat_map(|hop| hop.functions.components());
        arm.functions.components().iter().chain(of_hops)
    });
    let measured: BTreeSet<&str> = components.map(|component| component.function.id.as_str()).collect();
    let all = catalogue.iter().map(|function| function.id.as_str());
    let missing: Vec<&str> = all.filter(|id| !measured.contains(id)).collect();
    assert_eq!(missing, [""; 0], "no study in `studies/` has these functions");
}
