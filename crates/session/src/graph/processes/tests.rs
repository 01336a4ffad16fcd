use hoptax_functions::Catalogue;
use hoptax_run::runner::KERNEL_TICKS;
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;

use super::*;
use crate::graph::plan::read;

fn plan(text: &str) -> RunPlan {
    read("graph.yaml", text, Catalogue::load().unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn proxies_have_processors_of_their_own_if_there_are_enough() {
    let plan = plan(
        "
name: chain
entry: a
services:
  - {name: a, workers: 2, calls: [{service: b}]}
  - {name: b, proxy: false, calls: [{service: c}]}
  - {name: c}
",
    );
    let of = |processors: &[u32]| {
        let placement = Placement { proxy: processors.to_vec(), generator: vec![0] };
        [0, 2].map(|index| processors_of(&plan, index, &placement))
    };
    assert_eq!(of(&[3, 4, 5, 6]), [vec![3, 4], vec![5]]);
    assert_eq!(of(&[3, 4]), [vec![3, 4], vec![3, 4]]);
}

#[test]
fn a_call_to_a_service_that_was_not_started_is_an_error_with_both_names() {
    let plan = plan(
        "
name: pair
entry: front
services:
  - {name: front, calls: [{service: back}]}
  - {name: back}
",
    );
    let envoys = Envoys::only(Envoy { program: "envoy".into(), version: String::new() });
    let placement = Placement { proxy: vec![0], generator: vec![0] };
    let setting = Setting {
        program: "hoptax".as_ref(),
        envoys: &envoys,
        directory: "/".as_ref(),
        folder: "/".as_ref(),
        placement: &placement,
        awake: None,
        ticks: KERNEL_TICKS,
    };
    let started = start_service(&plan.services[0], &setting, &BTreeMap::new(), "direct");
    let error = started.err().unwrap().to_string();
    assert!(error.starts_with("the service `front` calls `back`, which was not started"), "{error}");
}

#[test]
fn any_name_of_a_service_is_a_folder_of_its_own() {
    assert_eq!(folder_name("cart-2.v1"), "cart-2.v1");
    assert!(!folder_name("../a b").contains(['/', ' ']) && !folder_name("..").starts_with('.'));
    assert_ne!(folder_name("a b"), folder_name("a/b"));
}

#[test]
fn functions_of_both_sides_must_show_that_they_are_at_work() {
    let plan = plan(
        "
name: sidecar
entry: a
services:
  - {name: a, functions: [jwt], outbound: {functions: [rbac]}, calls: [{service: b}]}
  - {name: b}
",
    );
    let proofs = proofs(plan.services[0].proxy.as_ref().unwrap());
    let of = |name: &str| proofs.iter().filter(|(of, _)| of == name).count();
    assert!(of("jwt") > 0 && of("rbac") > 0, "{proofs:?}");
    assert!(proofs.iter().all(|(_, proof)| !proof.name.starts_with("cluster.origin.")), "{proofs:?}");
}
