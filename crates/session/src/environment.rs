//! The environment section of results: the machine, and its calibration, which is stored between runs.

use std::path::PathBuf;
use std::{env, fs, io};

use hoptax_host::processors::Placement;
use hoptax_result::{Body, Calibrated, CalibrationBody, CalibrationResult, Environment};
use hoptax_subject::envoy::release::Envoy;

/// Path of the stored calibration (XDG Base Directory Specification); None without a home directory. A calibration whose processors were
/// kept from halting has its own file, because its wake-ups are faster.
fn path(never_halted: bool) -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    let name = if never_halted { "calibration-never-halted.json" } else { "calibration.json" };
    Some(state.join("hoptax").join(name))
}

/// Stores a calibration and returns its path; none without a home directory.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn store_calibration(result: &CalibrationResult) -> io::Result<Option<PathBuf>> {
    let Some(path) = path(result.never_halted) else { return Ok(None) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, serde_json::to_vec_pretty(result)?)?;
    Ok(Some(path))
}

/// The environment of a result: this machine, and the stored calibration for this halting mode.
pub fn current(never_halted: bool) -> Environment {
    let mut environment = hoptax_host::environment::capture();
    environment.calibration = calibration(&environment, never_halted);
    environment
}

/// Returns the environment of a study with this Envoy.
pub fn of_study(envoy: &Envoy, placement: &Placement, never_halts: bool) -> Environment {
    Environment {
        proxy_version: Some(envoy.version.clone()),
        proxy_build: envoy.build.clone(),
        proxy_cpus: placement.proxy.clone(),
        generator_cpus: placement.generator.clone(),
        ..current(never_halts)
    }
}

/// The stored calibration, if it was measured on this machine in its current state. Unreadable files are ignored.
fn calibration(current: &Environment, never_halted: bool) -> Option<Calibrated> {
    let stored = CalibrationBody::from_text(&fs::read_to_string(path(never_halted)?).ok()?).ok()?;
    let calibrated = &stored.environment;
    let is_unchanged = calibrated.cpu_model == current.cpu_model
        && calibrated.cpus == current.cpus
        && calibrated.kernel == current.kernel
        && calibrated.clock_source == current.clock_source;
    is_unchanged.then(|| Calibrated {
        measured_at: stored.environment.started_at,
        floor_p50_us: stored.body.floor.p50_us,
        floor_p99_us: stored.body.floor.p99_us,
        floors: stored.body.floors,
        ceiling: stored.body.ceiling.map(|ceiling| ceiling.rate),
        tried: stored.body.tried,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use hoptax_checks::study::proxy_build;

    use super::*;

    /// The build in the environment of a study with a program that prints this after its version, and true if it is warned of.
    fn build_of(printed: &str) -> (Option<String>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("envoy");
        fs::write(&program, format!("#!/bin/sh\necho 'envoy  version: c/1.38.3/{printed}'\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let placement = Placement { proxy: vec![1], generator: vec![0] };
        let environment = of_study(&Envoy::at(&program).unwrap(), &placement, false);
        let (version, build) = (environment.proxy_version.as_deref(), environment.proxy_build.as_deref());
        assert_eq!(version, Some("1.38.3"));
        let is_warned_of = proxy_build::finding(version.zip(build)).is_some();
        (environment.proxy_build, is_warned_of)
    }

    #[test]
    fn a_program_that_is_not_built_as_a_release_is_warned_of() {
        for other in ["Modified/RELEASE", "Clean/DEBUG", "Distribution/RELEASE"] {
            assert_eq!(build_of(&format!("{other}/BoringSSL")), (Some(other.to_owned()), true));
        }
        assert_eq!(build_of("Clean/RELEASE/BoringSSL"), (Some("Clean/RELEASE".to_owned()), false));
        assert_eq!(build_of("//"), (None, false));
    }
}
