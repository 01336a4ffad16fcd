//! Brings a given Envoy configuration up on this machine, whole and without each of its parts, and sends requests through it.
//!
//! `hoptax_bootstrap` decides what the configuration becomes, and `hoptax_subject` reads the user's files and runs Envoy.

mod lab;
mod trial;

pub use lab::{LabError, write_files};
pub use trial::{Answers, Stubs, Trial, TrialError};
