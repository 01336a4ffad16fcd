//! Keeps an Envoy running on a listeners file: it prepares the file, replaces Envoy by hot restart when the file changes, and tells which
//! upstream is slow.
//!
//! [`machine`] decides and does nothing; [`run()`] performs its actions, and is the only owner of the processes. [`status`] is the state
//! of both for people and machines.

mod endpoint;
mod folder;
mod launch;
mod machine;
mod observed;
mod prepare;
mod report;
mod run;
mod slow;
pub mod status;
mod timed;
mod watch;

pub use run::{Failure, Options, Request, run};
