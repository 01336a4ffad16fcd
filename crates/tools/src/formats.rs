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
use table::import_csv;

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Whether a file may have several statistics, of which one is meant.
    pub has_statistics: bool,
    /// Reads the statistic with this name, or the only one, from the text of a file. The error is the reason why it cannot be read.
    pub read: fn(&str, Option<&str>) -> Result<LoadResult, String>,
}

/// All of them.
pub const FORMATS: [Format; 5] = [
    Format { name: "hgrm", has_statistics: false, read: |text, _| import_hgrm(text) },
    Format { name: "hlog", has_statistics: true, read: import_hlog },
    Format { name: "openmetrics", has_statistics: true, read: import_openmetrics },
    Format { name: "otlp", has_statistics: true, read: import_otlp },
    Format { name: "csv", has_statistics: true, read: import_csv },
];
