//! `hoptax predict size`: predicts the resource use of a service graph's proxies, and checks such predictions.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use hoptax_predict::size::Prices;
use hoptax_report::documents;
use hoptax_result::Verdict;
use hoptax_session::graph::{Predicted, PredictionSettings, predict};
use hoptax_session::results::read_run;

use crate::arguments::shared::{CorePriceArguments, FromArguments, JsonArguments};
use crate::arguments::values;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("task").args(["graph", "check"]).required(true),
    mut_arg("from", |from| from.requires("graph")),
    override_usage = "hoptax predict size --rate <RATE> --from <RESULT> [OPTIONS] <GRAPH>\n       hoptax predict size --check <RESULT> [OPTIONS]",
    after_help = "\
Predicts how much CPU time and memory the proxies of a service graph use, and how much they add to
the response time of a request, from results of studies: plain proxying under each protocol, and
what each function adds, at the utilisation of each proxy. If no result has a necessary number, the
error names the arms to measure. With --check, compositions that a study measured are compared with
what its single functions predict.

Examples:
  hoptax predict size --rate 12000 --from runs/in-use-1 --from runs/grpc-1 shop.yaml
  hoptax predict size manifests --entry frontend --rate 500 --from runs/in-use-1
  hoptax predict size --check runs/prediction-1

docs/guide/size.md describes the graph file and the limits, docs/design/size.md the method.

Exit codes:
  0    the prediction, or the comparison
  2    invalid input: not a graph, not a study result, or results that lack something
  4    a result is void, or no composition can be compared"
)]
pub(crate) struct SizeArguments {
    /// Graph file: services with their proxies, and the calls between them; or a graph that comes with the program, such as `chain`; or a
    /// topology of isotope, or a folder with manifests of Kubernetes, as `hoptax lab graph` reads them
    #[arg(value_name = "GRAPH", value_hint = ValueHint::AnyPath, requires = "rate", requires = "from")]
    graph: Option<String>,
    /// Service of a topology, or workload of a folder with manifests, that requests from outside arrive at
    #[arg(long, value_name = "NAME", requires = "graph")]
    entry: Option<String>,
    /// Requests per second that arrive at the entry of the graph
    #[arg(long, value_name = "RATE", value_parser = values::predicted_rate, requires = "graph")]
    rate: Option<f64>,
    #[command(flatten)]
    from: FromArguments,
    #[command(flatten)]
    core_price: CorePriceArguments,
    /// Price of a GiB of memory for an hour; prices add what the proxies cost in a month of 730 hours
    #[arg(long, value_name = "PRICE", value_parser = values::price, requires = "graph")]
    price_per_gib_hour: Option<f64>,
    /// Compare the compositions of this study with what its single functions predict
    #[arg(long, value_name = "RESULT", value_hint = ValueHint::AnyPath, conflicts_with_all = OF_GRAPH)]
    check: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArguments,
}

/// The options that say something about the graph, by their ids. `--check` refuses them, because clap requires no graph beside it.
const OF_GRAPH: [&str; 5] = ["entry", "rate", "from", "price_per_core_hour", "price_per_gib_hour"];

/// Runs the command.
pub(crate) fn run(arguments: &SizeArguments) -> Result<Code, Failure> {
    let json = arguments.json.file();
    if let Some(path) = &arguments.check {
        let result = hoptax_predict::size::check(&read_run(path)?).map_err(Failure::bad_input)?;
        let source = path.display().to_string();
        print::document_or_json(json, &result, || documents::size_check_of(&result, &source))?;
        return Ok(if result.compositions.is_empty() { Code::Void } else { Code::from(result.verdict) });
    }
    let (Some(path), Some(rate)) = (&arguments.graph, arguments.rate) else {
        return Err(Failure::bad_input("name a graph file with --rate, or a result with --check"));
    };
    let (entry, results) = (arguments.entry.as_deref(), arguments.from.read()?);
    let prices =
        Prices { per_core_hour: arguments.core_price.per_hour, per_gib_hour: arguments.price_per_gib_hour };
    let settings = PredictionSettings { graph: path, entry, rate, results: &results, prices };
    let Predicted { result, is_runnable } = predict(&settings, &print::say)?;
    let from = arguments.from.shown();
    print::document_or_json(json, &result, || documents::size_of(&result, path, entry, &from, is_runnable))?;
    let is_void = result.sources.iter().any(|source| source.verdict == Verdict::Void);
    Ok(if is_void { Code::Void } else { Code::Success })
}

#[cfg(test)]
mod tests {
    use crate::command::{Command, PredictCommand, parsed};

    #[test]
    fn a_rate_beyond_every_mesh_is_refused_by_the_name_of_its_option_and_its_limit() {
        let error = |rate: &str| {
            let line = ["hoptax", "predict", "size", "--from", "runs/a", "--rate", rate, "shop.yaml"];
            parsed(line).err().map(|error| error.to_string())
        };
        assert_eq!(error("1e9"), None);
        for rate in ["1e300", "2e9"] {
            let error = error(rate).unwrap();
            assert!(error.contains("--rate <RATE>") && error.contains("at most 1,000,000,000"), "{error}");
        }
    }

    #[test]
    fn a_check_has_no_option_of_a_graph() {
        let all = "--rate 5 --from runs/a --entry front --price-per-core-hour 1 --price-per-gib-hour 1";
        let error = |options: &str| {
            let line = format!("hoptax predict size --check runs/b {options}");
            parsed(line.split_whitespace()).err().map(|error| error.to_string())
        };
        assert_eq!(error("--json -"), None);
        for options in [all, "--rate 5 --from runs/a"] {
            assert!(error(options).unwrap().contains("'--check <RESULT>' cannot be used with"), "{options}");
        }
    }

    #[test]
    fn every_result_has_an_option_of_its_own_and_the_graph_may_stand_anywhere() {
        let graph = "shop.yaml";
        for line in [
            vec!["--rate", "5", "--from", "runs/a", "--from", "runs/b", graph],
            vec!["--from", "runs/a", graph, "--from", "runs/b", "--rate", "5"],
            vec![graph, "--rate", "5", "--from", "runs/a", "--from", "runs/b"],
        ] {
            let parsed = parsed(["hoptax", "predict", "size"].into_iter().chain(line)).unwrap();
            let Command::Predict(PredictCommand::Size(size)) = parsed.command else { panic!("{parsed:?}") };
            assert_eq!(size.graph.as_deref(), Some(graph));
            assert_eq!(size.from.shown(), ["runs/a", "runs/b"]);
        }
    }
}
