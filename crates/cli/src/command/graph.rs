//! `hoptax lab graph`: runs graphs of `hoptax predict size`, and converts files of other programs to graph files.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use hoptax_report::documents;
use hoptax_result::Verdict;
use hoptax_session::graph::{GraphRunSettings, RunSpec, file, measure};
use hoptax_session::thresholds;

use crate::arguments::shared::{FromArguments, JsonArguments, MeasureArguments, SeedArguments};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::{interrupt, print};

#[derive(Debug, Args)]
#[command(after_help = "\
`run` starts the services of a graph and an Envoy for each proxy on this machine, sends requests
to its entry, and prints what the proxies use and add. With --from, the prediction of
`hoptax predict size` is printed beside it, with its errors. Graphs that come with the program
have names: chain, fan-out, one-after-another, functions, sidecar.

`isotope` and `kubernetes` print a graph file. Comments at its top say what was assumed and what a
graph cannot express. An error lists everything that cannot be read.

Examples:
  hoptax lab graph run chain --rate 1500 --from runs/graph-parts-1 --json chain.json
  hoptax lab graph isotope topology.yaml > graph.yaml
  hoptax lab graph kubernetes manifests --entry frontend > graph.yaml

docs/guide/size.md describes the graph file, and what is measured.

Exit codes:
  0    the graph, or what was measured
  2    invalid input: not a graph, not a topology, no workload, or no clear entry
  3    a requirement is missing, such as Envoy, or a process could not be started
  4    the run is void: its evidence does not support its numbers
  130  interrupted")]
pub(crate) struct GraphArguments {
    #[command(subcommand)]
    source: GraphSource,
}

#[derive(Debug, Args)]
pub(crate) struct GraphRunArguments {
    /// Graph file, or the name of a graph that comes with the program
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: String,
    /// Requests per second to the entry of the graph
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    rate: f64,
    #[command(flatten)]
    from: FromArguments,
    /// Number of rounds; each starts all processes again
    #[arg(long, value_name = "NUMBER", default_value_t = 6, value_parser = values::rounds)]
    rounds: u32,
    /// Slices in a round, with proxies and as many without
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = values::whole::<u32>(1..=1000))]
    slices: u32,
    /// Recorded time of a slice, after a warm-up of 0.5 s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::duration)]
    slice: Duration,
    #[command(flatten)]
    seed: SeedArguments,
    #[command(flatten)]
    measure: MeasureArguments,
    #[command(flatten)]
    json: JsonArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphSource {
    /// Run a graph as processes, and compare what its proxies use with the prediction
    Run(GraphRunArguments),
    /// From a topology of isotope, Istio's generator of mock services
    Isotope {
        /// The topology
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Service that requests from outside arrive at. Default: the one with `isEntrypoint: true`, or the one that no other calls
        #[arg(long, value_name = "NAME")]
        entry: Option<String>,
    },
    /// From the Deployments and Services of a folder or a file, with the labels that inject sidecars
    Kubernetes {
        /// Folder with manifests, `.yaml` or `.yml`, with folders within it, or one file of them
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        folder: PathBuf,
        /// Workload that requests from outside arrive at. Default: the one behind a public Service, or the one that no other calls
        #[arg(long, value_name = "NAME")]
        entry: Option<String>,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &GraphArguments) -> Result<Code, Failure> {
    let imported = match &arguments.source {
        GraphSource::Run(arguments) => return measured(arguments),
        GraphSource::Isotope { file, entry } => file::isotope_topology(file, entry.as_deref())?,
        GraphSource::Kubernetes { folder, entry } => file::kubernetes(folder, entry.as_deref())?,
    };
    print::result(&file::checked(&imported)?)?;
    Ok(Code::Success)
}

/// Runs a graph as processes, and compares what its proxies use with the prediction.
fn measured(arguments: &GraphRunArguments) -> Result<Code, Failure> {
    let limits = thresholds::limits(&arguments.measure.checks.thresholds)?;
    let results = arguments.from.read()?;
    let settings = GraphRunSettings {
        graph: &arguments.file,
        spec: RunSpec {
            rate: arguments.rate,
            rounds: arguments.rounds,
            slices: arguments.slices,
            slice: arguments.slice,
            seed: arguments.seed.number(),
        },
        results: &results,
        envoy: arguments.measure.envoy.choice(),
        never_halt: arguments.measure.awake.never_halt,
        limits: &limits,
    };
    let result = measure(&settings, &interrupt::listen()?, &print::say)?;
    print::document_or_json(arguments.json.file(), &result, || {
        documents::graph_run_of(&result, &arguments.file, &arguments.from.shown())
    })?;
    let is_void = results.iter().any(|result| result.verdict == Verdict::Void);
    Ok(if is_void { Code::Void } else { Code::from(result.verdict) })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use hoptax_session::library;

    use crate::command::Arguments;

    #[test]
    fn the_help_names_every_graph_of_the_program() {
        let program = Arguments::command();
        let graph = program.find_subcommand("lab").and_then(|lab| lab.find_subcommand("graph")).unwrap();
        let help = graph.get_after_help().unwrap().to_string().replace('\n', " ");
        for name in library::graph_names() {
            assert!(help.contains(&name), "{name}: {help}");
        }
    }
}
