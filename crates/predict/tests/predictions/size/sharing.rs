//! Predictions for proxies that share processors, on studies whose truth is known.

use hoptax_predict::size::{Processors, check, size_on};
use hoptax_result::{ArmResult, CheckedComposition, LoadSpec, PlannedHop, StudyResult};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::{MORE_LOADS, additive, balance, busy, graph, hop_us, is_near, study_with_times};

const ARMS: &str = "
  - baseline
  - same
  - jwt
  - lua
  - {name: two-proxies, hops: [client, server]}
  - {name: with-functions, hops: [{name: client, functions: [lua]}, {name: server, functions: [jwt]}]}";

const THREE: &str = "
  - {name: three-proxies, hops: [client, middle, server]}";

fn study(arms: &str, cpu_us: impl Fn(&ArmResult, &LoadSpec, u32) -> f64) -> StudyResult {
    study_with_times(MORE_LOADS, arms, cpu_us, |_, _, _| Vec::new())
}

/// Returns the CPU time that all other proxies on a processor that is busy for this share of the time cost a request: 25 us at 70 %.
fn others_us(busy: f64) -> f64 {
    60.0 - 50.0 * busy
}

/// CPU time of a request to proxies that cost each other [`others_us`] and together keep a processor busy for `busy` of the time.
fn shared_us(hops: &[&PlannedHop], busy: f64) -> f64 {
    let own = |hop: &PlannedHop, rate: f64| {
        let others = |own: f64| others_us(busy) * (1.0 - (own / busy).min(1.0));
        balance(|own| rate * (hop_us(hop, own) + others(own)) / 1e6)
    };
    let used = |rate: f64| hops.iter().map(|hop| own(hop, rate)).sum::<f64>();
    let scaled = balance(|rate| if used(1e5 * rate) < busy { 1.0 } else { 0.0 });
    busy * 1e6 / (1e5 * scaled)
}

/// A machine on which proxies that share a processor cost each other CPU time, and all else adds up.
fn sharing(arm: &ArmResult, load: &LoadSpec, round: u32) -> f64 {
    let hops: Vec<&PlannedHop> = arm.subject.iter().flat_map(|subject| &subject.hops).collect();
    match hops.len() {
        0 | 1 => additive(arm, load, round),
        _ => shared_us(&hops, busy(&load.name)),
    }
}

#[test]
fn a_plain_chain_tells_what_other_chains_cost() {
    let one = check(&study(ARMS, sharing)).unwrap();
    // The shortest chain is learned from, wherever it is.
    let both = check(&study(&ARMS.replace("\n  - jwt", &format!("{THREE}\n  - jwt")), sharing)).unwrap();
    assert_eq!((one.compositions.len(), both.compositions.len()), (3, 6));
    for result in [&one, &both] {
        assert!(result.left_out.is_empty() && result.chains == ["two-proxies"], "{result:?}");
        // At 70 %, each proxy of a chain is less busy than any single one was, like those of three proxies at saturation: marked, though
        // here that makes no difference.
        let known = result.compositions.iter().filter(|one| !one.is_extrapolated);
        let known: Vec<(&str, &str)> = known.map(|one| (one.arm.as_str(), one.load.as_str())).collect();
        assert_eq!(known, [("with-functions", "saturation")]);
        for one in result.compositions.iter().filter(|one| one.load != "in-use-30") {
            assert!(one.error_share.abs() < 1e-6, "{one:?}");
        }
    }
}

#[test]
fn a_chain_of_the_same_protocol_counts_first() {
    // Chains in HTTP/2 cost less at saturation, where their proxies read many requests at once.
    let batched = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        let is_batched = arm.id.starts_with("http2") && load.name == "saturation";
        sharing(arm, load, round) - if is_batched { 30.0 } else { 0.0 }
    };
    let with = "
  - {name: http2-functions, hops: [client, {name: server, functions: [jwt]}], at: {protocol: http2}}
  - {function: jwt, at: {protocol: http2}}";
    let chain = "
  - {name: http2-chain, hops: [client, server], at: {protocol: http2}}";
    let error = |arms: &str| {
        let result = check(&study(arms, batched)).unwrap();
        let is_it =
            |one: &&CheckedComposition| one.arm.starts_with("http2-functions") && one.load == "saturation";
        let one = result.compositions.iter().find(is_it).unwrap();
        (one.error_share.abs(), result.chains.len())
    };
    let (without, chains) = error(&format!("{ARMS}{with}"));
    assert!(without > 0.05 && chains == 1, "{without} {chains}");
    let (with, chains) = error(&format!("{ARMS}{with}{chain}"));
    assert!(with < 0.005 && chains == 2, "{with} {chains}");
}

#[test]
fn a_chain_is_marked_where_nothing_states_what_its_proxies_cost_each_other() {
    let arms = ARMS.replace("  - {name: two-proxies, hops: [client, server]}\n", "");
    let result = check(&study(&arms, sharing)).unwrap();
    assert_eq!((result.compositions.len(), result.mean_error_share), (3, None));
    for one in result.compositions.iter().filter(|one| one.load != "in-use-30") {
        // It takes the proxies for less busy than they are, which makes up for a part of the missing cost.
        let missed = -one.error_share / (others_us(busy(&one.load)) / one.measured_us.estimate);
        assert!((0.5..=1.0).contains(&missed), "{missed} {one:?}");
    }
}

const TWO: &str = "
name: shop
entry: gateway
services:
  - {name: gateway, functions: [lua], calls: [{service: cart}]}
  - {name: cart, functions: [jwt]}
";

/// CPU time of a plain proxy with a function, by itself.
fn alone_us(own: f64, function: [f64; 2]) -> f64 {
    let share = (own.clamp(0.4, 1.0) - 0.4) / 0.6;
    let of = |low: f64, full: f64| low + share * (full - low);
    of(100.0, 60.0) + of(function[0], function[1])
}

#[test]
fn proxies_of_a_graph_cost_more_the_less_of_the_busy_time_is_theirs() {
    let study = [study(ARMS, sharing)];
    let graph = graph(TWO);
    // One processor is busy for 59 %, and two for 69 %: the measurement at 70 % counts.
    for (processors, rate) in [(1, 2_000.0), (2, 5_000.0)] {
        let shared = size_on(&graph, rate, &study, Processors::Shared(processors)).unwrap();
        let used: f64 = shared.proxies.iter().map(|proxy| proxy.busy_share.estimate).sum();
        assert!(used / f64::from(processors) < 0.7, "{used}");
        for (proxy, function) in shared.proxies.iter().zip([[8.0, 5.0], [60.0, 40.0]]) {
            let own = proxy.busy_share.estimate;
            let more = proxy.cpu_us_per_request.estimate - alone_us(own, function);
            assert!(is_near(more, others_us(0.7) * (1.0 - own / used)), "{more} {proxy:?}");
        }
        let is_known = used / f64::from(processors) > 0.65;
        assert!(shared.proxies.iter().all(|proxy| proxy.is_extrapolated != is_known), "{shared:?}");
        let text = shared.extrapolations.join("\n");
        assert_eq!(
            text.contains("states the cost of proxies to each other from 70 % to 100 %"),
            !is_known,
            "{text}"
        );
        assert_eq!(text.contains("on another number of processors than 2"), processors == 2, "{text}");
    }
}

#[test]
fn more_proxies_than_a_processor_can_run_are_named() {
    let shared = size_on(&graph(TWO), 8_000.0, &[study(ARMS, sharing)], Processors::Shared(1)).unwrap();
    let used: f64 = shared.proxies.iter().map(|proxy| proxy.busy_share.estimate).sum();
    assert!(used > 1.0 && is_near(used, shared.cores.estimate), "{shared:?}");
    assert!(shared.extrapolations[0].contains("the proxies need 2 processors instead of 1"), "{shared:?}");
    // The parts of both are those of all that they need.
    for (proxy, function) in shared.proxies.iter().zip([[8.0, 5.0], [60.0, 40.0]]) {
        let own = proxy.busy_share.estimate;
        let more = proxy.cpu_us_per_request.estimate - alone_us(own, function);
        assert!(is_near(more, others_us(1.0) * (1.0 - own / used)), "{more} {proxy:?}");
    }
}

#[test]
fn a_prediction_without_a_chain_says_that_sharing_is_unknown() {
    let study = [study("[baseline, same, jwt, lua]", additive)];
    let of = |processors| size_on(&graph(TWO), 2_000.0, &study, processors).unwrap();
    let shared = of(Processors::Shared(1));
    assert!(
        shared.extrapolations[0].contains("no result states the cost of proxies to each other"),
        "{shared:?}"
    );
    let own = of(Processors::Own);
    assert_eq!(own.extrapolations, shared.extrapolations[1..]);
    assert!(shared.proxies.iter().all(|proxy| proxy.is_extrapolated));
    assert!(own.proxies.iter().zip(&shared.proxies).all(|(own, shared)| own.cores == shared.cores));
}

/// The share of studies whose interval covers the truth, and the mean width of the intervals in standard errors of the estimates.
fn coverage(studies: usize) -> (f64, f64) {
    let graph = graph(TWO);
    let truth =
        size_on(&graph, 2_500.0, &[study(ARMS, sharing)], Processors::Shared(1)).unwrap().cores.estimate;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(907);
    let (mut squares, mut widths) = (0.0, 0.0);
    let covered = (0..studies).filter(|_| {
        // Levels of processes, and a speed of each round.
        let normal: Vec<f64> = (0..4_000).map(|_| StandardNormal.sample(&mut random)).collect();
        let noisy = |arm: &ArmResult, load: &LoadSpec, round: u32| {
            let seed = arm
                .id
                .bytes()
                .chain(load.name.bytes())
                .fold(17 + round as usize, |sum, byte| (31 * sum + byte as usize) % 3_989);
            sharing(arm, load, round) * (1.0 + 0.02 * normal[round as usize]) + 0.8 * normal[10 + seed]
        };
        let cores = size_on(&graph, 2_500.0, &[study(ARMS, noisy)], Processors::Shared(1)).unwrap().cores;
        squares += (cores.estimate - truth).powi(2);
        widths += cores.half_width();
        cores.contains(truth)
    });
    let share = covered.count() as f64 / studies as f64;
    let errors = (squares / studies as f64).sqrt();
    (share, widths / studies as f64 / errors)
}

/// Few studies find only intervals that are far too narrow. `long` has the coverage.
#[test]
fn intervals_of_proxies_that_share_a_processor_cover_the_truth_in_most_of_a_few_studies() {
    let (share, _) = coverage(8);
    assert!(share > 0.7, "{share}");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "takes minutes: run by `make test-long`"]
    fn intervals_of_proxies_that_share_a_processor_cover_the_truth() {
        let (share, width) = coverage(100);
        // Three standard errors of a share of 95 % in so many studies are 6.5 %.
        assert!(share >= 0.885, "{share}");
        // Student's interval of six rounds is 2.6 standard errors wide.
        assert!(width <= 3.5, "{width}");
    }
}
