//! `hoptax tune`: finds the highest rate at which a server stays in its fastest mode.

mod search;

use hoptax_load::Pace;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_report::terminal;
use hoptax_result::TuneResult;
use hoptax_session::{environment, machine::allow_connections};

use crate::arguments::TuneArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::{print, progress, security};
use search::{WANTED_SHARE, tune};

/// Runs the command.
pub(crate) fn run(arguments: &TuneArguments) -> Result<Code, Failure> {
    let target = security::http1_target(&arguments.url)?;
    allow_connections(arguments.connections as usize)?;
    let interrupt = interrupt::listen()?;
    let spinner = progress::spinner();
    let environment = environment::of_program(false);
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
        // At a rate far above capacity, possibly no recorded request is sent. A closed loop without any response is an
        // error.
        if rate.is_none() && result.book.answered == 0 {
            let failures = result.reasons.listed(&result.failures, Vec::new(), |count| count.to_string());
            return Err(Failure::environment(format!(
                "`{}` answered no request ({}); is the URL correct?",
                target.url, failures
            )));
        }
        Ok(result)
    });
    spinner.finish_and_clear();
    if interrupt.is_requested() {
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
    print::table_or_json(arguments.json.as_deref(), &result, || terminal::tune(&result, print::style()))?;
    Ok(Code::Success)
}
