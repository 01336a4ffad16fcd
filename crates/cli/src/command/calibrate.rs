//! `hoptax trust calibrate`: measures the errors of the load generator on this machine.

use hoptax_report::documents;
use hoptax_session::calibrate::calibrate;

use crate::arguments::CalibrateArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &CalibrateArguments) -> Result<Code, Failure> {
    let CalibrateArguments { full, seed, awake, json } = arguments;
    let interrupt = interrupt::listen()?;
    let result = progress::stepwise(|on_step, say| {
        calibrate(*full, *seed, awake.never_halt, on_step, &interrupt, say)
    })?;
    print::document_or_json(json.file(), &result, || documents::calibration(&result))?;
    Ok(Code::Success)
}
