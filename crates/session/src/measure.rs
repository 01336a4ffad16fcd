//! Measures a study from its file to its result. All commands measure studies through this module.

use std::path::{Path, PathBuf};
use std::{io, panic, thread};

use hoptax_plan::file::Positions;
use hoptax_plan::plan::Plan;
use hoptax_result::{Loosened, StudyResult, counted};
use hoptax_run::configurations;
use hoptax_run::programs;
use hoptax_run::runner::{self, Ending, Setting};
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::EnvoyChoice;

use crate::awake::NeverHalt;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::judged::judged_result;
use crate::length::{ClockedCourse, RequestedLength, length, length_of_more, length_text};
use crate::machine::{adapt, examine, speeds};
use crate::manifest::{Manifest, Programs};
use crate::outputs::write_all;
use crate::placement::placement;
use crate::recorder::Recorder;
use crate::run_folder::{self, CompleteRounds, Held, RunFolder};
use crate::sittings::Combined;
use crate::study::Study;
use crate::trials::{self, Trials, Written, note_precision};
use crate::update::{Say, Update};
use crate::{
    continuation, environment, flames, forecast, library, rates, requirements, sittings, thresholds,
};

/// The study to measure, and the folder of its results.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// A new study.
    New {
        /// Its file, with the text to keep.
        study: Box<Study>,
        /// Its run folder; none for a new one, named after the study and the time.
        folder: Option<&'a Path>,
        /// The treatment of a study that is already in the folder.
        held: Held,
    },
    /// The study in a run folder, continued after its last complete round.
    Resumed(&'a Path),
    /// The same, for a command that has made the study again from its arguments: problems name the arms by these positions in it.
    ResumedAs(&'a Path, Positions),
}

/// An earlier sitting. The study keeps its rates where the study file states none.
#[derive(Clone, Copy, Default)]
pub enum EarlierSitting<'a> {
    /// No earlier sitting.
    #[default]
    Nothing,
    /// The latest sitting in the parent of the run folder, if there is one.
    Latest,
    /// This sitting.
    Result(&'a StudyResult),
}

/// Options of the measurement of a study.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Length of the measurement.
    pub length: RequestedLength,
    /// Seed of all random orders; none for the seed of the study file.
    pub seed: Option<u64>,
    /// The Envoy. A resumed study keeps the Envoy of its first rounds, unless another one is named.
    pub envoy: EnvoyChoice<'a>,
    /// When idle processors are kept from halting. A resumed study keeps its first choice.
    pub never_halt: NeverHalt,
    /// Thresholds of checks that the user set, by name.
    pub thresholds: &'a [(String, f64)],
    /// The store that gets each round; none to store nothing.
    pub store: Option<&'a Path>,
    /// True for a smoke run: each part runs only for seconds, to show that it starts and answers.
    pub smoke: bool,
    /// True to measure the speeds of the machine first.
    pub with_speeds: bool,
    /// The sitting that the result will be combined or compared with.
    pub earlier_sitting: EarlierSitting<'a>,
    /// Asked about a study that probably needs more memory than is available, with the problem as text. None refuses such a study.
    pub accepts_memory: Option<&'a (dyn Fn(&str) -> bool + Sync)>,
}

/// Result of a session.
pub struct Measured {
    /// The result of all complete rounds.
    pub result: StudyResult,
    /// The run folder.
    pub folder: PathBuf,
    /// How the session ended.
    pub ending: Ending,
    /// Reasons why files of the result could not be written.
    pub problems: Vec<String>,
    /// Conditions of the rounds.
    pub manifest: Manifest,
}

impl Measured {
    /// True if the study ended by itself, and all files of its result were written.
    pub fn is_complete(&self) -> bool {
        matches!(self.ending, Ending::Complete) && self.problems.is_empty()
    }

    /// A complete study, combined with its other sittings in the same parent folder; none if it is not complete, or if there is no other.
    ///
    /// # Errors
    /// When another sitting cannot be read, or the combined result cannot be written.
    pub fn combined(&self, say: Say<'_>) -> Result<Option<Combined>, Failure> {
        if self.is_complete() {
            sittings::combine_with_stored(&self.result, &self.folder, &self.manifest, say)
        } else {
            Ok(None)
        }
    }

    /// The result of a study that ended by itself, even if it is void.
    ///
    /// # Errors
    /// When it was interrupted or failed, or its files could not be written.
    pub fn complete(self) -> Result<StudyResult, Failure> {
        match &self.ending {
            Ending::Interrupted => Err(interrupted(&self.result)),
            Ending::Failed(error) => {
                let failure = if error.is_bad_input() { Failure::bad_input } else { Failure::environment };
                Err(failure(failed(&self.result, &error.to_string(), &self.folder)))
            }
            // Each problem has been reported already.
            Ending::Complete if !self.problems.is_empty() => Err(Failure::environment(format!(
                "files of the result are missing in `{}`: free space there, or choose another folder with --out",
                self.folder.display()
            ))),
            Ending::Complete => Ok(self.result),
        }
    }
}

/// Measures a study, and writes its result to its run folder. The study runs on its own thread, because pinning to processors and the death
/// signal of child processes are per thread.
///
/// # Errors
/// When the study cannot begin. For a study that began, [`Measured::ending`] has its end, including a failure.
pub fn measure(
    place: &Place<'_>,
    options: &Options<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Measured, Failure> {
    interrupt.check()?;
    thread::scope(|scope| {
        let study = thread::Builder::new().name("study".to_owned());
        let study = study.spawn_scoped(scope, || measure_on_this_thread(place, options, interrupt, say));
        let study = study
            .map_err(|error: io::Error| Failure::environment(format!("cannot start a thread: {error}")))?;
        study.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
    })
}

/// Measures a study for a command that needs only its result: [`measure()`], and then [`Measured::complete`]. Reports the thresholds that
/// were loosened, because the outputs of these commands do not show them.
///
/// # Errors
/// When the study cannot begin, is interrupted or fails.
pub fn complete(
    place: &Place<'_>,
    options: &Options<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<StudyResult, Failure> {
    let measured = measure(place, options, interrupt, say);
    if interrupt.is_requested() {
        // An error after an interrupt is a consequence of it.
        return Err(measured.map_or_else(|_| Failure::interrupted(), |one| interrupted(&one.result)));
    }
    let result = measured?.complete()?;
    for Loosened { name, value, default } in &result.loosened {
        let text = format!("the study has a loosened threshold: {name} {value} instead of {default}");
        say(Update::Note(&text));
    }
    Ok(result)
}

/// Describes the failure of a study, with the place of its measurements if there are any.
fn failed(result: &StudyResult, error: &str, folder: &Path) -> String {
    if result.plan.rounds_completed == 0 {
        return format!("the study failed before its first round was complete: {error}");
    }
    format!(
        "the study failed after {}: {error}\nthe measurements before that are in `{}`",
        result.plan.progress(),
        folder.display()
    )
}

/// Describes an interrupt of a study. Each command adds how its measurement can continue.
fn interrupted(result: &StudyResult) -> Failure {
    Failure::interrupted().with(format!(" after {}", result.plan.progress()))
}

/// Measures a study on the calling thread, which becomes the parent of its processes.
fn measure_on_this_thread(
    place: &Place<'_>,
    options: &Options<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Measured, Failure> {
    let note = |text: &str| say(Update::Note(text));
    let (study, stored) = read(place, options.smoke)?;
    let earlier = stored.as_ref();
    let set = thresholds::set(earlier, options.thresholds);
    let mut plan = checked_plan(&study, options, earlier, say)?;
    let limits = thresholds::limits(&set)?;
    requirements::check_machine(&plan, &study.folder, options.accepts_memory, say)?;
    let envoy = envoy_choice(options, earlier);
    let envoys = Envoys::find(envoy, plan.envoys(), interrupt.flag(), &mut { note })?;
    let envoy = envoys.usual();
    let directory = directory(place, &plan.name)?;
    let estimate = Estimate::from_plan(&plan);
    let directory = run_folder::make_folder(&directory)?;
    let mut recorder = Recorder::open(options.store.map(Path::to_owned), &directory, say)?;
    let placement = placement()?;
    let speeds = options.with_speeds.then(|| speeds(&placement, options.seed, options.smoke, say));
    let speeds = speeds.transpose()?;
    let is_short = estimate.is_short(&length(&options.length, plan.rounds));
    let machine = examine(earlier, &placement, options.never_halt, is_short, say)?;
    // If the user states a length, the number of rounds is not chosen for the machine.
    plan.rounds_are_open &= options.length == RequestedLength::default();
    adapt(&mut plan, &machine.probe, machine.awake.is_some(), say);
    let environment = environment::of_study(envoy, &placement, machine.awake.is_some());
    let program = library::program()?;
    let setting = Setting {
        program: &program,
        envoys: &envoys,
        directory: &directory,
        folder: &study.folder,
        placement: &placement,
        awake: machine.awake.as_ref(),
        ticks: runner::KERNEL_TICKS,
    };
    let others = programs::builds(&plan, &envoys, &study.folder).map_err(Failure::environment)?;
    let programs = Programs { hoptax: &program, envoy: &envoy.program, others };
    let mut manifest =
        Manifest::new(&study, &environment, programs, &machine.probe, machine.awake.is_some(), &plan)?;
    manifest.speeds = speeds;
    manifest.thresholds = set.into_iter().collect();
    let StartedStudy { folder, manifest, rounds } = match earlier {
        Some(earlier) => resume(&options.length, &directory, earlier, &manifest, say)?,
        None => start(&options.length, &directory, &study.text, manifest, plan.rounds)?,
    };
    let length = manifest.length();
    plan.rounds = length.rounds;
    rates::keep_those_of_rounds(&mut plan, &rounds.earlier.rounds);
    let earlier = match options.earlier_sitting {
        EarlierSitting::Nothing => None,
        EarlierSitting::Latest => directory.parent().and_then(|parent| sittings::latest(parent, &manifest)),
        EarlierSitting::Result(result) => Some(result.clone()),
    };
    for kept in earlier.map(|earlier| rates::keep_those_of_sitting(&mut plan, &earlier)).unwrap_or_default() {
        note(&kept);
    }
    note(&format!(
        "study `{}`: {} arms, {}, Envoy {}; {}; results go to {}",
        plan.name,
        plan.arms.len(),
        length_text(&length),
        envoy.version,
        estimate.words(&length, rounds.ended_s.len() as u32),
        directory.display()
    ));
    if stored.is_some() {
        note(&format!("resumed after round {}, with the same seed ({})", rounds.ended_s.len(), plan.seed));
    } else if let Some(text) = forecast::text(&directory, &manifest, &plan, estimate.rounds_of(&length)) {
        note(&text);
    }
    let clocked = ClockedCourse::begin(&plan, length, estimate, &rounds);
    let mut written = Written { folder: &folder, manifest: &manifest, recorder: &mut recorder };
    let trials = Trials { plan: &plan, setting: &setting, limits: &limits, interrupt, say };
    let ran = trials::run(&trials, rounds.earlier, clocked, &mut written);
    flames::write(&plan, &directory, say);
    let mut result = judged_result(&plan, &manifest, environment, &ran, &limits);
    flames::add_to(&mut result, &plan, &directory);
    let problems = write_all(&directory, &result);
    for problem in &problems {
        say(Update::Problem(problem));
    }
    if result.plan.rounds_completed > 0 {
        recorder.finish();
    }
    if matches!(ran.outcome.ending, Ending::Complete) {
        note_precision(&directory, manifest.command.as_deref(), &result, say);
    }
    Ok(Measured { result, folder: directory, ending: ran.outcome.ending, problems, manifest })
}

/// Reads the study of a place; for a run folder, also the conditions of its rounds.
pub(crate) fn read(place: &Place<'_>, is_smoke: bool) -> Result<(Study, Option<Manifest>), Failure> {
    match place {
        Place::New { study, .. } if is_smoke => {
            Ok((Study { command: Some(continuation::SHORT_FORM.to_owned()), ..(**study).clone() }, None))
        }
        Place::New { study, .. } => Ok(((**study).clone(), None)),
        Place::Resumed(folder) => {
            let (study, manifest) = run_folder::study(folder)?;
            Ok((study, Some(manifest)))
        }
        Place::ResumedAs(folder, positions) => {
            let (kept, manifest) = run_folder::study(folder)?;
            Ok((Study { positions: positions.clone(), ..kept }, Some(manifest)))
        }
    }
}

/// The run folder of a place. A new study must not overwrite anything there.
fn directory(place: &Place<'_>, study: &str) -> Result<PathBuf, Failure> {
    match place {
        Place::Resumed(folder) | Place::ResumedAs(folder, _) => Ok((*folder).to_owned()),
        Place::New { folder, held, .. } => {
            let folder = run_folder::path_of(*folder, study);
            run_folder::check_free(&folder, *held)?;
            Ok(folder)
        }
    }
}

/// The Envoy of a study: that of its first rounds, unless another one is named.
fn envoy_choice<'a>(options: &Options<'a>, stored: Option<&'a Manifest>) -> EnvoyChoice<'a> {
    let named = options.envoy.named.or(stored.map(|manifest| manifest.envoy_version.as_str()));
    EnvoyChoice { named, ..options.envoy }
}

/// Reads the plan of a study, and checks the thresholds and the Envoys that its options name, without fetching an Envoy.
///
/// # Errors
/// When the study, a threshold or an Envoy is not valid, with all problems.
pub(crate) fn checked_plan(
    study: &Study,
    options: &Options<'_>,
    stored: Option<&Manifest>,
    say: Say<'_>,
) -> Result<Plan, Failure> {
    let plan = plan(study, options, stored, say);
    let usual = envoy_choice(options, stored);
    let of_plan = plan.iter().flat_map(Plan::envoys).map(|name| usual.naming(name).check());
    let envoys: Vec<Failure> =
        std::iter::once(usual.check()).chain(of_plan).filter_map(Result::err).map(Failure::from).collect();
    let mut problems: Vec<Failure> = plan.as_ref().err().into_iter().cloned().collect();
    problems.extend(thresholds::limits(&thresholds::set(stored, options.thresholds)).err());
    problems.extend(envoys);
    Failure::of_all(&problems).map_or(plan, Err)
}

/// Reads the plan of a study.
///
/// # Errors
/// When the study is not valid, with all its problems.
pub(crate) fn plan(
    study: &Study,
    options: &Options<'_>,
    stored: Option<&Manifest>,
    say: Say<'_>,
) -> Result<Plan, Failure> {
    let catalogue = library::catalogue()?;
    let mut file = study.file.clone();
    file.rounds = options.length.rounds.or(stored.map(|manifest| manifest.rounds)).or(file.rounds);
    file.seed = stored.map(|manifest| manifest.seed).or(options.seed).unwrap_or(file.seed);
    let configurations = configurations::of_study(&file, &study.folder);
    for note in configurations.notes() {
        say(Update::Note(&note));
    }
    let plan = Plan::with_configurations(&file, &study.positions, catalogue, configurations);
    let mut plan = plan.map_err(Failure::bad_input)?;
    if options.length.until.is_some() && plan.timeline.is_some() {
        let message = "--until sets a precision of CPU costs, which a timeline does not measure: use --rounds or --budget";
        return Err(Failure::bad_input(message));
    }
    if let Some(reduced) = options.smoke.then(|| plan.smoke()).flatten() {
        say(Update::Note(&reduced));
    }
    Ok(plan)
}

/// A study that has been started or resumed in its run folder.
struct StartedStudy {
    folder: RunFolder,
    manifest: Manifest,
    /// The rounds of earlier sessions.
    rounds: CompleteRounds,
}

/// Starts a study in its run folder.
fn start(
    requested: &RequestedLength,
    directory: &Path,
    text: &str,
    mut manifest: Manifest,
    rounds_of_file: u32,
) -> Result<StartedStudy, Failure> {
    manifest.set_length(&length(requested, rounds_of_file));
    let folder = RunFolder::begin(directory, text, &manifest)?;
    Ok(StartedStudy { folder, manifest, rounds: CompleteRounds::default() })
}

/// Resumes a study in its run folder, with its previous length or a new one.
fn resume(
    requested: &RequestedLength,
    directory: &Path,
    earlier: &Manifest,
    current: &Manifest,
    say: Say<'_>,
) -> Result<StartedStudy, Failure> {
    let (folder, rounds) = RunFolder::resume(directory, earlier, current)?;
    let measured = rounds.ended_s.len() as u32;
    let mut manifest = earlier.clone();
    manifest.thresholds.clone_from(&current.thresholds);
    manifest.set_length(&length_of_more(requested, earlier, &rounds)?);
    if measured < manifest.rounds {
        manifest.resumed_after_rounds.push(measured);
    } else {
        let has = counted(measured.into(), "round");
        say(Update::Note(&format!("the study is complete with {has}; `--rounds NUMBER` measures more")));
    }
    folder.write(&manifest)?;
    Ok(StartedStudy { folder, manifest, rounds })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    /// It comes between two phases of a command, while no other process runs that it could end.
    #[test]
    fn no_study_begins_after_an_interrupt() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::default();
        interrupt.flag().store(true, Ordering::Relaxed);
        let at = folder.path().join("out");
        let study = Box::new(Study::named("quick").unwrap());
        for place in [Place::New { study, folder: Some(&at), held: Held::Refused }, Place::Resumed(&at)] {
            let failure = complete(&place, &Options::default(), &interrupt, &|_| ()).err().unwrap();
            assert!(failure.is_interrupt() && !at.exists(), "{failure}");
            assert_eq!(failure.to_string(), "interrupted");
        }
    }

    #[test]
    fn a_short_form_is_begun_by_a_command_of_its_own() {
        for (is_smoke, command) in [(false, "study"), (true, "study --smoke")] {
            let study = Box::new(Study::named("quick").unwrap());
            let place = Place::New { study, folder: None, held: Held::Refused };
            assert_eq!(read(&place, is_smoke).unwrap().0.command.as_deref(), Some(command));
        }
    }

    #[test]
    fn a_study_that_fails_names_its_measurements_if_there_are_any() {
        let mut result = hoptax_result::sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        let mut said = |rounds: u32| {
            (result.plan.rounds_completed, result.plan.rounds_planned) = (rounds, 12);
            failed(&result, "Envoy ended", "runs/1".as_ref())
        };
        assert_eq!(said(0), "the study failed before its first round was complete: Envoy ended");
        assert_eq!(
            said(1),
            "the study failed after 1 of 12 rounds: Envoy ended\nthe measurements before that are in `runs/1`"
        );
    }

    #[test]
    fn an_interrupted_study_says_how_many_rounds_it_has() {
        let mut result = hoptax_result::sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        (result.plan.rounds_completed, result.plan.rounds_planned) = (3, 12);
        let failure = interrupted(&result);
        assert!(failure.is_interrupt());
        assert_eq!(failure.to_string(), "interrupted after 3 of 12 rounds");
        // As many rounds as fit into a time, of which 1,000 are the limit.
        (result.plan.budget_s, result.plan.rounds_planned) = (Some(20.0), 1_000);
        assert_eq!(interrupted(&result).to_string(), "interrupted after 3 rounds");
    }
}
