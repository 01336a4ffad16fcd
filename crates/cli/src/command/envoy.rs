//! `hoptax lab envoy`: installs and lists Envoy releases.

use hoptax_subject::envoy::release::{PINNED_VERSION, ReleaseError, Releases};

use crate::arguments::{EnvoyArguments, EnvoyCommand};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &EnvoyArguments) -> Result<Code, Failure> {
    let releases = Releases::of_user().map_err(Failure::environment)?;
    match &arguments.command {
        EnvoyCommand::List { json } => list(&releases, *json),
        EnvoyCommand::Install { version } => {
            let envoy = releases.get_or_install(version, &mut print::note).map_err(|error| match error {
                ReleaseError::Version(_) => Failure::bad_input(error),
                _ => Failure::environment(error),
            })?;
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
