//! The flags of `hoptax crosscheck`, `import` and `tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::NeverHalt;
use super::values::{self, GivenUrl};

#[derive(Debug, Args)]
#[command(after_help = "\
Every load generator that is found on PATH, in .tools/bin, or where --tools-dir says runs the same load in turn. The control
is taken at the server, by the origin of hoptax or by a relay before a server of yours.

Examples:
  hoptax crosscheck                              all tools against origins whose answers are known
  hoptax crosscheck --tools hoptax,wrk --closed  two of them, as fast as they can
  hoptax crosscheck http://127.0.0.1:8080/       against a server of yours, through a relay")]
pub(crate) struct CrosscheckArguments {
    /// A server of yours, `http://HOST:PORT/PATH`, seen through a relay, whose address the tools then send as `Host`; origins
    /// whose answers are known if not given
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: Option<GivenUrl>,
    /// Requests per second
    #[arg(short = 'q', long, value_name = "RATE", default_value_t = 1_000.0, value_parser = values::rate)]
    pub(crate) rate: f64,
    /// As fast as possible instead
    #[arg(long, conflicts_with = "rate")]
    pub(crate) closed: bool,
    /// Connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Length of each run, seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=3_600))]
    pub(crate) seconds: u32,
    /// Runs of each tool, alternating
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Origins: `delay` (known delays), `freeze` (a server that stands still for a tenth of the time), `plain`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values_t = ["delay".to_owned(), "freeze".to_owned()], conflicts_with = "url")]
    pub(crate) scenarios: Vec<String>,
    /// The tools, by name; all that are found if not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Keep the processors from being halted: `auto` where wake-ups are slow and nobody else wants the processors
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
    /// A folder of tools, looked at first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) tools_dir: Option<PathBuf>,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax import fortio result.json
  hoptax import wrk2 output.txt --json result.json")]
pub(crate) struct ImportArguments {
    /// The tool: fortio, wrk, wrk2, nighthawk, k6, or any other that `hoptax crosscheck` knows
    pub(crate) tool: String,
    /// Its output, or the result file that it wrote; `-` is stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The first run is as fast as possible. Where its answers are in several modes, the answers per second in the fastest one are
the rate of the next; where they are in one, a run at a tenth of that looks for a faster one. The rate then doubles while at
least 95 % of the answers stay in the fastest mode, and closes in on where they do not.

Examples:
  hoptax tune http://127.0.0.1:8080/
  hoptax tune -c 64 -d 20s http://127.0.0.1:8080/")]
pub(crate) struct TuneArguments {
    /// Where the load goes, `http://HOST:PORT/PATH`
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: GivenUrl,
    /// Connections
    #[arg(short, long, value_name = "NUMBER", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: u32,
    /// Length of each run
    #[arg(short, long, default_value = "5s", value_parser = values::duration)]
    pub(crate) duration: Duration,
    /// How release times are drawn, as by `hoptax load`
    #[arg(long, value_name = "ARRIVALS", default_value = "uniform")]
    pub(crate) arrivals: hoptax_load::Arrivals,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
