//! `hoptax predict prices`: prints the cost of functions, from a price list or predicted for this machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_predict::prices::listed;
use hoptax_report::documents;
use hoptax_report::render::markdown;
use hoptax_result::StudyResult;
use hoptax_session::prices::{measure_anchors, prices_on_this_machine, published};
use hoptax_session::results::read_run;
use hoptax_session::{EnvoyChoice, Options, thresholds};

use crate::arguments::shared::{JsonArguments, OfflineArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax predict prices                 the built-in price list
  hoptax predict prices --here          costs predicted for this machine from a few measurements
  hoptax predict prices --here --measured runs/quick-1/result.json

With --here, every price states its origin: `measured here`, `carried` from the list, with an
interval that includes the model's error, or `not carried`. docs/design/prices.md describes the
model and its limits.

Exit codes:
  0    success
  2    invalid input: a file is not a study result
  3    a requirement is missing, such as Envoy or memory
  4    the measurement on this machine is void, or shares no function with the list
  130  interrupted")]
pub(crate) struct PricesArguments {
    /// Predict the costs on this machine; measures plain proxying and a few functions in about a minute
    #[arg(long)]
    here: bool,
    /// Use this study result as the price list
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    list: Option<PathBuf>,
    /// Use this study result, measured on this machine, instead of measuring now
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "here")]
    measured: Option<PathBuf>,
    /// Envoy version, path to an Envoy binary (with a `/`), or name of a program on PATH
    #[arg(long, value_name = "VERSION|PATH", requires = "here", conflicts_with = "measured")]
    envoy: Option<String>,
    #[command(flatten)]
    offline: OfflineArguments,
    /// Set the threshold of a check of the study, `NAME=VALUE`; repeatable
    ///
    /// `hoptax trust checks --thresholds` lists names and defaults. A loosened threshold is printed.
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = thresholds::parse, requires = "here", conflicts_with = "measured")]
    thresholds: Vec<(String, f64)>,
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &PricesArguments) -> Result<Code, Failure> {
    let list = arguments.list.as_deref().map_or_else(published, read_run)?;
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
        envoy: EnvoyChoice { named: arguments.envoy.as_deref(), is_offline: arguments.offline.is_set },
        thresholds: &arguments.thresholds,
        ..Options::default()
    };
    let interrupt = interrupt::listen()?;
    progress::shown(|say| measure_anchors(&options, &interrupt, say))
}
