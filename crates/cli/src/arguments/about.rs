//! Arguments of `hoptax functions`, `schema`, `completions` and `man`, which describe the program.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::schema;

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
  hoptax schema                                the names of all
  hoptax schema study-file > study-file.json   for editors that validate study files
  hoptax schema load                           the result of `hoptax load --json`")]
pub(crate) struct SchemaArguments {
    /// File or result to describe; all are listed without it
    #[arg(value_name = "FORMAT", value_parser = PossibleValuesParser::new(schema::names()))]
    pub(crate) of: Option<String>,
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
