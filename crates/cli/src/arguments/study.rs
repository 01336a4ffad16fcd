//! Arguments of `hoptax study`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use hoptax_judge::precision::Precision;

use super::shared::MeasureArguments;
use super::values;

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
    pub(crate) study: String,
    /// Run folder for the results [default: runs/NAME-TIME]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Number of rounds, instead of the study file's; a maximum with --budget or --until
    ///
    /// Each round starts all processes again. With --resume, the new total: `--resume runs/quick-1 --rounds 30` adds rounds to a
    /// study with fewer than 30.
    #[arg(long, value_name = "NUMBER", value_parser = values::whole::<u32>(2..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Measuring time; the study runs as many complete rounds as fit, at least two
    ///
    /// With --resume, the additional time.
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub(crate) budget: Option<Duration>,
    /// Measure until nearly all CPU costs are known to within this percentage of their baseline's CPU time
    ///
    /// The study examines the widths of its intervals after 8, 10, 13, 17, ... rounds. It ends when 95 of 100 intervals are narrow
    /// enough, or when --rounds or --budget is reached. The intervals are slightly wider to compensate: their coverage remains 95 %.
    /// With `--until '1% or 20% of cost'`, intervals of large costs may be wider.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) until: Option<Precision>,
    /// Seed of all random orders, instead of the study file's
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Measure another sitting, then combine all sittings of this study on this machine in the same parent folder
    #[arg(long, conflicts_with = "resume")]
    pub(crate) again: bool,
    /// Combine existing results without measuring; the output goes to --out or beside the first result
    ///
    /// Example: `hoptax study --combine runs/quick-1 runs/quick-2`.
    #[arg(
        long,
        value_name = "DIR",
        num_args = 1..,
        value_hint = ValueHint::DirPath,
        conflicts_with_all = ["study", "envoy", "rounds", "budget", "until", "seed", "never_halt", "thresholds", "with_speeds", "resume", "again", "store"]
    )]
    pub(crate) combine: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) measure: MeasureArguments,
    /// Also measure the machine's speeds before the first round (about 12 s)
    ///
    /// The result stores them. `hoptax predict prices` does not use them yet.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) with_speeds: bool,
    /// Continue an interrupted, killed or finished study after the last complete round in its run folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["study", "out", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    /// Put the study into the store, each round when it is complete
    ///
    /// Without FILE, the store is that of `hoptax runs`. If the variable `HOPTAX_STORE` names a store, every study is put there.
    #[allow(clippy::option_option, reason = "the value of the option is optional, too")]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<Option<PathBuf>>,
    /// Run every part of the study for seconds, to see that all comes up; the numbers are of no use
    ///
    /// One round with a short slice of each arm under each load. The result is named `NAME-smoke`, and its verdict does not
    /// determine the exit code.
    #[arg(long, conflicts_with_all = ["rounds", "budget", "until", "resume", "again", "combine", "store"])]
    pub(crate) smoke: bool,
    /// Print loads, arms, baselines, and the expected time and memory, without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Overwrite the result of another study; combine sittings even if they differ
    #[arg(long)]
    pub(crate) force: bool,
    /// Start even if the study probably needs more memory than is available
    #[arg(long)]
    pub(crate) yes: bool,
}
