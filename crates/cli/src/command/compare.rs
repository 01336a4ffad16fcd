//! `hoptax compare`: measures subjects side by side, and decides if they differ.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_judge::precision::{percent, percent_text};
use hoptax_report::documents::Again;
use hoptax_session::compare::{Compared, ComparisonSettings, compare};
use hoptax_text::command_line::path_words;

use crate::arguments::shared::{DecisionArguments, RunArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// The margin of a comparison that states none.
const USUAL_MARGIN: &str = "2%";

#[derive(Debug, Args)]
#[command(after_help = "\
A subject is one proxy: functions of the catalogue (`hoptax functions`), an Envoy release or the
path of an Envoy binary, joined by `+`. `baseline` is the plain proxy. The path of a configuration
(.yaml, .yml or .json) takes the place of functions. Further parts are `flags=FLAGS` of Envoy,
`env=NAME=VALUE` and `workers=NUMBER`.

A URL is a server that already runs. For its CPU time and memory, add its processes as in
`--account`: `+pid=ID`, `+process=NAME`, `+cgroup=PATH` or `+unit=NAME`.

Study files are compared arm by arm: each arm of the first with that of the same name in the
others, under the loads of the first, in as many rounds.

Examples:
  hoptax compare 1.39.3+jwt 1.40.0+jwt --margin 1%      two releases of Envoy, with a function
  hoptax compare old.yaml new.yaml --until-decided 15m  two configurations, or two study files
  hoptax compare http://127.0.0.1:15001/+pid=4711 http://127.0.0.1:15002/+pid=4712

All subjects run side by side in one study, with a second copy of the first subject: the A/A arm.
The others are compared with the first. A difference is `equivalent` if it is certainly within the
margin, otherwise `different` if its 95 % interval excludes zero, and otherwise `undecided`.

The run folder holds the study file, its result and report, and comparison.json.

Exit codes:
  0    the comparison was measured, whatever it decides
  2    invalid input
  3    a requirement is missing, such as Envoy or memory
  4    the study is void
  130  interrupted; --resume continues the comparison")]
pub(crate) struct CompareArguments {
    /// The subjects; the others are compared with the first
    #[arg(value_name = "SUBJECT", required = true, num_args = 2..=8)]
    subjects: Vec<String>,
    /// Equivalence margin, as a percentage of the first subject
    #[arg(long, value_name = "PERCENT", default_value = USUAL_MARGIN, value_parser = percent)]
    margin: f64,
    #[command(flatten)]
    decision: DecisionArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Continue an interrupted or killed comparison in its run folder, with the same subjects and the same options
    ///
    /// Complete rounds are kept. --rounds is the new total [default: as before], and --until-decided the additional time.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "out")]
    resume: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments) -> Result<Code, Failure> {
    let CompareArguments { run, .. } = arguments;
    let (command, continuing) = (again(arguments), continuing(arguments));
    let settings = ComparisonSettings {
        subjects: &arguments.subjects,
        margin_share: arguments.margin,
        until_decided: arguments.decision.until_decided,
        rounds: run.rounds,
        folder: arguments.resume.as_deref().or(run.out.folder()),
        is_resumed: arguments.resume.is_some(),
        again: &continuing,
        options: run.measure.options(),
    };
    let interrupt = interrupt::listen()?;
    let Compared { comparison, folder } = progress::shown(|say| compare(&settings, &interrupt, say))?;
    print::document_or_json(run.json.file(), &comparison, || {
        let again = Again { command: &command, folder: &folder, missing: None };
        comparison.document(again).in_folder(&folder, "report.html")
    })?;
    Ok(Code::from(comparison.verdict()))
}

/// The command that measures the same subjects with the same options, without its length and its run folder.
fn again(arguments: &CompareArguments) -> String {
    let margin = Some(percent_text(arguments.margin)).filter(|margin| margin != USUAL_MARGIN);
    let margin = margin.map_or_else(String::new, |margin| format!(" --margin {margin}"));
    format!("hoptax compare {}{margin}{}", path_words(&arguments.subjects), arguments.run.measure.again())
}

/// The command that continues the comparison after an interrupt, without its run folder: the file of the result is not written yet.
fn continuing(arguments: &CompareArguments) -> String {
    again(arguments) + &arguments.run.json.again()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        compare: CompareArguments,
    }

    #[test]
    fn the_same_comparison_has_its_options_and_neither_its_length_nor_its_folder() {
        let again_of = |line: &str| again(&Line::try_parse_from(line.split(' ')).unwrap().compare);
        assert_eq!(again_of("compare jwt lua --rounds 4 --out runs/1"), "hoptax compare jwt lua");
        assert_eq!(
            again_of("compare jwt lua --margin 7% --envoy 1.39.3 --resume runs/1"),
            "hoptax compare jwt lua --margin 7% --envoy 1.39.3"
        );
        let given = "compare jwt lua --never-halt always --threshold steal=0.02 --threshold steal-fail=1";
        assert_eq!(again_of(given), format!("hoptax {given}"));
        assert_eq!(again_of("compare jwt lua --never-halt auto"), "hoptax compare jwt lua");
    }

    #[test]
    fn an_interrupted_comparison_continues_with_the_file_of_its_result() {
        let of = |line: &str| continuing(&Line::try_parse_from(line.split(' ')).unwrap().compare);
        assert_eq!(of("compare jwt lua --json a.json"), "hoptax compare jwt lua --json a.json");
        assert_eq!(of("compare jwt lua --json -"), "hoptax compare jwt lua --json -");
        assert_eq!(of("compare jwt lua"), "hoptax compare jwt lua");
    }
}
