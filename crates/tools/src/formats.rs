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
use table::{import_csv, import_parquet};

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Whether a file may have several statistics, of which one is meant.
    pub has_statistics: bool,
    /// Reads the statistic with this name, or the only one, from a file. The error is the reason why it cannot be read.
    pub read: fn(&[u8], Option<&str>) -> Result<LoadResult, String>,
}

/// A file as text.
fn text(file: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(file).map_err(|error| format!("it is no text: {error}"))
}

/// All of them.
pub const FORMATS: [Format; 6] = [
    Format { name: "hgrm", has_statistics: false, read: |file, _| import_hgrm(text(file)?) },
    Format { name: "hlog", has_statistics: true, read: |file, name| import_hlog(text(file)?, name) },
    Format {
        name: "openmetrics",
        has_statistics: true,
        read: |file, name| import_openmetrics(text(file)?, name),
    },
    Format { name: "otlp", has_statistics: true, read: |file, name| import_otlp(text(file)?, name) },
    Format { name: "csv", has_statistics: true, read: |file, name| import_csv(text(file)?, name) },
    Format { name: "parquet", has_statistics: true, read: import_parquet },
];
