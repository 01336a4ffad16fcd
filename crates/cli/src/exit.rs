//! Exit codes, and the error type of commands, which carries one.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use hoptax_result::Verdict;

/// Exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Success.
    Success = 0,
    /// A condition of `--fail-on` holds, or of a load is unknown.
    ConditionFailed = 1,
    /// Invalid input: arguments, a study file, a URL.
    BadInput = 2,
    /// A requirement is missing: Envoy, a port, a folder, the server.
    Environment = 3,
    /// The result is void.
    Void = 4,
    /// Interrupted.
    Interrupted = 130,
}

impl Code {
    /// The exit code for a verdict.
    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Sound | Verdict::Caution => Self::Success,
            Verdict::Void => Self::Void,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    message: String,
}

impl Failure {
    pub(crate) fn bad_input(cause: impl fmt::Display) -> Self {
        Self { code: Code::BadInput, message: cause.to_string() }
    }

    pub(crate) fn environment(cause: impl fmt::Display) -> Self {
        Self { code: Code::Environment, message: cause.to_string() }
    }

    /// The end of a command that was interrupted. It has no message: whoever interrupts a command knows why it ends.
    pub(crate) fn interrupted() -> Self {
        Self { code: Code::Interrupted, message: String::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}
