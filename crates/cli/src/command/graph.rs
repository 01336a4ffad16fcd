//! `hoptax lab graph`: runs graphs of `hoptax predict size`, and makes graph files from the files of other programs.

use hoptax_report::documents;
use hoptax_result::Verdict;
use hoptax_session::graph::{GraphRunSettings, RunSpec, file, measure};
use hoptax_session::{results::read_run, thresholds};

use crate::arguments::{GraphArguments, GraphRunArguments, GraphSource};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;

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
    let results = arguments.from.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    let settings = GraphRunSettings {
        graph: &arguments.file,
        spec: RunSpec {
            rate: arguments.rate,
            rounds: arguments.rounds,
            slices: arguments.slices,
            slice: arguments.slice,
            seed: arguments.seed,
        },
        results: &results,
        envoy: arguments.measure.envoy.choice(),
        never_halt: arguments.measure.awake.never_halt,
        limits: &limits,
    };
    let result = measure(&settings, &interrupt::listen()?, &print::say)?;
    let from: Vec<String> = arguments.from.iter().map(|path| path.display().to_string()).collect();
    print::document_or_json(arguments.json.file(), &result, || {
        documents::graph_run_of(&result, &arguments.file, &from)
    })?;
    let is_void = results.iter().any(|result| result.verdict == Verdict::Void);
    Ok(if is_void { Code::Void } else { Code::from(result.verdict) })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use hoptax_session::library;

    use crate::arguments::Arguments;

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
