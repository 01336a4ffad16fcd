//! Errors of a crosscheck.

/// An error that stops a crosscheck.
#[derive(Debug, thiserror::Error)]
pub enum CrosscheckError {
    /// The origin failed.
    #[error(transparent)]
    Origin(#[from] hoptax_origin::OriginError),
    /// A system call failed.
    #[error("the crosscheck failed: {0}")]
    System(#[from] std::io::Error),
    /// The thread of the server panicked.
    #[error("the server thread panicked; this is a bug in hoptax")]
    ServerLost,
    /// The caller requested a stop.
    #[error("interrupted")]
    Interrupted,
}
