//! `hoptax load`: sends load to a server and records the outcome of every request.

mod agents;
mod pods;

use std::path::Path;
use std::time::Duration;

use hoptax_load::trial::LiveLine;
use hoptax_report::{documents, openmetrics};
use hoptax_result::LoadResult;
use hoptax_session::load::{Files, Lines, Sending, send};
use hoptax_session::thresholds;

use crate::arguments::LoadArguments;
use crate::exit::{Code, Failure};
use crate::progress::LoadProgress;
use crate::{interrupt, print};

/// Outputs of the result of a load, besides its table.
#[derive(Clone, Copy, Default)]
pub(super) struct Outputs<'a> {
    pub(super) json: Option<&'a Path>,
    pub(super) openmetrics: Option<&'a Path>,
    /// The interval of lines on stdout.
    pub(super) every: Option<Duration>,
}

/// Runs the command.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Code, Failure> {
    let sending = Sending {
        load: (&arguments.traffic).into(),
        schedule: arguments.schedule(),
        never_halt: arguments.traffic.awake.never_halt,
        limits: thresholds::limits(&arguments.checks.thresholds)?,
        fail_on: &arguments.fail_on,
        percentiles: &arguments.percentiles,
        max_error_share: Some(arguments.max_error_share),
        has_kernel_stamps: arguments.kernel_stamps,
        files: Files { log: arguments.log.as_deref(), hlog: arguments.hlog.as_deref() },
        beside: None,
    };
    let outputs = Outputs {
        json: arguments.json.file(),
        openmetrics: arguments.openmetrics.as_deref(),
        every: arguments.every,
    };
    match arguments.of_pods.agent_pods {
        Some(number) => pods::sent(&sending, arguments, number, outputs),
        None if arguments.agents.is_empty() => sent(&sending, outputs),
        None => agents::sent(&sending, arguments, outputs),
    }
}

/// Sends a load and prints its result.
pub(super) fn sent(sending: &Sending<'_>, outputs: Outputs<'_>) -> Result<Code, Failure> {
    if outputs.every.is_some() && outputs.json == Some(Path::new("-")) {
        return Err(Failure::bad_input("`--every` prints to stdout, so give `--json` a file"));
    }
    let interrupt = interrupt::listen()?;
    // JSON lines contain the same numbers, and both on one terminal would be unreadable.
    let mut progress = outputs.every.is_none().then(LoadProgress::begin).flatten();
    let is_shown = progress.is_some();
    let mut show = |live: &LiveLine| {
        if let Some(progress) = &mut progress {
            progress.show(live);
        }
    };
    let on_live = is_shown.then_some(&mut show as &mut dyn FnMut(&LiveLine));
    let lines = outputs.every.map(|every| Lines { every, out: Box::new(print::Lines::default()) });
    let sent = send(sending, lines, on_live, &interrupt, &print::say);
    if let Some(progress) = progress {
        progress.end();
    }
    let sent = sent?;
    let result = &sent.result;
    if outputs.every.is_some() {
        // Only JSON lines go to stdout.
        print::document_on_stderr(&documents::load(result));
        print::write_json(outputs.json, result)?;
    } else {
        write(outputs.json, result)?;
    }
    if let Some(path) = outputs.openmetrics {
        print::write_file(path, &openmetrics::load(result))?;
    }
    if let Some(problem) = sent.problems.into_iter().next() {
        return Err(problem);
    }
    Ok(match Code::from(result.verdict) {
        _ if interrupt.is_requested() => Code::Interrupted,
        Code::Success if !sent.all_pass => Code::ConditionFailed,
        code => code,
    })
}

/// Prints the table and writes the JSON; with `-`, prints only the JSON.
pub(super) fn write(json: Option<&Path>, result: &LoadResult) -> Result<(), Failure> {
    print::document_or_json(json, result, || documents::load(result))
}
