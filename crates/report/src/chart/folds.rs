//! Numbers and charts that are hidden behind names until a reader opens them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Chart;
use crate::table::Table;

/// Names with what is behind each of them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Folds {
    /// A sentence about the tables and charts behind the names.
    pub(crate) note: String,
    /// The names.
    pub(crate) folds: Vec<Fold>,
}

/// A name with what is behind it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Fold {
    /// The name, which no other has.
    pub(crate) name: String,
    /// The few numbers by which a reader chooses it, in words.
    pub(crate) words: String,
    /// Its numbers.
    pub(crate) table: Table,
    /// Its charts.
    pub(crate) charts: Vec<Chart>,
}
