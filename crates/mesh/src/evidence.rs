//! Converts measured slices to a result: that of a study whose arms are the steps from bare network to meshes.

mod samples;

use std::iter;

use hoptax_checks::judge_study;
use hoptax_checks::thresholds::Limits;
use hoptax_judge::summary::fill;
use hoptax_result::{
    ArmKind, ArmResult, ArmRound, Generator, HopUse, HostUse, LoadSpec, Loop, PlannedHop, PlannedNetwork,
    PlannedSubject, Severity, StudyBody, StudyPlan, StudyResult, StudyRound, Verdict,
};

use crate::findings::{at_saturation, findings};
use crate::measured::{Measured, Proxy, Round};
use crate::plan::{Arm, Asked, HOST_NETWORK, IN_USE, Plan, SATURATION, SATURATION_SLICE};
use samples::{sample, sample_at_saturation};

/// The name of the study.
pub const NAME: &str = "mesh";
/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;
/// Ticks per second in Linux's CPU accounting.
const TICKS_PER_SECOND: f64 = 100.0;
/// The share of unanswered requests above which the numbers of an arm are withheld.
const MAX_ERROR_SHARE: f64 = 0.001;

/// The judged result.
pub fn result(plan: &Plan, measured: &Measured, limits: &Limits) -> StudyResult {
    let Measured { rounds, proxies, source, wall_s, environment, ended_early } = measured;
    let asked = &plan.asked;
    let body = StudyBody {
        name: NAME.to_owned(),
        summary: "What do the network of pods and a mesh cost per request in this cluster?".to_owned(),
        loosened: Vec::new(),
        plan: StudyPlan {
            seed: asked.seed,
            baseline: HOST_NETWORK.to_owned(),
            rounds_planned: asked.rounds,
            rounds_completed: 0,
            confidence: CONFIDENCE,
            budget_s: None,
            sequential: None,
            set_aside_rule: "no slice is set aside: hoptax cannot see disturbances on the nodes of a cluster"
                .to_owned(),
            quiet_rule: None,
            link: None,
            never_halted: false,
            loads: loads(asked, source.slice_s),
            wall_seconds: *wall_s,
            ended_early: ended_early.clone(),
            resumed_after_rounds: Vec::new(),
            max_error_share: MAX_ERROR_SHARE,
            timeline: None,
        },
        published: Vec::new(),
        generator: Vec::new(),
        host: HostUse::default(),
        arms: plan
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| arm_result(arm, proxies.get(&index).map_or([].as_slice(), Vec::as_slice)))
            .collect(),
        timelines: Vec::new(),
        machine: None,
        speeds: None,
        rule_costs: Vec::new(),
        rounds: rounds.iter().zip(0..).map(|(round, number)| study_round(plan, round, number)).collect(),
        sittings: Vec::new(),
    };
    let mut result = StudyResult::new(environment.clone(), body);
    fill(&mut result);
    judge_study(&mut result, limits);
    let mut own = findings(plan, measured);
    own.extend(at_saturation(plan, measured, limits));
    if own.iter().any(|finding| finding.severity > Severity::Info) {
        result.verdict = result.verdict.max(Verdict::Caution);
    }
    result.findings.extend(own);
    result.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    result
}

/// The loads, the closed loop only if maximum rates are measured.
fn loads(asked: &Asked, slice_s: f64) -> Vec<LoadSpec> {
    let in_use = LoadSpec {
        name: IN_USE.to_owned(),
        loop_: Loop::Open,
        rate: Some(asked.rate),
        utilisation: None,
        arrivals: Some("uniform".to_owned()),
        connections: asked.connections,
        requests_per_connection: None,
        expect: Vec::new(),
        caller: LoadSpec::OWN_CALLER.to_owned(),
        arms: Vec::new(),
        blocks: 1,
        slice_s,
    };
    let saturation = asked.has_max_rate.then(|| LoadSpec {
        name: SATURATION.to_owned(),
        loop_: Loop::Closed,
        rate: None,
        arrivals: None,
        slice_s: SATURATION_SLICE.as_secs_f64(),
        ..in_use.clone()
    });
    iter::once(in_use).chain(saturation).collect()
}

fn arm_result(arm: &Arm, proxies: &[Proxy]) -> ArmResult {
    let planned = |proxy: &Proxy| PlannedHop {
        name: proxy.name.clone(),
        proxy: proxy.container.clone(),
        version: proxy.image.clone(),
        ..PlannedHop::default()
    };
    let servers = if arm.has_host_network { "host" } else { "container" };
    ArmResult {
        id: arm.id.clone(),
        kind: match &arm.compared_with {
            None => ArmKind::Baseline,
            Some(_) if proxies.is_empty() => ArmKind::Direct,
            Some(_) => ArmKind::Position,
        },
        summary: arm.template.summary.clone(),
        subject: Some(PlannedSubject {
            protocol: "http1".to_owned(),
            hops: proxies.iter().map(planned).collect(),
            application: "origin".to_owned(),
            upstreams: 1,
            network: Some(PlannedNetwork {
                servers: servers.to_owned(),
                nat: "none".to_owned(),
                firewall: None,
            }),
            ..PlannedSubject::default()
        }),
        compared_with: arm.compared_with.clone(),
        copies: 1,
        hops: proxies.iter().map(|proxy| HopUse { name: proxy.name.clone(), ..HopUse::default() }).collect(),
        ..ArmResult::default()
    }
}

fn study_round(plan: &Plan, round: &Round, number: u32) -> StudyRound {
    // The time that the hypervisor stole from the node of the callers, in ticks of one processor. At saturation, it may steal more, which
    // makes no other slice longer.
    let ticks = |of: fn(&Generator) -> f64| {
        let all = round.slices.iter().map(|slice| of(&slice.load.generator) * TICKS_PER_SECOND);
        all.sum::<f64>().round() as u64
    };
    let in_use = round.slices.iter().map(|slice| sample(plan, slice));
    let samples = in_use.chain(round.at_saturation.iter().map(|slice| sample_at_saturation(plan, slice)));
    StudyRound {
        ticks: ticks(|generator| generator.wall_seconds),
        steal_ticks: ticks(|generator| generator.wall_seconds * generator.steal_share),
        round: number,
        began_at: round.began_at.clone(),
        ended_at: round.ended_at.clone(),
        samples: samples.collect(),
        arms: plan.arms.iter().map(|arm| (arm.id.clone(), ArmRound::default())).collect(),
        ..StudyRound::default()
    }
}

#[cfg(test)]
mod tests {
    use hoptax_load::encoded::encode;
    use hoptax_result::{
        Book, CostMeasure, Finding, LimitPeriods, LoadHistograms, LoadResult, Measure, sample,
    };

    use super::*;
    use crate::measured::{Slice, Source};
    use crate::plan::tests::plan;
    use crate::used::Used;

    /// The use of a container that took this share of a processor.
    fn used(share: f64) -> Used {
        Used { share, seconds: 20.0, limit: None }
    }

    /// A load whose 10,000 responses took about this long.
    fn load(us: u64) -> LoadResult {
        let mut times = hoptax_load::histogram();
        for request in 0..10_000 {
            times.record((us + request % 20) * 1_000).unwrap();
        }
        let mut load = sample::load();
        load.book = Book { planned: 10_000, sent: 10_000, answered: 10_000, ..Book::default() };
        load.recorded_s = 20.0;
        load.latency.response.p50_us = Some(us as f64 + 10.0);
        load.histograms = Some(LoadHistograms { response: encode(&times), ..LoadHistograms::default() });
        load
    }

    /// Five rounds, in which a mesh takes a tenth and a twentieth of a processor at 500 requests/s.
    fn measured(proxy: impl Fn(u32) -> Option<f64>) -> Measured {
        let round = |number: u32| {
            let slice = |arm: usize| Slice {
                arm,
                began_s: f64::from(number) * 100.0,
                load: load([100, 110, 300][arm] + u64::from(number)),
                proxies: if arm == 2 { vec![proxy(number).map(used), Some(used(0.05))] } else { Vec::new() },
                origin: Some(used(0.01)),
            };
            Round { slices: (0..3).map(slice).collect(), ..Round::default() }
        };
        let of = |name: &str| Proxy { name: name.to_owned(), ..Proxy::default() };
        Measured {
            rounds: (0..5).map(round).collect(),
            proxies: [(2, vec![of("client"), of("server")])].into(),
            source: Source { slice_s: 20.0, gap_s: 10.0, ..Source::default() },
            ..Measured::default()
        }
    }

    #[test]
    fn the_cpu_time_of_a_request_is_that_of_the_proxies_at_the_rate_of_answers() {
        let measured = measured(|number| Some(0.1 + f64::from(number) * 1e-4));
        let result = result(&plan(&["istio"]).unwrap(), &measured, &Limits::default());
        let istio = result.arm("istio").unwrap();
        let cost = istio.cost.cpu_us_per_request.unwrap();
        // 0.15 of a processor for 500 requests a second.
        assert!((cost.estimate - 300.4).abs() < 0.1 && cost.low > 299.0 && cost.high < 302.0, "{cost:?}");
        assert!((istio.hops[1].cpu_us_per_request.unwrap().estimate - 100.0).abs() < 1e-6);
        let p50 = istio.cost.response_us.p50.unwrap();
        assert!((p50.estimate - 190.0).abs() < 0.1, "{p50:?}");
        let pods = result.arm("pod-network").unwrap();
        assert!((pods.cost.response_us.p50.unwrap().estimate - 10.0).abs() < 0.1);
        assert!(pods.cost.cpu_us_per_request.is_none(), "it has no proxies");
        assert_ne!(result.verdict, Verdict::Void, "{:#?}", result.findings);
    }

    #[test]
    fn a_cost_whose_interval_contains_zero_is_an_interval_and_a_caution_that_says_what_narrows_it() {
        let judged = |of_first: f64| {
            let measured = measured(|number| Some(if number == 0 { of_first } else { 0.0 }));
            result(&plan(&["istio"]).unwrap(), &measured, &Limits::default())
        };
        let found = |result: &StudyResult| {
            let is_it = |one: &&Finding| one.id == "vague-cost" && one.measures == [Measure::Cpu];
            result.findings.iter().find(is_it).cloned()
        };
        // 1,900 us of a request in one round, and 100 us in each other.
        let wide = judged(0.9);
        let istio = wide.arm("istio").unwrap();
        let cost = istio.cost.cpu_us_per_request.unwrap();
        assert!((cost.estimate - 460.0).abs() < 1e-6 && cost.low < 0.0 && cost.high > 900.0, "{cost:?}");
        assert!(istio.cost.uncertain_signs.contains(&CostMeasure::CpuUs), "{:?}", istio.cost);
        assert!(istio.bounds.cost(CostMeasure::CpuUs).is_none(), "{:?}", istio.bounds);
        let finding = found(&wide).unwrap();
        assert_eq!((finding.severity, finding.withholds), (Severity::Warn, false), "{finding:?}");
        assert!(finding.message.contains("is wide: it contains zero"), "{finding:?}");
        assert_eq!(finding.advice, "add rounds, or more or longer slices of this load");
        assert_eq!(wide.verdict, Verdict::Caution);
        assert_eq!(found(&judged(0.001)), None);
    }

    /// The same rounds with slices at saturation, in which each arm has this rate and a little more in each round.
    fn measured_at_saturation(rates: [u32; 3]) -> Measured {
        let mut measured = measured(|_| Some(0.1));
        for (number, round) in (0_u32..).zip(&mut measured.rounds) {
            let slice = |(arm, rate): (usize, u32)| {
                let mut load = sample::load();
                let answered = u64::from(rate + number) * 10;
                load.book = Book { planned: answered, sent: answered, answered, ..Book::default() };
                load.recorded_s = 10.0;
                let began_s = f64::from(number) * 100.0 + 50.0;
                Slice { arm, began_s, load, proxies: Vec::new(), origin: None }
            };
            round.at_saturation = rates.into_iter().enumerate().map(slice).collect();
        }
        measured
    }

    fn plan_with_max_rate() -> Plan {
        let mut plan = plan(&["istio"]).unwrap();
        plan.asked.has_max_rate = true;
        plan
    }

    #[test]
    fn the_closed_loop_gives_each_arm_a_maximum_rate_with_an_interval_and_changes_no_cost() {
        let without = result(&plan(&["istio"]).unwrap(), &measured(|_| Some(0.1)), &Limits::default());
        let measured = measured_at_saturation([25_000, 20_000, 6_000]);
        let result = result(&plan_with_max_rate(), &measured, &Limits::default());
        let loads: Vec<_> = result.plan.loads.iter().map(|load| (load.name.as_str(), load.loop_)).collect();
        assert_eq!(loads, [(IN_USE, Loop::Open), (SATURATION, Loop::Closed)]);
        for (arm, expected) in [("host-network", 25_002.0), ("pod-network", 20_002.0), ("istio", 6_002.0)] {
            let rate = result.arm(arm).unwrap().under(SATURATION).unwrap().rate.unwrap();
            assert!((rate.estimate - expected).abs() < 0.1, "{arm}: {rate:?}");
            assert!(rate.low < expected - 1.0 && expected + 1.0 < rate.high, "{arm}: {rate:?}");
        }
        let istio = result.arm("istio").unwrap();
        let under = istio.under(SATURATION).unwrap();
        let ratio = under.rate_ratio.unwrap();
        assert!((ratio.estimate - 0.3).abs() < 0.001 && ratio.low < ratio.high, "{ratio:?}");
        assert_eq!(istio.max_rate, under.rate);
        // At saturation, there is nothing else.
        assert!(under.cpu_us_per_request.is_none() && under.response_us.p50.is_none(), "{under:?}");
        let before = without.arm("istio").unwrap();
        assert_eq!(istio.cost.cpu_us_per_request, before.cost.cpu_us_per_request);
        assert_eq!(istio.cost.response_us.p50, before.cost.response_us.p50);
        assert_eq!(without.plan.loads.len(), 1);
        assert!(before.max_rate.is_none() && before.under(SATURATION).is_none());
    }

    #[test]
    fn the_maximum_rate_of_an_arm_whose_caller_was_busy_is_a_lower_bound() {
        let mut measured = measured_at_saturation([25_000, 20_000, 6_000]);
        let slices = measured.rounds.iter_mut().flat_map(|round| &mut round.at_saturation);
        slices.filter(|slice| slice.arm == 1).for_each(|slice| slice.load.generator.cpu_seconds = 9.9);
        let result = result(&plan_with_max_rate(), &measured, &Limits::default());
        let pods = result.arm("pod-network").unwrap();
        let under = pods.under(SATURATION).unwrap();
        assert!(under.rate.is_none() && under.rate_ratio.is_none(), "{under:?}");
        let bound = under.bounds.level(CostMeasure::MaxRate).unwrap();
        assert!(bound.low > Some(19_000.0) && bound.high.is_none(), "{bound:?}");
        assert_eq!(bound.by, ["generator-saturated"]);
        let istio = result.arm("istio").unwrap().under(SATURATION).unwrap();
        assert!(istio.rate.is_some() && istio.rate_ratio.is_none(), "{istio:?}");
        assert!(pods.cost.response_us.p50.is_some(), "{pods:?}");
    }

    #[test]
    fn what_stops_a_caller_at_saturation_is_warned_of_for_rates_alone() {
        let mut measured = measured_at_saturation([25_000, 20_000, 6_000]);
        for slice in measured.rounds.iter_mut().flat_map(|round| &mut round.at_saturation) {
            let is_stopped = slice.arm == 2;
            slice.load.generator.throttled = is_stopped.then_some(3);
            slice.load.generator.steal_share = if is_stopped { 0.2 } else { 0.0 };
        }
        let result = result(&plan_with_max_rate(), &measured, &Limits::default());
        for (id, expected) in [
            ("throttled-pods", "in 15 periods at saturation"),
            ("steal", "steal was 20.00 % of CPU time at saturation"),
        ] {
            let found: Vec<_> = result.findings.iter().filter(|finding| finding.id == id).collect();
            let [found] = found.as_slice() else { panic!("{id}: {found:#?}") };
            assert_eq!((found.arm.as_deref(), found.load.as_deref()), (Some("istio"), Some(SATURATION)));
            assert!(found.message.contains(expected) && found.severity == Severity::Warn, "{found:?}");
            assert_eq!(found.measures, [Measure::Rate, Measure::MaxRate]);
        }
        assert!(result.arm("istio").unwrap().cost.response_us.p50.is_some());
    }

    #[test]
    fn a_function_costs_what_it_adds_to_its_mesh() {
        let mut measured = measured(|_| Some(0.1));
        for (number, round) in (0_u32..).zip(&mut measured.rounds) {
            let began_s = round.slices[2].began_s + 1.0;
            round.slices.push(Slice {
                arm: 3,
                began_s,
                load: load(320 + u64::from(number)),
                proxies: vec![Some(used(0.102 + f64::from(number) * 1e-6)), Some(used(0.05))],
                origin: Some(used(0.01)),
            });
        }
        let proxies = measured.proxies[&2].clone();
        measured.proxies.insert(3, proxies);
        let plan = plan(&["istio", "istio-authorization-100"]).unwrap();
        let result = result(&plan, &measured, &Limits::default());
        let function = result.arm("istio-authorization-100").unwrap();
        assert_eq!(function.compared_with.as_deref(), Some("istio"));
        // 0.002 of a processor for 500 requests a second.
        let cost = function.cost.cpu_us_per_request.unwrap();
        assert!((cost.estimate - 4.0).abs() < 0.1, "{cost:?}");
        let p50 = function.cost.response_us.p50.unwrap();
        assert!((p50.estimate - 20.0).abs() < 0.1, "{p50:?}");
        let mesh = result.arm("istio").unwrap().cost.cpu_us_per_request.unwrap();
        assert!((mesh.estimate - 300.0).abs() < 1e-6, "{mesh:?}");
    }

    #[test]
    fn time_that_a_hypervisor_took_from_callers_makes_response_times_void() {
        let mut measured = measured(|_| Some(0.1));
        for slice in measured.rounds.iter_mut().flat_map(|round| &mut round.slices) {
            (slice.load.generator.wall_seconds, slice.load.generator.steal_share) = (20.0, 0.06);
        }
        let result = result(&plan(&["istio"]).unwrap(), &measured, &Limits::default());
        assert!(result.findings.iter().any(|finding| finding.id == "steal"), "{:#?}", result.findings);
        let cost = &result.arm("istio").unwrap().cost;
        assert!(cost.response_us.p50.is_none() && cost.cpu_us_per_request.is_some(), "{cost:?}");
    }

    #[test]
    fn the_times_of_an_arm_whose_proxy_was_throttled_are_bounded_and_its_cpu_time_is_kept() {
        let judged = |throttled: u64| {
            let mut measured = measured(|_| Some(0.1));
            for slice in measured.rounds.iter_mut().flat_map(|round| &mut round.slices) {
                if let Some(Some(server)) = slice.proxies.last_mut() {
                    server.limit =
                        Some(LimitPeriods { periods: 200, throttled, throttled_s: throttled as f64 * 0.05 });
                }
            }
            result(&plan(&["istio"]).unwrap(), &measured, &Limits::default())
        };
        let free = judged(0);
        assert!(free.findings.iter().all(|finding| finding.id != "throttled"), "{:#?}", free.findings);
        assert!(free.arm("istio").unwrap().cost.response_us.p50.is_some());
        let result = judged(20);
        let found = result.findings.iter().find(|finding| finding.id == "throttled").unwrap();
        assert!(found.message.contains("`server` in 100 of 1,000 periods, for 5.00 s"), "{found:?}");
        let arm = result.arm("istio").unwrap();
        assert!(arm.cost.response_us.p50.is_none() && arm.cost.cpu_us_per_request.is_some(), "{arm:?}");
        let bound = arm.bounds.level(CostMeasure::ResponseP50Us).unwrap();
        assert!(bound.high.is_some() && bound.by == ["throttled"], "{bound:?}");
        let recorded = result.rounds[0].samples.iter().find(|sample| sample.arm == "istio").unwrap();
        assert_eq!(recorded.limits[0][1].unwrap().throttled, 20);
        assert!(
            result.rounds[0].samples.iter().all(|sample| sample.arm == "istio" || sample.limits.is_empty())
        );
    }

    #[test]
    fn a_limit_that_stops_a_caller_or_an_origin_is_warned_of() {
        let judged = |caller: Option<u64>, origin: u64| {
            let mut measured = measured(|_| Some(0.1));
            for slice in measured.rounds.iter_mut().flat_map(|round| &mut round.slices) {
                if slice.arm == 1 {
                    slice.load.generator.throttled = caller;
                    let limit = LimitPeriods { periods: 200, throttled: origin, throttled_s: 0.0 };
                    slice.origin = Some(Used { limit: Some(limit), ..used(0.01) });
                }
            }
            let result = result(&plan(&["istio"]).unwrap(), &measured, &Limits::default());
            let found = result.findings.into_iter().find(|finding| finding.id == "throttled-pods");
            found.map(|found| (found.severity, found.arm, found.message))
        };
        assert_eq!((judged(None, 0), judged(Some(0), 0)), (None, None));
        let (severity, arm, message) = judged(Some(3), 0).unwrap();
        assert_eq!((severity, arm.as_deref()), (Severity::Warn, Some("pod-network")));
        assert!(message.ends_with("the caller in 15 periods"), "{message}");
        let (.., message) = judged(None, 2).unwrap();
        assert!(message.ends_with("the origin in 10 of 1,000 periods"), "{message}");
        let (.., message) = judged(Some(1), 2).unwrap();
        assert!(message.ends_with("the caller in 5 periods; the origin in 10 of 1,000 periods"), "{message}");
    }

    #[test]
    fn a_slice_without_cpu_time_is_named_and_is_no_zero() {
        let measured = measured(|number| (number != 1).then_some(0.1));
        let result = result(&plan(&["istio"]).unwrap(), &measured, &Limits::default());
        let cost = result.arm("istio").unwrap().cost.cpu_us_per_request.unwrap();
        assert!((cost.estimate - 300.0).abs() < 1e-6, "{cost:?}");
        let found = result.findings.iter().find(|finding| finding.id == "cpu-unknown").unwrap();
        assert!(found.message.contains("1 of 5 slices of `istio`"), "{found:?}");
        assert_eq!(result.verdict, Verdict::Caution);
    }
}
