//! `hoptax study`: measure what functions of Envoy cost.

mod library;
mod outputs;
pub(crate) mod run_folder;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hoptax_checks::judge_study;
use hoptax_host::machine::judgement::{advice, should_never_halt};
use hoptax_host::processors::{self, Placement};
use hoptax_host::spinner::Spinner;
use hoptax_report::terminal;
use hoptax_result::{Environment, MachineProbe, StudyResult};
use hoptax_study::event::Event;
use hoptax_study::file;
use hoptax_study::plan::Plan;
use hoptax_study::runner::{self, Earlier, Ending, Outcome, Setting};
use hoptax_study::summary::{self, Conditions};
use hoptax_subject::envoy::release::Envoy;

use super::functions;
use crate::arguments::{NeverHalt, StudyArguments};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::progress::StudyProgress;
use crate::{kept, print};
use outputs::write_all;
use run_folder::{Facts, RunFolder};

/// Processors that a proxy gets to itself.
const PROXY_PROCESSORS: usize = 1;

/// Runs the command.
pub(crate) fn run(arguments: &StudyArguments) -> Result<Code, Failure> {
    if arguments.list {
        print::result(&library::list())?;
        return Ok(Code::Fine);
    }
    let kept = arguments.resume.as_deref().map(run_folder::read).transpose()?;
    let (name, text) = match &kept {
        Some((text, facts)) => (facts.file_name.clone(), text.clone()),
        None => library::read(&arguments.study)?,
    };
    let plan = read_plan(&name, &text, arguments, kept.as_ref().map(|(_, facts)| facts))?;
    let envoy = arguments.envoy.clone().or_else(|| Some(kept.as_ref()?.1.envoy_version.clone()));
    let envoy = Envoy::find(envoy.as_deref(), &mut print::note).map_err(Failure::environment)?;
    let directory = directory(arguments.resume.as_deref().or(arguments.out.as_deref()), &plan.name)?;
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot ask which processors there are: {error}")))?;
    let placement = Placement::split(&allowed, PROXY_PROCESSORS);
    let environment = Environment {
        proxy_version: Some(envoy.version.clone()),
        proxy_cpus: placement.proxy.clone(),
        generator_cpus: placement.generator.clone(),
        ..kept::environment()
    };
    let (machine, spinner) =
        machine(kept.as_ref().map(|(_, facts)| facts), &placement, arguments.never_halt)?;
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let setting = Setting {
        program: &program,
        envoy: &envoy,
        directory: &directory,
        placement: &placement,
        spinner: spinner.as_ref(),
    };
    let interrupt = Interrupt::listen()?;

    print::note(&format!(
        "study `{}`: {} arms, {} rounds, Envoy {}; results go to {}",
        plan.name,
        plan.arms.len(),
        plan.rounds,
        envoy.version,
        directory.display()
    ));
    let facts = Facts::new(name, &environment, envoy.version.clone(), (machine, spinner.is_some()), &plan);
    let (folder, facts, earlier) = match &kept {
        Some((_, then)) => RunFolder::resume(&directory, then, &facts)?,
        None => (RunFolder::begin(&directory, &text, &facts)?, facts, Earlier::default()),
    };
    if kept.is_some() {
        print::note(&format!(
            "taken up again after round {} of {}, with the same seed ({})",
            earlier.rounds.len(),
            plan.rounds,
            plan.seed
        ));
    }
    let outcome = measure(&plan, &setting, &folder, earlier, &interrupt);
    let ended_early = match &outcome.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("it was interrupted".to_owned()),
        Ending::Failed(error) => Some(error.to_string()),
    };
    let conditions = Conditions {
        // The study began when its first round did, however often it was taken up again.
        environment: Environment { started_at: facts.started_at.clone(), ..environment },
        machine: Some(facts.machine.clone()),
        never_halted: facts.never_halted,
        wall_s: outcome.wall_s,
        ended_early,
    };
    let mut result = summary::summarise(&plan, &outcome.rounds, conditions);
    result.plan.resumed_after_rounds = facts.resumed_after_rounds;
    judge_study(&mut result);
    finish(&directory, &result, &outcome.ending)
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
        None => hoptax_host::machine::probe(placement)
            .map_err(|error| Failure::environment(format!("cannot probe the machine: {error}")))?,
    };
    let wanted = match (kept, never_halt) {
        (Some(facts), _) => facts.never_halted,
        (None, NeverHalt::Auto) => should_never_halt(&machine),
        (None, when) => when == NeverHalt::Always,
    };
    for advice in advice(&machine) {
        print::note(&format!("this machine: {advice}"));
    }
    let spinner = wanted.then(|| Spinner::start(&placement.all())).transpose();
    let spinner = spinner.map_err(|error| {
        Failure::environment(format!(
            "cannot keep the processors from being halted: {error}; or give `--never-halt never`"
        ))
    })?;
    Ok((machine, spinner))
}

fn read_plan(
    name: &str,
    text: &str,
    arguments: &StudyArguments,
    kept: Option<&Facts>,
) -> Result<Plan, Failure> {
    let catalogue = functions::load()?;
    let (mut file, positions) = file::read(name, text).map_err(Failure::bad_input)?;
    file.rounds = kept.map(|facts| facts.rounds).or(arguments.rounds).unwrap_or(file.rounds);
    file.seed = kept.map(|facts| facts.seed).or(arguments.seed).unwrap_or(file.seed);
    Plan::new(&file, &positions, &catalogue).map_err(Failure::bad_input)
}

/// The folder of the results, made; absolute, since Envoy writes there too.
fn directory(out: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let path = out.map_or_else(
        || {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let now: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from("runs").join(format!("{}-{now}", name.replace(['/', ' '], "-")))
        },
        Path::to_owned,
    );
    let made = fs::create_dir_all(&path).and_then(|()| path.canonicalize());
    made.map_err(|error| {
        Failure::environment(format!("cannot make the folder `{}`: {error}", path.display()))
    })
}

fn measure(
    plan: &Plan,
    setting: &Setting<'_>,
    folder: &RunFolder,
    earlier: Earlier,
    interrupt: &Interrupt,
) -> Outcome {
    let rounds_done = earlier.rounds.len() as u32;
    let mut progress = StudyProgress::begin(plan.slices_per_round() as u64, rounds_done, plan.rounds);
    let mut not_kept = None;
    let outcome = runner::run(plan, setting, earlier, interrupt.flag(), &mut |event| {
        progress.hear(event);
        if let Event::RoundEnded { round, record, elapsed_s } = event {
            not_kept = not_kept.take().or(folder.keep(*round, record, *elapsed_s).err());
        }
    });
    progress.end();
    if let Some(error) = not_kept {
        print::error(&format!(
            "cannot keep rounds in `{}`, so that the study could not have been taken up again: {error}",
            setting.directory.display()
        ));
    }
    outcome
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
        Ending::Complete => Ok(Code::of(result.verdict)),
    }
}
