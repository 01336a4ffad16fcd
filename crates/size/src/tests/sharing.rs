//! Predictions for proxies that share processors, on studies whose truth is known.

use hoptax_result::{ArmResult, LoadSpec, PlannedHop};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::graph::graph;
use super::{additive, balance, busy, hop_us, is_near, study};
use crate::busy::Processors;
use crate::check::check;
use crate::predict::size_on;

const ARMS: &str = "
  - baseline
  - same
  - jwt
  - lua
  - {name: two-proxies, hops: [client, server]}
  - {name: with-functions, hops: [{name: client, functions: [lua]}, {name: server, functions: [jwt]}]}";

const THREE: &str = "
  - {name: three-proxies, hops: [client, middle, server]}";

/// What all other proxies on a processor cost a request.
const OTHERS_US: f64 = 25.0;

/// CPU time of a request to proxies with these costs at their own busy shares, which together keep a processor busy for `busy` of the
/// time, and cost each other [`OTHERS_US`].
fn shared_us(hops: &[&PlannedHop], busy: f64) -> f64 {
    let own = |hop: &PlannedHop, rate: f64| {
        let others = |own: f64| OTHERS_US * (1.0 - (own / busy).min(1.0));
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
    let result = check(&study(ARMS, sharing)).unwrap();
    let [left_out] = result.left_out.as_slice() else { panic!("{:?}", result.left_out) };
    assert_eq!((left_out.arm.as_str(), &left_out.load), ("two-proxies", &None));
    assert!(left_out.reason.contains("no other chain of plain proxies"), "{left_out:?}");
    let both = check(&study(&format!("{ARMS}{THREE}"), sharing)).unwrap();
    assert_eq!((result.compositions.len(), both.compositions.len(), both.left_out.len()), (2, 6, 0));
    for one in result.compositions.iter().chain(&both.compositions) {
        assert!(one.error_share.abs() < 1e-6, "{one:?}");
    }
    // Without the chain, each prediction misses what proxies cost each other.
    let arms = ARMS.replace("  - {name: two-proxies, hops: [client, server]}\n", "");
    let result = check(&study(&arms, sharing)).unwrap();
    assert_eq!(result.compositions.len(), 2);
    for one in result.compositions {
        // It takes the proxies for less busy than they are, which makes up for a part of it.
        let missed = -one.error_share / (OTHERS_US / one.measured_us.estimate);
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

#[test]
fn proxies_of_a_graph_cost_more_the_less_of_the_busy_time_is_theirs() {
    let study = [study(ARMS, sharing)];
    let graph = graph(TWO);
    let of = |processors| size_on(&graph, 2_000.0, &study, processors).unwrap();
    let (own, shared) = (of(Processors::Own), of(Processors::Shared(1)));
    let used: f64 = shared.proxies.iter().map(|proxy| proxy.busy_share.estimate).sum();
    for (own, shared) in own.proxies.iter().zip(&shared.proxies) {
        // Below 40 %, a plain proxy always costs the same.
        let part = shared.busy_share.estimate / used;
        let more = shared.cpu_us_per_request.estimate - own.cpu_us_per_request.estimate;
        assert!(is_near(more, OTHERS_US * (1.0 - part)), "{more} {part} {shared:?}");
    }
    // Proxies of the chain are less busy at 40 % than any single one was.
    let text = &shared.extrapolations[0];
    assert!(text.contains("states what proxies cost each other from 100 % to 100 %"), "{text}");
}

#[test]
fn a_prediction_without_a_chain_says_that_sharing_is_unknown() {
    let study = [study("[baseline, same, jwt, lua]", additive)];
    let of = |processors| size_on(&graph(TWO), 2_000.0, &study, processors).unwrap();
    let shared = of(Processors::Shared(1));
    assert!(shared.extrapolations[0].contains("no result states what proxies cost each other"), "{shared:?}");
    let own = of(Processors::Own);
    assert_eq!(own.extrapolations, shared.extrapolations[1..]);
    assert_eq!(own.proxies, shared.proxies);
}

#[test]
fn intervals_of_proxies_that_share_a_processor_cover_the_truth() {
    const STUDIES: usize = 100;
    let graph = graph(TWO);
    let truth =
        size_on(&graph, 2_000.0, &[study(ARMS, sharing)], Processors::Shared(1)).unwrap().cores.estimate;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(907);
    let covered = (0..STUDIES).filter(|_| {
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
        let cores = size_on(&graph, 2_000.0, &[study(ARMS, noisy)], Processors::Shared(1)).unwrap().cores;
        cores.contains(truth)
    });
    let share = covered.count() as f64 / STUDIES as f64;
    // Three standard errors of a share of 95 % in so many studies are 6.5 %.
    assert!(share >= 0.885, "{share}");
}
