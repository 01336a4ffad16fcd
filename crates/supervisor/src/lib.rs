//! Keeps an Envoy running on a listeners file: prepares the file, replaces Envoy by hot restart when the file changes, and reports slow
//! upstreams.
//!
//! [`machine`] makes decisions without side effects. [`run()`] performs its actions, and owns the processes. [`status`] is the state of
//! both for people and machines.

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
