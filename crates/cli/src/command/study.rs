//! `hoptax study`: measure what functions of Envoy cost.

mod expense;
pub(crate) mod library;
mod outputs;
pub(crate) mod run_folder;
mod session;
mod sittings;

use std::cell::Cell;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use hoptax_checks::judge_study;
use hoptax_host::machine::judgement::{advice, should_never_halt, supported_measurements};
use hoptax_host::processors::{self, Placement};
use hoptax_host::spinner::Spinner;
use hoptax_report::terminal;
use hoptax_result::{Environment, MachineProbe, MachineSpeeds, StudyResult};
use hoptax_study::event::Event;
use hoptax_study::file;
use hoptax_study::length::{Course, Length};
use hoptax_study::plan::{LeftOpen, Plan};
use hoptax_study::precision;
use hoptax_study::record::RoundRecord;
use hoptax_study::runner::{self, Control, Earlier, Ending, Outcome, Setting};
use hoptax_study::suit;
use hoptax_study::summary::{self, Conditions};
use hoptax_subject::envoy::release::Envoy;

use super::{calibrate, functions, load, never_halt};
use crate::arguments::{NeverHalt, StudyArguments};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::progress::StudyProgress;
use crate::{kept, print};
use expense::Expense;
use outputs::write_all;
use run_folder::{Facts, KeptRounds, Programs, RunFolder};
use session::Session;

/// Processors that a proxy gets to itself.
const PROXY_PROCESSORS: usize = 1;

/// Runs the command.
pub(crate) fn run(arguments: &StudyArguments) -> Result<Code, Failure> {
    if arguments.list {
        print::result(&library::list())?;
        return Ok(Code::Fine);
    }
    if !arguments.combine.is_empty() {
        return sittings::combine_stored(arguments);
    }
    let kept = arguments.resume.as_deref().map(run_folder::read).transpose()?;
    let (name, text) = match &kept {
        Some((text, facts)) => (facts.file_name.clone(), text.clone()),
        None => library::read(&arguments.study)?,
    };
    let mut plan = read_plan(&name, &text, arguments, kept.as_ref().map(|(_, facts)| facts))?;
    if arguments.dry_run {
        return dry_run(plan, arguments.never_halt);
    }
    let envoy = arguments.envoy.clone().or_else(|| Some(kept.as_ref()?.1.envoy_version.clone()));
    let envoy = Envoy::find(envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    let directory = path_of(arguments.resume.as_deref().or(arguments.out.as_deref()), &plan.name);
    if kept.is_none() {
        run_folder::check_free(&directory, arguments.force)?;
    }
    let expense = Expense::of(&plan);
    expense::check_memory(&expense, arguments.yes)?;
    load::allow_connections(expense.connections)?;
    let directory = made(&directory)?;
    let placement = placement()?;
    let speeds = speeds(arguments, &placement)?;
    let (machine, spinner) =
        machine(kept.as_ref().map(|(_, facts)| facts), &placement, arguments.never_halt)?;
    adapt(&mut plan, &machine, spinner.is_some());
    let expense = Expense::of(&plan);
    let environment = Environment {
        proxy_version: Some(envoy.version.clone()),
        proxy_cpus: placement.proxy.clone(),
        generator_cpus: placement.generator.clone(),
        ..kept::environment(spinner.is_some())
    };
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let setting = Setting {
        program: &program,
        envoy: &envoy,
        directory: &directory,
        placement: &placement,
        spinner: spinner.as_ref(),
        ticks: runner::KERNEL_TICKS,
    };
    let interrupt = Interrupt::listen()?;

    let programs = Programs { hoptax: &program, envoy: &envoy.program };
    let mut facts = Facts::new(name, &environment, programs, (machine, spinner.is_some()), &plan)?;
    facts.speeds = speeds;
    let (folder, facts, rounds) = match &kept {
        Some((_, then)) => take_up(arguments, &directory, then, &facts)?,
        None => begin(arguments, &directory, &text, (facts, plan.rounds))?,
    };
    let length = facts.length();
    plan.rounds = length.rounds;
    print::note(&format!(
        "study `{}`: {} arms, {}, Envoy {}; {}; results go to {}",
        plan.name,
        plan.arms.len(),
        session::words(&length),
        envoy.version,
        expense.words(&length, rounds.ended_s.len() as u32),
        directory.display()
    ));
    if kept.is_some() {
        print::note(&format!(
            "taken up again after round {}, with the same seed ({})",
            rounds.ended_s.len(),
            plan.seed
        ));
    } else if let Some(last) = directory.parent().and_then(|parent| sittings::last(parent, &facts)) {
        let forecast = session::said(&last, expense.rounds_of(&length));
        if let Some(said) = forecast {
            print::note(&format!("by its last sitting: {said}"));
        }
    } else if let Some(said) = expected(&facts.machine, facts.never_halted, expense.rounds_of(&length)) {
        print::note(&said);
    }
    let session = Session::begin(&plan, length, expense, &rounds);
    let (outcome, course) = measure(&plan, &setting, &folder, (rounds.earlier, session), &interrupt);
    let result = concluded(plan, &facts, environment, (&outcome, &course));
    let code = finish(&directory, &result, &outcome.ending)?;
    if arguments.again && matches!(outcome.ending, Ending::Complete) {
        sittings::with_others(&directory, &facts, &result)?;
    }
    Ok(code)
}

/// The result of what was measured, judged.
fn concluded(
    mut plan: Plan,
    facts: &Facts,
    environment: Environment,
    (outcome, course): (&Outcome, &Course),
) -> StudyResult {
    let ended_early = match &outcome.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("it was interrupted".to_owned()),
        Ending::Failed(error) => Some(error.to_string()),
    };
    let conditions = Conditions {
        // The study began when its first round did, however often it was taken up again.
        environment: Environment {
            started_at: facts.started_at.clone(),
            proxy_sha256: Some(facts.envoy_hash.clone()),
            ..environment
        },
        machine: Some(facts.machine.clone()),
        speeds: facts.speeds.clone(),
        never_halted: facts.never_halted,
        wall_s: outcome.wall_s,
        budget_s: course.budget_s(),
        sequential: course.sequential(),
        ended_early,
    };
    plan.rounds = match &outcome.ending {
        // As many as it was to have: what ended it was planned.
        Ending::Complete => outcome.rounds.len() as u32,
        Ending::Interrupted | Ending::Failed(_) => course.expected_rounds().unwrap_or(plan.rounds),
    };
    let mut result = summary::summarise(&plan, &outcome.rounds, conditions);
    // Where nothing more was measured, nothing was taken up.
    result.plan.resumed_after_rounds.clone_from(&facts.resumed_after_rounds);
    result.plan.resumed_after_rounds.retain(|after| *after < result.plan.rounds_completed);
    result.plan.resumed_after_rounds.dedup();
    judge_study(&mut result);
    result
}

/// Begins a study in its folder.
fn begin(
    arguments: &StudyArguments,
    directory: &Path,
    text: &str,
    (mut facts, rounds_of_file): (Facts, u32),
) -> Result<(RunFolder, Facts, KeptRounds), Failure> {
    facts.set_length(&session::length(arguments, rounds_of_file));
    Ok((RunFolder::begin(directory, text, &facts)?, facts, KeptRounds::default()))
}

/// Takes a study up again from its folder, with the length that it had or another.
fn take_up(
    arguments: &StudyArguments,
    directory: &Path,
    then: &Facts,
    now: &Facts,
) -> Result<(RunFolder, Facts, KeptRounds), Failure> {
    let (folder, rounds) = RunFolder::resume(directory, then, now)?;
    let measured = rounds.ended_s.len() as u32;
    let mut facts = then.clone();
    facts.set_length(&session::length_of_more(arguments, then, &rounds)?);
    if measured < facts.rounds {
        facts.resumed_after_rounds.push(measured);
    } else {
        print::note(&format!("it has all of its {measured} rounds; `--rounds NUMBER` measures more"));
    }
    folder.write(&facts)?;
    Ok((folder, facts, rounds))
}

/// Says what a plan comes to. The machine is probed only where the file leaves something to it.
fn dry_run(mut plan: Plan, never_halt: NeverHalt) -> Result<Code, Failure> {
    let mut said = None;
    if plan.left_open != LeftOpen::default() {
        let machine = probed(&placement()?)?;
        let never_halted = is_wanted(&machine, never_halt);
        adapt(&mut plan, &machine, never_halted);
        said = expected(&machine, never_halted, Some(plan.rounds));
    }
    let length = Length { rounds: plan.rounds, budget_s: None, until: None };
    let needs = Expense::of(&plan).words(&length, 0);
    let said = said.map_or_else(String::new, |said| format!("{said}\n"));
    print::result(&format!("{}{needs}\n{said}", plan.outline()))?;
    Ok(Code::Fine)
}

/// The speeds of the machine, where they are asked for: as long as nothing keeps its processors from halting.
fn speeds(arguments: &StudyArguments, placement: &Placement) -> Result<Option<MachineSpeeds>, Failure> {
    if !arguments.with_speeds {
        return Ok(None);
    }
    print::note("measuring the speeds of this machine");
    let seed = arguments.seed.unwrap_or(1);
    // Nothing is begun yet that an interrupt would have to end.
    let never = AtomicBool::new(false);
    let found = hoptax_calibrate::speeds(placement, 1.0, seed, Some(&calibrate::keep_awake), &never);
    found
        .map(Some)
        .map_err(|error| Failure::environment(format!("cannot measure the machine's speeds: {error}")))
}

/// Who runs on which processor.
fn placement() -> Result<Placement, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot ask which processors there are: {error}")))?;
    Ok(Placement::split(&allowed, PROXY_PROCESSORS))
}

fn probed(placement: &Placement) -> Result<MachineProbe, Failure> {
    hoptax_host::machine::probe(placement)
        .map_err(|error| Failure::environment(format!("cannot probe the machine: {error}")))
}

/// Whether the processors of a study that begins are to be kept from being halted.
fn is_wanted(machine: &MachineProbe, never_halt: NeverHalt) -> bool {
    if never_halt == NeverHalt::Auto { should_never_halt(machine) } else { never_halt == NeverHalt::Always }
}

/// Decides what the file leaves to the machine, and says what and why.
fn adapt(plan: &mut Plan, machine: &MachineProbe, never_halted: bool) {
    for chosen in suit::suit(plan, machine, never_halted) {
        print::note(&format!("chosen for this machine: {chosen}"));
    }
}

/// How narrow intervals are likely to become on such a machine.
fn expected(machine: &MachineProbe, never_halted: bool, rounds: Option<u32>) -> Option<String> {
    let rounds = rounds?;
    let share = suit::half_width_share(machine, never_halted, rounds)?;
    Some(format!(
        "on machines like this, nearly all costs are within about ±{} of the baseline after {rounds} rounds",
        session::percent(share)
    ))
}

/// What the machine is like, and what keeps its processors from being halted, if they are. A study that is taken up again goes on
/// as it began.
fn machine(
    kept: Option<&Facts>,
    placement: &Placement,
    never_halt: NeverHalt,
) -> Result<(MachineProbe, Option<Spinner>), Failure> {
    let machine = match kept {
        Some(facts) => facts.machine.clone(),
        None => probed(placement)?,
    };
    let wanted = kept.map_or_else(|| is_wanted(&machine, never_halt), |facts| facts.never_halted);
    for advice in supported_measurements(&machine).into_iter().chain(advice(&machine)) {
        print::note(&format!("this machine: {advice}"));
    }
    if wanted != should_never_halt(&machine) {
        print::note(&format!(
            "as asked, the processors are {} from halting",
            if wanted { "kept" } else { "not kept" }
        ));
    }
    Ok((machine, wanted.then(|| never_halt::start(placement)).transpose()?))
}

fn read_plan(
    name: &str,
    text: &str,
    arguments: &StudyArguments,
    kept: Option<&Facts>,
) -> Result<Plan, Failure> {
    let catalogue = functions::load()?;
    let (mut file, positions) = file::read(name, text).map_err(Failure::bad_input)?;
    file.rounds = arguments.rounds.or(kept.map(|facts| facts.rounds)).or(file.rounds);
    file.seed = kept.map(|facts| facts.seed).or(arguments.seed).unwrap_or(file.seed);
    Plan::new(&file, &positions, &catalogue).map_err(Failure::bad_input)
}

/// The folder of the results.
fn path_of(out: Option<&Path>, name: &str) -> PathBuf {
    out.map_or_else(
        || {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let now: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from("runs").join(format!("{}-{now}", name.replace(['/', ' '], "-")))
        },
        Path::to_owned,
    )
}

/// The same, made; absolute, since Envoy writes there too.
fn made(path: &Path) -> Result<PathBuf, Failure> {
    let made = fs::create_dir_all(path).and_then(|()| path.canonicalize());
    made.map_err(|error| {
        Failure::environment(format!("cannot make the folder `{}`: {error}", path.display()))
    })
}

fn measure(
    plan: &Plan,
    setting: &Setting<'_>,
    folder: &RunFolder,
    (earlier, mut session): (Earlier, Session<'_>),
    interrupt: &Interrupt,
) -> (Outcome, Course) {
    let expected = Cell::new(None);
    let progress = StudyProgress::begin(plan.slices_per_round() as u64, earlier.rounds.len() as u32);
    let mut not_kept = None;
    let mut goes_on = |rounds: &[RoundRecord]| {
        let (goes_on, said) = session.goes_on(rounds, &expected);
        progress.expect(expected.get());
        if let Some(said) = said {
            progress.say(&said);
        }
        goes_on
    };
    let mut on_event = |event: &Event<'_>| {
        progress.hear(event);
        if let Event::RoundEnded { round, record, elapsed_s } = event {
            not_kept = not_kept.take().or(folder.keep(*round, record, *elapsed_s).err());
        }
    };
    let mut control = Control { stop: interrupt.flag(), goes_on: &mut goes_on, on_event: &mut on_event };
    let outcome = runner::run(plan, setting, earlier, &mut control);
    progress.end();
    if let Some(error) = not_kept {
        print::error(&format!(
            "cannot keep rounds in `{}`, so that the study could not have been taken up again: {error}",
            setting.directory.display()
        ));
    }
    (outcome, session.into_course())
}

/// Prints the table, writes the files, and says how it ended.
fn finish(directory: &Path, result: &StudyResult, ending: &Ending) -> Result<Code, Failure> {
    if result.plan.rounds_completed > 0 {
        print::result(&terminal::study(result, print::style()))?;
    }
    let problems = write_all(directory, result);
    if problems.is_empty() {
        print::note(&format!("\nthe page: {}", directory.join("report.html").display()));
    }
    for problem in &problems {
        print::error(problem);
    }
    match ending {
        Ending::Failed(error) => Err(Failure::environment(format!(
            "the study ended in round {} of {}: {error}\nwhat was measured until then is in `{}`",
            result.plan.rounds_completed + 1,
            result.plan.rounds_planned,
            directory.display()
        ))),
        Ending::Interrupted => {
            print::note(&format!("`hoptax study --resume {}` goes on from here", directory.display()));
            Ok(Code::Interrupted)
        }
        Ending::Complete if !problems.is_empty() => Ok(Code::Environment),
        Ending::Complete => {
            note_precision(directory, result);
            Ok(Code::of(result.verdict))
        }
    }
}

/// Says so when a study ended before its intervals were as narrow as asked.
fn note_precision(directory: &Path, result: &StudyResult) {
    let Some(sequential) = result.plan.sequential.as_ref().filter(|sequential| !sequential.reached) else {
        return;
    };
    let target = session::percent(sequential.target_share);
    let found = precision::of_nearly_all(&precision::half_widths(result));
    let found = found.map_or_else(String::new, |found| format!(", but within {}", session::percent(found)));
    print::note(&format!(
        "nearly all costs are not within {target}{found}: `hoptax study --resume {} --until {}` goes on",
        directory.display(),
        target.replace(' ', "")
    ));
}
