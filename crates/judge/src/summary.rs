//! Turns the records of rounds into a result: the evidence, and the numbers computed from it.
//!
//! Every interval is taken over rounds (see [`hoptax_stats`]). Costs are differences within a block, between each slice of the arm and each
//! slice of every copy of the arm that it is compared with. A disturbed slice is left out of all numbers that the disturbance invalidates.
//! CPU time is first normalized to the machine's usual speed. Response times are pooled over rounds.
//!
//! [`fill`] computes all numbers from the evidence in a result alone, so anyone with a `result.json` can verify them. [`add_frames`] adds
//! the frames of profiles, whose stacks are not in a result.

mod borrowed;
mod bounds;
mod by_round;
mod evidence;
mod frames;
mod histogram;
mod layers;
mod limits;
mod numbers;
pub(crate) mod once;
mod parts;
mod response;
mod rules;
mod samples;
mod share;
pub(crate) mod signs;
mod speed;
mod statuses;
mod subject;
mod sum;
mod timeline;
mod times;
#[cfg(test)]
mod usable;

use std::collections::BTreeMap;

use hoptax_functions::Component;
use hoptax_plan::build::Build;
use hoptax_plan::plan::{Arm, BASELINE, CONFIDENCE, Hop, Load, MAX_ERROR_SHARE, Open, Plan, Rate};
use hoptax_plan::quiet;
use hoptax_plan::record::{RoundRecord, common_configuration};
use hoptax_plan::request::requests_sha256;
use hoptax_result::{
    ArmResult, Environment, HopUse, HostUse, KnownAnswer, LinkPlan, LoadSpec, Loop, MachineProbe,
    MachineSpeeds, SequentialPlan, StudyBody, StudyPlan, StudyResult,
};
use hoptax_subject::caller::Caller;

use subject::Proxies;

pub(crate) use borrowed::{BORROWING, replace, replace_share};
pub use by_round::CpuByRound;
pub use frames::add_frames;
pub use histogram::{response_histograms, response_times_by_round};
pub use numbers::fill;
pub use sum::{rounds_of_sum, sum_of_cpu_costs, sum_of_cpu_shares};

/// The name of a server that hoptax did not start, in the list of its arm's proxies.
const EXTERNAL: &str = "external";

/// The conditions under which a study ran, and how it ended.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The machine.
    pub environment: Environment,
    /// The builds of the programs besides hoptax and its usual Envoy: see `hoptax_run::programs::builds`.
    pub programs: BTreeMap<String, Build>,
    /// The probe of the machine before the first round.
    pub machine: Option<MachineProbe>,
    /// Its speeds, if measured.
    pub speeds: Option<MachineSpeeds>,
    /// True if the processors were kept from being halted.
    pub never_halted: bool,
    /// Duration, seconds.
    pub wall_s: f64,
    /// Reason why it ended before its last round.
    pub ended_early: Option<String>,
    /// Time budget, seconds.
    pub budget_s: Option<f64>,
    /// The sequential stopping rule and its looks, if used.
    pub sequential: Option<SequentialPlan>,
    /// Largest share of a quiet slice that generator and proxies each waited for a processor; none if slices are not classified.
    pub quiet_wait_share: Option<f64>,
}

/// Summarises the complete rounds of a study. Findings and verdict are left empty for the checks to fill.
pub fn summarise(plan: &Plan, records: &[RoundRecord], conditions: Conditions) -> StudyResult {
    let Conditions {
        environment,
        programs,
        machine,
        speeds,
        never_halted,
        wall_s,
        ended_early,
        budget_s,
        sequential,
        quiet_wait_share,
    } = conditions;
    let proxies = Proxies { environment: &environment, others: &programs };
    let arm_result = |(index, arm)| ArmResult {
        configuration_sha256: common_configuration(records, index),
        ..arm_result(plan, index, arm, proxies, records.last())
    };
    let arms = plan.arms.iter().enumerate().map(arm_result).collect();
    let quiet_rule = quiet::rule(plan, &environment, records, quiet_wait_share);
    let quiet_of = quiet_rule.map(|rule| evidence::Quiet { rule, environment: &environment });
    let evidence::Evidence { rounds, rule, neighbour_weight } = evidence::evidence(plan, records, quiet_of);
    let body = StudyBody {
        name: plan.name.clone(),
        summary: plan.summary.clone(),
        loosened: Vec::new(),
        plan: StudyPlan {
            seed: plan.seed,
            baseline: plan.arms.first().map_or_else(|| BASELINE.to_owned(), |arm| arm.id.clone()),
            rounds_planned: plan.rounds,
            rounds_completed: rounds.len() as u32,
            confidence: CONFIDENCE,
            budget_s,
            sequential,
            set_aside_rule: rule,
            quiet_rule,
            link: plan.link.map(|link| LinkPlan {
                delay_us: link.delay.as_secs_f64() * 1e6,
                jitter_us: link.jitter.as_secs_f64() * 1e6,
                rate_bits_per_second: link.rate,
                loss_share: link.loss,
            }),
            never_halted,
            loads: plan
                .loads
                .iter()
                .enumerate()
                .map(|(number, load)| load_spec(load, chosen_rate(number, records)))
                .collect(),
            wall_seconds: wall_s,
            ended_early,
            resumed_after_rounds: Vec::new(),
            max_error_share: MAX_ERROR_SHARE,
            timeline: plan.timeline.as_ref().map(timeline::planned),
        },
        published: plan.published.clone(),
        generator: Vec::new(),
        host: HostUse { neighbour_weight, ..HostUse::default() },
        arms,
        rule_costs: Vec::new(),
        timelines: Vec::new(),
        machine,
        speeds,
        rounds,
        sittings: Vec::new(),
    };
    let mut result = StudyResult::new(environment, body);
    fill(&mut result);
    result
}

/// The rate chosen for a load whose file states none: that of its slices.
fn chosen_rate(load: usize, records: &[RoundRecord]) -> Option<f64> {
    let mut slices = records.iter().flat_map(|round| &round.slices);
    Some(slices.find(|slice| slice.load == load)?.planned_rate)
}

fn load_spec(load: &Load, chosen_rate: Option<f64>) -> LoadSpec {
    LoadSpec {
        name: load.name.clone(),
        loop_: if load.open.is_some() { Loop::Open } else { Loop::Closed },
        rate: match load.open {
            Some(Open { rate: Rate::PerSecond(rate), .. }) => Some(rate),
            Some(Open { rate: Rate::OfSlowest(_), .. }) => chosen_rate,
            _ => None,
        },
        utilisation: match load.open {
            Some(Open { rate: Rate::Utilisation(share), .. }) => Some(share),
            _ => None,
        },
        arrivals: load.open.as_ref().map(|open| open.arrivals.to_string()),
        connections: load.connections as u32,
        requests_per_connection: load.requests_per_connection,
        expect: load.expect.clone(),
        caller: load.caller.as_ref().map_or_else(|| LoadSpec::OWN_CALLER.to_owned(), Caller::name),
        arms: load.arms.iter().flatten().cloned().collect(),
        blocks: load.blocks,
        slice_s: load.slice.as_secs_f64(),
    }
}

/// The description of an arm, without numbers.
fn arm_result(
    plan: &Plan,
    index: usize,
    arm: &Arm,
    proxies: Proxies<'_>,
    last: Option<&RoundRecord>,
) -> ArmResult {
    // Every round repeats the answer, which was measured once.
    let answer = last.and_then(|round| round.answers.get(&index));
    let hop = |hop: &Hop| HopUse { name: hop.name.clone(), ..HopUse::default() };
    // A server that hoptax did not start is accounted for like a proxy. Without an account, it has no CPU time, like an arm without a
    // proxy.
    let account = arm.external.as_ref().and_then(|external| external.account.as_ref());
    let external = account.map(|_| HopUse { name: EXTERNAL.to_owned(), ..HopUse::default() });
    ArmResult {
        id: arm.id.clone(),
        kind: arm.kind,
        function: arm.functions.only().map(|component| component.function.id.clone()),
        knobs: arm.knobs(),
        summary: arm.summary.clone(),
        subject: Some(subject::planned(plan, arm, &proxies, answer)),
        answer: answer.cloned(),
        compared_with: plan.reference(arm).map(|other| other.id.clone()),
        copies: arm.copies,
        known_answer: known_answer(arm),
        key_exchange_group: arm.key_exchange_group().map(|group| group.registered_name().to_owned()),
        asks_companion: arm.asks_companion(),
        requests_sha256: plan
            .loads
            .iter()
            .filter(|load| arm.takes_part(load))
            .map(|load| (load.name.clone(), requests_sha256(plan, arm, load)))
            .collect(),
        hops: arm.chain.hops.iter().map(hop).chain(external).collect(),
        ..ArmResult::default()
    }
}

/// The known answer of an arm: for response time at the default knobs, for CPU time at all knobs. If an arm also has functions without a
/// known answer, they take an unknown time, so only a lower limit of response time is known.
fn known_answer(arm: &Arm) -> Option<KnownAnswer> {
    let times = |component: &Component| {
        let function = &component.function;
        function.known_answer.filter(|_| component.knobs == function.default_knobs())
    };
    let known: Vec<_> = arm.functions.components().iter().filter_map(times).collect();
    let sum = |limit: fn(&hoptax_functions::KnownAnswer) -> u64| {
        (!known.is_empty()).then(|| known.iter().map(limit).sum::<u64>() as f64)
    };
    // A chain costs more than its function does at one proxy.
    let only = arm.functions.only().filter(|_| arm.chain.hops.len() == 1);
    // Functions of the catalogue were rendered when it was loaded.
    let cpu_us = only.and_then(|only| only.function.known_cpu_us(&only.knobs).ok().flatten());
    (!known.is_empty() || cpu_us.is_some()).then(|| KnownAnswer {
        response_p50_low_us: sum(|known| known.response_p50_low_us),
        response_p50_high_us: only.and_then(|_| sum(|known| known.response_p50_high_us)),
        cpu_us,
    })
}

#[cfg(test)]
mod tests;
