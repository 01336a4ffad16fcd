//! `hoptax gate`: fails if a candidate exceeds limits, measured side by side with what it would replace, or against stored runs.

mod stored;

use std::env;
use std::fs;
use std::path::{self, Path, PathBuf};

use hoptax_judge::gate::{Candidate, check_limits, judge, side_by_side};
use hoptax_plan::file;
use hoptax_report::render::markdown;
use hoptax_report::{documents, junit, sarif};
use hoptax_result::{CostMeasure, GateResult, Verdict};
use hoptax_session::{Asked, Interrupt, Options, Place, StudyText, complete, library, run_folder_path};
use hoptax_stats::half_width_for_limit;

use crate::arguments::GateArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use crate::progress::StudyOnTerminal;

/// Rounds if neither the arguments nor the study file state them.
const ROUNDS: u32 = 12;

/// Runs the command.
pub(crate) fn run(arguments: &GateArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let (folder, gate) = match (&arguments.candidate, &arguments.reference) {
        (Some(candidate), _) => by_candidate(arguments, candidate, &interrupt)?,
        (None, Some(label)) => stored::by_reference(arguments, label, &interrupt)?,
        (None, None) => return Err(Failure::bad_input("state what is judged: --candidate or --reference")),
    };
    print::write_json(Some(&folder.join("gate.json")), &gate)?;
    write_reports(arguments, &gate)?;
    let page = folder.join("report.html").display().to_string();
    print::document_or_json(arguments.json.file(), &gate, || documents::gate(&gate).with_page(page))?;
    Ok(code(&gate))
}

/// Measures the study with and without the candidate, side by side. Returns the run folder and the gate.
fn by_candidate(
    arguments: &GateArguments,
    candidate: &Candidate,
    interrupt: &Interrupt,
) -> Result<(PathBuf, GateResult), Failure> {
    let (name, text) = library::read(&arguments.study)?;
    let (given, _) = file::read(&name, &text).map_err(Failure::bad_input)?;
    check_limits(&given, &arguments.fail_on).map_err(Failure::bad_input)?;
    let absolute = |config: &str| {
        path::absolute(config).map_or_else(|_| config.to_owned(), |path| path.display().to_string())
    };
    let candidate = candidate.clone().with_absolute_path(absolute);
    let side_by_side = side_by_side(&given, &candidate).map_err(Failure::bad_input)?;
    if !side_by_side.unchanged.is_empty() {
        let arms = side_by_side.unchanged.join("`, `");
        print::note(&format!("not measured, because the candidate does not change them: `{arms}`"));
    }
    // Relative paths in a study file start at its folder; a built-in study has none.
    let is_built_in = name != arguments.study;
    let folder_of_study = if is_built_in { env::temp_dir() } else { library::folder(&name) };
    // JSON is YAML.
    let text = serde_json::to_string_pretty(&side_by_side.file).map_err(Failure::environment)?;
    let folder = run_folder_path(arguments.out.as_deref(), &side_by_side.file.name);
    let asked = asked(arguments, given.rounds, side_by_side.comparisons(&arguments.fail_on))?;
    let options = Options { asked, ..options(arguments) };
    let text = StudyText { name, text, folder: folder_of_study };
    let place = Place::New { text, folder: Some(&folder), force: false };
    let terminal = StudyOnTerminal::default();
    let result = complete(&place, &options, interrupt, &|update| terminal.show(update))?;
    let gate = judge(&result, (&candidate, &side_by_side), &arguments.fail_on);
    Ok((folder, gate))
}

/// How the study is measured, but for its length.
fn options(arguments: &GateArguments) -> Options<'_> {
    Options {
        envoy: arguments.measure.envoy.as_deref(),
        never_halt: arguments.measure.never_halt.into(),
        thresholds: &arguments.measure.thresholds,
        ..Options::default()
    }
}

fn code(gate: &GateResult) -> Code {
    if !gate.answer_differences.is_empty() {
        // An answer needs no interval, so it counts however the measurement went.
        Code::ConditionFailed
    } else if gate.verdict == Verdict::Void || gate.is_unknown() {
        Code::Void
    } else if gate.has_failed() {
        Code::ConditionFailed
    } else {
        Code::Success
    }
}

/// How long the study measures, given the number of rounds of its file.
fn asked(
    arguments: &GateArguments,
    rounds_of_file: Option<u32>,
    comparisons: usize,
) -> Result<Asked, Failure> {
    let Some(budget) = arguments.until_decided else {
        let rounds = arguments.rounds.or(rounds_of_file).unwrap_or(ROUNDS);
        return Ok(Asked { rounds: Some(rounds), ..Asked::default() });
    };
    let of_cpu = arguments.fail_on.iter().filter(|limit| limit.measure == CostMeasure::CpuUs);
    let smallest = of_cpu.map(|limit| limit.share.abs()).fold(f64::INFINITY, f64::min);
    let half_width_share = half_width_for_limit(smallest, comparisons).ok_or_else(|| {
        Failure::bad_input(
            "`--until-decided` measures until CPU time is decided: add a limit such as `--fail-on 'cpu>+3%'`, and none of 0 %",
        )
    })?;
    Ok(Asked::until_decided(half_width_share, budget))
}

fn write_reports(arguments: &GateArguments, gate: &GateResult) -> Result<(), Failure> {
    let write = |path: &Path, text: String| {
        fs::write(path, text)
            .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))
    };
    if let Some(path) = &arguments.markdown {
        write(path, markdown::text(&documents::gate(gate)))?;
    }
    if let Some(path) = &arguments.junit {
        write(path, junit::gate(gate).map_err(Failure::environment)?)?;
    }
    if let Some(path) = &arguments.sarif {
        let report = sarif::gate(gate, &arguments.study);
        write(path, serde_json::to_string_pretty(&report).map_err(Failure::environment)? + "\n")?;
    }
    Ok(())
}
