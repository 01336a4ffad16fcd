//! Tests of graph files.

use hoptax_functions::Catalogue;

use super::{Graph, read};
use crate::size::flow::{calls, flows, requests_by_proxy};

pub(crate) fn graph(text: &str) -> Graph {
    read("graph.yaml", text, Catalogue::load().unwrap()).unwrap()
}

fn problems(text: &str) -> String {
    read("graph.yaml", text, Catalogue::load().unwrap()).unwrap_err().to_string()
}

/// A graph of these services, whose entry is `gateway`.
fn shop(services: &str) -> String {
    format!("\nname: shop\nentry: gateway\nservices:{services}")
}

#[test]
fn rates_follow_the_calls_whatever_the_order_of_the_file() {
    let graph = graph(&shop(
        "
  - {name: stock}
  - {name: cart, calls: [{service: stock, factor: 2}]}
  - {name: gateway, outbound: {}, calls: [{service: cart, factor: 0.5}, {service: stock}]}
",
    ));
    let found: Vec<(String, Vec<f64>)> = flows(&graph)
        .into_iter()
        .map(|(service, flows)| (service.name.clone(), flows.iter().map(|flow| flow.per_request).collect()))
        .collect();
    let expected = [("gateway", vec![1.0, 0.5, 1.0]), ("cart", vec![0.5]), ("stock", vec![2.0])];
    assert_eq!(found, expected.map(|(name, rates)| (name.to_owned(), rates)));
}

#[test]
fn every_service_comes_after_its_callers_with_the_requests_of_its_proxy() {
    let graph = graph(&shop(
        "
  - {name: stock}
  - {name: cart, outbound: {}, calls: [{service: stock, factor: 2}]}
  - {name: gateway, calls: [{service: cart, factor: 0.5}, {service: mail}]}
  - {name: mail, proxy: false}
",
    ));
    assert_eq!(requests_by_proxy(&graph), [(2, 1.0), (3, 0.0), (1, 1.5), (0, 1.0)]);
}

#[test]
fn calls_of_services_without_a_proxy_count_and_rare_ones_count_as_one() {
    let graph = graph(&shop(
        "
  - {name: gateway, calls: [{service: cart, factor: 0.5}, {service: stock}]}
  - {name: cart, proxy: false, calls: [{service: stock, factor: 4}]}
  - {name: stock, proxy: false}
",
    ));
    // The request itself, one possible call to the cart, one call to the stock, and four calls of every second request.
    assert!((calls(&graph) - (1.0 + 1.0 + 1.0 + 0.5 * 4.0)).abs() < 1e-9, "{}", calls(&graph));
}

#[test]
fn a_list_of_calls_is_one_step() {
    let graph = graph(&shop(
        "
  - name: gateway
    calls: [{service: cart}, [{service: stock}, {service: cart, factor: 2}], {service: stock}]
  - {name: cart}
  - {name: stock}
",
    ));
    let steps: Vec<usize> = graph.services[0].calls.iter().map(|call| call.step).collect();
    assert_eq!(steps, [0, 1, 1, 2]);
    let problems = problems(&shop(
        "
  - {name: gateway, calls: [[{service: crat}, {service: cart, factr: 2}], cart]}
  - {name: cart}
",
    ));
    assert!(problems.contains("`factr`") && problems.contains("a list of calls that are made"), "{problems}");
}

#[test]
fn all_problems_of_a_file_are_reported_with_their_lines() {
    let found = problems(&shop(
        "
  - {name: gateway, functions: [jtw, \"rbac{policies=50}\"], calls: [{service: cartt}, {service: loop}]}
  - {name: cart, outbound: {}}
  - {name: loop, functions: [lua, lua], calls: [{service: gateway}]}
",
    ));
    for expected in [
        "graph.yaml:5:33: unknown function `jtw`; did you mean `jwt`?",
        "function `rbac` has no knob `policies`",
        "no service has the name `cartt`; did you mean `cart`?",
        "graph.yaml:6:5: no request reaches `cart`",
        "`outbound` does not apply to a service without `calls`",
        "the proxy has `lua` already",
        "a cycle has no rate",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn a_service_without_a_proxy_has_nothing_of_one() {
    let found = problems(&shop(
        "
  - {name: gateway, proxy: false, workers: 2, functions: [lua], calls: [{service: cart}]}
  - {name: cart, proxy: false}
",
    ));
    for expected in ["`workers` does not apply", "`functions` does not apply", "no service has a proxy"] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn the_structure_of_a_file_is_checked_as_that_of_a_study() {
    let found = problems(
        "name: shop\nentry: a\nservices: [{name: a, worker: 2, calls: [{service: b, factor: 0}]}]\n",
    );
    for expected in ["did you mean `workers`?", "factor"] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn a_service_that_no_origin_can_be_is_refused_at_its_lines() {
    let with = |time_us: u64, bytes: u64| {
        shop(&format!("\n  - name: gateway\n    service_time_us: {time_us}\n    response_bytes: {bytes}\n"))
    };
    let found = problems(&with(3_600_000_001, 67_108_865));
    for expected in [
        "graph.yaml:6:22: `service_time_us` must be at most 3600000000, not 3600000001",
        "graph.yaml:7:21: `response_bytes` must be at most 67108864, not 67108865",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    assert_eq!(graph(&with(3_600_000_000, 67_108_864)).services[0].traffic.response_bytes, 67_108_864);
}
