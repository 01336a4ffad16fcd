//! `hoptax trust calibrate`: measures the errors of the load generator on this machine.

use clap::Args;
use hoptax_report::documents;
use hoptax_session::calibrate::calibrate;

use crate::arguments::shared::{AwakeArguments, JsonArguments, SeedArguments};
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Runs experiments with known answers for about two minutes. An origin schedules when each
response leaves; the measured response times are compared with that schedule, request by
request. The result is stored, and later results of this machine refer to it.

Examples:
  hoptax trust calibrate
  hoptax trust calibrate --full --json calibration.json")]
pub(crate) struct CalibrateArguments {
    /// Run six times as long, for higher quantiles
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    seed: SeedArguments,
    #[command(flatten)]
    awake: AwakeArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &CalibrateArguments) -> Result<Code, Failure> {
    let CalibrateArguments { full, seed, awake, json } = arguments;
    let interrupt = interrupt::listen()?;
    let result = progress::stepwise(|on_step, say| {
        calibrate(*full, seed.number(), awake.never_halt, on_step, &interrupt, say)
    })?;
    print::document_or_json(json.file(), &result, || documents::calibration(&result))?;
    Ok(Code::Success)
}
