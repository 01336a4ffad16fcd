//! The outputs of a result: pure functions from results to text, or to bytes.
//!
//! All outputs show the same rows in the same order ([`rows`]), with the same numbers ([`numbers`]). None shows a
//! withheld number.

mod bill;
mod by_load;
mod comparison;
pub mod csv;
mod findings;
mod forest;
mod gate;
mod handshakes;
pub mod histograms;
pub mod html;
mod in_use;
pub mod junit;
mod known;
mod layers;
mod levels;
pub mod markdown;
pub mod numbers;
pub mod openmetrics;
pub mod parquet;
mod parts;
mod prices;
mod probe;
mod rows;
mod rules;
pub mod sarif;
mod side;
mod sittings;
pub mod tables;
pub mod terminal;
mod timeline;
mod words;

#[cfg(test)]
mod fixture;

pub use terminal::Style;
