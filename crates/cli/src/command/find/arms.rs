//! `hoptax find --arms`: finds the highest rate at which each of several arms of a study holds objectives, and their ratios.

mod ratio;
mod turns;

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hoptax_host::awake::Awake;
use hoptax_host::processors::Placement;
use hoptax_load::Arrivals;
use hoptax_report::documents;
use hoptax_result::{Environment, FindArmsBody, FindArmsResult, FindEnd, FindState, FoundArm};
use hoptax_session::{environment, estimate, library, machine, requirements, thresholds};
use hoptax_stats::search::{Goal, Limits, Repetition, Search};
use hoptax_study::file;
use hoptax_study::plan::{CONFIDENCE, Plan};
use hoptax_study::runner::{self, Setting};
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;

use super::common::{self, ABOVE_CLOSED_LOOP, LOWEST_RATE, LOWEST_SHARE};
use super::{Settings, seconds};
use crate::arguments::{FindArguments, Given};
use crate::command::never_halt;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use turns::{Searched, Turns};

/// Number of rounds. The interval of a ratio over six rounds has a critical value of 2.57, over twelve of 2.20.
const ROUNDS: u32 = 6;
/// Expected time for all processes to end and to start again.
const RESTART: Duration = Duration::from_secs(1);

/// A study that is searched.
struct Study {
    plan: Plan,
    /// The folder of the study file, at which relative paths in it start.
    folder: PathBuf,
}

/// Runs the command on the arms with these ids.
pub(super) fn run(arguments: &FindArguments, ids: &[String]) -> Result<Code, Failure> {
    let begun = Instant::now();
    let given = Given::of(env::args_os());
    check_options(arguments, &given)?;
    let thresholds = thresholds::limits(&arguments.thresholds)?;
    let settings = Settings::of(arguments.preset);
    let study = read(arguments, ids, &given)?;
    let arms = study.plan.arms.len() as u32;
    let budget = arguments.budget.unwrap_or(settings.budget * arms);
    if arguments.dry_run {
        print::result(&outline(&study.plan, arguments, settings, budget))?;
        return Ok(Code::Success);
    }
    requirements::check(&study.plan, &study.folder)?;
    estimate::check_memory(&estimate::Estimate::of(&study.plan), |_| false, "name fewer arms")?;
    machine::allow_connections_of_plan(&study.plan, &print::say)?;
    let envoys = envoys(&study.plan, arguments)?;
    let placement = machine::placement()?;
    let awake = never_halt::awake(&placement, arguments.traffic.never_halt)?;
    let environment = environment(&study.plan, envoys.usual(), &placement, awake.as_ref());
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let interrupt = interrupt::listen()?;
    let folder = tempfile::Builder::new().prefix("hoptax-find-").tempdir().map_err(|error| {
        Failure::environment(format!("cannot create a folder for the processes: {error}"))
    })?;
    interrupt.remove_on_exit(folder.path());
    let setting = Setting {
        program: &program,
        envoys: &envoys,
        directory: folder.path(),
        folder: &study.folder,
        placement: &placement,
        awake: awake.as_ref(),
        ticks: runner::KERNEL_TICKS,
    };
    print::note(&format!(
        "search on {arms} arms of the study `{}`: about {} if trials agree, at most {}",
        study.plan.name,
        seconds(expected((arguments, budget), settings, arms)),
        seconds(budget)
    ));
    let mut turns = Turns::new(
        arguments,
        settings,
        (&study.plan, &environment),
        &thresholds,
        &interrupt,
        (begun, budget),
    );
    let searched = match runner::with_live(&study.plan, &setting, |live| turns.run(live)) {
        Ok(searched) => searched,
        Err(error) => Err(Failure::environment(error)),
    };
    let (searched, failure) = match searched {
        // An error after an interrupt is a consequence of it.
        _ if interrupt.is_requested() => (turns.finish(FindEnd::Interrupt), None),
        Ok(ended_by) => (turns.finish(ended_by), None),
        // A proxy may end under overload. What is known by then is the result.
        Err(failure) => (turns.finish(FindEnd::Failure), Some(with_logs(&failure, folder))),
    };
    drop(awake);
    let Some(searched) = searched else { return failure.map_or(Ok(Code::Interrupted), Err) };
    let result = result(arguments, &study.plan, settings, searched, (begun, budget), environment);
    print::document_or_json(arguments.json.as_deref(), &result, || documents::find_arms(&result))?;
    failure.map_or_else(|| Ok(code(&result)), Err)
}

/// Refuses what a search on arms cannot do.
fn check_options(arguments: &FindArguments, given: &Given) -> Result<(), Failure> {
    if !given.not_with_arms.is_empty() {
        return Err(Failure::bad_input(format!(
            "`{}` cannot be combined with --arms: the study states requests, connections and servers, and all objectives hold together",
            given.not_with_arms.join("`, `")
        )));
    }
    if arguments.traffic.urls.len() != 1 {
        return Err(Failure::bad_input("--arms are those of one study: give one study file"));
    }
    if arguments.min_rate.is_some_and(|rate| rate < LOWEST_RATE) {
        return Err(Failure::bad_input(format!("--min-rate must be at least {LOWEST_RATE}")));
    }
    Ok(())
}

/// Reads the study and chooses its arms.
fn read(arguments: &FindArguments, ids: &[String], given: &Given) -> Result<Study, Failure> {
    let named = arguments.traffic.urls.first().map_or("", |study| &**study);
    if named.contains("://") {
        return Err(Failure::bad_input(format!(
            "--arms are those of a study: give a study file instead of `{named}`, or remove --arms"
        )));
    }
    let (name, text) = library::read(named)?;
    let (mut file, positions) = file::read(&name, &text).map_err(Failure::bad_input)?;
    if given.seed {
        file.seed = arguments.traffic.seed;
    }
    let folder = library::folder(&name);
    let configurations = library::configurations(&file, &folder, &print::say);
    let plan = Plan::with_configurations(&file, &positions, &library::catalogue()?, configurations)
        .map_err(Failure::bad_input)?;
    let mut plan = plan.searched(ids).map_err(Failure::bad_input)?;
    let open = plan.loads.iter_mut().filter_map(|load| load.open.as_mut());
    open.filter(|_| given.arrivals).for_each(|open| open.arrivals = arguments.arrivals.clone());
    Ok(Study { plan, folder })
}

/// The Envoys of the arms. Arms without one need none.
fn envoys(plan: &Plan, arguments: &FindArguments) -> Result<Envoys, Failure> {
    if !plan.runs_envoy() {
        return Ok(Envoys::only(Envoy { program: "envoy".into(), version: String::new() }));
    }
    let envoy = Envoy::find(arguments.envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    Envoys::find(envoy, plan.envoys(), &mut print::note).map_err(Failure::environment)
}

fn environment(plan: &Plan, envoy: &Envoy, placement: &Placement, awake: Option<&Awake>) -> Environment {
    let environment = environment::of_study(envoy, placement, awake.is_some());
    let proxy_version = environment.proxy_version.clone().filter(|_| plan.runs_envoy());
    Environment { proxy_version, ..environment }
}

/// The arrival process of all trials.
fn arrivals(plan: &Plan) -> Arrivals {
    let open = plan.loads.first().and_then(|load| load.open.as_ref());
    open.map_or(Arrivals::Uniform, |open| open.arrivals.clone())
}

/// How long a search on this number of arms takes if trials agree, in a range as wide as without `--min-rate` and `--max-rate`.
fn expected((arguments, budget): (&FindArguments, Duration), settings: Settings, arms: u32) -> Duration {
    let (min, max) = match (arguments.min_rate, arguments.max_rate) {
        (Some(min), Some(max)) if min < max => (min, max),
        _ => (LOWEST_SHARE, 1.0),
    };
    let time = (Duration::MAX / 4, settings.warmup + settings.settle / 2);
    let limits =
        Limits { start: max / ABOVE_CLOSED_LOOP, budget: time.0, overhead: time.1, ..Limits::new(min, max) };
    let search = Search::new(&[settings.goal], limits).map(|search| search.expected_duration());
    let round =
        Repetition::new(&settings.goal, (1.0, f64::MAX), 0.5, time).map(|one| one.expected_duration());
    let of_arms = search.unwrap_or_default() + round.unwrap_or_default() * ROUNDS;
    (of_arms * arms + RESTART * (ROUNDS + 1)).min(budget)
}

/// The plan of the search, as text.
fn outline(plan: &Plan, arguments: &FindArguments, settings: Settings, budget: Duration) -> String {
    let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    let load = plan.loads.first();
    let objectives: Vec<String> = arguments.objectives.iter().map(ToString::to_string).collect();
    let evidence = |goal: &Goal| format!("{:.0} s of trials for a rate", goal.duration_sum.as_secs_f64());
    let needs = estimate::gigabytes(estimate::Estimate::of(plan).memory_bytes);
    format!(
        "search on arms of the study `{}`\n\n\
         arms        {}; ratios to the first\n\
         objectives  {}\n\
         requests    those of the load `{}`, on {} connections, {} arrivals\n\
         search      each arm, trial by trial in turns: {} s each, {}\n\
         rounds      {ROUNDS}, each with all processes started again: {}\n\n\
         about {} if trials agree, at most {}, and {needs} of memory\n",
        plan.name,
        arms.join(", "),
        objectives.join(" and "),
        load.map_or("", |load| load.name.as_str()),
        load.map_or(0, |load| load.connections),
        arrivals(plan),
        settings.goal.final_trial.as_secs_f64(),
        evidence(&settings.goal),
        evidence(&settings.goal.of_repetition()),
        seconds(expected((arguments, budget), settings, arms.len() as u32)),
        seconds(budget)
    )
}

/// Keeps the logs of the processes for the user, and names them in the error.
fn with_logs(failure: &Failure, folder: tempfile::TempDir) -> Failure {
    let kept = folder.keep();
    failure.with(format!("\nthe logs of all processes are in `{}`", kept.display()))
}

fn result(
    arguments: &FindArguments,
    plan: &Plan,
    settings: Settings,
    searched: Searched,
    (begun, budget): (Instant, Duration),
    environment: Environment,
) -> FindArmsResult {
    let load = plan.loads.first();
    let judgement = ratio::Judgement {
        objectives: &arguments.objectives,
        final_trial_s: settings.goal.final_trial.as_secs_f64(),
        confidence: CONFIDENCE,
    };
    let body = FindArmsBody {
        ended_by: searched.ended_by,
        study: plan.name.clone(),
        load: load.map(|load| load.name.clone()).unwrap_or_default(),
        connections: load.map_or(0, |load| load.connections as u32),
        arrivals: arrivals(plan).to_string(),
        objectives: arguments.objectives.iter().map(ToString::to_string).collect(),
        rounds: searched.arms.first().map_or(0, |arm| arm.round_rates.len() as u32),
        arms: ratio::with_ratios(searched.arms, &judgement),
        evidence: common::evidence(arguments.preset, &settings.goal),
        round_evidence: common::evidence(arguments.preset, &settings.goal.of_repetition()),
        rounds_planned: ROUNDS,
        confidence: CONFIDENCE,
        seed: plan.seed,
        budget_s: budget.as_secs_f64(),
        took_s: begun.elapsed().as_secs_f64(),
        trials: searched.trials,
    };
    FindArmsResult::new(environment, body)
}

fn code(result: &FindArmsResult) -> Code {
    let any = |is: fn(&FoundArm) -> bool| result.arms.iter().any(is);
    let has_no_ratio = |arm: &FoundArm| arm.found.state == FindState::Found && arm.no_ratio.is_some();
    let holds_at_maximum = |arm: &FoundArm| arm.found.state == FindState::MaximumHeld;
    match common::code(result.ended_by, result.arms.iter().map(|arm| arm.found.state)) {
        Code::Success if any(has_no_ratio) && !any(holds_at_maximum) => Code::Void,
        code => code,
    }
}
