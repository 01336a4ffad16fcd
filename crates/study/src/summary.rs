//! From slices to a result: what each arm took, what it cost against the arm it is compared with, and the evidence
//! that the checks judge.
//!
//! Every interval is taken over rounds (see [`hoptax_stats`]). Costs are differences within a block; slices that
//! were set aside, and those without an answer, are in no number, and a block in which either slice of a pair is
//! missing gives no pair. CPU time is first brought to the machine's usual speed.

mod evidence;
mod pairs;
mod slowdown;
mod statuses;

use std::collections::BTreeSet;

use hoptax_result::{
    ArmLoad, ArmResult, Cost, Environment, HopUse, KnownAnswer, LinkPlan, LoadSpec, Loop, ResponseCost,
    StudyPlan, StudyResult, Verdict,
};
use hoptax_stats::{mean_over_rounds, paired_cost};

use crate::file::Caller;
use crate::plan::{Arm, BASELINE, CONFIDENCE, Load, MAX_ERROR_SHARE, Plan};
use crate::record::{self, RoundRecord};
use pairs::Measure;

/// Sums up the complete rounds of a study, once it is known which of their slices count. Findings and verdict are left empty: the checks fill them.
pub fn summarise(
    plan: &Plan,
    mut rounds: Vec<RoundRecord>,
    environment: Environment,
    wall_s: f64,
    ended_early: Option<String>,
) -> StudyResult {
    let set_aside_rule = record::set_aside(&mut rounds, plan.link.is_some());
    let neighbour_weight = slowdown::note(plan, &mut rounds);
    let rounds = rounds.as_slice();
    StudyResult {
        format: "hoptax.study/1".to_owned(),
        name: plan.name.clone(),
        summary: plan.summary.clone(),
        verdict: Verdict::Sound,
        findings: Vec::new(),
        environment,
        plan: StudyPlan {
            seed: plan.seed,
            baseline: plan.arms.first().map_or_else(|| BASELINE.to_owned(), |arm| arm.id.clone()),
            rounds_planned: plan.rounds,
            rounds_completed: rounds.len() as u32,
            confidence: CONFIDENCE,
            set_aside_rule,
            link: plan.link.map(|link| LinkPlan {
                delay_us: link.delay.as_secs_f64() * 1e6,
                jitter_us: link.jitter.as_secs_f64() * 1e6,
                rate_bits_per_second: link.rate,
                loss_share: link.loss,
            }),
            loads: plan.loads.iter().map(load_spec).collect(),
            wall_seconds: wall_s,
            ended_early,
            resumed_after_rounds: Vec::new(),
            max_error_share: MAX_ERROR_SHARE,
        },
        generator: evidence::generator(plan, rounds),
        host: evidence::host(plan, rounds, neighbour_weight),
        arms: plan.arms.iter().enumerate().map(|(index, arm)| arm_result(plan, rounds, index, arm)).collect(),
    }
}

fn load_spec(load: &Load) -> LoadSpec {
    LoadSpec {
        name: load.name.clone(),
        loop_: if load.open.is_some() { Loop::Open } else { Loop::Closed },
        rate: load.open.as_ref().map(|(rate, _)| *rate),
        arrivals: load.open.as_ref().map(|(_, arrivals)| arrivals.to_string()),
        connections: load.connections as u32,
        requests_per_connection: load.requests_per_connection,
        caller: match load.caller {
            Caller::Hoptax => "hoptax",
            Caller::Php => "php",
        }
        .to_owned(),
        blocks: load.blocks,
        slice_s: load.slice.as_secs_f64(),
    }
}

fn arm_result(plan: &Plan, rounds: &[RoundRecord], index: usize, arm: &Arm) -> ArmResult {
    let has_proxy = arm.has_proxy();
    // Without a proxy on the other side there is nothing that a share could be of, and its rate is the generator's.
    let has_both =
        has_proxy && arm.compared_with.and_then(|other| plan.arms.get(other)).is_some_and(Arm::has_proxy);
    let level = |measure: Measure| pairs::level(plan, rounds, index, measure);
    let cost = |measure: Measure| {
        let pairs = pairs::differences(plan, rounds, index, arm.compared_with?, measure);
        paired_cost(&pairs, CONFIDENCE)
    };
    let cpu_share = || paired_cost(&pairs::cpu_shares(plan, rounds, index, arm.compared_with?), CONFIDENCE);
    let fixed_rate = plan.loads.iter().position(|load| load.open.is_some());
    let tail = |compared: bool| {
        let other = if compared { Some(arm.compared_with?) } else { None };
        pairs::tail(fixed_rate?, rounds, index, other)
    };
    let slices = evidence::slices(rounds, index);
    ArmResult {
        id: arm.id.clone(),
        kind: arm.kind,
        function: arm.function.as_ref().map(|(function, _)| function.id.clone()),
        knobs: arm.knobs(),
        summary: arm.summary.clone(),
        compared_with: arm.compared_with.and_then(|other| plan.arms.get(other)).map(|other| other.id.clone()),
        rounds: rounds.len() as u32,
        slices,
        copies: plan.subjects.iter().filter(|subject| subject.arm == index).count() as u32,
        cpu_us_per_request: has_proxy.then(|| level(Measure::CpuUsPerRequest)).flatten(),
        max_rate: has_proxy.then(|| level(Measure::Rate)).flatten(),
        response_us: ResponseCost { p50: level(Measure::ResponseP50Us), p99: tail(false) },
        cost: Cost {
            cpu_us_per_request: has_proxy.then(|| cost(Measure::CpuUsAtUsualSpeed)).flatten(),
            cpu_share: has_both.then(cpu_share).flatten(),
            response_us: ResponseCost { p50: cost(Measure::ResponseP50Us), p99: tail(true) },
            max_rate: has_both.then(|| cost(Measure::Rate)).flatten(),
        },
        responses: fixed_rate
            .map_or(0, |load| rounds.iter().map(|round| round.response(load, index).len()).sum()),
        known_answer: known_answer(arm),
        companion_cpu_us_per_request: arm
            .asks_companion()
            .then(|| level(Measure::CompanionCpuUsPerRequest))
            .flatten(),
        unproven: unproven(rounds, index),
        proxy_use: has_proxy.then(|| evidence::proxy_use(plan, rounds, index)).flatten(),
        loads: loads(plan, rounds, index, arm),
        hops: hops(plan, rounds, index, arm),
        book: evidence::book(rounds, index),
        failures: evidence::failures(rounds, index),
    }
}

fn loads(plan: &Plan, rounds: &[RoundRecord], index: usize, arm: &Arm) -> Vec<ArmLoad> {
    let under = |(number, load): (usize, &Load)| {
        let level = |measure: Measure| pairs::level_under(number, rounds, index, measure);
        ArmLoad {
            load: load.name.clone(),
            rate: level(Measure::Rate),
            rate_ratio: arm
                .compared_with
                .and_then(|other| paired_cost(&pairs::rate_ratios(number, rounds, index, other), CONFIDENCE)),
            cpu_us_per_request: arm.has_proxy().then(|| level(Measure::CpuUsPerRequest)).flatten(),
            origin_cpu_us_per_request: level(Measure::OriginCpuUsPerRequest),
            companion_cpu_us_per_request: arm
                .asks_companion()
                .then(|| level(Measure::CompanionCpuUsPerRequest))
                .flatten(),
            together_cpu_us_per_request: level(Measure::TogetherCpuUsPerRequest),
            link_bytes_per_request: plan.link.and_then(|_| level(Measure::LinkBytesPerRequest)),
            statuses: statuses::statuses(rounds, number, index),
            admitted_ratio: statuses::admitted_ratio(rounds, (number, load), (index, arm)),
            response_us: ResponseCost {
                p50: level(Measure::ResponseP50Us),
                p99: pairs::tail(number, rounds, index, None),
            },
            within_1_ms_share: evidence::share_below(rounds, number, index, 1_000_000),
            over_10_ms_share: evidence::share_below(rounds, number, index, 10_000_000)
                .map(|share| 1.0 - share),
        }
    };
    plan.loads.iter().enumerate().filter(|(_, load)| arm.takes_part(load)).map(under).collect()
}

/// What spoke against a function in some round.
fn unproven(rounds: &[RoundRecord], index: usize) -> Vec<String> {
    let all = rounds.iter().filter_map(|round| round.unproven.get(&index)).flatten().cloned();
    all.collect::<BTreeSet<String>>().into_iter().collect()
}

fn hops(plan: &Plan, rounds: &[RoundRecord], index: usize, arm: &Arm) -> Vec<HopUse> {
    let hop = |(number, name): (usize, &&str)| {
        let memory: Vec<f64> = rounds
            .iter()
            .filter_map(|round| Some(*round.memory_bytes.get(&index)?.get(number)? as f64))
            .collect();
        HopUse {
            name: (*name).to_owned(),
            cpu_us_per_request: pairs::level(plan, rounds, index, Measure::HopCpuUsPerRequest(number)),
            memory_bytes: mean_over_rounds(&memory, CONFIDENCE),
        }
    };
    arm.subject.position.hops().iter().enumerate().map(hop).collect()
}

/// The known answer holds at the defaults of the knobs.
fn known_answer(arm: &Arm) -> Option<KnownAnswer> {
    let (function, knobs) = arm.function.as_ref()?;
    let known = function.known_answer.filter(|_| *knobs == function.default_knobs())?;
    let (low, high) = known.response_p50_us;
    Some(KnownAnswer { response_p50_low_us: low as f64, response_p50_high_us: high as f64 })
}

#[cfg(test)]
mod tests;
