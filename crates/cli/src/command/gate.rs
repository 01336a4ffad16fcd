//! `hoptax gate`: fails if a candidate exceeds limits, measured side by side with its reference, or against stored runs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use hoptax_judge::gate::{Candidate, Limit};
use hoptax_report::render::markdown;
use hoptax_report::{documents, junit, sarif};
use hoptax_result::{GateResult, Verdict};
use hoptax_session::gate::{Against, GateSettings, Gated, measure};
use hoptax_text::command_line::{option, path_option, path_word};

use crate::arguments::shared::{DecisionArguments, RunArguments};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(
    override_usage = "hoptax gate --candidate <envoy=VERSION|config=FILE> --fail-on <LIMIT> [OPTIONS] <STUDY>\n       hoptax gate --reference <LABEL> --fail-on <LIMIT> [OPTIONS] <STUDY>",
    after_help = "\
Every arm of the study runs twice, as it is (the reference) and with the candidate, side by side.
The first arm runs a third time as it is: the A/A arm. Arms without a proxy, and those that name
an Envoy of their own, are left out.

With --reference, the study runs as it is, with --envoy as the candidate, and is compared with
stored runs of the same study on this kind of machine that have a label. The interval then
includes how much the reference differs from run to run, so it is wider, and needs at least two
runs, better five, hours apart. The new run is stored too.

A limit is MEASURE>+PERCENT or MEASURE<-PERCENT, the largest change from the reference.
Measures:
  cpu                    CPU time per request of all proxies
  p50, p90, p99          response time under the first open loop of the study
  quiet-p99              the same while nobody waited for a processor for more than 1 % of the time
  rate                   maximum rate
  memory                 resident memory of all proxies
  memory-per-connection  resident memory per connection

A limit fails only if the whole 95 % interval of the change lies beyond it. The intervals of all
limits hold together, so more limits and arms do not fail more often by chance. If the limit
lies within the interval, it is undecided: the output states how much longer it takes.

Examples:
  hoptax gate quick --candidate envoy=1.41.0 --fail-on 'cpu>+3%'
  hoptax gate edge.yaml --candidate config=new.yaml --fail-on 'cpu>+2%' --until-decided 15m
  hoptax gate edge.yaml --reference nightly --fail-on 'cpu>+10%' --fail-on 'p99>+20%'

The run folder holds the study file, its result and report, and gate.json.

Exit codes:
  0    no limit is shown to be exceeded; limits may be undecided or unknown
  1    a limit is exceeded, or the candidate responds differently from the reference
  2    invalid input
  3    a requirement is missing, such as Envoy or memory
  4    the study is void, or no limit can be judged
  130  interrupted: no limit is judged"
)]
pub(crate) struct GateArguments {
    /// The study: name of a built-in study, or path of a study file
    #[arg(value_name = "STUDY", value_hint = ValueHint::FilePath)]
    study: String,
    /// Envoy (`envoy=VERSION|PATH`) or configuration (`config=FILE`) that replaces the one of the study
    #[arg(long, value_name = "envoy=VERSION|config=FILE", required_unless_present = "reference")]
    candidate: Option<Candidate>,
    /// Compare the study as it is with the stored runs that have this label
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["candidate", "until_decided"])]
    reference: Option<String>,
    /// Store with the reference runs, which also gets the new run [default: that of `hoptax runs`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "reference", conflicts_with_all = ["candidate", "until_decided"])]
    store: Option<PathBuf>,
    /// A change that the candidate must not exceed, such as `cpu>+3%`; repeatable
    #[arg(long, value_name = "LIMIT", required = true)]
    fail_on: Vec<Limit>,
    #[command(flatten)]
    decision: DecisionArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Write the outcome as Markdown to a file, for a job summary
    #[arg(long, value_name = "FILE", value_parser = values::named_file, value_hint = ValueHint::FilePath)]
    markdown: Option<PathBuf>,
    /// Write the outcome as JUnit XML to a file, one test case for each limit of each arm
    #[arg(long, value_name = "FILE", value_parser = values::named_file, value_hint = ValueHint::FilePath)]
    junit: Option<PathBuf>,
    /// Write the limits that did not pass as SARIF to a file
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath)]
    sarif: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &GateArguments) -> Result<Code, Failure> {
    let GateArguments { run, .. } = arguments;
    let against = match (&arguments.candidate, &arguments.reference) {
        (Some(candidate), _) => Against::Candidate(candidate),
        (None, Some(label)) => Against::Stored { label, store: arguments.store.as_deref() },
        (None, None) => {
            return Err(Failure::bad_input(
                "give --candidate or --reference: one of them says what is judged",
            ));
        }
    };
    let settings = GateSettings {
        study: &arguments.study,
        against,
        limits: &arguments.fail_on,
        rounds: run.rounds,
        until_decided: arguments.decision.until_decided,
        folder: run.out.folder(),
        options: run.measure.options(),
    };
    let interrupt = interrupt::listen()?;
    let Gated { gate, folder } = progress::shown(|say| measure(&settings, &interrupt, say))?;
    write_reports(arguments, &gate)?;
    print::document_or_json(run.json.file(), &gate, || {
        documents::gate_of(&gate, &again(arguments)).in_folder(&folder, "report.html")
    })?;
    Ok(code(&gate))
}

/// The command that judges the same, without its length, its run folder and its reports.
fn again(arguments: &GateArguments) -> String {
    let once = [
        option("--candidate", arguments.candidate.as_ref().map(Candidate::as_str)),
        option("--reference", arguments.reference.as_ref()),
        path_option("--store", arguments.store.as_ref()),
    ];
    let limits = arguments.fail_on.iter().map(|limit| option("--fail-on", Some(limit)));
    let options: String = once.into_iter().chain(limits).collect();
    let study = path_word(Path::new(&arguments.study));
    format!("hoptax gate {study}{options}{}", arguments.run.measure.again())
}

fn code(gate: &GateResult) -> Code {
    if !gate.answer_differences.is_empty() {
        // An answer needs no interval, so it counts even if the measurement is void.
        Code::ConditionFailed
    } else if gate.verdict == Verdict::Void || gate.is_unknown() {
        Code::Void
    } else if gate.has_failed() {
        Code::ConditionFailed
    } else {
        Code::Success
    }
}

fn write_reports(arguments: &GateArguments, gate: &GateResult) -> Result<(), Failure> {
    if let Some(path) = &arguments.markdown {
        print::write_file(path, &markdown::text(&documents::gate(gate)))?;
    }
    if let Some(path) = &arguments.junit {
        print::write_file(path, &junit::gate(gate).map_err(Failure::environment)?)?;
    }
    if let Some(path) = &arguments.sarif {
        print::write_value(path, &sarif::gate(gate, &arguments.study))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::{Arguments, Command, parsed};

    #[test]
    fn the_same_gate_has_all_options_but_its_length_its_folder_and_its_reports() {
        let again_of = |words: &[&str]| {
            let parsed = parsed(["hoptax", "gate"].iter().chain(words).copied()).unwrap();
            let Command::Gate(arguments) = parsed.command else { panic!("{parsed:?}") };
            again(&arguments)
        };
        let limits = ["--fail-on", "cpu>+3%", "--fail-on", "p99>+9%"];
        let given = ["my edge.yaml", "--candidate", "envoy=1.41.0"];
        let measured = ["--envoy", "1.39.3", "--never-halt", "always", "--threshold", "steal=0.02"];
        let length = ["--rounds", "4", "--out", "runs/1", "--junit", "gate.xml"];
        let options = "--candidate envoy=1.41.0 --fail-on 'cpu>+3%' --fail-on 'p99>+9%'";
        assert_eq!(
            again_of(&[&given[..], &limits, &measured, &length].concat()),
            format!("hoptax gate 'my edge.yaml' {options} {}", measured.join(" "))
        );
        let stored = ["edge.yaml", "--reference", "nightly", "--store", "my.db", "--fail-on", "cpu>+3%"];
        let expected = "hoptax gate edge.yaml --reference nightly --store my.db --fail-on 'cpu>+3%'";
        assert_eq!(again_of(&stored), expected);
    }

    #[test]
    fn a_store_is_that_of_a_reference_alone() {
        let error = |options: &[&str]| {
            let words = ["hoptax", "gate", "edge.yaml", "--fail-on", "cpu>+3%", "--store", "my.db"];
            parsed(words.iter().chain(options).copied()).err().map(|error| error.to_string())
        };
        assert_eq!(error(&["--reference", "nightly"]), None);
        assert!(error(&[]).unwrap().contains("--reference"));
        let beside = error(&["--candidate", "envoy=1.41.0"]);
        assert!(beside.is_some_and(|error| error.contains("cannot be used with")));
    }

    #[test]
    fn the_help_names_the_measures_that_can_be_limited() {
        let command = Arguments::command();
        let help = command.find_subcommand("gate").unwrap().get_after_help().unwrap().to_string();
        let (_, behind) = help.split_once("\nMeasures:\n").unwrap();
        let (lines, _) = behind.split_once("\n\n").unwrap();
        let named = lines.lines().filter_map(|line| line.trim_start().split_once("  "));
        let named: Vec<&str> = named.flat_map(|(names, _)| names.split(", ")).collect();
        assert_eq!(named, Limit::measure_names());
    }
}
