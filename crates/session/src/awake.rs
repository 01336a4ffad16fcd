//! Keeps idle processors from halting during a measurement.

use std::any::Any;
use std::io;

use hoptax_host::awake::Awake;
use hoptax_host::processors::Placement;

use crate::failure::Failure;

/// Keeps the processors of a placement from halting.
///
/// # Errors
/// When the kernel allows neither way.
pub fn start(placement: &Placement) -> Result<Awake, Failure> {
    Awake::start(&placement.all()).map_err(|error| {
        Failure::environment(format!(
            "cannot keep the processors from halting: {error}; `--never-halt never` disables it"
        ))
    })
}

/// Keeps processors from halting until the returned value is dropped, as a calibration asks for it.
///
/// # Errors
/// When the kernel allows neither way.
pub fn keep_awake(processors: &[u32]) -> io::Result<Box<dyn Any>> {
    Ok(Box::new(Awake::start(processors)?))
}
