//! Brings a given Envoy configuration up on this machine, whole and without each of its parts, and sends requests through it.
//!
//! `hoptax_bootstrap` decides what the configuration becomes; this crate reads the user's files, writes those of the lab, and
//! runs the processes.

mod given;
mod lab;
mod trial;

pub use given::{Given, GivenError};
pub use lab::{LabError, write_files};
pub use trial::{Answers, Stubs, Trial, TrialError};
