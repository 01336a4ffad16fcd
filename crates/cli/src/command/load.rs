//! `hoptax load`: sends load to a server and records the outcome of every request.

mod agents;
mod pods;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args, ValueHint};
use hoptax_checks::fail_on::Condition;
use hoptax_load::options::ARRIVALS;
use hoptax_load::trial::LiveLine;
use hoptax_load::{Pace, Think, WhenBusy, WhenLate};
use hoptax_report::documents::{self, GivenOptions};
use hoptax_report::openmetrics;
use hoptax_result::{Agents, LoadResult};
use hoptax_session::Interrupt;
use hoptax_session::load::{ArrivalsOf, Files, Lines, Schedule, Sending, send};
use hoptax_session::thresholds;
use hoptax_text::command_line::{duration_word, option, path_option};

use self::pods::AgentPodArguments;
use crate::arguments::shared::{JsonArguments, ThresholdArguments};
use crate::arguments::traffic::{CHECKS, CONNECTIONS, TrafficArguments};
use crate::arguments::{usual, values};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Headings of the help.
const SCHEDULE: &str = "Schedule";
const OUTPUT: &str = "Output";
const AGENTS: &str = "Agents";

/// The share of failed requests above which a load is void, unless the user states another.
const USUAL_ERROR_SHARE: f64 = 0.001;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load http://127.0.0.1:8080/                  as fast as possible (closed loop)
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/   1,000 requests per second (open loop)
  hoptax load -q 1000 --fail-on 'p99>5ms' --json result.json http://127.0.0.1:8080/

Exit codes:
  0    the result is not void, and no condition of --fail-on holds or is unknown
  1    a condition of --fail-on holds or is unknown
  2    invalid arguments
  3    the load could not run: no connection, a full disk, too few file descriptors; with agents
       also if one is lost: the result has the shares of the others
  4    the result is void
  130  interrupted

A load of several requests (--requests, several URLs) has counts and response times of each by name:
the first screen names the slowest if that is certain, and --details prints all.

Checks decide whether the result is valid. They examine the load generator too (`hoptax trust
checks`). docs/guide/load.md has more examples; docs/reference/load.md describes conditions,
metrics, and early ends.")]
#[command(arg = usual::help_all(), group = ArgGroup::new("senders"))]
pub(crate) struct LoadArguments {
    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,
    /// Requests per second, at most 10,000,000; without a rate, a closed loop sends as fast as possible
    #[arg(short = 'q', long, value_name = "RATE", value_parser = values::rate, help_heading = SCHEDULE)]
    rate: Option<f64>,
    /// Rates over time instead of one rate: `RATE@LENGTH` or `FROM:TO@LENGTH`, separated by commas
    ///
    /// Example: `0:1000@10s,1000:5000@60s` ramps up to 1,000/s in 10 s and then to 5,000/s in a minute. Each stage has its own
    /// result.
    #[arg(long, value_name = "STAGES", conflicts_with_all = ["rate", "duration", "warmup"], help_heading = SCHEDULE)]
    stages: Option<Pace>,
    /// Think time between a response and the next request of a connection, in a closed loop: `40ms`, or `exp:40ms`
    ///
    /// `exp:MEAN` draws exponentially distributed times.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "stages"], help_heading = SCHEDULE)]
    think: Option<Think>,
    /// If all connections are busy: `wait`, `queue=100` (at most 100 requests wait, limit 1,000,000) or `skip`
    ///
    /// The wait is part of the response time.
    #[arg(long, value_name = "MODE", default_value_t = WhenBusy::default(), help_heading = SCHEDULE)]
    when_busy: WhenBusy,
    /// If the generator itself is late: `send`, or `skip` requests that are more than 10 ms late
    #[arg(long, value_name = "MODE", default_value_t = WhenLate::default(), help_heading = SCHEDULE)]
    when_late: WhenLate,
    /// Open the connections evenly over this time, before the warm-up [default: all at once]
    ///
    /// Requests start when all connections are open.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = CONNECTIONS)]
    ramp_up: Option<Duration>,
    /// Length of the recording, for example `30s` or `2m` [default: 10s, or the length of the trace or stages]
    #[arg(short, long, value_parser = values::duration, help_heading = SCHEDULE)]
    duration: Option<Duration>,
    /// End after recording this many requests, unless --duration ends earlier; warm-up requests do not count
    #[arg(short = 'n', long = "count", value_name = "NUMBER", conflicts_with = "stages", value_parser = values::whole::<u64>(1..), help_heading = SCHEDULE)]
    count: Option<u64>,
    /// Length of the warm-up, which is not recorded [default: 1s, or 0s with a trace or stages]
    #[arg(long, value_name = "DURATION", value_parser = values::duration_or_none, help_heading = SCHEDULE)]
    warmup: Option<Duration>,
    /// Arrival process: `uniform`, `poisson`, `jitter=10%`, `burst=8` or `trace=FILE`
    ///
    /// `uniform` sends at equal intervals. `poisson` has exponential intervals, as independent users cause them. `jitter=10%`
    /// moves each uniform arrival by up to 10 % of an interval. `burst=8` sends eight requests at once. `trace=FILE` reads send
    /// times since the start, one per line such as `1.5ms`, and replaces --rate.
    #[arg(long, value_name = "ARRIVALS", default_value = ARRIVALS, help_heading = SCHEDULE)]
    arrivals: ArrivalsOf,
    /// Maximum share of sent requests that fail, time out or do not finish, 0 to 1; above it, the result is void
    #[arg(long, value_name = "SHARE", default_value_t = USUAL_ERROR_SHARE, value_parser = values::share, help_heading = CHECKS)]
    max_error_share: f64,
    /// Send the load from these agents (`hoptax lab agent`): `HOST:PORT`, separated by commas
    ///
    /// Together, the agents send the schedule of one generator and start at one instant. --rate, --connections and --count are
    /// totals; --workers is for each agent. Options that name files or addresses of this machine are refused.
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', value_parser = values::agent, group = "senders", conflicts_with = "every", help_heading = AGENTS)]
    agents: Vec<String>,
    /// File with the token of the agents (`hoptax lab agent --token-file`)
    #[arg(long, value_name = "FILE", requires = "agents", conflicts_with_all = ["agent_pods", "every"], value_hint = ValueHint::FilePath, help_heading = AGENTS)]
    agents_token_file: Option<PathBuf>,
    /// Minimum number of agents; those that connect share the load [default: all]
    #[arg(long, value_name = "NUMBER", requires = "senders", value_parser = values::whole::<u32>(1..), help_heading = AGENTS)]
    least_agents: Option<u32>,
    #[command(flatten, next_help_heading = AGENTS)]
    of_pods: AgentPodArguments,
    #[command(flatten, next_help_heading = CHECKS)]
    checks: ThresholdArguments,
    /// Additional percentiles beside p50, p90, p99 and p99.9: `95,99.99`
    #[arg(long, value_name = "PERCENTILES", value_delimiter = ',', value_parser = values::percentile, help_heading = OUTPUT)]
    percentiles: Vec<f64>,
    /// Exit with code 1 if this condition holds or is unknown, for example `p99>5ms`; repeatable
    ///
    /// Metrics: `p99` (any percentile), `min`, `mean` and `max` of response time, `service.p99.9`, `send-lag.p99`, `rate`,
    /// `errors`, and failures by kind such as `reset`. Relations: `>`, `>=`, `<`, `<=`. Examples: `rate<9900`, `errors>0.1%`,
    /// `reset>10`, `send-lag.p99>1ms`. A void result exits with code 4. docs/reference/load.md lists all metrics.
    #[arg(long = "fail-on", value_name = "CONDITION", help_heading = CHECKS)]
    fail_on: Vec<Condition>,
    /// Record kernel timestamps on one connection in sixteen: they show the time between generator and wire
    #[arg(long, conflicts_with = "unix_socket", help_heading = OUTPUT)]
    kernel_stamps: bool,
    /// Write timestamps and outcome of every request to a file, 64 bytes each; `hoptax convert log FILE` prints CSV
    #[arg(long, value_name = "FILE", value_parser = values::named_file, value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    log: Option<PathBuf>,
    /// Write histograms of response and service time for every second to a file, an interval log of HdrHistogram
    ///
    /// It is written while the load runs. Comments at its end state the verdict, and which quantiles the result withholds.
    #[arg(long, value_name = "FILE", value_parser = values::named_file, value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    hlog: Option<PathBuf>,
    /// Print a line of JSON for every interval while the load runs; the table then goes to stderr
    ///
    /// A line has the rate, counts, failures by kind, response times and send lags of its interval (`load-interval` in
    /// `hoptax generate schema report`). The last line also has the verdict on the whole load.
    #[arg(long, value_name = "DURATION", value_parser = values::interval, help_heading = OUTPUT)]
    every: Option<Duration>,
    /// Write the result to a file in `OpenMetrics` text format, which Prometheus reads
    #[arg(long, value_name = "FILE", value_parser = values::named_file, value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    openmetrics: Option<PathBuf>,
    #[command(flatten, next_help_heading = OUTPUT)]
    json: JsonArguments,
}

impl LoadArguments {
    /// Returns the schedule of the load.
    fn schedule(&self) -> Schedule {
        Schedule {
            pace: self.stages.clone().or(self.rate.map(Pace::Constant)),
            arrivals: self.arrivals.clone(),
            think: self.think,
            when_busy: self.when_busy,
            when_late: self.when_late,
            ramp_up: self.ramp_up,
            duration: self.duration,
            count: self.count,
            warmup: self.warmup,
        }
    }
}

/// The options of a load that its result does not state, and that no search on a server has, each with a space before it.
fn of_itself(arguments: &LoadArguments) -> String {
    let share = Some(arguments.max_error_share).filter(|share| (share - USUAL_ERROR_SHARE).abs() > 1e-12);
    let percentiles: Vec<String> = arguments.percentiles.iter().map(ToString::to_string).collect();
    let once = [
        option("--warmup", arguments.warmup.map(duration_word)),
        option("--max-error-share", share),
        option("--percentiles", (!percentiles.is_empty()).then(|| percentiles.join(","))),
    ];
    let conditions = arguments.fail_on.iter().map(|one| option("--fail-on", Some(one)));
    let outputs = [
        if arguments.kernel_stamps { " --kernel-stamps".to_owned() } else { String::new() },
        path_option("--log", arguments.log.as_ref()),
        path_option("--hlog", arguments.hlog.as_ref()),
        option("--every", arguments.every.map(duration_word)),
        path_option("--openmetrics", arguments.openmetrics.as_ref()),
        arguments.json.again(),
    ];
    once.into_iter().chain(conditions).chain(outputs).collect()
}

/// Outputs of the result of a load, besides its table.
#[derive(Clone, Copy, Default)]
pub(super) struct Outputs<'a> {
    pub(super) json: Option<&'a Path>,
    pub(super) openmetrics: Option<&'a Path>,
    /// The interval of lines on stdout.
    pub(super) every: Option<Duration>,
    /// The options that the next step repeats.
    pub(super) given: GivenOptions<'a>,
}

impl Outputs<'_> {
    /// Prints a result, and writes its files.
    fn write(self, result: &LoadResult) -> Result<(), Failure> {
        if self.every.is_some() {
            // Only JSON lines go to stdout.
            let document = documents::load_of(result, self.given);
            print::document_on_stderr(&print::naming_file(document, self.json));
            print::write_json(self.json, result)?;
        } else {
            print::document_or_json(self.json, result, || documents::load_of(result, self.given))?;
        }
        self.openmetrics.map_or(Ok(()), |path| print::write_file(path, &openmetrics::load(result)))
    }
}

/// The exit code of a load, of whose conditions all or not all pass.
fn code(result: &LoadResult, all_pass: bool, interrupt: &Interrupt) -> Code {
    let is_agent_lost = result.agents.iter().flat_map(Agents::lost).next().is_some();
    match Code::from(result.verdict) {
        _ if interrupt.is_requested() => Code::Interrupted,
        Code::Success if is_agent_lost => Code::Environment,
        Code::Success if !all_pass => Code::ConditionFailed,
        code => code,
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Code, Failure> {
    let sending = Sending {
        load: (&arguments.traffic).into(),
        schedule: arguments.schedule(),
        never_halt: arguments.traffic.awake.never_halt,
        limits: thresholds::limits(&arguments.checks.thresholds)?,
        fail_on: &arguments.fail_on,
        percentiles: &arguments.percentiles,
        max_error_share: Some(arguments.max_error_share),
        has_kernel_stamps: arguments.kernel_stamps,
        files: Files { log: arguments.log.as_deref(), hlog: arguments.hlog.as_deref() },
        beside: None,
    };
    let (of_both, of_itself) = (arguments.traffic.again() + &arguments.checks.again(), of_itself(arguments));
    let outputs = Outputs {
        json: arguments.json.file(),
        openmetrics: arguments.openmetrics.as_deref(),
        every: arguments.every,
        given: GivenOptions { of_both: &of_both, of_itself: &of_itself },
    };
    match arguments.of_pods.agent_pods {
        Some(number) => pods::sent(&sending, arguments, number, outputs),
        None if arguments.agents.is_empty() => sent(&sending, outputs),
        None => agents::sent(&sending, arguments, outputs),
    }
}

/// Sends a load and prints its result.
pub(super) fn sent(sending: &Sending<'_>, outputs: Outputs<'_>) -> Result<Code, Failure> {
    if outputs.every.is_some() && outputs.json == Some(Path::new("-")) {
        return Err(Failure::bad_input("`--every` prints to stdout, so give `--json` a file"));
    }
    let interrupt = interrupt::listen_until_result()?;
    // JSON lines contain the same numbers, and both on one terminal would be unreadable.
    let mut progress = progress::of_load(outputs.every.is_none());
    let is_shown = progress.is_shown();
    let limit = sending.load.requests.timeout;
    let mut show =
        |live: &LiveLine| if interrupt.is_requested() { progress.wait(limit) } else { progress.show(live) };
    let on_live = is_shown.then_some(&mut show as &mut dyn FnMut(&LiveLine));
    let lines = outputs.every.map(|every| Lines { every, out: Box::new(print::Lines::default()) });
    let sent = send(sending, lines, on_live, &interrupt, &print::say);
    progress.end();
    let sent = sent?;
    outputs.write(&sent.result)?;
    if let Some(problem) = sent.problems.into_iter().next() {
        return Err(problem);
    }
    Ok(code(&sent.result, sent.all_pass, &interrupt))
}

/// Prints the table of an imported or merged load and writes the JSON; with `-`, prints only the JSON. `keeping` is the command that keeps the
/// result in a file.
pub(super) fn write(json: Option<&Path>, result: &LoadResult, keeping: &str) -> Result<(), Failure> {
    print::document_or_json(json, result, || match json {
        Some(_) => documents::load(result),
        None => documents::load(result)
            .or_next(keeping, "keeps the result, of which `hoptax runs show` prints the details"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, parsed};

    #[test]
    fn the_same_load_has_the_options_that_its_result_does_not_state() {
        let options = |more: &str| {
            let line = format!("hoptax load http://127.0.0.1/{more}");
            let parsed = parsed(line.split(' ')).unwrap();
            let Command::Load(arguments) = parsed.command else { panic!("{parsed:?}") };
            (arguments.traffic.again() + &arguments.checks.again(), of_itself(&arguments))
        };
        assert_eq!(options(" -q 10 -d 3s"), (String::new(), String::new()));
        let of_both = " --seed 7 --never-halt always --threshold steal=0.02";
        let of_itself = " --warmup 500ms --max-error-share 0.5 --percentiles 95,99.99 --fail-on 'p99>5ms' --kernel-stamps \
                         --log a.log --hlog b.hlog --every 1s --openmetrics c.txt --json -";
        let given = format!("{of_both}{}", of_itself.replace('\'', ""));
        assert_eq!(options(&given), (of_both.to_owned(), of_itself.to_owned()));
    }

    #[test]
    fn options_of_agents_are_refused_without_these_agents_whatever_stands_beside_them() {
        let error = |options: &str| {
            let line = format!("hoptax load {options} http://shop.web/");
            parsed(line.split(' ')).err().map(|error| error.to_string())
        };
        let pod = "--namespace perf --agent-image a/b:1";
        assert_eq!(error(&format!("--agent-pods 2 {pod} --kube-context prod --dry-run")), None);
        assert_eq!(error("--agents a:1 --agents-token-file token"), None);
        let refused =
            |options: &str| error(options).is_some_and(|error| error.contains("cannot be used with"));
        for other in ["--agents a:1", "--every 1s"] {
            for option in ["--dry-run", "--kube-context prod", "--agent-pull never", "--agent-cpus 2"] {
                assert!(refused(&format!("{other} {pod} {option}")), "{other} {option}");
            }
            assert!(refused(&format!("{other} {pod}")) && refused(&format!("{other} --agent-memory 64")));
        }
        let of_pods = format!("--agent-pods 2 {pod}");
        for other in [of_pods.as_str(), "--every 1s"] {
            assert!(refused(&format!("{other} --agents-token-file token")), "{other}");
        }
    }
}
