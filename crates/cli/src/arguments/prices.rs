//! Arguments of `hoptax predict prices`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_session::thresholds;

use super::shared::{JsonArguments, OfflineArguments};

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
    pub(crate) here: bool,
    /// Use this study result as the price list
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) list: Option<PathBuf>,
    /// Use this study result, measured on this machine, instead of measuring now
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "here")]
    pub(crate) measured: Option<PathBuf>,
    /// Envoy version, path to an Envoy binary (with a `/`), or name of a program on PATH
    #[arg(long, value_name = "VERSION|PATH", requires = "here", conflicts_with = "measured")]
    pub(crate) envoy: Option<String>,
    #[command(flatten)]
    pub(crate) offline: OfflineArguments,
    /// Set the threshold of a check of the study, `NAME=VALUE`; repeatable
    ///
    /// `hoptax trust checks --thresholds` lists names and defaults. A loosened threshold is printed.
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = thresholds::parse, requires = "here", conflicts_with = "measured")]
    pub(crate) thresholds: Vec<(String, f64)>,
    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
