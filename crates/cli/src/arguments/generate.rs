//! Arguments of `hoptax generate`: descriptions of the program for editors, shells and packages.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::schema;

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Print the JSON schema of a study file or of results
    Schema(SchemaArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Write man pages
    Man(ManArguments),
    /// Write the pages of the book about functions, built-in studies and checks
    Pages(PagesArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax generate schema                                the names of all
  hoptax generate schema study-file > study-file.json   for editors that validate study files
  hoptax generate schema report                         all results, each kind in `$defs`

Exit codes:
  0  success
  2  no such schema")]
pub(crate) struct SchemaArguments {
    /// Name of a schema [default: list all names]
    #[arg(value_name = "FORMAT", value_parser = PossibleValuesParser::new(schema::names()))]
    pub(crate) of: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax generate completions bash > ~/.local/share/bash-completion/completions/hoptax
  hoptax generate completions fish > ~/.config/fish/completions/hoptax.fish")]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax generate man ~/.local/share/man/man1    then `man hoptax-load`

Exit codes:
  0  success
  3  the folder cannot be written")]
pub(crate) struct ManArguments {
    /// Output folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Writes functions/, studies/ and checks/ below the folder, and their lines in its SUMMARY.md.

Examples:
  hoptax generate pages docs    in hoptax's repository; `make book` then makes the book

Exit codes:
  0  success
  2  the folder has no SUMMARY.md
  3  a file cannot be written")]
pub(crate) struct PagesArguments {
    /// The folder of the documents
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) documents: PathBuf,
}
