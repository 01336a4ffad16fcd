//! `hoptax load`: sends load to a server and records the outcome of every request.

mod data;
mod intervals;
mod log_file;
mod reflection;
mod requests;
mod traffic;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hoptax_checks::fail_on::Condition;
use hoptax_checks::{fail_on, judge_load};
use hoptax_load::trial::{self, Accounted, TrialSpec};
use hoptax_load::{Arrivals, Connect, Lifetime, Pace, Pooling, Trace, WhenBusy, WhenLate};
use hoptax_report::{documents, openmetrics};
use hoptax_result::{LoadResult, counted};
use hoptax_session::{awake, environment, machine};

use crate::arguments::{ArrivalsChoice, LoadArguments, TrafficArguments};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::{print, progress};
use intervals::IntervalOutputs;
use log_file::LogFile;

/// Error for open-loop arguments in a closed loop.
const NEEDS_RATE: &str =
    "needs a rate: without `--rate` the loop is closed and has no schedule; add `--rate 1000`";

/// Default lengths of the recording and of the warm-up.
const DURATION: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(1);
/// Default time limit of a closed loop with `--count`.
const LONGEST_CLOSED: Duration = Duration::from_hours(1);

/// Runs the command.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Code, Failure> {
    let thresholds = hoptax_session::thresholds::limits(&arguments.thresholds)?;
    if arguments.every.is_some() && arguments.json.as_deref() == Some(Path::new("-")) {
        return Err(Failure::bad_input("`--every` prints to stdout, so give `--json` a file"));
    }
    let limits_processes = arguments.fail_on.iter().any(Condition::needs_account);
    check_account(limits_processes, &arguments.traffic)?;
    let mut spec = spec(arguments)?;
    let log = arguments.log.as_deref().map(LogFile::create).transpose()?;
    spec.log = log.as_ref().map(LogFile::sender);
    let intervals;
    (intervals, spec.intervals) = IntervalOutputs::begin(arguments)?;
    let interrupt = interrupt::listen()?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = awake::for_servers(servers, arguments.traffic.never_halt.into(), &print::say)?;
    spec.never_halted = awake.is_some();
    let environment = environment::here(spec.never_halted);
    let line = progress::live_line(spec.duration + spec.warmup);
    let mut show = |live: &trial::LiveLine| line.set_message(progress::live_text(live));
    // JSON lines contain the same numbers, and both on one terminal would be unreadable.
    let on_live = arguments.every.is_none().then_some(&mut show as &mut dyn FnMut(&trial::LiveLine));
    let result = trial::run(&spec, environment, interrupt.flag(), on_live);
    line.finish_and_clear();
    drop(awake);
    let mut result = result.map_err(Failure::environment)?;
    judge_load(&mut result, &thresholds);
    let all_pass = fail_on::judge(&mut result, &arguments.fail_on);
    // The writer thread ends when the last sender is dropped.
    drop(spec);
    let logged = log.map_or(Ok(()), LogFile::finish);
    let intervals_written = intervals.finish(&result);
    if arguments.every.is_some() {
        // Only JSON lines go to stdout.
        print::document_as_note(&documents::load(&result));
        print::write_json(arguments.json.as_deref(), &result)?;
    } else {
        write(arguments.json.as_deref(), &result)?;
    }
    if let Some(path) = &arguments.openmetrics {
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
pub(super) fn check_account(limits_processes: bool, arguments: &TrafficArguments) -> Result<(), Failure> {
    if limits_processes && arguments.account.is_none() {
        return Err(Failure::bad_input(
            "`cpu`, `cpu_us` and `memory` are of processes on this machine: name them, as `--account process=envoy` or \
             `--account pid=123`",
        ));
    }
    Ok(())
}

/// The trial that the arguments describe without its schedule: a closed loop over their requests and connections.
pub(super) fn trial_of(arguments: &TrafficArguments) -> Result<TrialSpec, Failure> {
    let traffic = traffic::read(arguments)?;
    if traffic.hosts() > arguments.connections as usize {
        return Err(Failure::bad_input(format!(
            "{} need at least one connection each, but there {} {}: raise --connections",
            counted(traffic.hosts() as u64, "host"),
            if arguments.connections == 1 { "is" } else { "are" },
            counted(arguments.connections.into(), "connection")
        )));
    }
    // Each worker needs a connection to every host.
    let max_workers = arguments.connections as usize / traffic.hosts().max(1);
    if arguments.workers as usize > max_workers {
        return Err(Failure::bad_input(format!(
            "{} cannot share {} to {}: each worker needs a connection to each host; raise --connections or lower --workers",
            counted(arguments.workers.into(), "worker"),
            counted(arguments.connections.into(), "connection"),
            counted(traffic.hosts() as u64, "host")
        )));
    }
    machine::allow_connections(arguments.connections as usize)?;
    Ok(TrialSpec {
        connections: arguments.connections as usize,
        pooling: Pooling {
            order: arguments.pool,
            lifetime: Lifetime {
                connect: arguments.connect,
                requests: arguments.requests_per_connection,
                age: arguments.connection_age,
            },
            ..Pooling::default()
        },
        workers: arguments.workers as usize,
        timeout: arguments.timeout,
        seed: arguments.seed,
        account: arguments.account.clone().map(Accounted::Running),
        ..TrialSpec::new(traffic)
    })
}

/// Builds the trial from the arguments.
fn spec(arguments: &LoadArguments) -> Result<TrialSpec, Failure> {
    if arguments.ramp_up.is_some() && arguments.traffic.connect == Connect::OnDemand {
        return Err(Failure::bad_input(
            "`--ramp-up` opens connections before the load: remove `--connect on-demand`",
        ));
    }
    let (open, length) = open_loop(arguments)?;
    let (length, warmup) = length.map_or_else(
        || (arguments.count.map_or(DURATION, |count| time_limit(count, open.as_ref())), WARM_UP),
        |length| (length, Duration::ZERO),
    );
    let (duration, warmup) = (arguments.duration.unwrap_or(length), arguments.warmup.unwrap_or(warmup));
    let spec = trial_of(&arguments.traffic)?;
    Ok(TrialSpec {
        open,
        think: arguments.think,
        pooling: Pooling { when_busy: arguments.when_busy, when_late: arguments.when_late, ..spec.pooling },
        duration,
        requests: arguments.count,
        warmup,
        ramp_up: arguments.ramp_up.unwrap_or_default(),
        kernel_stamps: arguments.kernel_stamps,
        max_error_share: arguments.max_error_share,
        percentiles: arguments
            .percentiles
            .iter()
            .copied()
            .chain(arguments.fail_on.iter().filter_map(Condition::percentile))
            .collect(),
        ..spec
    })
}

/// Time limit of `count` requests. In an open loop, it exceeds the expected time only slightly, because the windows of the
/// recording are hundredths of it; random arrivals exceed six standard deviations almost never.
fn time_limit(count: u64, open: Option<&(Pace, Arrivals)>) -> Duration {
    let Some((pace, arrivals)) = open else { return LONGEST_CLOSED };
    let burst = if let Arrivals::Burst(size) = arrivals { f64::from(*size) } else { 0.0 };
    let count = count as f64;
    let seconds = (count + 6.0 * count.sqrt() + burst + 10.0) / pace.mean_rate();
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_CLOSED)
}

/// Rates and arrivals; None for a closed loop.
type OpenLoop = Option<(Pace, Arrivals)>;

/// The rates and arrivals of the arguments, and the length of a trace or of stages.
fn open_loop(arguments: &LoadArguments) -> Result<(OpenLoop, Option<Duration>), Failure> {
    let pace = arguments.stages.clone().or(arguments.rate.map(Pace::Constant));
    match (&arguments.arrivals, pace) {
        (ArrivalsChoice::Trace(_), Some(_)) => Err(Failure::bad_input(
            "a trace cannot be combined with `--rate` or `--stages`: it has its own rate",
        )),
        (ArrivalsChoice::Trace(path), None) => {
            let text = fs::read_to_string(path).map_err(|error| {
                Failure::bad_input(format!("cannot read the trace `{}`: {error}", path.display()))
            })?;
            let trace = Trace::parse(&path.display().to_string(), &text).map_err(Failure::bad_input)?;
            let length = trace.length();
            Ok((Some((Pace::Constant(trace.rate()), Arrivals::Trace(Arc::new(trace)))), Some(length)))
        }
        (ArrivalsChoice::Drawn(arrivals), Some(pace)) => {
            let length = pace.length();
            Ok((Some((pace, arrivals.clone())), length))
        }
        (ArrivalsChoice::Drawn(Arrivals::Uniform), None) => {
            for (is_default, flag) in [
                (arguments.when_busy == WhenBusy::default(), "--when-busy"),
                (arguments.when_late == WhenLate::default(), "--when-late"),
            ] {
                if !is_default {
                    return Err(Failure::bad_input(format!("`{flag}` {NEEDS_RATE}")));
                }
            }
            Ok((None, None))
        }
        (ArrivalsChoice::Drawn(arrivals), None) => {
            Err(Failure::bad_input(format!("`--arrivals {arrivals}` {NEEDS_RATE}")))
        }
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::environment(format!("cannot write `{}`: {error}", path.display())))
}

/// Prints the table and writes the JSON; with `-`, prints only the JSON.
pub(super) fn write(json: Option<&Path>, result: &LoadResult) -> Result<(), Failure> {
    print::document_or_json(json, result, || documents::load(result))
}
