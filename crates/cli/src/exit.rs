//! Exit codes.

use std::process::ExitCode;

use hoptax_cluster::Refused;
use hoptax_result::Verdict;
pub(crate) use hoptax_session::Failure;
use hoptax_session::Kind;

/// Exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Success.
    Success = 0,
    /// A check of the command fails: a condition of `--fail-on`, a limit, an objective, a configuration, a promise.
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

impl From<Verdict> for Code {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Sound | Verdict::Caution => Self::Success,
            Verdict::Void => Self::Void,
        }
    }
}

impl From<&Failure> for Code {
    fn from(failure: &Failure) -> Self {
        match failure.kind {
            Kind::BadInput => Self::BadInput,
            Kind::Environment => Self::Environment,
            Kind::Void => Self::Void,
            Kind::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The failure of a command that a cluster refuses something.
pub(crate) fn of_cluster(refused: Refused) -> Failure {
    Failure::of_input_if(refused.is_of_input(), refused)
}
