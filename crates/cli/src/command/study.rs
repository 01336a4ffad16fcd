//! `hoptax study`: measures the cost of Envoy's functions.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use hoptax_judge::precision::Precision;
use hoptax_report::documents::{self, GivenStudy};
use hoptax_result::StudyResult;
use hoptax_run::runner::Ending;
use hoptax_session::sittings::{self, Combined};
use hoptax_session::{
    DryRun, EarlierSitting, Held, Measured, Options, Place, RequestedLength, Study, continued_by, decisions,
    dry_run, library, measure,
};

use crate::arguments::shared::{
    BudgetArguments, MeasureArguments, OutArguments, SeedArguments, StoredArguments,
};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax study list                           all built-in studies
  hoptax study mine.yaml --out results        a study file of your own
  hoptax study --resume runs/quick-1          continue a study after an interrupt

A run folder holds result.json, report.html, report.md, numbers.csv, slices.csv (timeline.csv of
a timeline), and for each arm Envoy's configuration and log. With an open loop, histograms.html
and histograms.csv have the response times of each arm, as counts and cumulative. If arms name
others with `compared_with`, decisions.md states which are different, equivalent within 2 %, or
undecided. Combined sittings go to NAME-sittings.json and NAME-sittings.md beside the run
folders.

The intervals of one result hold for its sitting only: on another day, the machine may behave
differently. Intervals that hold for the machine need at least two sittings, hours apart
(--again). Three or more are recommended.

Exit codes:
  0    the verdict is `sound` or `caution`
  2    invalid input, or a configuration that Envoy refuses; without --force, a folder with a result
  3    Envoy, memory or a folder is missing, or an error ended the study
  4    the result is void
  130  interrupted; --resume continues the study")]
#[expect(clippy::struct_excessive_bools, reason = "command-line flags are independent of each other")]
pub(crate) struct StudyArguments {
    /// Study file, or name of a built-in study; `list` lists these with their questions, durations and needs
    #[arg(value_name = "FILE|NAME", default_value = "quick", value_hint = ValueHint::FilePath)]
    study: String,
    #[command(flatten)]
    out: OutArguments,
    /// Number of rounds, instead of the study file's; a maximum with --budget or --until
    ///
    /// Each round starts all processes again. With --resume, the new total: `--resume runs/quick-1 --rounds 30` adds rounds to a
    /// study with fewer than 30.
    #[arg(long, value_name = "NUMBER", value_parser = values::rounds)]
    rounds: Option<u32>,
    #[command(flatten)]
    budget: BudgetArguments,
    /// Measure until nearly all CPU costs are known to within this percentage of their baseline's CPU time
    ///
    /// The study examines the widths of its intervals after 8, 10, 13, 17, ... rounds. It ends when 95 of 100 intervals are narrow
    /// enough, or when --rounds or --budget is reached. The intervals are slightly wider to compensate: their coverage remains 95 %.
    /// With `--until '1% or 20% of cost'`, intervals of large costs may be wider.
    #[arg(long, value_name = "PERCENT")]
    until: Option<Precision>,
    #[command(flatten)]
    seed: SeedArguments,
    /// Measure another sitting, then combine all sittings of this study on this machine in the same parent folder
    #[arg(long, conflicts_with = "resume")]
    again: bool,
    /// Combine existing results without measuring; the output goes to --out or beside the first result
    ///
    /// Example: `hoptax study --combine runs/quick-1 runs/quick-2`.
    #[arg(
        long,
        value_name = "DIR",
        num_args = 1..,
        value_hint = ValueHint::DirPath,
        conflicts_with_all = ["study", "envoy", "rounds", "budget", "until", "seed", "never_halt", "thresholds", "with_speeds", "resume", "again", "store", "dry_run"]
    )]
    combine: Vec<PathBuf>,
    #[command(flatten)]
    measure: MeasureArguments,
    /// Also measure the machine's speeds before the first round (about 12 s)
    ///
    /// The result stores them. `hoptax predict prices` does not use them yet.
    #[arg(long, conflicts_with = "resume")]
    with_speeds: bool,
    /// Continue an interrupted, killed or finished study after the last complete round in its run folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["study", "out", "seed"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    stored: StoredArguments,
    /// Run every part of the study for seconds, to see that everything starts; the numbers mean nothing
    ///
    /// One round with a short slice of each arm under each load. The result is named `NAME-smoke`, and its verdict does not
    /// determine the exit code.
    #[arg(long, conflicts_with_all = ["rounds", "budget", "until", "resume", "again", "combine", "store"])]
    smoke: bool,
    /// Print loads, arms, baselines, and the expected time and memory, without measuring
    #[arg(long)]
    dry_run: bool,
    /// Overwrite the result of another study; combine sittings even if they differ
    #[arg(long)]
    force: bool,
    /// Start even if the study probably needs more memory than is available
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &StudyArguments) -> Result<Code, Failure> {
    if arguments.study == "list" {
        return print::list(&library::list()?).map(|()| Code::Success);
    }
    if !arguments.combine.is_empty() {
        let (folders, out) = (&arguments.combine, arguments.out.folder());
        show_combined(sittings::combine_given(folders, out, arguments.force, &print::say)?)?;
        return Ok(Code::Success);
    }
    // The short form of a study means nothing later.
    let store = if arguments.smoke { None } else { arguments.stored.path()? };
    let accepts = |problem: &str| arguments.yes || (!arguments.dry_run && is_wanted(problem));
    let options = Options {
        length: RequestedLength {
            rounds: arguments.rounds,
            budget: arguments.budget.time,
            until: arguments.until,
        },
        seed: arguments.seed.given,
        store: store.as_deref(),
        smoke: arguments.smoke,
        with_speeds: arguments.with_speeds,
        earlier_sitting: if arguments.again { EarlierSitting::Latest } else { EarlierSitting::Nothing },
        accepts_memory: Some(&accepts),
        ..arguments.measure.options()
    };
    let place = match &arguments.resume {
        Some(folder) => Place::Resumed(folder),
        None => Place::New {
            study: Box::new(Study::named(&arguments.study)?),
            folder: arguments.out.folder(),
            held: Held::unless_forced(arguments.force),
        },
    };
    if arguments.dry_run {
        let DryRun { text, can_begin } = dry_run(&place, &options, &print::say)?;
        print::list(&text)?;
        return can_begin.map(|()| Code::Success);
    }
    let interrupt = interrupt::listen()?;
    let measured = progress::shown(|say| measure(&place, &options, &interrupt, say))?;
    if arguments.smoke && measured.is_complete() && !print::has_details() {
        let page = measured.folder.join("report.html");
        print::result(&given(arguments, None).of_short_form(page.display()))?;
    } else if measured.result.plan.rounds_completed > 0 {
        show(&measured.result, arguments, &measured.folder)?;
    }
    let combined = if arguments.again { measured.combined(&print::say)? } else { None };
    let code = ended(measured, arguments)?;
    show_combined(combined)?;
    Ok(code)
}

/// Reports how a study ended, with the command that continues an interrupted one.
fn ended(measured: Measured, arguments: &StudyArguments) -> Result<Code, Failure> {
    if matches!(measured.ending, Ending::Complete) && !measured.problems.is_empty() {
        // The problems have been printed.
        return Ok(Code::Environment);
    }
    let folder = measured.folder.clone();
    let result =
        measured.complete().map_err(|failure| continued_by(failure, &continuing(arguments), &folder))?;
    let code = Code::from(result.verdict);
    Ok(if arguments.smoke && code == Code::Void { Code::Success } else { code })
}

/// The study of a command line, and the run folder in which it can continue.
fn given(arguments: &StudyArguments, folder: Option<&Path>) -> GivenStudy {
    let MeasureArguments { envoy, awake, checks } = &arguments.measure;
    let speeds = if arguments.with_speeds { " --with-speeds" } else { "" };
    GivenStudy {
        // For a study that is continued, the study file in its folder.
        source: match &arguments.resume {
            Some(folder) => folder.join("study.yaml").display().to_string(),
            None => arguments.study.clone(),
        },
        folder: folder.map(|folder| folder.display().to_string()),
        options: envoy.again() + &checks.again() + &arguments.stored.again(),
        never_halt: awake.again(),
        of_new: arguments.seed.again() + speeds,
    }
}

/// The command that continues the study, without its run folder.
fn continuing(arguments: &StudyArguments) -> String {
    let GivenStudy { options, never_halt, .. } = given(arguments, None);
    format!("hoptax study{options}{never_halt}")
}

/// Prints a result, and the decisions about arms that its file compares by name.
fn show(result: &StudyResult, arguments: &StudyArguments, folder: &Path) -> Result<(), Failure> {
    decisions(result).as_ref().map_or(Ok(()), print::document)?;
    // The rounds of a short form are shorter than those of its study.
    let given = given(arguments, (!arguments.smoke).then_some(folder));
    print::document(&documents::given_study(result, &given).in_folder(folder, "report.html"))
}

/// Prints combined sittings.
fn show_combined(combined: Option<Combined>) -> Result<(), Failure> {
    let Some(Combined { result, document }) = combined else { return Ok(()) };
    print::document(&document)?;
    if let Some(caveat) = sittings::caveat(&result) {
        print::note(caveat);
    }
    Ok(())
}

/// Asks the user; without a terminal, the answer is no.
fn is_wanted(problem: &str) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    // A failed write is ignored: without an answer, the study is refused.
    let _ = write!(io::stderr(), "hoptax: {problem}; start anyway? [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        study: StudyArguments,
    }

    fn arguments(words: &[&str]) -> StudyArguments {
        Line::try_parse_from([&["study"][..], words].concat()).unwrap().study
    }

    #[test]
    fn a_study_is_measured_again_with_its_options_and_continues_with_those_but_the_seed() {
        let words = ["--envoy", "./en voy", "--threshold", "steal=0.02", "--never-halt", "never"];
        let arguments_given =
            arguments(&[&words[..], &["--seed", "7", "--rounds", "4", "--", "-ca.yaml"]].concat());
        let options = " --envoy './en voy' --threshold steal=0.02";
        let anew = format!("hoptax study ./-ca.yaml --seed 7{options} --never-halt never");
        assert_eq!(given(&arguments_given, None).anew(), anew);
        assert_eq!(continuing(&arguments_given), format!("hoptax study{options} --never-halt never"));
        assert_eq!(continuing(&arguments(&["quick"])), "hoptax study");
    }

    #[test]
    fn a_study_continues_with_its_store() {
        let continuing = |store: &str| continuing(&arguments(&["quick", store]));
        assert_eq!(continuing("--store"), "hoptax study --store");
        assert_eq!(continuing("--store=my runs"), "hoptax study '--store=my runs'");
    }
}
