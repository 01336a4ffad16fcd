//! Arguments of `hoptax functions`, `schema`, `completions` and `man`, which describe the program.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

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
  hoptax schema study-file > study-file.json   for editors that validate study files
  hoptax schema load                           the result of `hoptax load --json`")]
pub(crate) struct SchemaArguments {
    /// File or result to describe
    #[arg(value_name = "FORMAT", value_enum)]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A study file
    StudyFile,
    /// The result of `hoptax study`
    Study,
    /// The combined result of `hoptax study --again` and `--combine`
    Sittings,
    /// The result of `hoptax price`
    Bill,
    /// The result of `hoptax compare`
    Comparison,
    /// The result of `hoptax compare` with study files
    StudiesComparison,
    /// The result of `hoptax gate`
    Gate,
    /// The result of `hoptax load`
    Load,
    /// A line of `hoptax load --every`
    LoadInterval,
    /// The result of `hoptax find`
    Find,
    /// The result of `hoptax find --arms`
    FindArms,
    /// The result of `hoptax predict scale`
    Scale,
    /// The graph file of `hoptax predict size`
    SizeGraph,
    /// The result of `hoptax predict size`
    Size,
    /// The result of `hoptax predict size --check`
    SizeCheck,
    /// The result of `hoptax lab graph run`
    GraphRun,
    /// The result of `hoptax convert smp meshmark`
    #[value(name = "meshmark")]
    MeshMark,
    /// The result of `hoptax trust calibrate`
    Calibration,
    /// The result of `hoptax trust crosscheck`
    Crosscheck,
    /// The result of `hoptax predict prices --json`
    Prices,
    /// The result of `hoptax runs list --json`
    Runs,
    /// The result of `hoptax runs history --json`
    History,
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
