//! The command line: all commands, one file each, which contains its arguments with their help, and a `run` function that returns an exit
//! code. Shared parts are in `arguments`.

mod agent;
mod calibrate;
mod certs;
mod checks;
mod cleanup;
mod compare;
mod crosscheck;
mod doctor;
mod envoy;
mod export;
mod find;
mod first_page;
mod functions;
mod gate;
mod generate;
mod graph;
mod history;
mod import;
mod lint;
mod listeners;
mod listeners_run;
mod load;
mod log;
mod merge;
mod mesh;
mod origin;
mod price;
mod prices;
mod reader;
mod runs;
mod scale;
mod serve;
mod size;
mod smp;
mod study;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::arguments::{hint, negative, usual};
use crate::exit::{Code, Failure};

const AFTER_HELP: &str = "\
Examples:
  hoptax lab origin &                                start a test server
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/  measure the latency of a server
  hoptax study                                       measure Envoy's functions, about 6 minutes

Exit codes:
  0    success
  1    a requested check fails: --fail-on, a gate, an error of `lint`, a promise of `listeners`
  2    invalid input
  3    a requirement is missing, such as Envoy, memory or a port
  4    the result is void: its evidence does not support its numbers
  130  interrupted";

/// Measures the cost of hops and functions of a service mesh, and reports whether the numbers can be trusted
#[derive(Debug, Parser)]
#[command(
    name = "hoptax",
    version,
    arg = first_page::help_all(),
    help_template = first_page::template(),
    after_help = AFTER_HELP
)]
pub(crate) struct Arguments {
    // In a command's help, these flags come after its own and before `--help`, which has position 999.
    /// Print the whole result, not only its first screen
    #[arg(long, global = true, display_order = 990)]
    pub(crate) details: bool,
    /// Print no notes and no progress, only results and problems
    #[arg(long, global = true, display_order = 991)]
    pub(crate) quiet: bool,
    /// Print without colours, as `NO_COLOR` does
    #[arg(long, global = true, display_order = 992)]
    pub(crate) no_color: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure the cost of Envoy's functions
    Study(study::StudyArguments),
    /// Measure what an Envoy configuration costs per request, and what each part adds
    Price(Box<price::PriceArguments>),
    /// Measure what a mesh costs per request in a cluster, compared with the bare networks
    Mesh(Box<mesh::MeshArguments>),
    /// Decide whether proxies differ, measured side by side
    Compare(compare::CompareArguments),
    /// Fail if a candidate, such as a new release of Envoy, exceeds limits
    Gate(gate::GateArguments),
    /// Send load to a server and record the outcome of every request
    Load(Box<load::LoadArguments>),
    /// Find the highest rate at which a server holds objectives such as `p99<5ms`
    Find(Box<find::FindArguments>),
    /// Find faults in Envoy configurations that caused incidents, and fix them
    Lint(lint::LintArguments),
    /// Run a safe Envoy from a few lines: `render`, `check`, `run`, `status`, `import`
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax listeners render listeners.yaml > envoy.yaml
  hoptax listeners check listeners.yaml
  hoptax listeners run listeners.yaml"
    )]
    Listeners(listeners::ListenersCommand),
    /// Predict from results: `prices` of functions, `size` of a mesh, `scale` of a rate
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax predict prices --here
  hoptax predict size shop.yaml --rate 12000 --from runs/in-use-1
  hoptax predict scale runs/front-proxy-clones-1 --over clones"
    )]
    Predict(PredictCommand),
    /// Keep results: list, label, merge, export and import them, and find changes over time
    Runs(runs::RunsArguments),
    /// Show results as pages in a browser, and run measurements over a REST API
    Serve(serve::ServeArguments),
    /// Convert results and files of other programs: `import`, `export`, `smp`, `log`
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax convert import fortio result.json
  hoptax convert export result.json --to fortio > fortio-data/load.json
  hoptax convert log requests.log > requests.csv"
    )]
    Convert(ConvertCommand),
    /// Run what measurements need: `origin`, `certs`, `envoy`, an `agent`, a service `graph`
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax lab origin --listen 127.0.0.1:9000
  hoptax lab envoy install 1.40.0
  hoptax lab certs lab"
    )]
    Lab(LabCommand),
    /// Verify the instrument: `doctor`, `checks`, `calibrate`, `crosscheck` load generators
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax trust doctor
  hoptax trust calibrate
  hoptax trust crosscheck http://127.0.0.1:8080/"
    )]
    Trust(TrustCommand),
    /// List the functions that a study can measure
    Functions(functions::FunctionsArguments),
    /// Generate files: JSON `schema`, shell `completions`, `man` pages, `pages` of the book
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax generate schema study-file > study-file.json
  hoptax generate completions bash > ~/.local/share/bash-completion/completions/hoptax
  hoptax generate man ~/.local/share/man/man1"
    )]
    Generate(generate::GenerateCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PredictCommand {
    /// Print the cost of functions, from the price list or predicted for this machine
    Prices(prices::PricesArguments),
    /// Predict what the proxies of a service graph use, from results of studies
    Size(size::SizeArguments),
    /// Fit how the rate grows with connections, workers or clones, in the result of a study
    Scale(scale::ScaleArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConvertCommand {
    /// Convert the output of another load generator, or a result in another format, to a result
    Import(import::ImportArguments),
    /// Convert a result of a load or a study to another format
    Export(export::ExportArguments),
    /// Run test configurations of Service Mesh Performance, and print its index
    Smp(smp::SmpArguments),
    /// Print a raw log of `hoptax load` as CSV
    Log(log::LogArguments),
    /// Convert a Parquet file on stdin to CSV, for `import`
    #[command(hide = true)]
    ParquetToCsv,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a test server that responds with the requested delay, size, status or error
    Origin(origin::OriginArguments),
    /// Send a share of a load for `hoptax load --agents` on another machine
    Agent(agent::AgentArguments),
    /// Read CPU times of containers on a node of a cluster; for `hoptax mesh` only
    #[command(hide = true)]
    Reader(reader::ReaderArguments),
    /// Create a certificate authority and certificates for tests
    Certs(certs::CertsArguments),
    /// Install and list Envoy releases
    Envoy(envoy::EnvoyArguments),
    /// Run a service graph as processes, or make its file from a topology of isotope or manifests of Kubernetes
    Graph(graph::GraphArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Say what this machine can and cannot measure, why, and what to change
    Doctor(doctor::DoctorArguments),
    /// List and explain the validity checks
    Checks(checks::ChecksArguments),
    /// Measure the errors of the load generator on this machine
    Calibrate(calibrate::CalibrateArguments),
    /// Compare load generators with each other and with the server's own record
    Crosscheck(crosscheck::CrosscheckArguments),
}

/// The arguments on a command line.
///
/// # Errors
/// When they are invalid, and when they ask for help or the version: the error is the text to print.
pub(crate) fn parsed<T>(line: impl IntoIterator<Item = T>) -> Result<Arguments, clap::Error>
where
    T: Into<OsString> + Clone,
{
    let line: Vec<OsString> = line.into_iter().map(Into::into).collect();
    let command = negative::taken(Arguments::command(), &line);
    let mut command = first_page::shown(usual::shown(command, &line), &line);
    if line.iter().any(|word| word == "--no-color") {
        // For clap's help and errors, which only respect the environment variable.
        command = command.color(clap::ColorChoice::Never);
    }
    let matches =
        command.try_get_matches_from_mut(&line).map_err(|error| hint::added(error, &command, &line))?;
    Arguments::from_arg_matches(&matches)
}

/// Runs a command.
///
/// # Errors
/// When it fails.
pub(crate) fn run(command: Command) -> Result<Code, Failure> {
    match command {
        Command::Study(arguments) => study::run(&arguments),
        Command::Price(arguments) => price::run(&arguments),
        Command::Mesh(arguments) => mesh::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Gate(arguments) => gate::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Find(arguments) => find::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Listeners(command) => listeners::run(&command),
        Command::Predict(PredictCommand::Prices(arguments)) => prices::run(&arguments),
        Command::Predict(PredictCommand::Size(arguments)) => size::run(&arguments),
        Command::Predict(PredictCommand::Scale(arguments)) => scale::run(&arguments),
        Command::Runs(arguments) => runs::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Convert(ConvertCommand::Import(arguments)) => import::run(&arguments),
        Command::Convert(ConvertCommand::Export(arguments)) => export::run(&arguments),
        Command::Convert(ConvertCommand::Smp(arguments)) => smp::run(&arguments),
        Command::Convert(ConvertCommand::Log(arguments)) => log::run(&arguments),
        Command::Convert(ConvertCommand::ParquetToCsv) => import::parquet_to_csv(),
        Command::Lab(LabCommand::Origin(arguments)) => origin::run(&arguments),
        Command::Lab(LabCommand::Certs(arguments)) => certs::run(&arguments),
        Command::Lab(LabCommand::Agent(arguments)) => agent::run(&arguments),
        Command::Lab(LabCommand::Reader(arguments)) => reader::run(&arguments),
        Command::Lab(LabCommand::Envoy(arguments)) => envoy::run(&arguments),
        Command::Lab(LabCommand::Graph(arguments)) => graph::run(&arguments),
        Command::Trust(TrustCommand::Doctor(arguments)) => doctor::run(&arguments),
        Command::Trust(TrustCommand::Checks(arguments)) => checks::run(&arguments),
        Command::Trust(TrustCommand::Calibrate(arguments)) => calibrate::run(&arguments),
        Command::Trust(TrustCommand::Crosscheck(arguments)) => crosscheck::run(&arguments),
        Command::Functions(arguments) => functions::run(&arguments),
        Command::Generate(command) => generate::run(&command),
    }
}

#[cfg(test)]
mod tests;
