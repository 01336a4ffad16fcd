//! The error that ends a command, with the kind that decides its exit code.

use std::error::Error;
use std::fmt;
use std::path::Path;

use hoptax_certs::folder::FolderError;
use hoptax_origin::OriginError;
use hoptax_subject::envoy::release::ReleaseError;
use tempfile::TempDir;

/// Kind of a failure, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Invalid input: arguments, a study file, a URL.
    BadInput,
    /// A requirement is missing: Envoy, a port, a folder, the server.
    Environment,
    /// The measurement does not support an answer.
    Void,
    /// The user interrupted the command.
    Interrupted,
}

/// An error that ends a command.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    message: String,
}

impl Failure {
    /// The failure of a command whose input is wrong.
    pub fn bad_input(cause: impl fmt::Display) -> Self {
        Self { kind: Kind::BadInput, message: cause.to_string() }
    }

    /// The failure of a command that lacks something on this machine.
    pub fn environment(cause: impl fmt::Display) -> Self {
        Self { kind: Kind::Environment, message: cause.to_string() }
    }

    /// The failure of a command whose input is wrong if `is_input`, and that lacks something otherwise.
    pub fn of_input_if(is_input: bool, cause: impl fmt::Display) -> Self {
        if is_input { Self::bad_input(cause) } else { Self::environment(cause) }
    }

    /// The failure of a command that cannot read a file of the user.
    pub(crate) fn cannot_read(path: &Path, error: impl fmt::Display) -> Self {
        Self::bad_input(format!("cannot read `{}`: {error}", path.display()))
    }

    /// The failure of a command that cannot write a file.
    pub fn cannot_write(path: &Path, error: impl fmt::Display) -> Self {
        Self::environment(format!("cannot write `{}`: {error}", path.display()))
    }

    /// The end of a command whose measurement supports no answer.
    pub fn void(cause: impl fmt::Display) -> Self {
        Self { kind: Kind::Void, message: cause.to_string() }
    }

    /// The end of a command that was interrupted.
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, message: "interrupted".to_owned() }
    }

    /// Combines failures into one with all their messages, in order; none if there are none. It is bad input if one of them is.
    pub(crate) fn of_all(failures: &[Self]) -> Option<Self> {
        let about_input = failures.iter().find(|one| one.kind == Kind::BadInput);
        let kind = about_input.or(failures.first())?.kind;
        let messages: Vec<&str> = failures.iter().map(|one| one.message.as_str()).collect();
        Some(Self { kind, message: messages.join("\n") })
    }

    /// True if an interrupt ended the command.
    pub fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// The same failure with more text.
    #[must_use]
    pub fn with(&self, more: impl fmt::Display) -> Self {
        Self { kind: self.kind, message: format!("{}{more}", self.message) }
    }

    /// Keeps the logs of the processes in `folder` for the user, and adds their path to the message.
    #[must_use]
    pub(crate) fn with_logs(&self, folder: TempDir) -> Self {
        self.with(format!("\nthe logs of all processes are in `{}`", folder.keep().display()))
    }
}

impl From<ReleaseError> for Failure {
    fn from(error: ReleaseError) -> Self {
        match error {
            ReleaseError::Interrupted => Self::interrupted(),
            error => Self::environment(error),
        }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Exists(_)
            | FolderError::Taken { .. }
            | FolderError::NoFolder(_)
            | FolderError::Certificate(_) => Self::bad_input(error),
            FolderError::Write { .. } => Self::environment(error),
        }
    }
}

impl From<OriginError> for Failure {
    fn from(error: OriginError) -> Self {
        let is_input =
            matches!(error, OriginError::Table(_) | OriginError::Default(_) | OriginError::Call(_));
        Self::of_input_if(is_input, error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}
