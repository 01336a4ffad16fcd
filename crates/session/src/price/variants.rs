//! Brings a given Envoy configuration up on this machine, whole, without each of its parts and changed, sends requests through
//! it, and writes the study that measures those variants that answer alike.
//!
//! `hoptax_bootstrap` changes the configuration, and `hoptax_subject` reads the user's files and runs Envoy.
//! `hoptax_judge::bill` computes the bill from the result of the study.

mod activity;
mod change;
mod lab;
mod named;
pub(crate) mod study_file;
mod try_out;
mod variant;

pub(crate) use activity::activity;
pub use change::Change;
pub(crate) use change::Changed;
pub(crate) use lab::{LabError, make_folders, write_files};
pub(crate) use named::{NameError, named};
pub(crate) use try_out::{Answers, Stubs, TryOut, TryOutError};
pub(crate) use variant::Variant;
