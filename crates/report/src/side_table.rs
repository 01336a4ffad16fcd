//! A table beside the main one, which every output of a study has.

/// A table, for all outputs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct SideTable {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    /// Row names with cells.
    pub(crate) rows: Vec<(String, Vec<String>)>,
}
