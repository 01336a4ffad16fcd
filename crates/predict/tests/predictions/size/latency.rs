//! Predictions and checks of response times, on studies whose truth is known.

use std::sync::OnceLock;

use hoptax_predict::size::{Processors, check, size, size_on};
use hoptax_result::{ArmResult, LoadSpec, PlannedHop, SizeLatency, SizeResult, StudyResult};

use super::{MORE_LOADS, additive, graph, study_with_times};

const ARMS: &str = "
  - direct
  - baseline
  - same
  - jwt
  - lua
  - {name: both, functions: [jwt, lua]}
  - {name: two-proxies, hops: [{name: client, functions: [lua]}, {name: server, functions: [jwt]}]}";

const TWO: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, functions: [jwt], calls: [{service: cart}]}
  - {name: cart}
";

/// Requests per second that keep the gateway busy for 45 to 65 % of the time, and the cart for 40 % or less.
const RATE: f64 = 4_000.0;

/// Half as much at 40 % as at 70 %: 30 us without a proxy, 100 for each proxy, 50 for `jwt` and 10 for every other function; each with
/// the same share of slow responses, so that quantiles add up.
fn stretched(arm: &ArmResult, load: &LoadSpec, round: u32) -> Vec<f64> {
    if load.name == "saturation" {
        return Vec::new();
    }
    let hops: Vec<&PlannedHop> = arm.subject.iter().flat_map(|subject| &subject.hops).collect();
    let of_hop = |hop: &&PlannedHop| {
        let of = |id: &str| if id == "jwt" { 50.0 } else { 10.0 };
        100.0 + hop.functions.iter().map(|function| of(&function.id)).sum::<f64>()
    };
    let factor = if load.name == "in-use-60" { 2.0 } else { 1.0 };
    let level = 30.0 + factor * hops.iter().map(of_hop).sum::<f64>();
    let drift = 1.0 + 0.01 * f64::from(round % 3);
    (0..2_000).map(|number| drift * level * (1.0 + 0.01 * f64::from(number % 100))).collect()
}

fn measured(arms: &str, times_us: impl Fn(&ArmResult, &LoadSpec, u32) -> Vec<f64>) -> StudyResult {
    study_with_times(MORE_LOADS, arms, additive, times_us)
}

/// The study that most tests predict from, which is made once.
fn usual() -> StudyResult {
    static USUAL: OnceLock<StudyResult> = OnceLock::new();
    USUAL.get_or_init(|| measured(ARMS, stretched)).clone()
}

/// The prediction that several tests are about, which is simulated once.
fn usual_size() -> &'static SizeResult {
    static USUAL: OnceLock<SizeResult> = OnceLock::new();
    USUAL.get_or_init(|| size(&graph(TWO), RATE, &[usual()]).unwrap())
}

/// Returns true if two numbers differ by no more than the buckets of histograms.
fn is_close(value: f64, truth: f64) -> bool {
    (value - truth).abs() < 0.004 * truth
}

/// The share of the way from the added time at 40 % to that at 70 %: waits are taken to grow like *b / (1 - b)*.
fn way(busy: f64) -> f64 {
    let queue = |busy: f64| busy / (1.0 - busy);
    (queue(busy) - queue(0.4)) / (queue(0.7) - queue(0.4))
}

/// The mean of the factors above: of drift, and of slow responses.
const MEAN: f64 = 1.01 * 1.495;

#[test]
fn proxies_add_what_they_add_at_their_busy_share() {
    let result = usual_size();
    let latency = result.latency.clone().unwrap();
    let [gateway, cart] = latency.proxies.as_slice() else { panic!("{latency:?}") };
    assert!((0.45..0.65).contains(&gateway.busy_share), "{gateway:?}");
    let way = way(gateway.busy_share);
    let expected = MEAN * 150.0 * (1.0 + way);
    assert!(is_close(gateway.added.mean_us.unwrap().estimate, expected), "{expected} {gateway:?}");
    assert!((0.3..=0.41).contains(&cart.busy_share), "{cart:?}");
    let sum = gateway.added.mean_us.unwrap().estimate + cart.added.mean_us.unwrap().estimate;
    assert!(is_close(latency.added.mean_us.unwrap().estimate, sum), "{latency:?}");
    // Slow responses of both are rarer than those of one.
    let tails = gateway.added.p99_us.unwrap().estimate + cart.added.p99_us.unwrap().estimate;
    let tail = latency.added.p99_us.unwrap().estimate;
    assert!(tail < 0.98 * tails && tail > 1.2 * sum, "{tail} {tails} {sum}");
    assert!(latency.added.mean_us.unwrap().half_width() > 0.0);
    let critical = gateway.critical_path_us.estimate + cart.critical_path_us.estimate;
    assert!((critical - latency.added.mean_us.unwrap().estimate).abs() < 1e-6 * critical);
    assert_eq!(result.no_latency, None);
}

#[test]
fn a_function_that_is_switched_off_saves_its_time_and_makes_its_proxy_less_busy() {
    let study = [usual()];
    let on = usual_size();
    let off = size(&graph(&TWO.replace("functions: [jwt], ", "")), RATE, &study).unwrap();
    let mean_us = |result: &SizeResult| result.latency.as_ref().unwrap().added.mean_us.unwrap().estimate;
    let saved = on.functions[0].saved_mean_us.unwrap();
    let truth = mean_us(on) - mean_us(&off);
    // Fewer requests are simulated for it.
    assert!((saved.estimate - truth).abs() < 0.01 * truth && saved.half_width() > 0.0, "{saved:?} {truth}");
    let alone = MEAN * 50.0 * (1.0 + way(on.latency.as_ref().unwrap().proxies[0].busy_share));
    assert!(saved.estimate > 1.1 * alone, "{saved:?} {alone}");
    // Without the function, the gateway is less busy than any proxy that was measured; at a higher rate it is not.
    let proxy = off.latency.as_ref().unwrap().proxies.clone();
    let is_extrapolated = on.functions[0].saved_mean_is_extrapolated;
    assert_eq!(is_extrapolated, proxy.iter().any(|proxy| proxy.is_extrapolated), "{proxy:?}");
    let half = size(&graph(TWO), 0.5 * RATE, &study).unwrap();
    assert!(half.functions[0].saved_mean_is_extrapolated);
}

#[test]
fn proxies_on_one_processor_wait_for_each_other() {
    let study = [usual()];
    let rate = 0.5 * RATE;
    let on = |processors| size_on(&graph(TWO), rate, &study, processors).unwrap().body.latency;
    let (own, enough, shared) = (
        on(Processors::Own).unwrap(),
        on(Processors::Shared(8)).unwrap(),
        on(Processors::Shared(1)).unwrap(),
    );
    assert_eq!(own, enough);
    // Both are as busy as both together.
    let all: f64 = own.proxies.iter().map(|proxy| proxy.busy_share).sum();
    assert!(shared.proxies.iter().all(|proxy| (proxy.busy_share - all).abs() < 1e-9), "{shared:?} {all}");
    let mean = |latency: &SizeLatency| latency.added.mean_us.unwrap().estimate;
    assert!(mean(&shared) > 1.1 * mean(&own), "{shared:?} {own:?}");
    let refused = size_on(&graph(TWO), 2.5 * RATE, &study, Processors::Shared(1)).unwrap();
    assert!(refused.body.no_latency.unwrap().contains("share 1 processor: too few"));
}

const CHAINS: &str = "
  - {name: plain-chain, hops: [client, server]}
  - {name: long-chain, hops: [client, middle, server]}";

/// Time that all other proxies add to a request at 40 %, as every other time.
const OTHERS_US: f64 = 40.0;

/// Like [`stretched`], with the time that proxies of a chain add to each other's requests: all of it, for each proxy but one.
fn sharing(arm: &ArmResult, load: &LoadSpec, round: u32) -> Vec<f64> {
    let hops = arm.subject.iter().map(|subject| subject.hops.len()).sum::<usize>();
    let factor = if load.name == "in-use-60" { 2.0 } else { 1.0 };
    let drift = 1.0 + 0.01 * f64::from(round % 3);
    let more = factor * OTHERS_US * hops.saturating_sub(1) as f64;
    let values = stretched(arm, load, round).into_iter().enumerate();
    values.map(|(number, value)| value + drift * more * (1.0 + 0.01 * (number % 100) as f64)).collect()
}

#[test]
fn a_plain_chain_tells_what_sharing_processors_adds() {
    let study = measured(&format!("{ARMS}{CHAINS}"), sharing);
    let checked = check(&study).unwrap().body.response_times;
    assert_eq!(checked.len(), 6);
    for one in checked.iter().filter(|one| !one.is_extrapolated) {
        assert!(one.mean.error_share.abs() < 0.004, "{one:?}");
        assert!(one.p99.is_none_or(|p99| p99.error_share.abs() < 0.01), "{one:?}");
    }
    // All are predicted from the chain of two.
    assert!(checked.iter().any(|one| one.arm == "long-chain" && !one.is_extrapolated), "{checked:?}");
    let without = check(&measured(ARMS, sharing)).unwrap().body.response_times;
    let chain = without.iter().find(|one| one.arm == "two-proxies").unwrap();
    assert!(chain.is_extrapolated && chain.mean.error_share < -0.08, "{chain:?}");
    // On one processor, both proxies together pay the cost of all others once.
    let latency =
        size_on(&graph(TWO), 2_500.0, &[study], Processors::Shared(1)).unwrap().body.latency.unwrap();
    let way = way(latency.proxies[0].busy_share);
    assert!((0.0..=1.0).contains(&way), "{latency:?}");
    let expected = MEAN * (250.0 + OTHERS_US) * (1.0 + way);
    assert!(is_close(latency.added.mean_us.unwrap().estimate, expected), "{expected} {latency:?}");
}

#[test]
fn a_chain_without_response_times_leaves_a_prediction_and_says_what_is_left_out() {
    let mut study = measured(&format!("{ARMS}{CHAINS}"), sharing);
    for arm in study.arms.iter_mut().filter(|arm| arm.id.ends_with("-chain")) {
        arm.loads.iter_mut().for_each(|load| load.response_us.p50 = None);
    }
    let result = size_on(&graph(TWO), 2_500.0, &[study], Processors::Shared(1)).unwrap();
    let latency = result.latency.as_ref().unwrap();
    assert!(latency.is_extrapolated && latency.proxies.iter().all(|one| one.is_extrapolated), "{latency:?}");
    let text = result.extrapolations.join("\n");
    assert!(
        text.contains("do not state response times of `plain-chain`: what sharing processors adds"),
        "{text}"
    );
}

#[test]
fn calls_at_the_same_time_wait_for_each_other_on_one_processor() {
    let fan_out = |first: &str, second: &str| {
        let calls = format!("[[{{service: {first}}}, {{service: {second}}}]]");
        graph(&format!(
            "
name: fan-out
entry: front
services:
  - {{name: front, calls: {calls}}}
  - {{name: slow, service_time_us: 100000}}
  - {{name: fast, functions: [jwt]}}
"
        ))
    };
    let study = [usual()];
    let of = |first: &str, second: &str, processors| {
        let result = size_on(&fan_out(first, second), 1_500.0, &study, processors).unwrap();
        let fast = result.proxies.iter().find(|proxy| proxy.service == "fast").unwrap();
        (result.latency.clone().unwrap().added.mean_us.unwrap().estimate, fast.cpu_us_per_request.estimate)
    };
    let (after, cpu_us) = of("fast", "slow", Processors::Shared(1));
    let (before, _) = of("slow", "fast", Processors::Shared(1));
    // The slow call decides. If it is made second, it waits for the way of the first to its service.
    assert!((after - before - 0.5 * cpu_us).abs() < 3.0, "{after} {before} {cpu_us}");
    let [own, other] =
        [("fast", "slow"), ("slow", "fast")].map(|(first, second)| of(first, second, Processors::Own).0);
    assert!((own - other).abs() < 3.0, "{own} {other}");
}

#[test]
fn a_busier_proxy_adds_more() {
    let busier = size(&graph(TWO), 4_500.0, &[usual()]).unwrap();
    let added = |result: &SizeResult| result.latency.as_ref().unwrap().added.mean_us.unwrap().estimate;
    assert!(added(&busier) > 1.05 * added(usual_size()));
}

#[test]
fn a_proxy_outside_of_what_was_measured_is_marked_or_refused() {
    let study = [usual()];
    let idle = size(&graph(TWO), 100.0, &study).unwrap();
    let latency = idle.latency.clone().unwrap();
    assert!(latency.is_extrapolated && latency.proxies.iter().all(|proxy| proxy.is_extrapolated));
    let text = idle.extrapolations.join("\n");
    assert!(text.contains("its response times are those of proxies that are busy for 40 %"), "{text}");
    for (rate, reason) in
        [(8_500.0, "response times were measured up to 70 %"), (30_000.0, "too few workers for the rate")]
    {
        let result = size(&graph(TWO), rate, &study).unwrap();
        assert_eq!(result.latency, None);
        assert!(result.no_latency.as_ref().unwrap().contains(reason), "{:?}", result.no_latency);
    }
}

#[test]
fn what_results_do_not_state_is_said_with_what_to_measure() {
    let reason = |study: StudyResult| {
        let result = size(&graph(TWO), RATE, &[study]).unwrap();
        assert_eq!(result.latency, None);
        result.no_latency.clone().unwrap()
    };
    let without_direct = reason(measured(&ARMS.replace("- direct\n", "- cors\n"), stretched));
    assert!(without_direct.contains("add `direct`"), "{without_direct}");
    let mut without_rounds = usual();
    without_rounds.rounds.clear();
    let without_rounds = reason(without_rounds);
    assert!(without_rounds.contains("no rounds"), "{without_rounds}");
    let mut withheld = usual();
    for load in withheld.arms.iter_mut().flat_map(|arm| &mut arm.loads) {
        load.response_us.p50 = None;
    }
    let withheld = reason(withheld);
    assert!(withheld.contains("arrivals: poisson"), "{withheld}");
}

#[test]
fn a_request_with_too_many_calls_has_no_time_and_the_reason_is_said() {
    let bare = "
name: shop
entry: a
services:
  - {name: a, calls: [{service: b, factor: 1000}]}
  - {name: b, proxy: false, calls: [{service: c, factor: 1000}]}
  - {name: c, proxy: false}
";
    // Each service calls the next one twice.
    let layer = |number: u32| {
        let call = format!("{{service: s{}}}", number + 1);
        format!("  - {{name: s{number}, proxy: {}, calls: [[{call}, {call}]]}}\n", number == 0)
    };
    let layers: String = (0..40).map(layer).collect();
    let layers = format!("name: shop\nentry: s0\nservices:\n{layers}  - {{name: s40, proxy: false}}\n");
    let study = [usual()];
    for (text, calls) in [(bare, "1,001,001 calls"), (layers.as_str(), "2,199,023,255,551 calls")] {
        let result = size(&graph(text), RATE, &study).unwrap();
        assert_eq!(result.latency, None);
        let reason = result.no_latency.clone().unwrap();
        assert!(reason.contains("passes 1 proxies") && reason.contains(calls), "{reason}");
    }
}

#[test]
fn few_responses_have_a_mean_and_no_tail() {
    let few = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        stretched(arm, load, round).into_iter().take(1_000).collect()
    };
    let latency = size(&graph(TWO), RATE, &[measured(ARMS, few)]).unwrap().body.latency.unwrap();
    assert_eq!(latency.added.p99_us, None);
    assert!(latency.added.mean_us.unwrap().estimate > 0.0);
}

#[test]
fn a_predicted_time_keeps_an_interval_that_is_wider_than_half_of_it() {
    let stalled = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        let factor = if arm.id == "baseline" && round == 0 { 9.0 } else { 1.0 };
        stretched(arm, load, round).into_iter().map(|us| us * factor).collect()
    };
    let latency = size(&graph(TWO), RATE, &[measured(ARMS, stalled)]).unwrap().body.latency.unwrap();
    let [_, cart] = latency.proxies.as_slice() else { panic!("{latency:?}") };
    let mean = cart.added.mean_us.unwrap();
    assert!(mean.half_width() > 0.5 * mean.estimate, "{latency:?}");
    assert!(cart.wide.iter().any(|name| name == "mean_us"), "{cart:?}");
}

#[test]
fn response_times_that_add_up_have_no_error() {
    let result = check(&usual()).unwrap();
    let rows: Vec<(&str, &str, bool)> = result
        .response_times
        .iter()
        .map(|one| (one.arm.as_str(), one.load.as_str(), one.is_extrapolated))
        .collect();
    // No chain of plain proxies states the time that proxies of a chain add to each other's requests.
    let expected = [("both", false), ("two-proxies", true)]
        .map(|(arm, is_unknown)| ["in-use-30", "in-use-60"].map(|load| (arm, load, is_unknown)));
    assert_eq!(rows, expected.concat());
    for one in &result.response_times {
        let p99 = one.p99.unwrap();
        assert!(one.mean.error_share.abs() < 0.02 && p99.error_share.abs() < 0.02, "{one:?}");
        assert!(p99.measured_us.estimate > 1.2 * one.mean.measured_us.estimate, "{one:?}");
    }
    let both = &result.response_times[0];
    assert!(is_close(both.mean.measured_us.estimate, MEAN * 190.0), "{both:?}");
    let errors = result.mean_response_errors.unwrap();
    assert!(errors.worst_share < 0.02 && errors.count == 2, "{errors:?}");
}

#[test]
fn response_times_that_do_not_add_up_are_found_with_the_size_of_the_error() {
    let slower = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        let factor = if arm.id == "both" && load.name == "in-use-30" { 1.25 } else { 1.0 };
        stretched(arm, load, round).into_iter().map(|us| us * factor).collect()
    };
    let result = check(&measured(ARMS, slower)).unwrap();
    let both = &result.response_times[0];
    assert!((both.mean.error_share + 0.2).abs() < 0.01 && both.mean.is_interaction, "{both:?}");
    assert!((both.p99.unwrap().error_share + 0.2).abs() < 0.01, "{both:?}");
    assert!((result.mean_response_errors.unwrap().worst_share - 0.2).abs() < 0.01);
}

#[test]
fn a_time_with_a_wide_interval_is_compared_and_is_in_no_summary() {
    let stalled = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        let factor = if arm.id == "both" && load.name == "in-use-30" && round == 0 { 9.0 } else { 1.0 };
        stretched(arm, load, round).into_iter().map(|us| us * factor).collect()
    };
    let result = check(&measured(ARMS, stalled)).unwrap();
    assert_eq!(result.response_times_left_out, []);
    let both = |load: &str| {
        let mut all = result.response_times.iter().filter(|one| one.arm == "both");
        all.find(|one| one.load == load).unwrap()
    };
    let (wide, narrow) = (both("in-use-30"), both("in-use-60"));
    assert!(wide.mean.is_wide && !narrow.mean.is_wide, "{result:?}");
    assert!(wide.mean.measured_us.half_width() > 0.5 * wide.mean.measured_us.estimate, "{wide:?}");
    // What `both` takes without the stall is in the interval, and the prediction is as good as in other loads.
    assert!(wide.mean.measured_us.contains(wide.mean.predicted_us.estimate), "{wide:?}");
    let errors = result.mean_response_errors.unwrap();
    assert!(errors.count == 1 && errors.worst_share < 0.02, "{errors:?}");
    assert!(wide.p99.is_some_and(|p99| p99.is_wide), "{wide:?}");
}

#[test]
fn a_chain_needs_an_arm_without_a_proxy_and_a_single_proxy_does_not() {
    let result = check(&measured(&ARMS.replace("- direct\n", "- cors\n"), stretched)).unwrap();
    assert!(result.response_times.iter().all(|one| one.arm == "both") && result.response_times.len() == 2);
    let [left_out] = result.response_times_left_out.as_slice() else { panic!("{result:?}") };
    assert_eq!(left_out.arm, "two-proxies");
    assert!(left_out.reason.contains("add `direct`"), "{}", left_out.reason);
}

#[test]
fn a_service_without_a_proxy_adds_nothing_and_its_calls_are_made_all_the_same() {
    let text = "
name: shop
entry: gateway
services:
  - {name: gateway, functions: [jwt], calls: [{service: cache}]}
  - {name: cache, proxy: false, calls: [{service: cart, factor: 0.5}]}
  - {name: cart}
";
    let study = [usual()];
    let result = size(&graph(text), RATE, &study).unwrap();
    let proxies: Vec<(&str, f64)> =
        result.proxies.iter().map(|proxy| (proxy.service.as_str(), proxy.requests_per_second)).collect();
    assert_eq!(proxies, [("gateway", RATE), ("cart", RATE / 2.0)]);
    let latency = result.latency.clone().unwrap();
    let [gateway, cart] = latency.proxies.as_slice() else { panic!("{latency:?}") };
    let sum = gateway.added.mean_us.unwrap().estimate + 0.5 * cart.added.mean_us.unwrap().estimate;
    assert!((latency.added.mean_us.unwrap().estimate - sum).abs() < 0.02 * sum, "{latency:?}");
}
