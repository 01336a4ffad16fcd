//! Predictions for graphs.

use std::sync::LazyLock;

use hoptax_predict::size::graph::Graph;
use hoptax_predict::size::{SizeError, size};
use hoptax_result::{ArmResult, Finding, LoadSpec, SizeSide, StudyResult, Verdict};
use proptest::prelude::*;

use super::{additive, graph, is_near, study, study_with_busy};

const ARMS: &str = "[baseline, same, jwt, lua, \"rbac{rules=50}\"]";

const TWO: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, workers: 2, functions: [jwt, lua], outbound: {functions: [lua]}, calls: [{service: cart, factor: 0.5}]}
  - {name: cart, functions: [\"rbac{rules=50}\"]}
";

#[test]
fn cores_are_those_of_the_truth_at_the_busy_share_of_each_proxy() {
    let graph = graph(TWO);
    let result = size(&graph, 10_000.0, &[study(ARMS, additive)]).unwrap();
    let [gateway, cart] = result.proxies.as_slice() else { panic!("{result:?}") };
    // Between 40 and 100 %, everything lies on a line: plain 100 to 60 us, jwt 60 to 40, others 8 to 5. Per request of the gateway,
    // 1.5 plain, one jwt, 1.5 lua: 222 us at 40 % of a worker, 137.5 at 100 %, so 10,000/s keep two workers busy for b with
    // 2 b = 0.01 (222 - 84.5 (b - 0.4) / 0.6).
    let slope = 84.5 / 0.6;
    let busy = 0.01 * (222.0 + 0.4 * slope) / (2.0 + 0.01 * slope);
    assert!(is_near(gateway.busy_share.estimate, busy), "{busy}: {gateway:?}");
    assert!(is_near(gateway.requests_per_second, 15_000.0) && is_near(gateway.cores.estimate, 2.0 * busy));
    assert!(is_near(gateway.max_rate.estimate, 2.0 / 137.5e-6), "{gateway:?}");
    assert!(is_near(cart.requests_per_second, 5_000.0) && is_near(cart.max_rate.estimate, 2.0 / 65e-6));
    assert!(is_near(result.cores.estimate, gateway.cores.estimate + cart.cores.estimate));
    assert_eq!(result.bottleneck.service, "gateway");
    assert!(result.bottleneck.or.is_empty());
    let last = result.curve.last().unwrap();
    assert!(is_near(last.rate, result.bottleneck.rate.estimate) && last.cores.estimate > 2.0, "{last:?}");
    let per_request: Vec<f64> = result.curve.iter().map(|point| point.cores.estimate / point.rate).collect();
    assert!(per_request.is_sorted_by(|one, next| one >= next), "{per_request:?}");
}

#[test]
fn a_function_saves_less_than_its_part_because_a_less_busy_proxy_needs_more() {
    let result = size(&graph(TWO), 10_000.0, &[study(ARMS, additive)]).unwrap();
    let dearest = &result.functions[0];
    assert_eq!((dearest.service.as_str(), dearest.function.as_str()), ("gateway", "jwt"));
    assert!(dearest.saved_cores.estimate > 0.0);
    assert!(dearest.saved_cores.estimate < dearest.cores.estimate, "{dearest:?}");
    let outbound: Vec<(&str, f64)> = result
        .functions
        .iter()
        .filter(|function| function.side == SizeSide::Outbound)
        .map(|function| (function.function.as_str(), function.requests_per_second))
        .collect();
    assert_eq!(outbound, [("lua", 5_000.0)]);
}

#[test]
fn an_overloaded_proxy_and_an_idle_one_are_named() {
    let busy = size(&graph(TWO), 40_000.0, &[study(ARMS, additive)]).unwrap();
    let text = busy.extrapolations.join("\n");
    assert!(text.contains("`gateway` has too few workers for this rate"), "{text}");
    assert!(text.contains("`gateway`: the costs of several functions"), "{text}");
    assert!(text.contains("`gateway`: measured with another number of workers"), "{text}");
    let idle = size(&graph(TWO), 100.0, &[study(ARMS, additive)]).unwrap();
    assert!(idle.extrapolations.join("\n").contains("less than the 40 % that"), "{:?}", idle.extrapolations);
}

#[test]
fn a_proxy_about_as_busy_as_those_that_were_measured_is_not_called_an_extrapolation() {
    let loads = "loads: [{name: saturation, loop: closed, connections: 16, blocks: 4, slice: 150ms}]\n";
    let only = study_with_busy(loads, "[baseline, same]", |_, _, _| 60.0, |_, _, _| Vec::new(), |_, _| 0.97);
    let several = study("[baseline, same]", additive);
    let graph = graph("name: one\nentry: a\nservices: [{name: a}]\n");
    // Below 40 %, a request costs 100 us.
    for (measured, us, busy, expected) in [
        (&only, 60.0, 0.5, true),
        (&only, 60.0, 0.9, true),
        (&only, 60.0, 0.97, false),
        (&only, 60.0, 0.99, false),
        (&several, 100.0, 0.3, true),
        (&several, 100.0, 0.37, true),
        (&several, 100.0, 0.39, false),
    ] {
        let result = size(&graph, busy * 1e6 / us, std::slice::from_ref(measured)).unwrap();
        assert_eq!(result.proxies[0].is_extrapolated, expected, "{busy}: {result:?}");
        let text = result.extrapolations.join("\n");
        assert_eq!(text.contains("`a` is busy for"), expected, "{busy}: {text}");
    }
}

#[test]
fn what_no_result_states_is_an_error_with_the_arms_to_measure() {
    let text = TWO.replace("name: cart,", "name: cart, protocol: grpc,");
    let SizeError::Missing { missing, arms } =
        size(&graph(&text), 100.0, &[study("[baseline, same, lua]", additive)]).unwrap_err()
    else {
        panic!("missing")
    };
    assert_eq!(missing.len(), 4, "{missing:?}");
    assert_eq!(missing[0], "the cost of `jwt` for requests over http1");
    assert!(
        missing.contains(&"the cost of `lua` for requests over grpc (they state `lua`)".to_owned()),
        "{missing:?}"
    );
    assert!(arms.contains(&"- {function: \"rbac{rules=50}\", at: {protocol: grpc}}".to_owned()), "{arms:?}");
    assert!(arms.contains(&"- {function: \"baseline\", at: {protocol: grpc}}".to_owned()), "{arms:?}");
}

#[test]
fn a_number_that_was_measured_and_does_not_count_says_why() {
    let missing = |study: StudyResult| match size(&graph(TWO), 100.0, &[study]).unwrap_err() {
        SizeError::Missing { missing, .. } => missing.join("\n"),
        other @ SizeError::Imprecise { .. } => panic!("{other}"),
    };
    let mut withheld = study(ARMS, additive);
    let jwt = withheld.arms.iter_mut().find(|arm| arm.id == "jwt").unwrap();
    jwt.loads.iter_mut().for_each(|load| load.cost.cpu_us_per_request = None);
    let text = missing(withheld);
    assert_eq!(
        text,
        "the cost of `jwt` for requests over http1 (`known` measured it, and withholds its CPU time: `hoptax runs show` of it says why)"
    );
    let disturbed = |id: &str| {
        let mut study = study(ARMS, additive);
        let arm = study.arms.iter_mut().find(|arm| arm.id == id).unwrap();
        arm.loads.iter_mut().for_each(|load| load.proxy_busy_share = None);
        missing(study)
    };
    for (id, number) in [("jwt", "the cost of `jwt`"), ("baseline", "plain proxying of http1")] {
        let text = disturbed(id);
        assert!(text.contains(number) && text.contains("not how busy its proxies were"), "{text}");
        assert!(!text.contains("withholds"), "{text}");
    }
    let mut fixed = study(ARMS, additive);
    for load in &mut fixed.plan.loads {
        (load.loop_, load.utilisation) = (hoptax_result::Loop::Open, None);
    }
    let text = missing(fixed);
    assert!(text.contains("plain proxying of http1") && text.contains("`utilisation: 30%`"), "{text}");
}

#[test]
fn several_results_complete_each_other_and_say_where_they_differ() {
    let first = study("[baseline, same, lua, cors]", additive);
    let mut second = study(ARMS, additive);
    second.environment.cpu_model = "Other CPU".to_owned();
    second.verdict = Verdict::Caution;
    second.name = "second".to_owned();
    let result = size(&graph(TWO), 10_000.0, &[first, second]).unwrap();
    assert_eq!((result.sources.len(), result.verdict), (2, Verdict::Caution), "the worst of theirs");
    let text = result.extrapolations.join("\n");
    assert!(text.contains("different processors"), "{text}");
    let [finding] = result.findings.as_slice() else { panic!("{:?}", result.findings) };
    let expected = "`second`, on which this rests, has the verdict caution: ";
    assert!(finding.id == Finding::SOURCE_VERDICT && finding.message.starts_with(expected), "{finding:?}");
}

#[test]
fn a_function_measured_with_other_requests_says_so() {
    let zipped = "name: one\nentry: a\nservices: [{name: a, functions: [compress/gzip]}]\n";
    let result =
        size(&graph(zipped), 1_000.0, &[study("[baseline, same, compress/gzip]", additive)]).unwrap();
    assert!(result.extrapolations.join("\n").contains("with other requests"), "{:?}", result.extrapolations);
    // The plain proxy that it is compared with is one for responses of this size.
    let sized = zipped.replace("{name: a,", "{name: a, response_bytes: 4096,");
    let result =
        size(&graph(&sized), 1_000.0, &[study("[baseline, same, compress/gzip]", additive)]).unwrap();
    assert!(!result.extrapolations.join("\n").contains("with other requests"), "{:?}", result.extrapolations);
}

#[test]
fn a_knob_that_was_added_after_a_measurement_counts_at_its_default() {
    let mut older = study(ARMS, additive);
    for arm in &mut older.arms {
        for hop in arm.subject.iter_mut().flat_map(|subject| &mut subject.hops) {
            hop.functions.iter_mut().for_each(|function| drop(function.knobs.remove("cached_tokens")));
        }
    }
    let older = [older];
    assert!(size(&graph(TWO), 100.0, &older).is_ok());
    let cached = TWO.replace("functions: [jwt, lua]", "functions: [\"jwt{cached_tokens=100}\", lua]");
    assert!(matches!(size(&graph(&cached), 100.0, &older), Err(SizeError::Missing { .. })));
}

#[test]
fn a_result_without_rounds_has_the_widest_intervals() {
    let noisy = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        additive(arm, load, round) + f64::from((round * 7 + arm.id.len() as u32 * 3) % 5)
    };
    let with_rounds = study(ARMS, noisy);
    let mut without = with_rounds.clone();
    without.rounds.clear();
    let [with_rounds, without] =
        [with_rounds, without].map(|result| size(&graph(TWO), 10_000.0, &[result]).unwrap().cores);
    assert!(is_near(with_rounds.estimate, without.estimate));
    assert!(with_rounds.half_width() > 0.0 && with_rounds.half_width() < without.half_width());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn parts_add_up_and_no_proxy_gets_cheaper_in_all_at_a_higher_rate(rate in 10.0..60_000.0f64, more in 1.0..3.0f64) {
        static STUDY: LazyLock<StudyResult> = LazyLock::new(|| study(ARMS, additive));
        static GRAPH: LazyLock<Graph> = LazyLock::new(|| graph(TWO));
        let [low, high] = [rate, rate * more].map(|rate| size(&GRAPH, rate, std::slice::from_ref(&*STUDY)).unwrap());
        let sum: f64 = low.proxies.iter().map(|proxy| proxy.cores.estimate).sum();
        prop_assert!(is_near(sum, low.cores.estimate));
        prop_assert!(low.cores.estimate <= high.cores.estimate + 1e-9);
        for (low, high) in low.proxies.iter().zip(&high.proxies) {
            prop_assert!(low.cpu_us_per_request.estimate >= high.cpu_us_per_request.estimate - 1e-6);
            prop_assert!(is_near(low.max_rate.estimate, high.max_rate.estimate));
        }
    }
}
