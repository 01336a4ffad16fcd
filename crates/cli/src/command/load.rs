//! `hoptax load`: offer load to a server and record what came of every request.

use std::fs;
use std::path::Path;

use hoptax_checks::judge_load;
use hoptax_host::environment;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_load::{Arrivals, Target};
use hoptax_report::terminal;
use hoptax_result::LoadResult;

use crate::arguments::{ArrivalsWord, LoadArguments};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Code, Failure> {
    let body = arguments.body.clone().unwrap_or_default().into_bytes();
    let target = Target::new(&arguments.url, &arguments.method, arguments.headers.clone(), body)
        .map_err(Failure::bad_input)?;
    let arrivals = match arguments.arrivals {
        ArrivalsWord::Uniform => Arrivals::Uniform,
        ArrivalsWord::Poisson => Arrivals::Poisson,
    };
    let spec = TrialSpec {
        target,
        open: arguments.rate.map(|rate| (rate, arrivals)),
        connections: arguments.connections as usize,
        workers: arguments.workers as usize,
        duration: arguments.duration,
        warmup: arguments.warmup,
        timeout: arguments.timeout,
        seed: arguments.seed,
        max_error_share: arguments.max_error_share,
    };
    let interrupt = Interrupt::listen()?;
    let environment = environment::capture(env!("CARGO_PKG_VERSION"));
    let line = progress::live_line(arguments.duration + arguments.warmup);
    let mut show = |live: &trial::LiveLine| line.set_message(progress::live_text(live));
    let result = trial::run(&spec, environment, interrupt.flag(), Some(&mut show));
    line.finish_and_clear();
    let mut result = result.map_err(Failure::environment)?;
    judge_load(&mut result);
    write(arguments.json.as_deref(), &result)?;
    Ok(if interrupt.was_asked() { Code::Interrupted } else { Code::of(result.verdict) })
}

/// Prints the table, unless stdout is where the JSON goes, and writes the JSON.
fn write(json: Option<&Path>, result: &LoadResult) -> Result<(), Failure> {
    let text = || serde_json::to_string_pretty(result).map(|text| text + "\n").map_err(Failure::environment);
    if json == Some(Path::new("-")) {
        return print::result(&text()?);
    }
    print::result(&terminal::load(result, print::style()))?;
    let Some(path) = json else { return Ok(()) };
    fs::write(path, text()?)
        .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))
}
