//! Finds the highest rate at which a server, or each of several arms of a study, holds objectives.

mod arm_ids;
mod arms;
mod common;
mod fastest;
mod named;
mod options;
mod server;
mod sweep;
#[cfg(test)]
mod tests;
mod trials;
#[cfg(test)]
mod virtual_server;

pub use hoptax_checks::objective::Objective;

pub use arm_ids::ArmIds;
pub use arms::{ArmsOfStudy, TrafficOverrides};
pub use named::study_of;
pub use options::{Options, Preset};
pub use server::{Aim, Goal, on_server};

use crate::failure::Failure;

/// Result of a search, also of one that ended early.
#[derive(Debug)]
pub struct Found<T> {
    /// Result from all trials that completed.
    pub result: T,
    /// Reason why the search ended early, for example because the server ended under overload. None if it is complete.
    pub failure: Option<Failure>,
}
