//! Formats of results that several tools use, each in its own file.

mod hgrm;
mod hlog;
mod judgement;
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

/// Type of the files of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text,
    /// Parquet, which [`csv_of_parquet`] converts to text. Call it in a separate process, as its documentation says.
    Parquet,
}

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// The type of its files.
    pub content: Content,
    /// True if a file may have several statistics, from which the user selects one.
    pub has_statistics: bool,
    /// Reads the statistic with this name, or the only one, from the text of a file. The error is the reason why it is unreadable.
    pub read: fn(&str, Option<&str>) -> Result<LoadResult, String>,
}

/// All formats.
pub const FORMATS: [Format; 6] = [
    Format { name: "hgrm", content: Content::Text, has_statistics: false, read: |text, _| import_hgrm(text) },
    Format { name: "hlog", content: Content::Text, has_statistics: true, read: import_hlog },
    Format { name: "openmetrics", content: Content::Text, has_statistics: true, read: import_openmetrics },
    Format { name: "otlp", content: Content::Text, has_statistics: true, read: import_otlp },
    Format {
        name: "csv",
        content: Content::Text,
        has_statistics: true,
        read: |text, name| import_table("csv", text, name),
    },
    Format {
        name: "parquet",
        content: Content::Parquet,
        has_statistics: true,
        read: |text, name| import_table("parquet", text, name),
    },
];
