//! `hoptax convert import`: converts the output of another load generator, or a result in another format, to a result.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_report::documents;
use hoptax_session::import::{Restored, import, parquet_on_stdin};
use hoptax_text::command_line::{option, path_word, word};

use super::load;
use crate::arguments::shared::JsonArguments;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax convert import fortio result.json
  hoptax convert import hlog load.hlog --statistic response --json result.json
  hoptax convert import smp result.yaml --json result.json    what `export --to smp` wrote

A result holds what the file states and no more: what is missing is listed as a finding.

Exit codes:
  0    converted
  2    not a file of this format, or one that contradicts itself
  3    a process that reads Parquet cannot run")]
pub(crate) struct ImportArguments {
    /// Format: `smp` (Service Mesh Performance), `hgrm` and `hlog` (HdrHistogram), `openmetrics` (2.0), `otlp`, `csv` and `parquet` (a
    /// table of bins), or a tool: fortio, wrk, wrk2, nighthawk (JSON, YAML, the form of Fortio and that of the console), k6, or any
    /// other that `hoptax trust crosscheck` supports
    format: String,
    /// Output or result file of the tool; `-` is stdin
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Read this one of several statistics: a tag of the intervals of `hlog`, a metric of `openmetrics` or `otlp`, `ARM under LOAD` of
    /// `csv` or `parquet`, a name in the output of nighthawk
    #[arg(long, value_name = "NAME")]
    statistic: Option<String>,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments) -> Result<Code, Failure> {
    let (statistic, json) = (arguments.statistic.as_deref(), arguments.json.file());
    match import(&arguments.file, &arguments.format, statistic, &print::say)? {
        Restored::Load(result) => load::write(json, &result, &keeping(arguments))?,
        Restored::Study(result) => print::document_or_json(json, &*result, || documents::study(&result))?,
    }
    Ok(Code::Success)
}

/// Runs the hidden command that reads a Parquet file for `import`.
pub(crate) fn parquet_to_csv() -> Result<Code, Failure> {
    match parquet_on_stdin()? {
        Ok(text) => print::result(&text).map(|()| Code::Success),
        Err(reason) => print::result(&reason).map(|()| Code::BadInput),
    }
}

/// The command that converts the same, and keeps the result.
fn keeping(arguments: &ImportArguments) -> String {
    let (format, file) = (word(&arguments.format), path_word(&arguments.file));
    let statistic = option("--statistic", arguments.statistic.as_ref());
    format!("hoptax convert import {format} {file}{statistic} --json result.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_begins_with_a_hyphen_is_no_option_of_the_command_that_keeps_the_result() {
        let statistic = Some("a b".to_owned());
        let (format, file, json) = ("hlog".to_owned(), "-load.hlog".into(), JsonArguments::default());
        let command = keeping(&ImportArguments { format, file, statistic, json });
        assert_eq!(command, "hoptax convert import hlog ./-load.hlog --statistic 'a b' --json result.json");
    }
}
