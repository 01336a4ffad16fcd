//! Predictions of new connections.

use hoptax_predict::size::{SizeError, size};
use hoptax_result::{ArmResult, Finding, LoadSpec, StudyResult, Verdict};

use super::{graph, is_near, study_with_busy};

const GRAPH: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, requests_per_connection: 20, functions: [jwt, lua]}
";

/// Loads with kept connections, and, with `new`, connections of four requests each.
fn loads(new: &str) -> String {
    format!(
        "loads:\n  - {{name: kept, loop: closed, connections: 16}}\n{new}  - {{name: open, loop: open, utilisation: 30%, \
         arrivals: poisson, connections: 32}}\n"
    )
}

const NEW: &str = "  - {name: new, loop: closed, connections: 16, requests_per_connection: 4}\n";

/// A request to a plain proxy costs 60 us, and jwt adds 40 to it. A connection costs 200 us, and jwt adds 30 to it.
fn cpu_us(arm: &ArmResult, load: &LoadSpec, round: u32) -> f64 {
    let has_jwt = arm.id.starts_with("jwt");
    let request = if has_jwt { 100.0 } else { 60.0 } + if arm.id == "lua" { 8.0 } else { 0.0 };
    let connection = if has_jwt { 230.0 } else { 200.0 };
    let noise = 1.0 + 0.01 * (f64::from(round) - 2.5);
    noise * (request + load.requests_per_connection.map_or(0.0, |requests| connection / f64::from(requests)))
}

fn measured(loads: &str) -> StudyResult {
    measured_with("[baseline, jwt, lua]", loads)
}

fn measured_with(arms: &str, loads: &str) -> StudyResult {
    let busy = |_: &ArmResult, load: &LoadSpec| if load.name == "open" { 0.4 } else { 1.0 };
    study_with_busy(loads, arms, cpu_us, |_, _, _| Vec::new(), busy)
}

#[test]
fn a_connection_costs_its_part_of_each_request() {
    let sized = size(&graph(GRAPH), 2_000.0, &[measured(&loads(NEW))]).unwrap();
    let proxy = &sized.proxies[0];
    // 60 for proxying, 40 and 8 for functions, and a twentieth of 200 + 30.
    assert!(is_near(proxy.cpu_us_per_request.estimate, 108.0 + 11.5), "{:?}", proxy.cpu_us_per_request);
    let new = proxy.new_connections.as_ref().unwrap();
    assert!(is_near(new.per_second, 100.0) && is_near(new.cpu_us_each.estimate, 230.0), "{new:?}");
    assert!(is_near(new.cores.estimate, 0.023), "{new:?}");
    let jwt = sized.functions.iter().find(|function| function.function == "jwt").unwrap();
    assert!(is_near(jwt.cpu_us_per_request.estimate, 40.0 + 1.5), "{jwt:?}");
    let text = sized.extrapolations.join("\n");
    assert!(text.contains("`gateway`: the CPU time of a new connection was measured at full load"), "{text}");
    assert!(!text.contains("for a new connection was not measured"), "{text}");
}

#[test]
fn between_two_numbers_of_requests_the_cost_is_on_a_straight_line() {
    // With four requests on it, a connection costs 10 more than with one: a fourth of that for each request.
    let one = "  - {name: one, loop: closed, connections: 16, requests_per_connection: 1}\n";
    let cpu_us = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        cpu_us(arm, load, round) + if load.requests_per_connection == Some(4) { 2.5 } else { 0.0 }
    };
    let busy = |_: &ArmResult, load: &LoadSpec| if load.name == "open" { 0.4 } else { 1.0 };
    let loads = loads(&format!("{NEW}{one}"));
    let study = study_with_busy(&loads, "[baseline, lua]", cpu_us, |_, _, _| Vec::new(), busy);
    let each = |requests: u32| {
        let text = GRAPH.replace("[jwt, lua]", "[lua]").replace(": 20", &format!(": {requests}"));
        let sized = size(&graph(&text), 2_000.0, std::slice::from_ref(&study)).unwrap();
        sized.proxies[0].new_connections.as_ref().unwrap().cpu_us_each.estimate
    };
    // A half is a third of the way from a fourth to one.
    for (requests, expected) in [(1, 200.0), (4, 210.0), (20, 210.0), (2, 2.0 * (52.5 + 147.5 / 3.0))] {
        assert!((each(requests) - expected).abs() < 0.01 * expected, "{requests}: {}", each(requests));
    }
}

#[test]
fn a_load_with_new_connections_is_no_point_of_the_curve_of_kept_ones() {
    let kept = GRAPH.replace("requests_per_connection: 20, ", "");
    let [with, without] =
        [NEW, ""].map(|new| size(&graph(&kept), 9_000.0, &[measured(&loads(new))]).unwrap());
    assert_eq!(with.proxies, without.proxies);
    assert_eq!(with.proxies[0].new_connections, None);
}

#[test]
fn a_function_of_another_result_is_left_out_and_named() {
    let others = measured_with("[baseline, rbac]", &loads(""));
    let sized =
        size(&graph(&GRAPH.replace("lua", "rbac")), 2_000.0, &[measured(&loads(NEW)), others]).unwrap();
    let text = sized.extrapolations.join("\n");
    assert!(
        text.contains("the cost of `rbac` for a new connection was not measured, and is left out"),
        "{text}"
    );
}

#[test]
fn a_result_that_states_connections_alone_is_named_with_its_machine_and_verdict() {
    let mut second = measured(&loads(NEW));
    second.name = "second".to_owned();
    second.environment.cpu_model = "Other CPU".to_owned();
    second.verdict = Verdict::Caution;
    let sized = size(&graph(GRAPH), 2_000.0, &[measured(&loads("")), second]).unwrap();
    let studies: Vec<&str> = sized.sources.iter().map(|source| source.study.as_str()).collect();
    assert_eq!(studies, ["known", "second"]);
    let text = sized.extrapolations.join("\n");
    assert!(text.contains("different processors"), "{text}");
    let [finding] = sized.findings.as_slice() else { panic!("{:?}", sized.findings) };
    assert_eq!(finding.id, Finding::SOURCE_VERDICT);
    assert!(finding.message.starts_with("`second`, on which this rests, "), "{finding:?}");
}

/// Arms with two sizes of responses.
const TWO_SIZES: &str = "[baseline, jwt, {function: jwt, at: {response_bytes: 4096}}]";

/// The graph with the larger one.
fn larger() -> String {
    GRAPH.replace("{name: gateway,", "{name: gateway, response_bytes: 4096,").replace("[jwt, lua]", "[jwt]")
}

/// Returns the sentences for connections that were measured with other requests.
fn of_other_requests(study: &str) -> [String; 2] {
    let measured =
        format!("a new connection was measured by `{study}` with other requests (those of `baseline`)");
    [format!("`gateway`: the CPU time of {measured}"), format!("`gateway`: the cost of `jwt` for {measured}")]
}

#[test]
fn connections_of_other_requests_are_named_and_those_of_the_same_count_first() {
    let lacks = || measured_with(TWO_SIZES, &loads(""));
    let mut other = measured_with("[baseline, jwt]", &loads(NEW));
    other.name = "other".to_owned();
    let mut same = measured_with(TWO_SIZES, &loads(NEW));
    same.name = "same".to_owned();
    let graph = graph(&larger());
    let text = |results: &[StudyResult]| size(&graph, 2_000.0, results).unwrap().extrapolations.join("\n");
    let with_other = text(&[lacks(), other.clone()]);
    for sentence in of_other_requests("other") {
        assert!(with_other.contains(&sentence), "{sentence}: {with_other}");
    }
    let with_same = text(&[lacks(), other, same]);
    assert!(!with_same.contains("with other requests"), "{with_same}");
}

#[test]
fn connections_of_other_requests_count_if_those_of_the_same_are_withheld() {
    let mut measured = measured_with(TWO_SIZES, &loads(NEW));
    for arm in measured.arms.iter_mut().filter(|arm| arm.id.ends_with("response_bytes=4096")) {
        for load in arm.loads.iter_mut().filter(|load| load.load == "new") {
            load.cpu_us_per_request = None;
            load.cost.cpu_us_per_request = None;
        }
    }
    let sized = size(&graph(&larger()), 2_000.0, &[measured]).unwrap();
    let new = sized.proxies[0].new_connections.as_ref().unwrap();
    assert!(is_near(new.cpu_us_each.estimate, 230.0), "{new:?}");
    let text = sized.extrapolations.join("\n");
    for sentence in of_other_requests("known") {
        assert!(text.contains(&sentence), "{sentence}: {text}");
    }
}

#[test]
fn results_without_such_a_load_name_what_measures_it() {
    let Err(SizeError::Missing { missing, arms }) = size(&graph(GRAPH), 1_000.0, &[measured(&loads(""))])
    else {
        panic!()
    };
    let [missing] = missing.as_slice() else { panic!("{missing:?}") };
    assert!(
        missing.contains("new connection") && missing.contains("requests_per_connection: 1"),
        "{missing}"
    );
    assert_eq!(arms, ["- {function: baseline, at: {protocol: http1}}"]);
}
