//! Measures a plan: starts its processes, measures slice after slice, and returns the records of the complete rounds. Everything
//! of a study that reads files or starts processes is here.
//!
//! | module | task |
//! |---|---|
//! | [`configurations`] | reads the users' Envoy configurations that a study names |
//! | [`runner`] | starts processes, measures slices |
//! | [`event`] | tells a listener how far the run is |
//! | [`provenance`] | hashes of what was measured |
//! | [`programs`] | builds of the programs besides hoptax and Envoy |

pub mod configurations;
pub mod event;
pub mod programs;
pub mod provenance;
pub mod runner;
