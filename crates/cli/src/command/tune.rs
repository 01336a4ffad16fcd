//! `hoptax tune`: the rate at which a server answers in its fastest mode.

mod search;

use hoptax_load::Pace;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_report::terminal;
use hoptax_result::TuneResult;

use super::load::allow_connections;
use crate::arguments::TuneArguments;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{kept, print, progress, security};
use search::{WANTED_SHARE, tune};

/// Runs the command.
pub(crate) fn run(arguments: &TuneArguments) -> Result<Code, Failure> {
    let target = security::plain_target(&arguments.url)?;
    allow_connections(arguments.connections as usize)?;
    let interrupt = Interrupt::listen()?;
    let spinner = progress::spinner();
    let environment = kept::environment(false);
    let tuned = tune(|rate| {
        spinner.set_message(
            rate.map_or("as fast as possible".to_owned(), |rate| format!("{rate:.1} requests/s")),
        );
        let spec = TrialSpec {
            open: rate.map(|rate| (Pace::Constant(rate), arguments.arrivals.clone())),
            connections: arguments.connections as usize,
            duration: arguments.duration,
            seed: arguments.seed,
            ..TrialSpec::of(target.clone())
        };
        let result =
            trial::run(&spec, environment.clone(), interrupt.flag(), None).map_err(Failure::environment)?;
        // At a rate far beyond what the server takes, none of the recorded requests may get its turn; but asked for as
        // much as it takes, it answers.
        if rate.is_none() && result.book.answered == 0 {
            let failures: Vec<String> = result.failures.keys().cloned().collect();
            return Err(Failure::environment(format!(
                "`{}` answered no request ({}); is it the right URL?",
                target.url,
                failures.join(", ")
            )));
        }
        Ok(result)
    });
    spinner.finish_and_clear();
    if interrupt.was_asked() {
        return Ok(Code::Interrupted);
    }
    let tuned = tuned?;
    let result = TuneResult {
        format: "hoptax.tune/1".to_owned(),
        url: target.url.clone(),
        connections: arguments.connections,
        wanted_share: WANTED_SHARE,
        fastest: tuned.fastest,
        steps: tuned.steps,
        rate: tuned.rate,
        environment,
    };
    print::or_write_json(arguments.json.as_deref(), &result, || terminal::tune(&result, print::style()))?;
    Ok(Code::Fine)
}
