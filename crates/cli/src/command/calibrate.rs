//! `hoptax calibrate`: how wrong is the load generator on this machine?

use std::any::Any;
use std::io;

use hoptax_calibrate::{CalibrateError, Options};
use hoptax_host::environment;
use hoptax_host::processors::{self, Placement};
use hoptax_host::spinner::Spinner;
use hoptax_report::terminal;

use super::never_halt;
use crate::arguments::CalibrateArguments;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{kept, print, progress};

/// How much longer a full calibration takes.
const FULL: f64 = 6.0;

/// Keeps processors from being halted as long as what it returns is there.
pub(crate) fn keep_awake(processors: &[u32]) -> io::Result<Box<dyn Any>> {
    Ok(Box::new(Spinner::start(processors)?))
}

/// Runs the command.
pub(crate) fn run(arguments: &CalibrateArguments) -> Result<Code, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot ask which processors there are: {error}")))?;
    let placement = Placement::split(&allowed, 1);
    // What keeps them awake is ended before the speeds are measured, and measured with and without by itself.
    let never_halted = never_halt::spinner(&placement, arguments.never_halt)?.is_some();
    let environment = environment::capture(env!("CARGO_PKG_VERSION"));
    let interrupt = Interrupt::listen()?;
    let spinner = progress::spinner();
    let options = Options {
        placement: &placement,
        factor: if arguments.full { FULL } else { 1.0 },
        seed: arguments.seed,
        keep_awake: Some(&keep_awake),
        never_halted,
    };
    let found = hoptax_calibrate::run(&options, environment, interrupt.flag(), &mut |step| {
        spinner.set_message(step.to_owned());
    });
    spinner.finish_and_clear();
    let result = match found {
        Err(CalibrateError::Interrupted) => return Ok(Code::Interrupted),
        found => found.map_err(Failure::environment)?,
    };
    match kept::keep(&result) {
        Ok(Some(path)) => print::note(&format!("kept for later results of this machine: {}", path.display())),
        Ok(None) => {}
        Err(error) => print::note(&format!("cannot keep it for later results: {error}")),
    }
    print::or_write_json(arguments.json.as_deref(), &result, || {
        terminal::calibration(&result, print::style())
    })?;
    Ok(Code::Fine)
}
