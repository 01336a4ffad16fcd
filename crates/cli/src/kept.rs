//! What is kept of this machine between runs: its calibration.

use std::path::PathBuf;
use std::{env, fs, io};

use hoptax_result::{Calibrated, CalibrationResult, Environment};

/// Where it is kept (XDG Base Directory Specification), for processors that are kept from being halted apart from others, since
/// they answer sooner; None without a home.
fn path(never_halted: bool) -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    let name = if never_halted { "calibration-never-halted.json" } else { "calibration.json" };
    Some(state.join("hoptax").join(name))
}

/// Keeps a calibration.
pub(crate) fn keep(result: &CalibrationResult) -> io::Result<Option<PathBuf>> {
    let Some(path) = path(result.never_halted) else { return Ok(None) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, serde_json::to_vec_pretty(result)?)?;
    Ok(Some(path))
}

/// This program and this machine, with its kept calibration: that of processors that are kept from being halted, or that of others.
pub(crate) fn environment(never_halted: bool) -> Environment {
    let mut here = hoptax_host::environment::capture(env!("CARGO_PKG_VERSION"));
    here.hoptax_commit = option_env!("HOPTAX_COMMIT").map(str::to_owned);
    here.calibration = calibration(&here, never_halted);
    here
}

/// The kept calibration, if it is of this machine as it is now. One that cannot be read is as good as none.
fn calibration(here: &Environment, never_halted: bool) -> Option<Calibrated> {
    let kept: CalibrationResult = serde_json::from_slice(&fs::read(path(never_halted)?).ok()?).ok()?;
    let there = &kept.environment;
    let is_here = there.cpu_model == here.cpu_model
        && there.cpus == here.cpus
        && there.kernel == here.kernel
        && there.clock_source == here.clock_source;
    is_here.then(|| Calibrated {
        measured_at: there.started_at.clone(),
        floor_p50_us: kept.floor.p50_us,
        floor_p99_us: kept.floor.p99_us,
        floors: kept.floors,
        ceiling: kept.ceiling.map(|ceiling| ceiling.rate),
        tried: kept.tried,
    })
}
