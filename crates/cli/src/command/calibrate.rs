//! `hoptax trust calibrate`: measures the errors of the load generator on this machine.

use hoptax_host::processors::{self, Placement};
use hoptax_report::documents;
use hoptax_session::{awake, environment};
use hoptax_trust::calibrate::{CalibrateError, Options};

use crate::arguments::CalibrateArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::{print, progress};

/// Duration of a full calibration, as a multiple of a normal one.
const FULL: f64 = 6.0;

/// Runs the command.
pub(crate) fn run(arguments: &CalibrateArguments) -> Result<Code, Failure> {
    let allowed = processors::allowed()
        .map_err(|error| Failure::environment(format!("cannot read the allowed processors: {error}")))?;
    let placement = Placement::split(&allowed, 1);
    // Let them halt again: the speeds are measured with and without halting, for which the calibration provides itself.
    let never_halted = awake::on(&placement, arguments.never_halt.into(), &print::say)?.is_some();
    let environment = hoptax_host::environment::capture();
    let interrupt = interrupt::listen()?;
    let spinner = progress::spinner();
    let options = Options {
        placement: &placement,
        factor: if arguments.full { FULL } else { 1.0 },
        seed: arguments.seed,
        keep_awake: Some(&awake::keep_awake),
        never_halted,
    };
    let found = hoptax_trust::calibrate::run(&options, environment, interrupt.flag(), &mut |step| {
        spinner.set_message(step.to_owned());
    });
    spinner.finish_and_clear();
    let result = match found {
        Err(CalibrateError::Interrupted) => return Ok(Code::Interrupted),
        found => found.map_err(Failure::environment)?,
    };
    // Later results would be judged by what disturbed this one.
    let stored = if result.is_disturbed() { Ok(None) } else { environment::store_calibration(&result) };
    match stored {
        Ok(Some(path)) => {
            print::note(&format!("stored for later results of this machine: {}", path.display()));
        }
        Ok(None) => {}
        Err(error) => print::note(&format!("cannot store the calibration for later results: {error}")),
    }
    print::document_or_json(arguments.json.file(), &result, || documents::calibration(&result))?;
    Ok(Code::Success)
}
