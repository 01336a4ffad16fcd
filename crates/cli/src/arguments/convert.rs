//! Arguments of `hoptax convert`: results in the formats of other programs, and raw logs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use hoptax_session::tables::StudyTable;
use hoptax_tools::export::Format;

use super::shared::JsonArguments;
use super::smp::SmpArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum ConvertCommand {
    /// Convert the output of another load generator, or a result in another format, to a result
    Import(ImportArguments),
    /// Convert a result of a load or a study to another format
    Export(ExportArguments),
    /// Run test configurations of Service Mesh Performance, and print its index
    Smp(SmpArguments),
    /// Print a raw log of `hoptax load` as CSV
    Log(LogArguments),
    /// Convert a Parquet file on stdin to CSV, for `import`
    #[command(hide = true)]
    ParquetToCsv,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax convert import fortio result.json
  hoptax convert import hlog load.hlog --statistic response --json result.json
  hoptax convert import smp result.yaml --json result.json    what `export --to smp` wrote

A result holds what the file states and no more: what is missing is listed as a finding.

Exit codes:
  0    converted
  2    not a file of this format, or one that contradicts itself")]
pub(crate) struct ImportArguments {
    /// Format: `smp` (Service Mesh Performance), `hgrm` and `hlog` (HdrHistogram), `openmetrics` (2.0), `otlp`, `csv` and `parquet` (a
    /// table of bins), or a tool: fortio, wrk, wrk2, nighthawk (JSON, YAML, the form of Fortio and that of the console), k6, or any
    /// other that `hoptax trust crosscheck` supports
    pub(crate) format: String,
    /// Output or result file of the tool; `-` is stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Read this one of several statistics: a tag of the intervals of `hlog`, a metric of `openmetrics` or `otlp`, `ARM under LOAD` of
    /// `csv` or `parquet`, a name in the output of nighthawk
    #[arg(long, value_name = "NAME")]
    pub(crate) statistic: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax convert export result.json --to html > result.html
  hoptax convert export result.json --to otlp --send-to http://127.0.0.1:4318/v1/metrics
  hoptax convert export runs/quick-1/result.json --to parquet --table slices > slices.parquet

docs/reference/formats.md describes the formats, docs/reference/smp.md that of Service Mesh
Performance, and docs/reference/tables.md the tables of studies.

Exit codes:
  0    converted, and received if --send-to is given
  2    not a result, or one without what the format holds; or Parquet to a terminal
  3    the receiver cannot be reached or refused the metrics")]
pub(crate) struct ExportArguments {
    /// Result of `hoptax load --json` or `hoptax runs merge --json`; with `--to smp`, also of a study; with `--to parquet`, of a study; with `--to html`, of any command
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: Format,
    /// Table of `--to parquet` [default: numbers]
    #[arg(long, value_name = "TABLE", value_enum)]
    pub(crate) table: Option<StudyTable>,
    /// Send the metrics of `--to otlp` to this URL, that of a collector, instead of printing them
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) send_to: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load -q 1000 --log requests.log http://127.0.0.1:8080/
  hoptax convert log requests.log > requests.csv")]
pub(crate) struct LogArguments {
    /// Log file of `hoptax load --log`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}
