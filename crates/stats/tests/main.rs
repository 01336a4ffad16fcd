//! Simulations of the coverage and error rates of the statistics, which take minutes: `make test-long` runs them, optimized. Every test
//! has a fixed seed, so results depend neither on the clock nor on the machine.
//!
//! `make test` runs other guards of the statistics: worked examples and degenerate cases beside each of them, and `properties.rs` with
//! their invariants. All files of this folder that simulate are one program, because each program links the libraries again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bound_coverage;
mod coverage;
mod decision_errors;
mod independent_coverage;
mod knee_coverage;
mod limit_errors;
mod line_coverage;
mod moderated_coverage;
mod moderated_simulation;
mod order_statistics_coverage;
mod quiet_coverage;
mod scalability_coverage;
mod search_ratio_coverage;
mod search_subjects;
mod selection_coverage;
mod share_coverage;
mod sittings_coverage;
mod stopping_coverage;
mod stored_reference_coverage;
mod tail_coverage;
mod timeline_coverage;
mod whole_study;
