//! `hoptax study`: measures the cost of Envoy's functions.

pub(crate) mod estimate;
mod flames;
mod forecast;
pub(crate) mod library;
mod outputs;
mod recorder;
pub(crate) mod replaced;
pub(crate) mod requirements;
pub(crate) mod run_folder;
mod session;
mod sittings;

use std::cell::Cell;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use hoptax_checks::judge_study;
use hoptax_checks::thresholds::Limits;
use hoptax_host::awake::Awake;
use hoptax_host::machine;
use hoptax_host::machine::judgement::{advice, should_never_halt, supported_measurements};
use hoptax_host::processors::{self, Placement};
use hoptax_report::terminal;
use hoptax_result::{Environment, MachineProbe, MachineSpeeds, StudyResult, counted};
use hoptax_study::comparison::{USUAL_MARGIN_SHARE, with_named};
use hoptax_study::event::Event;
use hoptax_study::file;
use hoptax_study::length::{Course, Length};
use hoptax_study::plan::{LeftOpen, Plan};
use hoptax_study::precision::{self, Precision};
use hoptax_study::programs;
use hoptax_study::record::RoundRecord;
use hoptax_study::runner::{self, Control, Earlier, Ending, Outcome, Setting};
use hoptax_study::suit;
use hoptax_study::summary::{self, Conditions};
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;

use super::{calibrate, functions, load, never_halt};
use crate::arguments::{NeverHalt, StudyArguments};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::progress::StudyProgress;
use crate::{print, state};
use estimate::Estimate;
use outputs::write_all;
use recorder::Recorder;
use run_folder::{CompleteRounds, Manifest, Programs, RunFolder};
use session::Session;

/// Number of processors reserved for the proxy.
const PROXY_PROCESSORS: usize = 1;

/// A study file that was read.
struct TextOfStudy {
    /// Its name, for messages.
    name: String,
    text: String,
    /// Its folder, at which relative paths in it start.
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &StudyArguments) -> Result<Code, Failure> {
    if arguments.study == "list" {
        return print::result(&library::list()?).map(|()| Code::Success);
    }
    if !arguments.combine.is_empty() {
        return sittings::combine_stored(arguments);
    }
    let stored = arguments.resume.as_deref().map(run_folder::read).transpose()?;
    let thresholds = thresholds(stored.as_ref().map(|(_, manifest)| manifest), &arguments.thresholds);
    let limits = load::thresholds(&thresholds)?;
    let file = study_file(arguments, stored.as_ref())?;
    let mut plan = read_plan(&file, arguments, stored.as_ref().map(|(_, manifest)| manifest))?;
    if arguments.dry_run {
        return dry_run(plan, arguments.never_halt);
    }
    requirements::check(&plan, &file.folder)?;
    let envoy = arguments.envoy.clone().or_else(|| Some(stored.as_ref()?.1.envoy_version.clone()));
    let envoy = Envoy::find(envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    let envoys = Envoys::find(envoy, plan.envoys(), &mut print::note).map_err(Failure::environment)?;
    let envoy = envoys.usual();
    let directory = run_folder_path(arguments.resume.as_deref().or(arguments.out.as_deref()), &plan.name);
    if stored.is_none() {
        run_folder::check_free(&directory, arguments.force)?;
    }
    let estimate = Estimate::of(&plan);
    let remedy = "reduce the number of arms, or give `--yes` to start anyway";
    estimate::check_memory(&estimate, arguments.yes, remedy)?;
    load::allow_connections_of_plan(&plan)?;
    let directory = run_folder::create(&directory)?;
    let mut recorder = Recorder::open(arguments, &directory)?;
    let placement = placement()?;
    let speeds = speeds(arguments, &placement)?;
    let is_short = estimate.is_short(&session::length(arguments, plan.rounds));
    let stored_manifest = stored.as_ref().map(|(_, manifest)| manifest);
    let (machine, awake) = machine(stored_manifest, &placement, arguments.never_halt, is_short)?;
    adapt(&mut plan, &machine, awake.is_some());
    let estimate = Estimate::of(&plan);
    let environment = environment(envoy, &placement, awake.is_some());
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let setting = Setting {
        program: &program,
        envoys: &envoys,
        directory: &directory,
        folder: &file.folder,
        placement: &placement,
        awake: awake.as_ref(),
        ticks: runner::KERNEL_TICKS,
    };
    let others = programs::builds(&plan, &envoys, &file.folder).map_err(Failure::environment)?;
    let programs = Programs { hoptax: &program, envoy: &envoy.program, others };
    let interrupt = Interrupt::listen()?;

    let name_and_folder = (file.name, file.folder.as_path());
    let mut manifest =
        Manifest::new(name_and_folder, &environment, programs, (machine, awake.is_some()), &plan)?;
    manifest.speeds = speeds;
    manifest.thresholds = thresholds.into_iter().collect();
    let (folder, manifest, rounds) = match &stored {
        Some((_, then)) => resume(arguments, &directory, then, &manifest)?,
        None => start(arguments, &directory, &file.text, (manifest, plan.rounds))?,
    };
    let length = manifest.length();
    plan.rounds = length.rounds;
    print::note(&format!(
        "study `{}`: {} arms, {}, Envoy {}; {}; results go to {}",
        plan.name,
        plan.arms.len(),
        session::length_text(&length),
        envoy.version,
        estimate.words(&length, rounds.ended_s.len() as u32),
        directory.display()
    ));
    if stored.is_some() {
        print::note(&format!(
            "resumed after round {}, with the same seed ({})",
            rounds.ended_s.len(),
            plan.seed
        ));
    } else if let Some(text) = forecast::text(&directory, &manifest, &plan, estimate.rounds_of(&length)) {
        print::note(&text);
    }
    let session = Session::begin(&plan, length, estimate, &rounds);
    let (outcome, course) =
        measure(&plan, &setting, (&folder, &manifest, &mut recorder), (rounds.earlier, session), &interrupt);
    if plan.profile {
        flames::write(&plan, &directory);
    }
    let result = judged_result(plan, &manifest, environment, (&outcome, &course), &limits);
    let code = finish(&directory, &result, &outcome.ending);
    if result.plan.rounds_completed > 0 {
        recorder.finish();
    }
    let code = code?;
    if arguments.smoke && matches!(outcome.ending, Ending::Complete) && code == Code::Void {
        print::note("every part of the study came up; its numbers are of no use");
        return Ok(Code::Success);
    }
    if arguments.again && matches!(outcome.ending, Ending::Complete) {
        sittings::combine_with_stored(&directory, &manifest, &result)?;
    }
    Ok(code)
}

/// What a study with this Envoy is measured on.
pub(super) fn environment(envoy: &Envoy, placement: &Placement, never_halts: bool) -> Environment {
    Environment {
        proxy_version: Some(envoy.version.clone()),
        proxy_cpus: placement.proxy.clone(),
        generator_cpus: placement.generator.clone(),
        ..state::environment(never_halts)
    }
}

/// Summarises and judges the measured rounds.
fn judged_result(
    mut plan: Plan,
    manifest: &Manifest,
    environment: Environment,
    (outcome, course): (&Outcome, &Course),
    limits: &Limits,
) -> StudyResult {
    let ended_early = match &outcome.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("interrupted".to_owned()),
        Ending::Failed(error) => Some(error.to_string()),
    };
    let conditions = Conditions {
        // The start of the first round, even if the study was resumed later.
        environment: Environment {
            started_at: manifest.started_at.clone(),
            proxy_sha256: Some(manifest.envoy_hash.clone()),
            ..environment
        },
        programs: manifest.programs.clone(),
        machine: Some(manifest.machine.clone()),
        speeds: manifest.speeds.clone(),
        never_halted: manifest.never_halted,
        wall_s: outcome.wall_s,
        budget_s: course.budget_s(),
        sequential: course.sequential(),
        ended_early,
    };
    plan.rounds = match &outcome.ending {
        // A study that completes has all its planned rounds.
        Ending::Complete => outcome.rounds.len() as u32,
        Ending::Interrupted | Ending::Failed(_) => course.expected_rounds().unwrap_or(plan.rounds),
    };
    let mut result = summary::summarise(&plan, &outcome.rounds, conditions);
    // A session without a new round does not count as resumed.
    result.plan.resumed_after_rounds.clone_from(&manifest.resumed_after_rounds);
    result.plan.resumed_after_rounds.retain(|after| *after < result.plan.rounds_completed);
    result.plan.resumed_after_rounds.dedup();
    judge_study(&mut result, limits);
    result
}

/// Starts a study in its run folder.
fn start(
    arguments: &StudyArguments,
    directory: &Path,
    text: &str,
    (mut manifest, rounds_of_file): (Manifest, u32),
) -> Result<(RunFolder, Manifest, CompleteRounds), Failure> {
    manifest.set_length(&session::length(arguments, rounds_of_file));
    Ok((RunFolder::create(directory, text, &manifest)?, manifest, CompleteRounds::default()))
}

/// Resumes a study from its run folder, with its previous length or a new one.
fn resume(
    arguments: &StudyArguments,
    directory: &Path,
    then: &Manifest,
    now: &Manifest,
) -> Result<(RunFolder, Manifest, CompleteRounds), Failure> {
    let (folder, rounds) = RunFolder::resume(directory, then, now)?;
    let measured = rounds.ended_s.len() as u32;
    let mut manifest = then.clone();
    manifest.thresholds.clone_from(&now.thresholds);
    manifest.set_length(&session::length_of_more(arguments, then, &rounds)?);
    if measured < manifest.rounds {
        manifest.resumed_after_rounds.push(measured);
    } else {
        print::note(&format!(
            "the study has its {}; `--rounds NUMBER` measures more",
            counted(measured.into(), "round")
        ));
    }
    folder.write(&manifest)?;
    Ok((folder, manifest, rounds))
}

/// The thresholds that a study sets: those of its run folder, overridden by those of the arguments.
fn thresholds(stored: Option<&Manifest>, arguments: &[(String, f64)]) -> Vec<(String, f64)> {
    let mut set = stored.map(|manifest| manifest.thresholds.clone()).unwrap_or_default();
    set.extend(arguments.iter().cloned());
    set.into_iter().collect()
}

/// Prints a plan and its expected duration and memory. Probes the machine only if the study file leaves choices to it.
fn dry_run(mut plan: Plan, never_halt: NeverHalt) -> Result<Code, Failure> {
    let mut precision = None;
    if plan.left_open != LeftOpen::default() {
        let machine = probe(&placement()?, false)?;
        let never_halted = is_wanted(&machine, never_halt);
        adapt(&mut plan, &machine, never_halted);
        precision = forecast::on_machines_like_this(&machine, never_halted, plan.rounds);
    }
    let length = Length { rounds: plan.rounds, budget_s: None, until: None };
    let needs = Estimate::of(&plan).words(&length, 0);
    let precision = precision.map_or_else(String::new, |text| format!("{text}\n"));
    print::result(&format!("{}{needs}\n{precision}", plan.outline()))?;
    Ok(Code::Success)
}

/// Measures the machine's speeds if requested, while processors may halt.
fn speeds(arguments: &StudyArguments, placement: &Placement) -> Result<Option<MachineSpeeds>, Failure> {
    if !arguments.with_speeds {
        return Ok(None);
    }
    print::note("measuring the speeds of this machine");
    let seed = arguments.seed.unwrap_or(1);
    // No child runs yet, so an interrupt may simply end the process.
    let never = AtomicBool::new(false);
    let found = hoptax_calibrate::speeds(placement, 1.0, seed, Some(&calibrate::keep_awake), &never);
    found
        .map(Some)
        .map_err(|error| Failure::environment(format!("cannot measure the machine's speeds: {error}")))
}

/// The processors of generator and proxy.
pub(super) fn placement() -> Result<Placement, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    Ok(Placement::split(&allowed, PROXY_PROCESSORS))
}

/// Probes the machine. In a study of seconds, the whole probe would take longer than what it judges.
fn probe(placement: &Placement, is_short: bool) -> Result<MachineProbe, Failure> {
    let probed = if is_short { machine::probe_briefly(placement) } else { machine::probe(placement) };
    probed.map_err(|error| Failure::environment(format!("cannot probe the machine: {error}")))
}

/// Whether a new study keeps its processors from halting.
fn is_wanted(machine: &MachineProbe, never_halt: NeverHalt) -> bool {
    if never_halt == NeverHalt::Auto { should_never_halt(machine) } else { never_halt == NeverHalt::Always }
}

/// Makes the choices that the study file leaves to the machine, and prints them with their reasons.
fn adapt(plan: &mut Plan, machine: &MachineProbe, never_halted: bool) {
    for chosen in suit::suit(plan, machine, never_halted) {
        print::note(&format!("chosen for this machine: {chosen}"));
    }
}

/// The probe of the machine, and what keeps its processors from halting, if wanted. A resumed study keeps its first
/// choice.
fn machine(
    stored: Option<&Manifest>,
    placement: &Placement,
    never_halt: NeverHalt,
    is_short: bool,
) -> Result<(MachineProbe, Option<Awake>), Failure> {
    let machine = match stored {
        Some(manifest) => manifest.machine.clone(),
        None => probe(placement, is_short)?,
    };
    let wanted = stored.map_or_else(|| is_wanted(&machine, never_halt), |manifest| manifest.never_halted);
    for advice in supported_measurements(&machine).into_iter().chain(advice(&machine)) {
        print::note(&format!("this machine: {advice}"));
    }
    if wanted != should_never_halt(&machine) {
        print::note(&format!(
            "as requested, the processors are {} from halting",
            if wanted { "kept" } else { "not kept" }
        ));
    }
    Ok((machine, wanted.then(|| never_halt::start(placement)).transpose()?))
}

/// The study file that the arguments name, or that of the run folder.
fn study_file(
    arguments: &StudyArguments,
    stored: Option<&(String, Manifest)>,
) -> Result<TextOfStudy, Failure> {
    if let Some((text, manifest)) = stored {
        let (name, folder) = (manifest.file_name.clone(), PathBuf::from(&manifest.folder_of_file));
        return Ok(TextOfStudy { name, text: text.clone(), folder });
    }
    let (name, text) = library::read(&arguments.study)?;
    let folder = library::folder(&name);
    Ok(TextOfStudy { name, text, folder })
}

fn read_plan(
    TextOfStudy { name, text, folder }: &TextOfStudy,
    arguments: &StudyArguments,
    stored: Option<&Manifest>,
) -> Result<Plan, Failure> {
    let catalogue = functions::load()?;
    let (mut file, positions) = file::read(name, text).map_err(Failure::bad_input)?;
    file.rounds = arguments.rounds.or(stored.map(|manifest| manifest.rounds)).or(file.rounds);
    file.seed = stored.map(|manifest| manifest.seed).or(arguments.seed).unwrap_or(file.seed);
    let configurations = library::configurations(&file, folder);
    let plan = Plan::with_configurations(&file, &positions, &catalogue, configurations);
    let mut plan = plan.map_err(Failure::bad_input)?;
    if arguments.until.is_some() && plan.timeline.is_some() {
        let message = "--until is a precision of CPU costs, which a timeline does not measure: use --rounds or --budget";
        return Err(Failure::bad_input(message));
    }
    if arguments.smoke {
        plan.smoke();
    }
    Ok(plan)
}

/// The run folder: `out`, or one named after the study and the time.
pub(super) fn run_folder_path(out: Option<&Path>, name: &str) -> PathBuf {
    out.map_or_else(
        || {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let now: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from("runs").join(format!("{}-{now}", name.replace(['/', ' '], "-")))
        },
        Path::to_owned,
    )
}

fn measure(
    plan: &Plan,
    setting: &Setting<'_>,
    (folder, manifest, recorder): (&RunFolder, &Manifest, &mut Recorder),
    (earlier, mut session): (Earlier, Session<'_>),
    interrupt: &Interrupt,
) -> (Outcome, Course) {
    let expected = Cell::new(None);
    let progress = StudyProgress::begin(plan.slices_per_round() as u64, earlier.rounds.len() as u32);
    let mut store_error = None;
    let mut should_continue = |rounds: &[RoundRecord]| {
        let (should_continue, note) = session.should_continue(rounds, &expected);
        progress.set_rounds(expected.get());
        if let Some(note) = note {
            progress.note(&note);
        }
        should_continue
    };
    let mut on_event = |event: &Event<'_>| {
        progress.on_event(event);
        if let Event::RoundEnded { round, record, elapsed_s } = event {
            match folder.store_round(*round, record, *elapsed_s) {
                Ok(()) => recorder.add_round(*round),
                Err(error) => store_error = store_error.take().or(Some(error)),
            }
        }
    };
    let mut control =
        Control { stop: interrupt.flag(), should_continue: &mut should_continue, on_event: &mut on_event };
    let outcome = runner::run(plan, setting, earlier, &mut control);
    progress.finish();
    if let Some(error) = store_error {
        print::error(&format!(
            "cannot store rounds in `{}`, so the study cannot be resumed: {error}",
            setting.directory.display()
        ));
    }
    let course = session.into_course();
    if let Err(error) = folder.record_looks(manifest, course.looked()) {
        print::error(&format!(
            "if the study is resumed, it will not count the looks of this session: {error}"
        ));
    }
    (outcome, course)
}

/// Prints the table, writes the output files, and returns the exit code.
fn finish(directory: &Path, result: &StudyResult, ending: &Ending) -> Result<Code, Failure> {
    if result.plan.rounds_completed > 0 {
        print::result(&terminal::study(result, print::style()))?;
        let decisions = with_named(result, USUAL_MARGIN_SHARE);
        if !decisions.is_empty() {
            print::result(&terminal::decisions(&decisions, print::style()))?;
        }
    }
    let problems = write_all(directory, result);
    if problems.is_empty() {
        print::note(&format!("\nreport: {}", directory.join("report.html").display()));
    }
    for problem in &problems {
        print::error(problem);
    }
    match ending {
        Ending::Failed(error) => {
            let message = format!(
                "the study failed in round {} of {}: {error}\nthe measurements before that are in `{}`",
                result.plan.rounds_completed + 1,
                result.plan.rounds_planned,
                directory.display()
            );
            let of = if error.is_bad_input() { Failure::bad_input } else { Failure::environment };
            Err(of(message))
        }
        Ending::Interrupted => {
            print::note(&format!("`hoptax study --resume {}` continues this study", directory.display()));
            Ok(Code::Interrupted)
        }
        Ending::Complete if !problems.is_empty() => Ok(Code::Environment),
        Ending::Complete => {
            note_precision(directory, result);
            Ok(Code::of(result.verdict))
        }
    }
}

/// Prints a note if a study ended before its intervals reached the requested precision.
fn note_precision(directory: &Path, result: &StudyResult) {
    let Some(sequential) = result.plan.sequential.as_ref().filter(|sequential| !sequential.reached) else {
        return;
    };
    let target = session::precision_text(&sequential.into());
    let found = precision::of_nearly_all(&precision::half_widths(result, &Precision::default()));
    let found = found.map_or_else(String::new, |found| {
        format!(" (nearly all costs are within {})", session::percent(found))
    });
    print::note(&format!(
        "the requested precision of {target} is not reached{found}: `hoptax study --resume {} --until '{}'` continues",
        directory.display(),
        target.replace(" %", "%")
    ));
}
