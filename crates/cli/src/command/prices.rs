//! `hoptax predict prices`: prints the cost of functions, from a price list or predicted for this machine.

use std::path::PathBuf;

use clap::{Arg, Args, ValueHint};
use hoptax_predict::prices::listed;
use hoptax_report::documents;
use hoptax_report::render::markdown;
use hoptax_result::StudyResult;
use hoptax_session::Options;
use hoptax_session::prices::{measure_anchors, prices_on_this_machine, published};
use hoptax_session::results::read_run;

use crate::arguments::shared::{EnvoyArguments, JsonArguments, ThresholdArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax predict prices                 the built-in price list
  hoptax predict prices --here          costs predicted for this machine from a few measurements
  hoptax predict prices --here --measured runs/quick-1/result.json

With --here, every price states its origin: `measured here`, `converted` from the list, with an
interval that includes the model's error, or `no price`. docs/design/prices.md describes the
model and its limits.

Exit codes:
  0    success
  2    invalid input: a file is not a study result
  3    a requirement is missing, such as Envoy or memory
  4    the measurement on this machine is void, or shares no function with the list
  130  interrupted")]
#[command(mut_args(of_measurement))]
pub(crate) struct PricesArguments {
    /// Predict the costs on this machine; measures plain proxying and a few functions in about a minute
    #[arg(long)]
    here: bool,
    /// Run folder of a study, or its `result.json`, as the price list [default: the published one]
    #[arg(long, value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    from: Option<PathBuf>,
    /// Run folder of a study on this machine, or its `result.json`, instead of measuring now
    #[arg(long, value_name = "RESULT", value_hint = ValueHint::AnyPath, requires = "here")]
    measured: Option<PathBuf>,
    #[command(flatten)]
    envoy: EnvoyArguments,
    #[command(flatten)]
    checks: ThresholdArguments,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    json: JsonArguments,
}

/// Options of studies are for a measurement now.
fn of_measurement(option: Arg) -> Arg {
    if ["envoy", "thresholds"].contains(&option.get_id().as_str()) {
        option.requires("here").conflicts_with("measured")
    } else {
        option
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &PricesArguments) -> Result<Code, Failure> {
    let list = arguments.from.as_deref().map_or_else(|| published().cloned(), read_run)?;
    let prices =
        if arguments.here { prices_on_this_machine(&list, &anchors(arguments)?)? } else { listed(&list) };
    let document = documents::prices(&prices);
    if arguments.markdown {
        print::result(&markdown::text(&document))?;
        print::write_json(arguments.json.file(), &prices)?;
    } else {
        print::document_or_json(arguments.json.file(), &prices, || document)?;
    }
    Ok(Code::Success)
}

/// The costs of the anchor functions on this machine: of an earlier measurement that the user names, or measured now.
fn anchors(arguments: &PricesArguments) -> Result<StudyResult, Failure> {
    if let Some(path) = &arguments.measured {
        return read_run(path);
    }
    let options = Options {
        envoy: arguments.envoy.choice(),
        thresholds: &arguments.checks.thresholds,
        ..Options::default()
    };
    let interrupt = interrupt::listen()?;
    progress::shown(|say| measure_anchors(&options, &interrupt, say))
}
