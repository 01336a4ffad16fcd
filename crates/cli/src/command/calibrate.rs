//! `hoptax trust calibrate`: measures the errors of the load generator on this machine.

use hoptax_report::documents;
use hoptax_session::Update;
use hoptax_session::calibrate::calibrate;

use crate::arguments::CalibrateArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::{print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &CalibrateArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let never_halt = arguments.never_halt.into();
    let spinner = progress::spinner();
    let mut on_step = |step: &str| spinner.set_message(step.to_owned());
    let say = |update: Update<'_>| spinner.suspend(|| print::say(update));
    let result = calibrate(arguments.full, arguments.seed, never_halt, &mut on_step, &interrupt, &say);
    spinner.finish_and_clear();
    let result = result?;
    print::document_or_json(arguments.json.file(), &result, || documents::calibration(&result))?;
    Ok(Code::Success)
}
