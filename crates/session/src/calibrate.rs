//! Measures the errors of the load generator on this machine, and stores them for later results.

use hoptax_result::CalibrationResult;
use hoptax_tools::calibrate::{CalibrateError, Options, run};

use crate::awake::NeverHalt;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::placement::placement;
use crate::update::{Say, Update};
use crate::{awake, environment};

/// Duration of a full calibration, as a multiple of a normal one.
const FULL: f64 = 6.0;

/// Calibrates. `on_step` gets a description of each step.
///
/// # Errors
/// When a requirement is missing, when an experiment fails, and after an interrupt.
pub fn calibrate(
    is_full: bool,
    seed: u64,
    never_halt: NeverHalt,
    on_step: &mut dyn FnMut(&str),
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<CalibrationResult, Failure> {
    let placement = placement()?;
    // Drop the guard at once, so that processors halt again: a calibration measures speeds in both modes, and switches by itself.
    let never_halted = awake::on(&placement, never_halt, say)?.is_some();
    let options = Options {
        placement: &placement,
        factor: if is_full { FULL } else { 1.0 },
        seed,
        keep_awake: Some(&awake::keep_awake),
        never_halted,
    };
    let here = hoptax_host::environment::capture();
    let result = match run(&options, here, interrupt.flag(), on_step) {
        Err(CalibrateError::Interrupted) => return Err(Failure::interrupted()),
        found => found.map_err(Failure::environment)?,
    };
    // Do not store a calibration with disturbances: it would judge later results.
    let stored = if result.is_disturbed() { Ok(None) } else { environment::store_calibration(&result) };
    let note = |text: &str| say(Update::Note(text));
    match stored {
        Ok(Some(path)) => note(&format!("stored for later results of this machine: {}", path.display())),
        Ok(None) => {}
        Err(error) => note(&format!("cannot store the calibration for later results: {error}")),
    }
    Ok(result)
}
