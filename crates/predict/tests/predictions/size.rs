//! Predictions and checks on studies whose truth is known.

mod check;
mod connections;
mod latency;
mod memory;
mod predict;
mod sharing;
mod sizes;
mod unequal;

use hoptax_functions::Catalogue;
use hoptax_judge::summary;
use hoptax_plan::plan::Plan;
use hoptax_predict::size::graph::{Graph, read};
use hoptax_result::{ArmResult, LoadSpec, PlannedHop, Sample, StudyResult, StudyRound};

/// Rounds of a study.
const ROUNDS: u32 = 6;
/// Blocks of a load.
const BLOCKS: u32 = 4;

/// Closed loop, and a share of the capacity.
const LOADS: &str = "
loads:
  - {name: saturation, loop: closed, connections: 16, blocks: 4, slice: 150ms}
  - {name: in-use-30, loop: open, utilisation: 30%, arrivals: poisson, connections: 32, blocks: 4, slice: 250ms}
";

/// The same, and another share of the capacity.
const MORE_LOADS: &str = "
loads:
  - {name: saturation, loop: closed, connections: 16, blocks: 4, slice: 150ms}
  - {name: in-use-30, loop: open, utilisation: 30%, arrivals: poisson, connections: 32, blocks: 4, slice: 250ms}
  - {name: in-use-60, loop: open, utilisation: 60%, arrivals: poisson, connections: 32, blocks: 4, slice: 250ms}
";

/// Busy shares of proxies under a load.
fn busy(load: &str) -> f64 {
    match load {
        "saturation" => 1.0,
        "in-use-60" => 0.7,
        _ => 0.4,
    }
}

/// The graph of a file.
fn graph(text: &str) -> Graph {
    read("graph.yaml", text, Catalogue::load().unwrap()).unwrap()
}

/// The study of these arms, with the CPU time that `cpu_us` states for an arm under a load in a round.
fn study(arms: &str, cpu_us: impl Fn(&ArmResult, &LoadSpec, u32) -> f64) -> StudyResult {
    study_with_times(LOADS, arms, cpu_us, |_, _, _| Vec::new())
}

/// The same, with loads, and with response times in us.
fn study_with_times(
    loads: &str,
    arms: &str,
    cpu_us: impl Fn(&ArmResult, &LoadSpec, u32) -> f64,
    times_us: impl Fn(&ArmResult, &LoadSpec, u32) -> Vec<f64>,
) -> StudyResult {
    study_with_busy(loads, arms, cpu_us, times_us, |_, load| busy(&load.name))
}

/// The same, with how busy the proxies of an arm are under a load.
fn study_with_busy(
    loads: &str,
    arms: &str,
    cpu_us: impl Fn(&ArmResult, &LoadSpec, u32) -> f64,
    times_us: impl Fn(&ArmResult, &LoadSpec, u32) -> Vec<f64>,
    busy: impl Fn(&ArmResult, &LoadSpec) -> f64,
) -> StudyResult {
    let text = format!("name: known\nrounds: {ROUNDS}\narms: {arms}\n{loads}");
    let plan = Plan::read("known.yaml", &text, Catalogue::load().unwrap()).unwrap();
    let mut result = summary::summarise(&plan, &[], summary::Conditions::default());
    result.environment.proxy_cpus = vec![1];
    "Test CPU".clone_into(&mut result.environment.cpu_model);
    result.rounds = (0..ROUNDS).map(|round| measured(&result, round, &cpu_us, &times_us, &busy)).collect();
    summary::fill(&mut result);
    result
}

fn measured(
    study: &StudyResult,
    round: u32,
    cpu_us: &impl Fn(&ArmResult, &LoadSpec, u32) -> f64,
    times_us: &impl Fn(&ArmResult, &LoadSpec, u32) -> Vec<f64>,
    busy: &impl Fn(&ArmResult, &LoadSpec) -> f64,
) -> StudyRound {
    let sample = |arm: &ArmResult, load: &LoadSpec| {
        let blocks = || 0..BLOCKS;
        let all = |value: f64| vec![Some(value); BLOCKS as usize];
        let (cpu_us, busy) = (cpu_us(arm, load, round), busy(arm, load));
        let mut values = vec![
            ("cpu_us_per_request", cpu_us),
            ("proxy_busy_share", busy),
            // Of the time between readings of counters, load is offered in a part.
            ("proxy_core_share", 0.7 * busy),
            ("rate", busy * 1e6 / cpu_us),
        ];
        let mut times = hoptax_load::histogram();
        for us in times_us(arm, load, round) {
            times.record((1e3 * us) as u64).unwrap();
        }
        if !times.is_empty() {
            values.push(("response_p50_us", times.value_at_quantile(0.5) as f64 / 1e3));
        }
        Sample {
            arm: arm.id.clone(),
            load: load.name.clone(),
            began_s: blocks().map(f64::from).collect(),
            block: blocks().collect(),
            copy: vec![0; BLOCKS as usize],
            set_aside: vec![Vec::new(); BLOCKS as usize],
            slowdown: vec![None; BLOCKS as usize],
            values: values.into_iter().map(|(name, value)| (name.to_owned(), all(value))).collect(),
            responses: hoptax_load::encoded::encode(&times),
            ..Sample::default()
        }
    };
    let loads = &study.plan.loads;
    StudyRound {
        round,
        samples: study.arms.iter().flat_map(|arm| loads.iter().map(|load| sample(arm, load))).collect(),
        ..StudyRound::default()
    }
}

/// A machine on which costs add up: a plain proxy uses 60 us when it is always busy and 100 when it is busy for 40 % of the time or
/// less, `jwt` adds 40 and 60, every other function 5 and 8, and between these everything lies on a line. Each proxy of a chain has
/// its own busy share of the processor that they have together.
fn additive(arm: &ArmResult, load: &LoadSpec, _: u32) -> f64 {
    let hops: Vec<&PlannedHop> = arm.subject.iter().flat_map(|subject| &subject.hops).collect();
    let busy_at =
        |rate: f64| hops.iter().map(|hop| balance(|busy| rate * hop_us(hop, busy) / 1e6)).sum::<f64>();
    // The highest rate at which all of them together are as busy as the load makes them.
    let scaled = balance(|rate| if busy_at(1e5 * rate) < busy(&load.name) { 1.0 } else { 0.0 });
    busy(&load.name) * 1e6 / (1e5 * scaled)
}

fn hop_us(hop: &PlannedHop, busy: f64) -> f64 {
    let share = (busy.clamp(0.4, 1.0) - 0.4) / 0.6;
    let of = |low: f64, full: f64| low + share * (full - low);
    let added = hop.functions.iter().map(|function| match function.id.as_str() {
        "jwt" => of(60.0, 40.0),
        _ => of(8.0, 5.0),
    });
    of(100.0, 60.0) + added.sum::<f64>()
}

/// The number from 0 to 1 that a function which does not rise maps to itself.
fn balance(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if function(middle) > middle { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

fn is_near(value: f64, truth: f64) -> bool {
    (value - truth).abs() < 1e-6 * truth.abs().max(1.0)
}
