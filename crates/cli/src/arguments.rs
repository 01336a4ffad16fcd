//! The command line: all commands, their arguments and their help.

mod agent_pods;
mod compare;
mod convert;
mod crosscheck;
mod find;
mod first_page;
mod functions;
mod gate;
mod generate;
mod graph;
mod hint;
mod lab;
mod lint;
mod listeners;
mod listeners_run;
mod load;
mod merge;
mod mesh;
mod predict;
mod price;
mod prices;
mod runs;
mod scale;
mod security;
mod serve;
mod shared;
mod size;
mod smp;
mod study;
mod traffic;
mod trust;
mod usual;
mod values;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use agent_pods::{AgentPodArguments, PULLS};
pub(crate) use compare::CompareArguments;
pub(crate) use convert::{ConvertCommand, ExportArguments, ImportArguments, LogArguments};
pub(crate) use crosscheck::CrosscheckArguments;
pub(crate) use find::{FindArguments, Given};
pub(crate) use functions::{FunctionsAction, FunctionsArguments};
pub(crate) use gate::GateArguments;
pub(crate) use generate::{
    CompletionsArguments, GenerateCommand, ManArguments, PagesArguments, SchemaArguments,
};
pub(crate) use graph::{GraphArguments, GraphRunArguments, GraphSource};
pub(crate) use lab::{
    AgentArguments, CertsArguments, EnvoyArguments, EnvoyCommand, LabCommand, OriginArguments,
    ReaderArguments,
};
pub(crate) use lint::{LintAction, LintArguments};
pub(crate) use listeners::{
    CheckListenersArguments, ImportListenersArguments, ListenersCommand, RenderArguments,
};
pub(crate) use listeners_run::{RunListenersArguments, StatusArguments};
pub(crate) use load::LoadArguments;
pub(crate) use merge::MergeArguments;
pub(crate) use mesh::MeshArguments;
pub(crate) use predict::PredictCommand;
pub(crate) use price::{PodArguments, PriceArguments};
pub(crate) use prices::PricesArguments;
pub(crate) use runs::{CleanupArguments, HistoryArguments, RunsAction, RunsArguments, StoreChoice};
pub(crate) use scale::ScaleArguments;
pub(crate) use security::Alpn;
pub(crate) use serve::ServeArguments;
pub(crate) use shared::RunArguments;
pub(crate) use size::SizeArguments;
pub(crate) use smp::{RunTestArguments, SmpAction, SmpArguments};
pub(crate) use study::StudyArguments;
pub(crate) use trust::{CalibrateArguments, ChecksAction, ChecksArguments, DoctorArguments, TrustCommand};

const AFTER_HELP: &str = "\
Examples:
  hoptax study                                       measure the cost of Envoy's functions
  hoptax load -q 1000 -d 30s http://127.0.0.1:8080/  measure the latency of a server
  hoptax lab origin                                  start a test server

Exit codes:
  0    success
  1    a requested check fails: --fail-on, a gate, an error of `lint`, a promise of `listeners`
  2    invalid input
  3    a requirement is missing, such as Envoy, memory or a port
  4    the result is void: its evidence does not support its numbers
  130  interrupted";

/// Measures the cost of hops and functions of a service mesh, and reports whether the numbers can be trusted
#[derive(Debug, Parser)]
#[command(name = "hoptax", version, help_template = first_page::template(), after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    // Those of every command are behind its own in its help, and before `--help`, whose place is 999.
    /// Print all of a result, not its first screen alone
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
    Study(StudyArguments),
    /// Measure what an Envoy configuration costs per request, and what each part adds
    Price(Box<PriceArguments>),
    /// Measure what a mesh costs per request in a cluster, beside the bare networks
    Mesh(Box<MeshArguments>),
    /// Decide whether proxies differ, measured side by side
    Compare(CompareArguments),
    /// Fail if a candidate, such as a new release of Envoy, exceeds limits
    Gate(GateArguments),
    /// Send load to a server and record the outcome of every request
    Load(Box<LoadArguments>),
    /// Find the highest rate at which a server holds objectives such as `p99<5ms`
    Find(Box<FindArguments>),
    /// Find faults in Envoy configurations that caused incidents, and mend them
    Lint(LintArguments),
    /// Run a safe Envoy from a few lines: `render`, `check`, `run`, `status`, `import`
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax listeners render listeners.yaml > envoy.yaml
  hoptax listeners check listeners.yaml
  hoptax listeners run listeners.yaml"
    )]
    Listeners(ListenersCommand),
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
    Runs(RunsArguments),
    /// Show results as pages in a browser, and run measurements over a REST API
    Serve(ServeArguments),
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
    Functions(FunctionsArguments),
    /// Generate files: JSON `schema`, shell `completions`, `man` pages, `pages` of the book
    #[command(
        subcommand,
        after_help = "\
Examples:
  hoptax generate schema study-file > study-file.json
  hoptax generate completions bash > ~/.local/share/bash-completion/completions/hoptax
  hoptax generate man ~/.local/share/man/man1"
    )]
    Generate(GenerateCommand),
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
    let mut command = usual::shown(Arguments::command(), &line);
    if line.iter().any(|word| word == "--no-color") {
        // The help and errors of clap, which knows the variable alone.
        command = command.color(clap::ColorChoice::Never);
    }
    let matches =
        command.try_get_matches_from_mut(&line).map_err(|error| hint::added(error, &command, &line))?;
    Arguments::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests;
