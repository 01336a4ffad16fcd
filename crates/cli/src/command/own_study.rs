//! Studies that other commands run, and reading their results.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hoptax_host::delegate::run_to_end;
use hoptax_result::{Loosened, StudyResult};
use hoptax_stats::OF_COST;

use crate::arguments::NeverHalt;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::print;

/// The result in a run folder.
const RESULT: &str = "result.json";

/// Upper limit of rounds with a time budget.
const MAX_ROUNDS: u32 = 1_000;

/// How long a study measures.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// This number of rounds.
    Rounds(u32),
    /// As many rounds as fit in this time.
    Budget(Duration),
    /// Until the intervals of CPU time decide: they reach at most this share of it to each side, or [`OF_COST`] of their own
    /// estimate. For at most the budget.
    Until { half_width_share: f64, budget: Duration },
}

/// The options of `hoptax study` that other commands pass on: the length (none: that of the study), the Envoy,
/// `--never-halt`, and the thresholds of checks that are set.
pub(super) fn options(
    length: Option<Length>,
    envoy: Option<&str>,
    never_halt: NeverHalt,
    thresholds: &[(String, f64)],
) -> Vec<String> {
    let mut options = Vec::new();
    let mut option = |name: &str, value: String| options.extend([name.to_owned(), value]);
    match length {
        None => {}
        Some(Length::Rounds(rounds)) => option("--rounds", rounds.to_string()),
        Some(Length::Budget(budget) | Length::Until { budget, .. }) => {
            option("--rounds", MAX_ROUNDS.to_string());
            option("--budget", format!("{}ms", budget.as_millis()));
        }
    }
    if let Some(Length::Until { half_width_share, .. }) = length {
        option("--until", format!("{}% or {}% of cost", 100.0 * half_width_share, 100.0 * OF_COST));
    }
    if let Some(envoy) = envoy {
        option("--envoy", envoy.to_owned());
    }
    option("--never-halt", never_halt.as_str().to_owned());
    for (name, value) in thresholds {
        option("--threshold", format!("{name}={value}"));
    }
    options
}

/// Writes a study to a temporary file in `folder`, at which its relative paths start.
///
/// # Errors
/// When the folder cannot be written to.
pub(super) fn write(text: &str, folder: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let failed = |error: std::io::Error| {
        Failure::environment(format!("cannot write a study file to `{}`: {error}", folder.display()))
    };
    let mut builder = tempfile::Builder::new();
    let file = builder.prefix(".hoptax-").suffix(".yaml").tempfile_in(folder).map_err(failed)?;
    fs::write(file.path(), text).map_err(failed)?;
    Ok(file)
}

/// Runs `hoptax study` with these arguments and the run folder `folder`; its progress is printed, its result is not.
/// Returns the result, also of a void study. The study has a process of its own because it starts children and pins itself to
/// processors.
///
/// # Errors
/// When the study cannot be started, fails or is interrupted.
pub(super) fn run<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<StudyResult, Failure> {
    run_in(arguments, ("--out", folder), interrupt)
}

/// As [`run`], continuing the study of the run folder.
///
/// # Errors
/// When the study cannot be continued, fails or is interrupted.
pub(super) fn resume<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<StudyResult, Failure> {
    run_in(arguments, ("--resume", folder), interrupt)
}

fn run_in<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    (flag, folder): (&str, &Path),
    interrupt: &Interrupt,
) -> Result<StudyResult, Failure> {
    interrupt.check()?;
    let program = env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let mut study = Command::new(program);
    study.arg("study").args(arguments).arg(flag).arg(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let status = run_to_end(study, interrupt.flag())
        .map_err(|error| Failure::environment(format!("cannot run the study: {error}")))?;
    interrupt.check()?;
    let is = |code: Code| status.code() == Some(code as i32);
    if is(Code::Interrupted) {
        return Err(Failure::interrupted());
    }
    if is(Code::BadInput) {
        return Err(Failure::bad_input("the study is not valid; its errors are printed above"));
    }
    if !is(Code::Success) && !is(Code::Void) {
        return Err(Failure::environment(format!("the study failed ({status}); its error is printed above")));
    }
    let result = read(&folder.join(RESULT))?;
    for loosened in &result.loosened {
        print::note(&note(loosened));
    }
    Ok(result)
}

/// What is said of a loosened threshold of the study, which the outputs of the commands do not state.
fn note(Loosened { name, value, default }: &Loosened) -> String {
    format!("the study has a loosened threshold: {name} {value} instead of {default}")
}

/// Reads the result of a study from its file or its run folder.
///
/// # Errors
/// As [`read`].
pub(super) fn read_run(path: &Path) -> Result<StudyResult, Failure> {
    if path.is_dir() { read(&path.join(RESULT)) } else { read(path) }
}

/// Reads a study result.
///
/// # Errors
/// When the file cannot be read, or is not the result of a study in a supported format.
pub(super) fn read(path: &Path) -> Result<StudyResult, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read `{}`: {error}", path.display())))?;
    parse(&format!("`{}`", path.display()), &text)
}

/// Reads a study result from its text; `what` names it in errors.
///
/// # Errors
/// When the text is not the result of a study in a supported format.
pub(super) fn parse(what: &str, text: &str) -> Result<StudyResult, Failure> {
    let result: StudyResult = serde_json::from_str(text)
        .map_err(|error| Failure::bad_input(format!("{what} is not a study result: {error}")))?;
    if StudyResult::READABLE.contains(&result.format.as_str()) {
        Ok(result)
    } else {
        let readable = StudyResult::READABLE.join("` and `");
        Err(Failure::bad_input(format!("{what} has format `{}`; supported are `{readable}`", result.format)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::values;

    #[test]
    fn a_study_until_decided_gets_the_precision_and_the_budget() {
        for half_width_share in [0.01, 0.0015, 0.5] {
            let until = Length::Until { half_width_share, budget: Duration::from_secs(90) };
            let options = options(Some(until), None, NeverHalt::Never, &[]);
            let [rounds, most, budget, time, until, precision, ..] = options.as_slice() else {
                panic!("{options:?}")
            };
            assert_eq!([rounds, most, budget, until], ["--rounds", "1000", "--budget", "--until"]);
            assert_eq!(values::duration(time), Ok(Duration::from_secs(90)));
            let found = values::precision(precision).unwrap();
            assert!((found.target_share - half_width_share).abs() < 1e-12, "{found:?}");
            assert!((found.of_cost_share - OF_COST).abs() < 1e-12, "{found:?}");
        }
    }

    /// It comes between two phases of a command, while no other process runs that it could end.
    #[test]
    fn no_study_starts_after_an_interrupt() {
        let folder = tempfile::tempdir().unwrap();
        for study in [run, resume] {
            let failure = study(&["quick"], folder.path(), &Interrupt::requested()).unwrap_err();
            assert_eq!(failure.code, Code::Interrupted, "{failure}");
        }
    }

    #[test]
    fn a_study_gets_every_threshold_that_is_set() {
        let set = [("steal".to_owned(), 0.02), ("rounds".to_owned(), 4.0)];
        let options = options(None, None, NeverHalt::Never, &set);
        let expected = ["--never-halt", "never", "--threshold", "steal=0.02", "--threshold", "rounds=4"];
        assert_eq!(options, expected);
        let loosened = Loosened { name: "steal".to_owned(), default: 0.005, value: 0.02 };
        assert!(note(&loosened).ends_with("steal 0.02 instead of 0.005"));
    }
}
