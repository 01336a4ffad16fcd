//! Arguments of `hoptax load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueHint};
use hoptax_checks::fail_on::Condition;
use hoptax_load::{Pace, Think, WhenBusy, WhenLate};
use hoptax_session::load::{ArrivalsOf, Schedule};

use super::agent_pods::AgentPodArguments;
use super::shared::{JsonArguments, ThresholdArguments};
use super::traffic::{CHECKS, CONNECTIONS, TrafficArguments};
use super::values;

/// Headings of the help.
const SCHEDULE: &str = "Schedule";
const OUTPUT: &str = "Output";
const AGENTS: &str = "Agents";

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
#[command(arg = super::usual::help_all(), group = ArgGroup::new("senders"))]
pub(crate) struct LoadArguments {
    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,
    /// Requests per second, at most 10,000,000; without a rate, a closed loop sends as fast as possible
    #[arg(short = 'q', long, value_name = "RATE", value_parser = values::rate, help_heading = SCHEDULE)]
    pub(crate) rate: Option<f64>,
    /// Rates over time instead of one rate: `RATE@LENGTH` or `FROM:TO@LENGTH`, separated by commas
    ///
    /// Example: `0:1000@10s,1000:5000@60s` ramps up to 1,000/s in 10 s and then to 5,000/s in a minute. Each stage has its own
    /// result.
    #[arg(long, value_name = "STAGES", conflicts_with_all = ["rate", "duration", "warmup"], help_heading = SCHEDULE)]
    pub(crate) stages: Option<Pace>,
    /// Think time between a response and the next request of a connection, in a closed loop: `40ms`, or `exp:40ms`
    ///
    /// `exp:MEAN` draws exponentially distributed times.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "stages"], help_heading = SCHEDULE)]
    pub(crate) think: Option<Think>,
    /// If all connections are busy: `wait`, `queue=100` (at most 100 requests wait, limit 1,000,000) or `skip`
    ///
    /// The wait is part of the response time.
    #[arg(long, value_name = "MODE", default_value_t = WhenBusy::default(), help_heading = SCHEDULE)]
    pub(crate) when_busy: WhenBusy,
    /// If the generator itself is late: `send`, or `skip` requests that are more than 10 ms late
    #[arg(long, value_name = "MODE", default_value_t = WhenLate::default(), help_heading = SCHEDULE)]
    pub(crate) when_late: WhenLate,
    /// Open the connections evenly over this time, before the warm-up [default: all at once]
    ///
    /// Requests start when all connections are open.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = CONNECTIONS)]
    pub(crate) ramp_up: Option<Duration>,
    /// Length of the recording, for example `30s` or `2m` [default: 10s, or the length of the trace or stages]
    #[arg(short, long, value_parser = values::duration, help_heading = SCHEDULE)]
    pub(crate) duration: Option<Duration>,
    /// End after recording this many requests, unless --duration ends earlier; warm-up requests do not count
    #[arg(short = 'n', long = "count", value_name = "NUMBER", conflicts_with = "stages", value_parser = values::whole::<u64>(1..), help_heading = SCHEDULE)]
    pub(crate) count: Option<u64>,
    /// Length of the warm-up, which is not recorded [default: 1s, or 0s with a trace or stages]
    #[arg(long, value_name = "DURATION", value_parser = values::duration_or_none, help_heading = SCHEDULE)]
    pub(crate) warmup: Option<Duration>,
    /// Arrival process: `uniform`, `poisson`, `jitter=10%`, `burst=8` or `trace=FILE`
    ///
    /// `uniform` sends at equal intervals. `poisson` has exponential intervals, as independent users cause them. `jitter=10%`
    /// moves each uniform arrival by up to 10 % of an interval. `burst=8` sends eight requests at once. `trace=FILE` reads send
    /// times since the start, one per line such as `1.5ms`, and replaces --rate.
    #[arg(long, value_name = "ARRIVALS", default_value = "uniform", help_heading = SCHEDULE)]
    pub(crate) arrivals: ArrivalsOf,
    /// Maximum share of sent requests that fail, time out or do not finish, 0 to 1; above it, the result is void
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = values::share, help_heading = CHECKS)]
    pub(crate) max_error_share: f64,
    /// Have these agents send the load (`hoptax lab agent`), `HOST:PORT` each, separated by commas
    ///
    /// Together, the agents send the schedule of one generator and start at one instant. --rate, --connections and --count are
    /// totals; --workers is for each agent. Options that name files or addresses of this machine are refused.
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', value_parser = values::agent, group = "senders", conflicts_with = "every", help_heading = AGENTS)]
    pub(crate) agents: Vec<String>,
    /// File with the token of the agents (`hoptax lab agent --token-file`)
    #[arg(long, value_name = "FILE", requires = "agents", value_hint = ValueHint::FilePath, help_heading = AGENTS)]
    pub(crate) agents_token_file: Option<PathBuf>,
    /// Number of agents that have to come; those that come share the load [default: all]
    #[arg(long, value_name = "NUMBER", requires = "senders", value_parser = values::whole::<u32>(1..), help_heading = AGENTS)]
    pub(crate) least_agents: Option<u32>,
    #[command(flatten, next_help_heading = AGENTS)]
    pub(crate) of_pods: AgentPodArguments,
    #[command(flatten, next_help_heading = CHECKS)]
    pub(crate) checks: ThresholdArguments,
    /// Additional percentiles beside p50, p90, p99 and p99.9: `95,99.99`
    #[arg(long, value_name = "PERCENTILES", value_delimiter = ',', value_parser = values::percentile, help_heading = OUTPUT)]
    pub(crate) percentiles: Vec<f64>,
    /// Exit with code 1 if this condition holds or is unknown, for example `p99>5ms`; repeatable
    ///
    /// Metrics: `p99` (any percentile), `min`, `mean` and `max` of response time, `service.p99.9`, `send-lag.p99`, `rate`,
    /// `errors`, and failures by kind such as `reset`. Relations: `>`, `>=`, `<`, `<=`. Examples: `rate<9900`, `errors>0.1%`,
    /// `reset>10`, `send-lag.p99>1ms`. A void result exits with code 4. docs/reference/load.md lists all metrics.
    #[arg(long = "fail-on", value_name = "CONDITION", help_heading = CHECKS)]
    pub(crate) fail_on: Vec<Condition>,
    /// Record kernel timestamps on one connection in sixteen: they show the time between generator and wire
    #[arg(long, conflicts_with = "unix_socket", help_heading = OUTPUT)]
    pub(crate) kernel_stamps: bool,
    /// Write timestamps and outcome of every request to a file, 64 bytes each; `hoptax convert log FILE` prints CSV
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) log: Option<PathBuf>,
    /// Write histograms of response and service time for every second to a file, an interval log of HdrHistogram
    ///
    /// It is written while the load runs. Comments at its end state the verdict, and which quantiles the result withholds.
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) hlog: Option<PathBuf>,
    /// Print a line of JSON for every interval while the load runs; the table then goes to stderr
    ///
    /// A line has the rate, counts, failures by kind, response times and send lags of its interval (`load-interval` in
    /// `hoptax generate schema report`). The last line also has the verdict on the whole load.
    #[arg(long, value_name = "DURATION", value_parser = values::interval, help_heading = OUTPUT)]
    pub(crate) every: Option<Duration>,
    /// Write the result to a file in `OpenMetrics` text format, which Prometheus reads
    #[arg(long, value_name = "FILE", value_parser = values::output_file, value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub(crate) openmetrics: Option<PathBuf>,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub(crate) json: JsonArguments,
}

impl LoadArguments {
    /// Returns the schedule of the load.
    pub(crate) fn schedule(&self) -> Schedule {
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
