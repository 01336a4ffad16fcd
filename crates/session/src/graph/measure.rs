//! Measures a graph for a user: finds the programs and results that it needs, runs it, and compares it with its prediction.

use std::time::Instant;

use hoptax_checks::thresholds::Limits;
use hoptax_host::processors::Placement;
use hoptax_predict::size::Processors;
use hoptax_result::{GraphRunResult, SizeResult, StudyResult, counted, grouped};
use hoptax_run::runner::{KERNEL_TICKS, Setting};
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::{Envoy, EnvoyChoice};

use crate::awake::{self, NeverHalt};
use crate::graph::file::{self, GraphText};
use crate::graph::plan::{self, RunPlan};
use crate::graph::run::{Rounds, RunSpec, WARMUP};
use crate::graph::{check, summary};
use crate::placement::for_workers;
use crate::{Failure, Interrupt, Say, Update, environment, library, machine};

/// Settings of a measurement of a graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphRunSettings<'a> {
    /// The path of a graph file, or the name of a graph that comes with the program.
    pub graph: &'a str,
    /// The rate, the rounds and the slices.
    pub spec: RunSpec,
    /// Results for the prediction; none for no prediction.
    pub results: &'a [StudyResult],
    /// The Envoy.
    pub envoy: EnvoyChoice<'a>,
    /// When idle processors are kept from halting.
    pub never_halt: NeverHalt,
    /// The limits of checks.
    pub limits: &'a Limits,
}

/// Runs a graph, and compares it with its prediction.
///
/// # Errors
/// When the graph is not valid, when the results do not suffice for a prediction, when a requirement is missing, when a process ends, and
/// after an interrupt.
pub fn measure(
    settings: &GraphRunSettings<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<GraphRunResult, Failure> {
    let note = |text: &str| say(Update::Note(text));
    let spec = &settings.spec;
    let GraphText { name, text } = file::named(settings.graph, None, say)?;
    let plan = plan::read(&name, &text, library::catalogue()?).map_err(Failure::bad_input)?;
    // Predict first, so that missing results are reported before minutes of measuring.
    let placement = for_workers(plan.run.workers() as usize)?;
    let predicted = predict(&plan, spec.rate, settings.results, &placement)?;
    let trials = spec.plan(&plan.run);
    machine::allow_files_of_plan(&trials, "run a graph of fewer proxies", say)?;
    let envoys = Envoys::only(Envoy::find(settings.envoy, interrupt.flag(), &mut |text| note(text))?);
    let awake = awake::on(&placement, settings.never_halt, say)?;
    let environment = environment::of_study(envoys.usual(), &placement, awake.is_some());
    let program = library::program()?;
    let folder = interrupt.temporary_folder("graph")?;
    interrupt.check()?;
    let setting = Setting {
        program: &program,
        envoys: &envoys,
        directory: folder.path(),
        // Only commands are started in this folder, and a graph has none.
        folder: folder.path(),
        placement: &placement,
        awake: awake.as_ref(),
        ticks: KERNEL_TICKS,
    };
    let seconds = f64::from(spec.rounds) * f64::from(2 * spec.slices) * (spec.slice + WARMUP).as_secs_f64();
    note(&format!(
        "{}: {}, about {} s",
        plan.run.name,
        counted(spec.rounds.into(), "round"),
        grouped(1.1 * seconds, 0)
    ));
    let began = Instant::now();
    let mut on_round = |round| {
        let elapsed = began.elapsed().as_secs();
        note(&format!("round {} of {}, after {elapsed} s", round + 1, spec.rounds));
    };
    let rounds = Rounds {
        graph: &plan.run,
        plan: &trials,
        setting: &setting,
        spec,
        environment: &environment,
        limits: settings.limits,
        stop: interrupt.flag(),
    };
    let rounds = rounds.run(&mut on_round);
    drop(awake);
    // An error after an interrupt is a consequence of it.
    interrupt.check()?;
    let rounds = rounds.map_err(|error| Failure::environment(error).with_logs(folder))?;
    let mut result = summary::result(&plan.run, spec, rounds, environment, settings.limits);
    result.check = predicted.map(|predicted| check::check(&result, &predicted));
    Ok(result)
}

/// The prediction from results; none without results.
fn predict(
    plan: &RunPlan,
    rate: f64,
    results: &[StudyResult],
    placement: &Placement,
) -> Result<Option<SizeResult>, Failure> {
    if results.is_empty() {
        return Ok(None);
    }
    let count = placement.proxy.len() as u32;
    let processors = if plan.run.workers() > count { Processors::Shared(count) } else { Processors::Own };
    hoptax_predict::size::size_on(&plan.graph, rate, results, processors)
        .map(Some)
        .map_err(Failure::bad_input)
}
