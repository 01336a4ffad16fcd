//! The outputs of a result: pure functions from results to text or bytes.
//!
//! Each result becomes a [`document::Document`] in one file of [`documents`]; each output of documents is one file of [`render`]. Formats
//! for programs (CSV, Parquet, `OpenMetrics`, `JUnit`, SARIF) have their own files.

mod account;
mod bill;
mod by_load;
mod chart;
mod comparison;
mod costs;
pub mod csv;
pub mod document;
pub mod documents;
mod environment;
mod findings;
mod gate;
mod handshakes;
mod headline;
pub mod histograms;
mod in_use;
pub mod junit;
pub mod kind;
mod known;
mod layers;
mod levels;
pub mod live;
mod load_rate;
mod more_rounds;
mod next;
pub mod numbers;
pub mod openmetrics;
pub mod parquet;
mod parts;
mod prices;
mod probe;
mod provenance;
mod published;
mod quantity;
pub mod render;
mod rows;
mod rules;
mod same_load;
pub mod sarif;
pub mod schema;
mod side;
mod sittings;
mod style;
mod table;
pub mod tables;
mod timeline;
mod usable;
mod words;

#[cfg(test)]
mod fixture;

// Tests of the public API run in the program of the unit tests, because each additional program links all libraries again.
#[cfg(test)]
extern crate self as hoptax_report;
#[cfg(test)]
#[path = "../tests/real_results/mod.rs"]
mod real_results;

pub use style::Style;
