//! Arguments of `hoptax find`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use hoptax_checks::objective::Objective;
use hoptax_load::Arrivals;

use super::traffic::{CHECKS, TrafficArguments};
use super::values;

const SEARCH: &str = "Search";

#[derive(Debug, Args)]
#[command(after_help = "\
A closed loop of one second shows where to begin. Short trials then find the region, and trials of
a given total duration decide about the rates near the result, by the rules of MLRsearch. A trial
in which the generator was the limit says nothing about the server and is repeated.

Examples:
  hoptax find --slo 'p99<5ms' --slo 'errors<0.1%' http://127.0.0.1:8080/
  hoptax find --slo 'cpu<80%' --account process=envoy --preset careful --json found.json http://127.0.0.1:10000/
  hoptax find --slo 'errors<=0%' --slo 'errors<0.5%' --each --max-rate 50000 http://127.0.0.1:8080/

Exit codes:
  0    a rate was found, or the objectives hold at the highest rate
  1    the objectives do not hold at the lowest rate
  2    invalid arguments
  3    a trial could not run: no connection, too few file descriptors
  4    no result: the generator was the limit, or the time was too short
  130  interrupted

docs/find.md describes the method, the presets and the objectives.")]
pub(crate) struct FindArguments {
    /// Objective that must hold, for example `p99<5ms`; repeatable
    ///
    /// Metrics are those of `hoptax load --fail-on` that describe the server, with `<` or `<=`. Percentiles and `errors` count
    /// every scheduled request: with `p99<5ms`, at most 1 % may be later, fail, or never be sent.
    #[arg(long = "slo", value_name = "OBJECTIVE", required = true, help_heading = CHECKS)]
    pub(crate) objectives: Vec<Objective>,
    /// Find the rate of each objective by itself, in one search [default: one rate that holds all]
    #[arg(long, help_heading = SEARCH)]
    pub(crate) each: bool,
    /// Then measure response times at ten rates up to the one that was found, and the knee of the curve
    ///
    /// Each rate is measured by six full trials of the preset, which take turns. This takes 78 s with the preset quick, 9 min with
    /// careful and 61 min with rfc2544, in addition to the search and its time limit.
    #[arg(long, help_heading = SEARCH)]
    pub(crate) sweep: bool,
    /// How much evidence the result needs
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Preset::Quick, help_heading = SEARCH)]
    pub(crate) preset: Preset,
    /// Highest rate [default: twice the rate of a closed loop]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) max_rate: Option<f64>,
    /// Lowest rate, at least 1 [default: a thousandth of the highest rate]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    pub(crate) min_rate: Option<f64>,
    /// Time limit of the search [default: 5m for quick, 90m for careful, 3h for rfc2544]
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = SEARCH)]
    pub(crate) budget: Option<Duration>,
    /// Arrival process, as for `hoptax load`
    #[arg(long, value_name = "ARRIVALS", default_value = "uniform", help_heading = SEARCH)]
    pub(crate) arrivals: Arrivals,
    /// Set the threshold of a check, `NAME=VALUE`; repeatable
    ///
    /// Checks of the generator decide whether a trial counts. `hoptax checks --thresholds` lists names and defaults.
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = values::threshold, help_heading = CHECKS)]
    pub(crate) thresholds: Vec<(String, f64)>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,
    /// Write the result with all trials as JSON to a file; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SEARCH)]
    pub(crate) json: Option<PathBuf>,
}

/// How much evidence a result needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Within 2 %; most of 11 trials of 1 s decide about a rate
    Quick,
    /// Within 1 %; most of 41 trials of 8 s decide about a rate
    Careful,
    /// Within 1 %; one trial of 60 s decides about a rate, as in RFC 2544
    Rfc2544,
}

impl Preset {
    /// Its name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Careful => "careful",
            Self::Rfc2544 => "rfc2544",
        }
    }
}
