//! `hoptax find`: finds the highest rate at which a server, or each of several arms of a study, holds objectives.

use std::path::Path;
use std::time::Duration;

use clap::{Arg, Args};
use hoptax_checks::objective::Objective;
use hoptax_checks::thresholds::Limits;
use hoptax_load::Arrivals;
use hoptax_load::options::ARRIVALS_OF_SEARCH;
use hoptax_report::documents::{self, GivenOptions, SearchedArms};
use hoptax_result::FindOutcome;
use hoptax_session::find::{
    Aim, ArmIds, ArmsOfStudy, Found, Goal, Options, Preset, TrafficOverrides, on_server, study_of,
};
use hoptax_session::load::Load;
use hoptax_session::{Study, thresholds};
use hoptax_text::command_line::{option, path_word};

use crate::arguments::shared::{EnvoyArguments, JsonArguments, ThresholdArguments};
use crate::arguments::traffic::{CHECKS, TrafficArguments};
use crate::arguments::{usual, values};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

const SEARCH: &str = "Search";

#[derive(Debug, Args)]
#[command(after_help = "\
A closed loop of one second shows where to begin. Trials at other rates follow until the interval of
the highest rate is narrow. Requests arrive independently of each other, as from many callers. A
trial is as long as its percentile needs, and its start is left out until the queue has settled. A
trial that the generator limited says nothing about the server and is repeated.

With --goal fastest-mode, the closed loop is longer and shows the modes of the response times: many
services respond fast up to some number of concurrent requests, and slowly beyond it. The search
also keeps 95 % of the requests in the fastest mode.

With --arms, the argument is a study file or the name of a built-in study. The processes of
these arms start as in the study, and the arms take turns, trial by trial. Six rounds follow,
each of which starts all processes again and searches briefly, for the ratio of each rate to
that of the first arm, with its interval.

Examples:
  hoptax find --slo 'p99<5ms' --slo 'errors<0.1%' http://127.0.0.1:8080/
  hoptax find --goal fastest-mode http://127.0.0.1:8080/
  hoptax find --slo 'p99<5ms' --slo 'errors<0.1%' --arms baseline,lua --dry-run quick

Exit codes:
  0    a rate was found, or the objectives hold at the highest rate
  1    the objectives do not hold at the lowest rate
  2    invalid arguments or study file
  3    a trial could not run: no connection, too few file descriptors, an Envoy that does not start,
       a server that ended; the result holds what was known by then
  4    no result: the generator was the limit, the time was too short, or a ratio is not known
  130  interrupted

docs/guide/find.md describes the method, the presets and the objectives.")]
#[command(
    arg = usual::help_all(),
    mut_arg("envoy", |envoy| envoy.requires("arms")),
    mut_args(beside_arms),
    override_usage = "hoptax find --slo <OBJECTIVE> [OPTIONS] <URL>...\n       hoptax find --goal <GOAL> [OPTIONS] <URL>...\n       hoptax find --slo <OBJECTIVE> --arms <ARMS> [OPTIONS] <STUDY>"
)]
pub(crate) struct FindArguments {
    /// Objective that must hold, for example `p99<5ms`; repeatable, and required unless --goal is given
    ///
    /// Metrics are those of `hoptax load --fail-on` that describe the server, with `<` or `<=`. Percentiles and `errors` count
    /// every scheduled request: with `p99<5ms`, at most 1 % may be later, fail, or never be sent.
    #[arg(long = "slo", value_name = "OBJECTIVE", required_unless_present = "goal", help_heading = CHECKS)]
    objectives: Vec<Objective>,
    /// The rate to find
    #[arg(long, value_name = "GOAL", value_enum, default_value_t = Goal::Objectives, help_heading = SEARCH)]
    goal: Goal,
    /// Find the rates of these arms of a study, and their ratios to the first: `baseline,lua`; the argument is then the study
    ///
    /// Arms have the names that `hoptax study --dry-run` lists. All trials have the requests, connections and arrivals of the first open
    /// loop of the study, or of its first load if it has none. Options that describe requests, connections or servers are refused. --envoy
    /// and --dry-run apply only to a search with --arms.
    #[arg(long, value_name = "ARMS", help_heading = SEARCH)]
    arms: Option<ArmIds>,
    /// Print the arms of the search and how long it takes, without starting anything
    #[arg(long, requires = "arms", help_heading = SEARCH)]
    dry_run: bool,
    #[command(flatten, next_help_heading = SEARCH)]
    envoy: EnvoyArguments,
    /// Find one rate for each objective, in one search [default: one rate at which all objectives hold]
    #[arg(long, help_heading = SEARCH)]
    each: bool,
    /// Then measure response times at ten rates up to the one that was found, and the knee of the curve
    ///
    /// Each rate is measured by six trials, which take turns. This takes about 90 s with the preset quick, and at least 9 min with
    /// careful, in addition to the search and its time limit.
    #[arg(long, help_heading = SEARCH)]
    sweep: bool,
    /// How narrow the interval of the rate should be
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Preset::Quick, help_heading = SEARCH)]
    preset: Preset,
    /// Highest rate [default: twice the rate of a closed loop]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    max_rate: Option<f64>,
    /// Lowest rate, at least 1 [default: a thousandth of the highest rate]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = SEARCH)]
    min_rate: Option<f64>,
    /// Time limit of the search [default: 5m for quick, 90m for careful; with --arms, for each arm]
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = SEARCH)]
    budget: Option<Duration>,
    /// Arrival process: `poisson` (independent callers), `uniform`, `jitter=10%` or `burst=8`
    #[arg(long, value_name = "ARRIVALS", default_value = ARRIVALS_OF_SEARCH, help_heading = SEARCH)]
    arrivals: Arrivals,
    #[command(flatten, next_help_heading = CHECKS)]
    checks: ThresholdArguments,
    #[command(flatten)]
    traffic: TrafficArguments,
    #[command(flatten, next_help_heading = SEARCH)]
    json: JsonArguments,
}

/// The options that apply to a search on arms, by their ids. The study states requests, connections and servers.
const WITH_ARMS: [&str; 15] = [
    "objectives",
    "arms",
    "dry_run",
    "envoy",
    "offline",
    "preset",
    "max_rate",
    "min_rate",
    "budget",
    "arrivals",
    "thresholds",
    "urls",
    "seed",
    "never_halt",
    "json",
];

/// An option, which is refused beside `--arms` unless it applies to such a search. The options that require `--arms` refuse it, too: clap
/// requires nothing that another option excludes, so a dry run would send requests.
fn beside_arms(option: Arg) -> Arg {
    let applies = WITH_ARMS.contains(&option.get_id().as_str());
    if applies { option } else { option.conflicts_with_all(["arms", "dry_run", "envoy"]) }
}

/// Runs the command.
pub(crate) fn run(arguments: &FindArguments) -> Result<Code, Failure> {
    let limits = thresholds::limits(&arguments.checks.thresholds)?;
    match &arguments.arms {
        Some(chosen) => on_arms(arguments, &chosen.0, &options(arguments, &limits)),
        None => search_server(arguments, &options(arguments, &limits)),
    }
}

fn options<'a>(arguments: &'a FindArguments, limits: &'a Limits) -> Options<'a> {
    Options {
        objectives: &arguments.objectives,
        preset: arguments.preset,
        min_rate: arguments.min_rate,
        max_rate: arguments.max_rate,
        budget: arguments.budget,
        limits,
        envoy: arguments.envoy.choice(),
        never_halt: arguments.traffic.awake.never_halt,
    }
}

/// Searches on a server.
fn search_server(arguments: &FindArguments, options: &Options<'_>) -> Result<Code, Failure> {
    let load = Load::from(&arguments.traffic);
    let aim = Aim {
        arrivals: arguments.arrivals.clone(),
        goal: arguments.goal,
        each: arguments.each,
        sweep: arguments.sweep,
    };
    let searched = progress::shown_until_interrupt(arguments.traffic.timeout, |interrupt, say| {
        on_server(&load, aim, options, interrupt, say)
    })?;
    let Found { result, failure } =
        searched.map_err(|failure| without_result(failure, arguments.json.file()))?;
    let of_both = arguments.traffic.again() + &arguments.checks.again();
    let given = GivenOptions { of_both: &of_both, of_itself: if arguments.sweep { " --sweep" } else { "" } };
    print::document_or_json(arguments.json.file(), &result, || documents::find_of(&result, given))?;
    failure.map_or_else(|| Ok(code(result.outcome())), Err)
}

/// Searches on the arms with these ids.
fn on_arms(arguments: &FindArguments, ids: &[String], options: &Options<'_>) -> Result<Code, Failure> {
    let source = study_of(&arguments.traffic.urls)?;
    let study = Study::named(source)?;
    let overrides =
        TrafficOverrides { seed: arguments.traffic.seed.given, arrivals: arguments.arrivals.clone() };
    let arms = ArmsOfStudy::new(study, ids, overrides, &print::say)?;
    if arguments.dry_run {
        print::result(&arms.outline(options)?)?;
        return arms.check(options, &print::say).map(|()| Code::Success);
    }
    let interrupt = interrupt::listen_until_result()?;
    let searched = progress::shown(|say| arms.search(options, &interrupt, say));
    let Found { result, failure } =
        searched.map_err(|failure| without_result(failure, arguments.json.file()))?;
    let again = again_on_arms(arguments, ids, source);
    print::document_or_json(arguments.json.file(), &result, || documents::find_arms_of(&result, &again))?;
    failure.map_or_else(|| Ok(code(result.outcome())), Err)
}

/// The failure of a search without a result. After an interrupt, it says that the file of the result is not written.
fn without_result(failure: Failure, json: Option<&Path>) -> Failure {
    match json {
        Some(file) if failure.is_interrupt() => {
            let file = file.display();
            failure.with(format!(" before the first trial: there is no result to write to `{file}`"))
        }
        _ => failure,
    }
}

/// The commands that search the same arms, without a time limit, and that measure their study.
fn again_on_arms(arguments: &FindArguments, ids: &[String], source: &str) -> SearchedArms {
    let FindArguments { objectives, preset, min_rate, max_rate, arrivals, envoy, checks, traffic, .. } =
        arguments;
    let objectives = objectives.iter().map(|one| option("--slo", Some(one)));
    let preset = Some(preset).filter(|preset| **preset != Preset::Quick);
    let arrivals = Some(arrivals.to_string()).filter(|arrivals| arrivals != ARRIVALS_OF_SEARCH);
    let once = [
        option("--arms", Some(ids.join(","))),
        values::chosen_option("--preset", preset),
        option("--min-rate", *min_rate),
        option("--max-rate", *max_rate),
        option("--arrivals", arrivals),
    ];
    let searched: String = objectives.chain(once).collect();
    let measured = envoy.again() + &traffic.again() + &checks.again();
    let source = path_word(Path::new(source));
    SearchedArms {
        search: format!("hoptax find{searched}{measured} {source}"),
        study: format!("hoptax study {source}{measured}"),
    }
}

/// The exit code of a search.
fn code(outcome: FindOutcome) -> Code {
    match outcome {
        FindOutcome::Found => Code::Success,
        FindOutcome::MinimumFailed => Code::ConditionFailed,
        FindOutcome::Unknown => Code::Void,
        FindOutcome::Interrupted => Code::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use hoptax_load::options::{PRESET, TIMEOUT};

    use super::*;
    use crate::command::{Command, parsed};

    #[test]
    fn options_of_requests_are_refused_beside_arms_and_those_of_the_search_are_not() {
        let refused = |more: &str| {
            let line = format!("hoptax find --slo p99<5ms --arms a,b quick {more}");
            parsed(line.split_whitespace()).err().map(|error| error.to_string())
        };
        for applies in [
            "--preset quick --json - --dry-run --budget 1m --min-rate 1 --max-rate 9 --never-halt never",
            "--details --quiet --no-color",
            "--seed 1 --arrivals uniform --envoy 1.40.0 --offline --threshold own-lag-us=1e9",
        ] {
            assert_eq!(refused(applies), None);
        }
        let error =
            refused("-c 16 --sweep --account pid=1 -H a:b --each --goal objectives --insecure").unwrap();
        for option in ["--connections", "--sweep", "--account", "--header", "--each", "--goal", "--insecure"]
        {
            assert!(error.lines().any(|line| line.trim_start().starts_with(option)), "{option}: {error}");
        }
        assert!(error.contains("tip: the study states requests"), "{error}");
    }

    #[test]
    fn an_interrupted_search_without_a_result_says_that_no_file_is_written() {
        let file = Some(Path::new("found.json"));
        let interrupted = without_result(Failure::interrupted(), file).to_string();
        let expected = "interrupted before the first trial: there is no result to write to `found.json`";
        assert_eq!(interrupted, expected);
        assert_eq!(without_result(Failure::interrupted(), None).to_string(), "interrupted");
        assert_eq!(without_result(Failure::environment("no server"), file).to_string(), "no server");
    }

    #[test]
    fn options_of_a_search_on_arms_are_refused_without_arms_whatever_stands_beside_them() {
        for of_arms in ["--dry-run", "--envoy 1.40.0"] {
            for other in ["", "-c 16", "--each", "--sweep", "--goal fastest-mode", "--insecure"] {
                let line = format!("hoptax find --slo p99<5ms {of_arms} {other} http://127.0.0.1/");
                assert!(parsed(line.split_whitespace()).is_err(), "{line}");
            }
        }
    }

    #[test]
    fn a_search_that_names_no_preset_has_the_usual_one() {
        let parsed = parsed(["hoptax", "find", "--slo", "p99<5ms", "http://127.0.0.1/"]).unwrap();
        let Command::Find(arguments) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!(arguments.preset.to_possible_value().unwrap().get_name(), PRESET);
        let usual = arguments.arrivals.to_string();
        assert_eq!((usual.as_str(), arguments.traffic.timeout), (ARRIVALS_OF_SEARCH, TIMEOUT));
    }

    #[test]
    fn the_same_search_on_arms_has_all_options_but_its_time_limit() {
        let again = |more: &str| {
            let line = format!("hoptax find --slo p99<5ms {more} my.yaml");
            let parsed = parsed(line.split_whitespace()).unwrap();
            let Command::Find(arguments) = parsed.command else { panic!("{parsed:?}") };
            let source = study_of(&arguments.traffic.urls).unwrap();
            again_on_arms(&arguments, &arguments.arms.as_ref().unwrap().0, source)
        };
        let SearchedArms { search, study } = again("--arms a,b --budget 1m --json -");
        assert_eq!(search, "hoptax find --slo 'p99<5ms' --arms a,b my.yaml");
        assert_eq!(study, "hoptax study my.yaml");
        let range = "--arms a,b --preset careful --min-rate 2 --max-rate 90.5 --arrivals burst=8";
        let measured = "--envoy 1.39.3 --offline --seed 7 --never-halt always --threshold steal=0.02";
        let SearchedArms { search, study } = again(&format!("{range} {measured}"));
        assert_eq!(search, format!("hoptax find --slo 'p99<5ms' {range} {measured} my.yaml"));
        assert_eq!(study, format!("hoptax study my.yaml {measured}"));
    }
}
