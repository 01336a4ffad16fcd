//! Sends a load, judges its result, and writes its files while it runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hoptax_checks::fail_on::{self, Condition};
use hoptax_checks::judge_load;
use hoptax_checks::thresholds::Limits;
use hoptax_load::Pace;
use hoptax_load::trial::{self, LiveLine, TrialSpec};
use hoptax_result::LoadResult;
use hoptax_tools::smp::PlannedLoad;

use super::intervals::IntervalOutputs;
use super::log_file::LogFile;
use super::{Body, Connections, GivenUrl, Lines, Load, Requests, Schedule};
use crate::awake::NeverHalt;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::update::Say;
use crate::{awake, environment};

/// A load to send, and how to judge it.
#[derive(Debug, Default)]
pub struct Sending<'a> {
    /// The load.
    pub load: Load,
    /// When it sends requests.
    pub schedule: Schedule,
    /// When idle processors are kept from halting.
    pub never_halt: NeverHalt,
    /// The limits of checks.
    pub limits: Limits,
    /// Conditions that must not hold.
    pub fail_on: &'a [Condition],
    /// Percentiles in addition to the default ones.
    pub percentiles: &'a [f64],
    /// The share of requests that may fail; none for the default.
    pub max_error_share: Option<f64>,
    /// True to take kernel timestamps on a sample of the connections.
    pub has_kernel_stamps: bool,
    /// Files to write while it runs.
    pub files: Files<'a>,
    /// Counts the other loads of this program that have started and run at the same time; none if the program sends one load at a time.
    pub beside: Option<Arc<AtomicU32>>,
}

impl From<&PlannedLoad> for Sending<'_> {
    /// The load of a test configuration of Service Mesh Performance.
    fn from(planned: &PlannedLoad) -> Self {
        let requests = Requests {
            urls: planned.urls.iter().cloned().map(GivenUrl::from).collect(),
            protocol: planned.protocol,
            method: planned.method.to_owned(),
            headers: planned.headers.clone(),
            body: Body::Text(planned.body.clone()),
            ..Requests::default()
        };
        let connections = Connections { number: planned.connections, ..Connections::default() };
        Self {
            load: Load { requests, connections, ..Load::default() },
            schedule: Schedule {
                pace: planned.rate.map(Pace::Constant),
                duration: Some(planned.length),
                ..Schedule::default()
            },
            ..Self::default()
        }
    }
}

/// Files that are written while a load runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// The log of all requests.
    pub log: Option<&'a Path>,
    /// The histograms of every second.
    pub hlog: Option<&'a Path>,
}

/// A load that was sent.
#[derive(Debug)]
pub struct Sent {
    /// Its result, judged.
    pub result: LoadResult,
    /// True if all conditions of `--fail-on` could be evaluated and passed.
    pub all_pass: bool,
    /// Reasons why files written during the load are incomplete.
    pub problems: Vec<Failure>,
}

/// Sends a load. `lines` gets a line of JSON for each interval, and `on_live` the numbers of a live line.
///
/// # Errors
/// When the load is not valid or cannot run, when a file cannot be created, and when the load is interrupted before it begins.
pub fn send(
    sending: &Sending<'_>,
    lines: Option<Lines>,
    on_live: Option<&mut dyn FnMut(&LiveLine)>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Sent, Failure> {
    let Sending { load, fail_on, files, .. } = sending;
    load.check_account(fail_on.iter().any(Condition::needs_account))?;
    let spec = load.scheduled(&sending.schedule, say)?;
    let of_conditions = fail_on.iter().filter_map(Condition::percentile);
    let log = files.log.map(LogFile::create).transpose()?;
    let (intervals, sinks) = IntervalOutputs::begin(files.hlog, lines)?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = awake::for_servers(servers, sending.never_halt, say)?;
    let spec = TrialSpec {
        kernel_stamps: sending.has_kernel_stamps,
        max_error_share: sending.max_error_share.unwrap_or(spec.max_error_share),
        percentiles: sending.percentiles.iter().copied().chain(of_conditions).collect(),
        log: log.as_ref().map(LogFile::sender),
        intervals: sinks,
        never_halted: awake.is_some(),
        ..spec
    };
    interrupt.check()?;
    let result = trial::run(&spec, environment::current(spec.never_halted), interrupt.flag(), on_live);
    drop(awake);
    let mut result = result.map_err(|error| load.tls.failed(&error))?;
    result.loads_beside = sending.beside.as_ref().map(|others| others.load(Ordering::Relaxed));
    judge_load(&mut result, &sending.limits);
    let all_pass = fail_on::judge(&mut result, fail_on);
    // The writer threads end when the last senders are dropped.
    drop(spec);
    let logged = log.map_or(Ok(()), LogFile::finish);
    let written = intervals.finish(&result);
    let problems = [logged, written].into_iter().filter_map(Result::err).collect();
    Ok(Sent { result, all_pass, problems })
}
