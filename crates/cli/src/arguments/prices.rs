//! Arguments of `hoptax prices`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax prices                                       the price list that hoptax was built with
  hoptax prices --list runs/mine/result.json          a list of your own
  hoptax prices --here                                what the list should be on this machine: measures a few functions first
  hoptax prices --here --measured runs/quick-1/result.json   the same, by a study that was measured here before
  hoptax prices --here --markdown > prices.md

With --here, every price says how it was made: `measured here`, `carried` from the list with an interval that holds what the model does
not know, or `not carried`. docs/prices.md explains the model and where it misses.

Exit codes:
  0    fine
  2    bad input: a file that is no result of a study
  3    the environment lacks something: Envoy, memory
  4    what was measured here is void, or has nothing in common with the list
  130  interrupted")]
pub(crate) struct PricesArguments {
    /// Carry the list to this machine: measure plain proxying and a few functions, in about a minute
    #[arg(long)]
    pub(crate) here: bool,
    /// The result of a study, in place of the published price list
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) list: Option<PathBuf>,
    /// The result of a study that was measured on this machine, in place of measuring now
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "here")]
    pub(crate) measured: Option<PathBuf>,
    /// Which Envoy: a version, a path with a `/`, or a program on PATH
    #[arg(long, value_name = "VERSION|PATH", requires = "here", conflicts_with = "measured")]
    pub(crate) envoy: Option<String>,
    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write the prices as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}
