//! One of the results that are merged.

use hoptax_result::LoadResult;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The file that it was read from.
    pub file: String,
    /// Its content.
    pub result: LoadResult,
}
