//! Finds the highest rate at which a server, or each of several arms of a study, holds objectives.

mod arms;
mod common;
mod fastest;
mod options;
mod server;
mod sweep;
#[cfg(test)]
mod tests;
mod trials;
#[cfg(test)]
mod virtual_server;

pub use arms::{ArmsOfStudy, Instead};
pub use options::{LOWEST_RATE, Options, Preset};
pub use server::{Goal, Server, on_server};

use crate::failure::Failure;

/// What a search came to.
#[derive(Debug)]
pub struct Found<T> {
    /// What is known at its end.
    pub result: T,
    /// Why it ended before it was complete: a server may end under overload. The result then holds what was known by then.
    pub failure: Option<Failure>,
}
