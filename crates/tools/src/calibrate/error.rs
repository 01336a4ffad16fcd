//! Errors of a calibration.

use std::io;

use hoptax_load::{ConnectError, TargetError};
use hoptax_origin::OriginError;

/// Reason why a calibration failed.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// An error of the origin.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// The origin ended without its records, which is a bug in hoptax.
    #[error("the origin ended without its records; this is a bug in hoptax")]
    OriginLost,
    /// The requests cannot be built.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The connections cannot be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A system call failed.
    #[error("cannot calibrate: {0}")]
    System(#[from] io::Error),
    /// Requests failed, so the records of generator and origin do not match.
    #[error(
        "experiment `{0}`: requests failed, so the records of generator and origin do not match; is the machine overloaded?"
    )]
    Accounts(&'static str),
    /// The calibration was interrupted.
    #[error("interrupted")]
    Interrupted,
}
