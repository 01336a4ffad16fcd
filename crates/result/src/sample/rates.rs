//! A study whose rates are given, with one slice of each arm under each closed loop in each round.

use crate::{
    ArmKind, ArmLoad, ArmResult, ArmRound, GeneratorUse, HopUse, Interval, LoadSpec, Loop, PlannedHop,
    PlannedSubject, Sample, StudyBody, StudyPlan, StudyResult, StudyRound,
};

/// Share of a core that the generator uses.
const GENERATOR_CORE: f64 = 0.2;
/// Busy share of the processors of generator and origin.
const PROCESSORS_BUSY: f64 = 0.4;
/// Busy share of the processor of the proxies.
const PROXY_CORE: f64 = 0.97;

/// An arm with one plain proxy.
pub fn arm(id: &str) -> ArmResult {
    let name = "gateway".to_owned();
    let hop = PlannedHop { name: name.clone(), proxy: "envoy".to_owned(), ..PlannedHop::default() };
    ArmResult {
        id: id.to_owned(),
        kind: ArmKind::Function,
        subject: Some(PlannedSubject {
            protocol: "http1".to_owned(),
            hops: vec![hop],
            application: "origin".to_owned(),
            upstreams: 1,
            ..PlannedSubject::default()
        }),
        copies: 1,
        hops: vec![HopUse { name, ..HopUse::default() }],
        ..ArmResult::default()
    }
}

/// A closed loop.
pub fn closed_loop(name: &str, connections: u32) -> LoadSpec {
    LoadSpec {
        name: name.to_owned(),
        loop_: Loop::Closed,
        rate: None,
        utilisation: None,
        arrivals: None,
        connections,
        requests_per_connection: None,
        expect: Vec::new(),
        caller: LoadSpec::OWN_CALLER.to_owned(),
        arms: Vec::new(),
        blocks: 4,
        slice_s: 0.2,
    }
}

/// A sound study of these arms under these loads. `rate_of` is the rate of an arm under a load in a round, requests per second.
/// The proxies are busy all the time, and the generator is not.
pub fn study_of_rates(
    arms: &[ArmResult],
    loads: Vec<LoadSpec>,
    rounds: u32,
    rate_of: impl Fn(&ArmResult, &LoadSpec, u32) -> f64,
) -> StudyResult {
    let rounds: Vec<StudyRound> = (0..rounds).map(|number| round(number, arms, &loads, &rate_of)).collect();
    let of_load = |arm: &ArmResult, load: &LoadSpec| {
        let rates: Vec<f64> = (0..rounds.len() as u32).map(|round| rate_of(arm, load, round)).collect();
        let estimate = rates.iter().sum::<f64>() / rates.len() as f64;
        ArmLoad {
            load: load.name.clone(),
            rate: Some(Interval::new(estimate, 0.98 * estimate, 1.02 * estimate)),
            proxy_core_share: Some(PROXY_CORE),
            ..ArmLoad::default()
        }
    };
    let arms: Vec<ArmResult> = arms
        .iter()
        .map(|arm| ArmResult {
            rounds: rounds.len() as u32,
            loads: loads.iter().map(|load| of_load(arm, load)).collect(),
            ..arm.clone()
        })
        .collect();
    let mut study = super::study("sample", "2026-01-01T00:00:00Z", 0.0);
    (study.environment.proxy_cpus, study.environment.generator_cpus) = (vec![1], vec![0]);
    study.body = StudyBody {
        summary: "How do rates grow?".to_owned(),
        generator: loads.iter().map(generator).collect(),
        plan: StudyPlan {
            baseline: arms.first().map(|arm| arm.id.clone()).unwrap_or_default(),
            rounds_planned: rounds.len() as u32,
            rounds_completed: rounds.len() as u32,
            loads,
            ..study.body.plan
        },
        arms,
        rounds,
        ..study.body
    };
    study
}

fn generator(load: &LoadSpec) -> GeneratorUse {
    GeneratorUse {
        load: load.name.clone(),
        core_share: GENERATOR_CORE,
        processors_share: PROCESSORS_BUSY,
        ..GeneratorUse::default()
    }
}

fn round(
    number: u32,
    arms: &[ArmResult],
    loads: &[LoadSpec],
    rate_of: &impl Fn(&ArmResult, &LoadSpec, u32) -> f64,
) -> StudyRound {
    let sample = |arm: &ArmResult, load: &LoadSpec| {
        let values = [
            ("rate", rate_of(arm, load, number)),
            ("generator_core_share", GENERATOR_CORE),
            ("processors_busy_share", PROCESSORS_BUSY),
            ("proxy_core_share", PROXY_CORE),
        ];
        Sample {
            arm: arm.id.clone(),
            load: load.name.clone(),
            began_s: vec![f64::from(number)],
            block: vec![0],
            copy: vec![0],
            set_aside: vec![Vec::new()],
            slowdown: vec![None],
            values: values.map(|(name, value)| (name.to_owned(), vec![Some(value)])).into(),
            ..Sample::default()
        }
    };
    StudyRound {
        round: number,
        samples: arms.iter().flat_map(|arm| loads.iter().map(|load| sample(arm, load))).collect(),
        arms: arms.iter().map(|arm| (arm.id.clone(), ArmRound::default())).collect(),
        ..StudyRound::default()
    }
}
