use hoptax_plan::plan::PlannedRequest;

use super::*;
use crate::runner::fixture;

/// The functions of an arm of a study; none for an empty name.
fn functions(arm: &str) -> Composition {
    if arm.is_empty() {
        return Composition::default();
    }
    let plan = fixture::plan(&format!("baseline, {arm}"));
    plan.arms.into_iter().find(|planned| planned.id == arm).unwrap().functions
}

/// A proxy with a function on each side.
pub(super) fn proxy_with(inbound: &str, outbound: &str) -> PlannedProxy {
    let (inbound, outbound) = (functions(inbound), Some(functions(outbound)));
    PlannedProxy { workers: 1, inbound, outbound, per_request: 1.0 }
}

/// A service behind a proxy with this many workers; without a proxy if none.
fn service(name: &str, workers: Option<u32>) -> PlannedService {
    PlannedService {
        name: name.to_owned(),
        proxy: workers.map(|workers| PlannedProxy { workers, ..proxy_with("", "") }),
        response_bytes: 64,
        service_time_us: 0.0,
        calls: Vec::new(),
        start: 0,
    }
}

#[test]
fn proxies_have_processors_of_their_own_if_there_are_enough() {
    let graph = ServiceGraph {
        name: "chain".to_owned(),
        services: vec![service("a", Some(2)), service("b", None), service("c", Some(1))],
        entry: 0,
        request: PlannedRequest::default(),
    };
    let of = |processors: &[u32]| {
        let placement = Placement { proxy: processors.to_vec(), generator: vec![0] };
        [0, 2].map(|index| processors_of(&graph, index, &placement))
    };
    assert_eq!(of(&[3, 4, 5, 6]), [vec![3, 4], vec![5]]);
    assert_eq!(of(&[3, 4]), [vec![3, 4], vec![3, 4]]);
}

#[test]
fn a_call_to_a_service_that_was_not_started_is_an_error_with_both_names() {
    let request = PlannedRequest::default();
    let call = PlannedCall { service: 1, name: "back".to_owned(), factor: 1.0, request };
    let front = PlannedService { calls: vec![vec![call]], ..service("front", None) };
    let plan = fixture::plan("baseline, lua");
    let started = fixture::with_setting(&[0], |setting| {
        start_service(&plan.arms[0], &front, setting, &BTreeMap::new())
    });
    let error = started.err().unwrap().to_string();
    assert!(error.contains("there is no service `back` yet, which `front` calls"), "{error}");
}

#[test]
fn any_name_of_a_service_is_a_folder_of_its_own() {
    assert_eq!(folder_name("cart-2.v1"), "cart-2.v1");
    assert!(!folder_name("../a b").contains(['/', ' ']) && !folder_name("..").starts_with('.'));
    assert_ne!(folder_name("a b"), folder_name("a/b"));
}
