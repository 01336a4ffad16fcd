//! `hoptax runs merge`: adds up the results of several runs of one load.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_session::merge::merged;
use hoptax_text::command_line::path_words;

use super::load;
use crate::arguments::shared::JsonArguments;
use crate::exit::{Code, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Histograms and counts are added, so each quantile is that of all requests together. Rates are
added for the time in which all runs recorded. A file that is missing or ends early, and a void
result, are left out: the output names them with their share of the planned rate, the verdict is
caution, and the exit code is 0.

Examples:
  hoptax runs merge a.json b.json c.json
  hoptax runs merge a.json b.json --json all.json

Exit codes:
  0    merged; the verdict is sound or caution
  2    the files are not results of one load at the same time, or no result is left to merge
  4    the merged result is void")]
pub(crate) struct MergeArguments {
    /// Results of `hoptax load --json`, one of each generator
    #[arg(value_name = "FILE", num_args = 2.., required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &MergeArguments) -> Result<Code, Failure> {
    let result = merged(&arguments.files)?;
    let keeping = format!("hoptax runs merge {} --json merged.json", path_words(&arguments.files));
    load::write(arguments.json.file(), &result, &keeping)?;
    Ok(Code::from(result.verdict))
}
