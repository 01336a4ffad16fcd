//! Formats of results that are not those of one tool, each in a file of its own.

mod hgrm;
mod hlog;
mod openmetrics;
mod otlp;
mod table;

use hoptax_result::LoadResult;

use crate::import::named_or_only;

pub use hgrm::import_hgrm;
pub use hlog::import_hlog;
use openmetrics::import_openmetrics;
use otlp::import_otlp;
pub use table::csv_of_parquet;
use table::import_table;

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Whether a file may have several statistics, of which one is meant.
    pub has_statistics: bool,
    /// Reads the statistic with this name, or the only one, from the text of a file; that of `parquet` is [`csv_of_parquet`]. The error
    /// is the reason why it cannot be read.
    pub read: fn(&str, Option<&str>) -> Result<LoadResult, String>,
}

/// The format whose files are no text.
pub const PARQUET: &str = "parquet";

/// All of them.
pub const FORMATS: [Format; 6] = [
    Format { name: "hgrm", has_statistics: false, read: |text, _| import_hgrm(text) },
    Format { name: "hlog", has_statistics: true, read: import_hlog },
    Format { name: "openmetrics", has_statistics: true, read: import_openmetrics },
    Format { name: "otlp", has_statistics: true, read: import_otlp },
    Format { name: "csv", has_statistics: true, read: |text, name| import_table("csv", text, name) },
    Format { name: PARQUET, has_statistics: true, read: |text, name| import_table(PARQUET, text, name) },
];
