//! `hoptax load`: sends load to a server and records the outcome of every request.

mod intervals;
mod log_file;

use std::fs;
use std::path::Path;
use std::time::Duration;

use hoptax_checks::fail_on::Condition;
use hoptax_checks::thresholds::Limits;
use hoptax_checks::{fail_on, judge_load};
use hoptax_load::trial::{self, TrialSpec};
use hoptax_report::{documents, openmetrics};
use hoptax_result::LoadResult;
use hoptax_session::load::{Load, Schedule};
use hoptax_session::machine::NeverHalt;
use hoptax_session::{awake, environment, thresholds};

use crate::arguments::LoadArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::{print, progress};
use intervals::IntervalOutputs;
use log_file::LogFile;

/// A load, and what becomes of it.
#[derive(Default)]
pub(super) struct Sent<'a> {
    pub(super) load: Load,
    pub(super) schedule: Schedule,
    pub(super) never_halt: NeverHalt,
    pub(super) limits: Limits,
    pub(super) fail_on: &'a [Condition],
    /// Percentiles beside the usual ones.
    pub(super) percentiles: &'a [f64],
    /// The share of requests that may fail; none for the usual one.
    pub(super) max_error_share: Option<f64>,
    pub(super) has_kernel_stamps: bool,
    pub(super) outputs: Outputs<'a>,
}

/// The outputs of a load, but for its table.
#[derive(Clone, Copy, Default)]
pub(super) struct Outputs<'a> {
    pub(super) json: Option<&'a Path>,
    pub(super) openmetrics: Option<&'a Path>,
    pub(super) log: Option<&'a Path>,
    pub(super) hgrm: Option<&'a Path>,
    pub(super) hlog: Option<&'a Path>,
    /// The interval of lines on stdout.
    pub(super) every: Option<Duration>,
}

/// Runs the command.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Code, Failure> {
    send(&Sent {
        load: (&arguments.traffic).into(),
        schedule: arguments.schedule(),
        never_halt: arguments.traffic.never_halt.into(),
        limits: thresholds::limits(&arguments.thresholds)?,
        fail_on: &arguments.fail_on,
        percentiles: &arguments.percentiles,
        max_error_share: Some(arguments.max_error_share),
        has_kernel_stamps: arguments.kernel_stamps,
        outputs: Outputs {
            json: arguments.json.as_deref(),
            openmetrics: arguments.openmetrics.as_deref(),
            log: arguments.log.as_deref(),
            hgrm: arguments.hgrm.as_deref(),
            hlog: arguments.hlog.as_deref(),
            every: arguments.every,
        },
    })
}

/// Sends a load.
pub(super) fn send(sent: &Sent<'_>) -> Result<Code, Failure> {
    let Sent { load, outputs, fail_on, .. } = sent;
    if outputs.every.is_some() && outputs.json == Some(Path::new("-")) {
        return Err(Failure::bad_input("`--every` prints to stdout, so give `--json` a file"));
    }
    check_account(fail_on.iter().any(Condition::needs_account), load)?;
    let spec = load.scheduled(&sent.schedule, &print::say)?;
    let of_conditions = fail_on.iter().filter_map(Condition::percentile);
    let mut spec = TrialSpec {
        kernel_stamps: sent.has_kernel_stamps,
        max_error_share: sent.max_error_share.unwrap_or(spec.max_error_share),
        percentiles: sent.percentiles.iter().copied().chain(of_conditions).collect(),
        ..spec
    };
    let log = outputs.log.map(LogFile::create).transpose()?;
    spec.log = log.as_ref().map(LogFile::sender);
    let intervals;
    (intervals, spec.intervals) = IntervalOutputs::begin(outputs)?;
    let interrupt = interrupt::listen()?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = awake::for_servers(servers, sent.never_halt, &print::say)?;
    spec.never_halted = awake.is_some();
    let environment = environment::here(spec.never_halted);
    let line = progress::live_line(spec.duration + spec.warmup);
    let mut show = |live: &trial::LiveLine| line.set_message(progress::live_text(live));
    // JSON lines contain the same numbers, and both on one terminal would be unreadable.
    let on_live = outputs.every.is_none().then_some(&mut show as &mut dyn FnMut(&trial::LiveLine));
    let result = trial::run(&spec, environment, interrupt.flag(), on_live);
    line.finish_and_clear();
    drop(awake);
    let mut result = result.map_err(Failure::environment)?;
    judge_load(&mut result, &sent.limits);
    let all_pass = fail_on::judge(&mut result, fail_on);
    // The writer thread ends when the last sender is dropped.
    drop(spec);
    let logged = log.map_or(Ok(()), LogFile::finish);
    let intervals_written = intervals.finish(&result);
    if outputs.every.is_some() {
        // Only JSON lines go to stdout.
        print::document_as_note(&documents::load(&result));
        print::write_json(outputs.json, &result)?;
    } else {
        write(outputs.json, &result)?;
    }
    if let Some(path) = outputs.openmetrics {
        write_file(path, &openmetrics::load(&result))?;
    }
    logged?;
    intervals_written?;
    Ok(match Code::of(result.verdict) {
        _ if interrupt.is_requested() => Code::Interrupted,
        Code::Success if !all_pass => Code::ConditionFailed,
        code => code,
    })
}

/// Refuses conditions on processes if none are accounted for.
pub(super) fn check_account(limits_processes: bool, load: &Load) -> Result<(), Failure> {
    if limits_processes && load.account.is_none() {
        return Err(Failure::bad_input(
            "`cpu`, `cpu_us` and `memory` are of processes on this machine: name them, as `--account process=envoy` or \
             `--account pid=123`",
        ));
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))
}

/// Prints the table and writes the JSON; with `-`, prints only the JSON.
pub(super) fn write(json: Option<&Path>, result: &LoadResult) -> Result<(), Failure> {
    print::document_or_json(json, result, || documents::load(result))
}
