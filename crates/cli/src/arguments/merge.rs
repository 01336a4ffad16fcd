//! Arguments of `hoptax merge` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use hoptax_session::tables::StudyTable;

#[derive(Debug, Args)]
#[command(after_help = "\
Histograms and counts are added, so each quantile is that of all requests together. Rates are
added for the time in which all runs recorded. A file that is missing or ends early, and a void
result, are left out: the output names them with their share of the planned rate, the verdict is
caution, and the exit code is 0.

Examples:
  hoptax merge a.json b.json c.json
  hoptax merge a.json b.json --json all.json

Exit codes:
  0    merged; the verdict is sound or caution
  2    the files are not results of one load at the same time, or no result is left to merge
  4    the merged result is void")]
pub(crate) struct MergeArguments {
    /// Results of `hoptax load --json`, one of each generator
    #[arg(value_name = "FILE", num_args = 2.., required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the result as JSON to a file; `-` is stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax export result.json --to fortio > fortio-data/load.json    for `fortio report`
  hoptax export result.json --to otlp --send-to http://127.0.0.1:4318/v1/metrics
  hoptax export runs/quick-1/result.json --to parquet --table slices > slices.parquet

docs/reference/formats.md describes the formats, docs/reference/smp.md that of Service Mesh Performance, and
docs/reference/tables.md the tables of studies.

Exit codes:
  0    converted, and received if --send-to is given
  2    not a result, or one without what the format holds; or Parquet to a terminal
  3    the receiver cannot be reached or refused the metrics")]
pub(crate) struct ExportArguments {
    /// Result of `hoptax load --json` or `hoptax merge --json`; with `--to smp`, also of a study; with `--to parquet`, of a study
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: ExportFormat,
    /// Table of `--to parquet` [default: numbers]
    #[arg(long, value_name = "TABLE", value_enum)]
    pub(crate) table: Option<ExportTable>,
    /// Send the metrics of `--to otlp` to this URL, that of a collector, instead of printing them
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) send_to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// JSON for the report page of Fortio; its durations are response times from the intended start
    Fortio,
    /// The percentile distribution of response time in the text format of HdrHistogram
    Hgrm,
    /// An interval log of HdrHistogram with one interval: response and service times, as `hoptax import hlog` reads them
    Hlog,
    /// JSON of Nighthawk's client, with service times: those from the sending of a request
    Nighthawk,
    /// The summary of k6, with service times
    K6,
    /// Text of `OpenMetrics` 2.0 with native histograms of response and service times
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// Metrics of OpenTelemetry: a request of OTLP in JSON, with exponential histograms
    Otlp,
    /// Documents of Service Mesh Performance v0.0.1 as JSON, which `hoptax import smp` reads without loss
    Smp,
    /// A table of a study as a Parquet file, with the columns of the CSV files of its run folder
    Parquet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTable {
    /// A row for each number of each arm, with its interval
    Numbers,
    /// A row for each slice, with its measured values
    Slices,
    /// A row for each interval of a timeline
    Timeline,
    /// A row for each bin of the response times of each arm under an open loop
    Histograms,
}

impl From<ExportTable> for StudyTable {
    fn from(table: ExportTable) -> Self {
        match table {
            ExportTable::Numbers => Self::Numbers,
            ExportTable::Slices => Self::Slices,
            ExportTable::Timeline => Self::Timeline,
            ExportTable::Histograms => Self::Histograms,
        }
    }
}
