//! Errors of a run, and of an arm that cannot be measured.

use std::io;
use std::path::PathBuf;

use hoptax_functions::RenderError;
use hoptax_host::link::LinkError;
use hoptax_host::network::NetworkError;
use hoptax_load::trial::TrialError;
use hoptax_load::{ConnectError, TargetError};
use hoptax_plan::plan::Arm;
use hoptax_subject::envoy::process::ProxyError;
use hoptax_subject::origin::OriginError;

use super::perf::ProfileError;

/// Reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An error of one arm.
    #[error("arm `{arm}`: {cause}")]
    Arm {
        /// The arm.
        arm: String,
        /// The cause.
        cause: ArmError,
    },
    /// An error of the proxy of a service of a graph.
    #[error("the proxy of `{service}`: {cause}")]
    Proxy {
        /// The service.
        service: String,
        /// The cause.
        cause: ArmError,
    },
    /// A part of an arm is in the plan but absent from the run.
    #[error("arm `{arm}`: there is no {what}; this is a bug in hoptax")]
    Missing {
        /// The arm.
        arm: String,
        /// The absent thing and its place.
        what: String,
    },
    /// An error of the origin.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// An error of the link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A folder or file of the run cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot measure: {0}")]
    System(#[from] io::Error),
}

impl RunError {
    /// Returns true if an input of the user is the cause, rather than the machine.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::Arm { cause: ArmError::Refused(_), .. })
    }
}

/// Reason why an arm cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// Its function cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Envoy rejects the configuration that its function adds.
    #[error("Envoy rejects line {line} of the fragment of function `{function}`, `{text}`:\n{reason}")]
    Fragment {
        /// The function.
        function: String,
        /// The line, counted from 1, after rendering.
        line: usize,
        /// The text of the line.
        text: String,
        /// Envoy's message.
        reason: String,
    },
    /// The two sides of its proxy need different values of a field that a process has once.
    #[error(
        "functions for requests and functions for calls need different values of `{0}`, which a proxy has once: remove one of them"
    )]
    Sides(String),
    /// The Envoy that a proxy chooses was not looked up.
    #[error("Envoy `{0}` was not looked up before the run; this is a bug in hoptax")]
    UnknownEnvoy(String),
    /// Its proxy is not running.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// Its requests cannot be built.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Its connections cannot be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A trial on it cannot be run.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// Its proxy does not state the statistics that show its functions at work.
    #[error(
        "its proxy does not report `{0}`, which proves that its functions are active; this is a bug in hoptax"
    )]
    Unstated(String),
    /// A function that is to be removed was not active before.
    #[error("its function was not active before its removal: `{0}`")]
    NeverAtWork(String),
    /// Its given configuration cannot be measured.
    #[error("{0}")]
    Given(String),
    /// Envoy refuses its given configuration: the places in the user's files, and the reason.
    #[error("{0}")]
    Refused(String),
    /// A proxy needs more processors than the study has.
    #[error("the proxy `{proxy}` needs {needed} processors, and the study has {available} on this machine")]
    TooFewProcessors {
        /// Its name.
        proxy: String,
        /// The processors that it needs.
        needed: u32,
        /// The processors of the proxies, of the generator and of the origin.
        available: usize,
    },
    /// Its network cannot be created or read.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It cannot be profiled.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// TLS of its connections cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Security(String),
}

/// The error for a part of an arm that is in the plan but not in the run.
pub(super) fn missing(arm: &str, what: &str) -> RunError {
    RunError::Missing { arm: arm.to_owned(), what: what.to_owned() }
}

/// Makes an error of an arm from its cause.
pub(super) fn in_arm<E: Into<ArmError>>(arm: &Arm) -> impl Fn(E) -> RunError {
    move |cause: E| RunError::Arm { arm: arm.id.clone(), cause: cause.into() }
}
