//! `hoptax convert export`: converts a result to the format of another tool, or a table of a study to Parquet.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_session::export::{Converted, convert, send};
use hoptax_session::tables::StudyTable;
use hoptax_text::command_line::path_word;
use hoptax_tools::export::Format;

use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax convert export result.json --to html > result.html
  hoptax convert export result.json --to otlp --send-to http://127.0.0.1:4318/v1/metrics
  hoptax convert export runs/quick-1 --to parquet --table slices > slices.parquet

docs/reference/formats.md describes the formats, docs/reference/smp.md that of Service Mesh
Performance, and docs/reference/tables.md the tables of studies.

Exit codes:
  0    converted, and received if --send-to is given
  2    not a result, or one without what the format holds; or Parquet to a terminal
  3    the receiver cannot be reached or refused the metrics")]
pub(crate) struct ExportArguments {
    /// Result of `hoptax load --json` or `hoptax runs merge --json`; with `--to smp`, also of a study; with `--to parquet`, of a study; with
    /// `--to html`, of any command: a file, or a run folder
    #[arg(value_name = "RESULT", value_hint = ValueHint::AnyPath)]
    result: PathBuf,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Format,
    /// Table of `--to parquet` [default: numbers]
    #[arg(long, value_name = "TABLE", value_enum)]
    table: Option<StudyTable>,
    /// Send the metrics of `--to otlp` to this URL of a collector instead of printing them
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    send_to: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Code, Failure> {
    let (result, to) = (&arguments.result, arguments.to);
    if arguments.send_to.is_some() && to != Format::Otlp {
        return Err(Failure::bad_input("`--send-to` needs `--to otlp`"));
    }
    if arguments.table.is_some() && to != Format::Parquet {
        return Err(Failure::bad_input("`--table` needs `--to parquet`"));
    }
    let table = arguments.table.unwrap_or(StudyTable::Numbers);
    match (convert(result, to, table)?, &arguments.send_to) {
        (Converted::Text(text), Some(url)) => {
            print::note(&format!("hoptax: metrics received by `{}`", send(url, &text)?));
        }
        (Converted::Text(text), None) => print::result(&text)?,
        (Converted::Binary(bytes), _) => {
            let (result, name) = (path_word(result), table.as_str());
            let instead = format!(
                "redirect it, `hoptax convert export {result} --to parquet --table {name} > {name}.parquet`"
            );
            print::binary(&bytes, &instead)?;
        }
    }
    Ok(Code::Success)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_format_has_the_name_by_which_it_is_asked_for() {
        for format in Format::value_variants() {
            assert_eq!(format.to_possible_value().unwrap().get_name(), format.name());
        }
    }
}
