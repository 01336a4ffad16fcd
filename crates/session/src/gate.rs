//! Judges the changes that a candidate makes by limits: measured side by side with its reference, or against stored runs.

mod stored;

use std::path::{self, Path, PathBuf};
use std::time::Duration;

use hoptax_judge::gate::{Candidate, Limit, check_limits, judge, side_by_side};
use hoptax_result::{CostMeasure, GateResult};
use hoptax_stats::half_width_for_limit;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::length::RequestedLength;
use crate::measure::{Options, Place, complete};
use crate::outputs::write_json;
use crate::run_folder::{self, Held};
use crate::study::Study;
use crate::update::{Say, Update};

/// The gate in a run folder.
const FILE: &str = "gate.json";
/// The command that makes or measures the study.
const COMMAND: &str = "gate";
/// Number of rounds if neither the caller nor the study file states one.
const ROUNDS: u32 = 12;

/// Settings of a gate: the study, the reference, and the limits.
#[derive(Clone, Copy)]
pub struct GateSettings<'a> {
    /// The study: name of a built-in one, or path of a study file.
    pub study: &'a str,
    /// Reference that the study is judged against.
    pub against: Against<'a>,
    /// The changes that must not be exceeded.
    pub limits: &'a [Limit],
    /// Number of rounds; none for the number of the study file.
    pub rounds: Option<u32>,
    /// The longest time to measure until the limits of CPU time are decided, instead of rounds.
    pub until_decided: Option<Duration>,
    /// The run folder; none for a new one, named after the study and the time.
    pub folder: Option<&'a Path>,
    /// Options of the study, except its length.
    pub options: Options<'a>,
}

/// Reference that a study is judged against.
#[derive(Clone, Copy, Debug)]
pub enum Against<'a> {
    /// The study without this candidate.
    Candidate(&'a Candidate),
    /// Stored runs of the study.
    Stored {
        /// Their label.
        label: &'a str,
        /// The store, which also receives the new run; none for the default store.
        store: Option<&'a Path>,
    },
}

/// A finished judgement and its run folder.
#[derive(Debug)]
pub struct Gated {
    /// The judgement, which is also in the run folder.
    pub gate: GateResult,
    /// The run folder.
    pub folder: PathBuf,
}

/// Measures a study and judges it.
///
/// # Errors
/// When the study or its reference is not valid, and when the study cannot begin, fails or is interrupted.
pub fn measure(settings: &GateSettings<'_>, interrupt: &Interrupt, say: Say<'_>) -> Result<Gated, Failure> {
    let gated = match settings.against {
        Against::Candidate(candidate) => by_candidate(settings, candidate, interrupt, say),
        Against::Stored { label, store } => stored::by_reference(settings, label, store, interrupt, say),
    };
    let gated = gated.map_err(|failure| {
        if failure.is_interrupt() {
            failure.with("; limits are judged only when `hoptax gate` is complete")
        } else {
            failure
        }
    })?;
    write_json(&gated.folder.join(FILE), &gated.gate)?;
    Ok(gated)
}

/// Measures the study with and without the candidate, side by side.
fn by_candidate(
    settings: &GateSettings<'_>,
    candidate: &Candidate,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Gated, Failure> {
    let Study { file: given, folder: of_study, .. } = Study::named(settings.study)?;
    check_limits(&given, settings.limits).map_err(Failure::bad_input)?;
    let absolute = |config: &str| {
        path::absolute(config).map_or_else(|_| config.to_owned(), |path| path.display().to_string())
    };
    let candidate = candidate.clone().with_absolute_path(absolute);
    let side_by_side = side_by_side(&given, &candidate).map_err(Failure::bad_input)?;
    if !side_by_side.unchanged.is_empty() {
        let arms = side_by_side.unchanged.join("`, `");
        say(Update::Note(&format!("not measured, because the candidate does not change them: `{arms}`")));
    }
    let study = Study::made(side_by_side.file.clone(), COMMAND, of_study)?;
    let folder = run_folder::path_of(settings.folder, &side_by_side.file.name);
    let length = length(settings, given.rounds, side_by_side.comparisons(settings.limits))?;
    let place = Place::New { study: Box::new(study), folder: Some(&folder), held: Held::Refused };
    let result = complete(&place, &Options { length, ..settings.options }, interrupt, say)?;
    let gate = judge(&result, &candidate, &side_by_side, settings.limits);
    Ok(Gated { gate, folder })
}

/// Returns the length of the study, given the number of rounds of its file.
fn length(
    settings: &GateSettings<'_>,
    rounds_of_file: Option<u32>,
    comparisons: usize,
) -> Result<RequestedLength, Failure> {
    let Some(budget) = settings.until_decided else {
        let rounds = settings.rounds.or(rounds_of_file).unwrap_or(ROUNDS);
        return Ok(RequestedLength { rounds: Some(rounds), ..RequestedLength::default() });
    };
    let of_cpu = settings.limits.iter().filter(|limit| limit.measure == CostMeasure::CpuUs);
    let smallest = of_cpu.map(|limit| limit.share.abs()).fold(f64::INFINITY, f64::min);
    let half_width_share = half_width_for_limit(smallest, comparisons).ok_or_else(|| {
        Failure::bad_input(
            "`--until-decided` measures until CPU time is decided: add a limit such as `--fail-on 'cpu>+3%'`, and remove limits of 0 %",
        )
    })?;
    Ok(RequestedLength::until_decided(half_width_share, budget))
}
