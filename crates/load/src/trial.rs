//! One timed trial: several workers run one plan, and their recordings become one result.

mod account;
mod gate;
mod live;
mod spec;
mod start;
mod summary;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, SystemTime};

use hoptax_host::accounting::{TaskUse, processor_ticks, ticks_between};
use hoptax_host::clock::{self, now_ns};
use hoptax_host::pressure::Pressure;
use hoptax_host::processors;
use hoptax_result::{EndedBy, Environment, Generator, GeneratorWorker, LoadResult};
use thiserror::Error;

use crate::batches::BATCHES;
use crate::by_request::ByRequest;
use crate::connect_error::ConnectError;
use crate::course::Course;
use crate::distribution::Distribution;
use crate::division::Division;
use crate::early_end::EarlyEnd;
use crate::expected_length::ExpectedLength;
use crate::interval::wall_time;
use crate::log::LogSink;
use crate::lookups::{LookupHost, Lookups};
use crate::phases::Phases;
use crate::recording::Recording;
use crate::request_names::RequestNames;
use crate::run::{Release, Run};
use crate::schedule::Schedule;
use crate::share::dealt;
use crate::traffic::Traffic;
use crate::unclaimed::UnclaimedRequests;
use crate::worker::{Worker, WorkerSpec};
use account::Account;
use gate::{Gate, Place};
use summary::Recorded;

pub use account::{Accounted, CpuTimes};
pub use live::LiveLine;
pub use spec::TrialSpec;
pub use start::{SETTLE_NS, Start};

/// Capacity of the channel of live samples.
const MAX_LIVE_SAMPLES: usize = 64;

/// Reason why a trial has no result.
#[derive(Debug, Error)]
pub enum TrialError {
    /// A connection could not be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A system call failed.
    #[error("the load could not be run: {0}")]
    System(#[from] io::Error),
    /// A thread could not be started.
    #[error(
        "cannot start the thread {of}: {source}; the limit of threads may be too low (see `ulimit -u`, and `pids.max` of the \
         control group)"
    )]
    Thread {
        /// Purpose of the thread.
        of: String,
        /// The system error.
        source: io::Error,
    },
    /// A worker thread panicked. This is a bug in hoptax.
    #[error("a worker thread panicked; this is a bug in hoptax")]
    WorkerLost,
}

/// Runs a trial. It ends early when `stop` is set or when the backlog cannot be sent; the result then holds the reason
/// and the recorded time. `on_live` is called about twice a second. The findings and the verdict of the result are
/// empty: the checks fill them.
///
/// # Errors
/// When a connection cannot be opened, a thread cannot be started, a system call fails, or there is no process to account for.
pub fn run(
    spec: &TrialSpec,
    environment: Environment,
    stop: &AtomicBool,
    on_live: Option<&mut dyn FnMut(&LiveLine)>,
) -> Result<LoadResult, TrialError> {
    run_with_cpu_times(spec, environment, stop, on_live).map(|(result, _)| result)
}

/// Like [`run`], but also returns the CPU time of each process that the trial accounts for.
///
/// # Errors
/// As for [`run`].
pub fn run_with_cpu_times(
    spec: &TrialSpec,
    environment: Environment,
    stop: &AtomicBool,
    on_live: Option<&mut dyn FnMut(&LiveLine)>,
) -> Result<(LoadResult, CpuTimes), TrialError> {
    let workers = workers(spec);
    let ready = connect(spec, workers, stop)?;
    let lookups = lookups(&spec.traffic)?;
    let clock = clock::quality();
    let account = spec.account.as_ref().map(Account::begin).transpose()?;
    let start_ns = spec.start.as_ref().map_or_else(|| now_ns() + SETTLE_NS, Start::at_ns);
    let record_from_ns = start_ns + nanoseconds(spec.warmup);
    let end_ns = record_from_ns + nanoseconds(spec.duration);
    let parts_from_ns: Vec<u64> =
        spec.stages_from().into_iter().map(|from| record_from_ns + nanoseconds(from)).collect();
    let (sender, receiver) = sync_channel(MAX_LIVE_SAMPLES);
    let live = on_live.is_some().then_some(sender);
    let early_end = EarlyEnd::new(workers);
    let expected_length = ExpectedLength::default();
    let (requests, unclaimed) = requests_of_workers(spec, &ready);
    let gate = Gate::new(workers);
    let are_done = AtomicBool::new(false);
    let has_ended =
        || are_done.load(Ordering::Relaxed) || early_end.get().is_some_and(|(at_ns, _)| at_ns <= now_ns());
    let (pressure, pressure_from_ns) = (Pressure::read(), now_ns());

    let (outcomes, ticks, over_record) = thread::scope(|scope| {
        // Started before the workers, which do not stop once they run.
        let over_record = account
            .as_ref()
            .map(|account| {
                let over_record = move || account.over_record(record_from_ns..end_ns, has_ended);
                thread::Builder::new().spawn_scoped(scope, over_record)
            })
            .transpose()
            .map_err(|source| TrialError::Thread { of: "that accounts for processes".to_owned(), source })?;
        let drain_ns = nanoseconds(spec.timeout);
        let tasks = ready.into_iter().enumerate().map(|(number, (log, connections, worker))| {
            let run = Run {
                record_from_ns,
                parts_from_ns: parts_from_ns.clone(),
                early_end: early_end.clone(),
                requests: requests[number],
                unclaimed: unclaimed.clone(),
                expected_length: expected_length.clone(),
                live: live.clone(),
                log,
                intervals: spec.intervals.clone(),
                workers,
                lookups: lookups.as_ref().map(Lookups::shared),
                ..Run::new(release(spec, number as u32, workers as u32), start_ns, end_ns, drain_ns)
            };
            let kept = Kept::new(spec, number as u64, connections);
            move |place: Place<'_>| run_worker(worker, run, kept, place, stop)
        });
        let handles =
            gate::start(scope, &gate, tasks, |_| thread::Builder::new()).map_err(|(number, source)| {
                are_done.store(true, Ordering::Relaxed);
                TrialError::Thread { of: format!("of worker {} of {workers}", number + 1), source }
            })?;
        drop(live);
        let before = processor_ticks();
        if let Some(on_live) = on_live {
            let times = live::Times { start: start_ns, record_from: record_from_ns, end: end_ns };
            live::show(&receiver, &times, workers, spec.open.is_some(), on_live);
        }
        let outcomes: Vec<_> = handles.into_iter().map(thread::ScopedJoinHandle::join).collect();
        are_done.store(true, Ordering::Relaxed);
        let over_record = over_record.map(thread::ScopedJoinHandle::join).transpose();
        let ticks = before.and_then(|before| Ok((before, processor_ticks()?)));
        Ok::<_, TrialError>((outcomes, ticks, over_record))
    })?;
    let finished_ns = now_ns();
    let over_record = over_record.map_err(|_| TrialError::WorkerLost)?;
    // The connections are still open: a server may end a thread with its connection.
    let accounted = account.zip(over_record).map(|(account, over_record)| account.end(over_record));
    let mut recordings = Vec::with_capacity(workers);
    let mut uses = Vec::with_capacity(workers);
    for outcome in outcomes {
        // A worker has no recordings if another one failed before the start.
        let Some((parts, used, _)) = outcome.map_err(|_| TrialError::WorkerLost)?? else { continue };
        uses.push(worker_use(&parts, used));
        recordings.push(parts);
    }
    let (before, after) = ticks?;
    let ticks = ticks_between(&before, &after, &processors::allowed()?);
    let pressure_after = Pressure::read();
    let recorded = recorded(spec, &early_end, &recordings, record_from_ns..end_ns);
    let generator = Generator {
        cpu_seconds: uses.iter().map(|worker| worker.cpu_seconds).sum(),
        run_delay_us: uses.iter().map(|worker| worker.run_delay_us).sum(),
        wall_seconds: recorded.time.as_secs_f64(),
        steal_share: if ticks.total == 0 { 0.0 } else { ticks.steal as f64 / ticks.total as f64 },
        pressure_share: pressure_after
            .share_since(&pressure, finished_ns.saturating_sub(pressure_from_ns) as f64 / 1e3)
            .filter(|_| !spec.never_halted),
        throttled: pressure_after.throttled_since(&pressure),
        clock_read_ns: clock.reading_ns,
        clock_step_back_ns: clock.step_back_ns,
        workers: uses,
    };
    let of = |recording: &Recording| recording.book.answered + recording.warmup_responses;
    let responses: u64 = recordings.iter().flatten().map(of).sum();
    let mut result = summary::result(spec, recordings, recorded, generator, environment);
    result.lookups = lookups.map(|lookups| lookups.counts());
    let cpu_times = accounted.as_ref().map(|accounted| accounted.cpu_times.clone());
    result.account = accounted.map(|accounted| accounted.with_responses(responses));
    Ok((result, cpu_times.unwrap_or_default()))
}

/// The number of workers.
fn workers(spec: &TrialSpec) -> usize {
    // Each worker needs a connection to every host.
    let max_workers = (spec.connections / spec.traffic.hosts().max(1)).max(1);
    // Each worker needs a request.
    let max_workers = spec.requests.map_or(max_workers, |requests| {
        max_workers.min(usize::try_from(requests.max(1)).unwrap_or(max_workers))
    });
    spec.workers.clamp(1, max_workers)
}

/// The number of requests of each worker, and the requests that no worker has claimed yet ([`crate::unclaimed`]). In an open loop, each
/// worker has its own. In a closed loop, a worker is expected to send in proportion to its connections, and claims requests as it sends
/// them.
fn requests_of_workers(spec: &TrialSpec, ready: &[Ready]) -> (Vec<Option<u64>>, Option<UnclaimedRequests>) {
    let workers = ready.len() as u64;
    let Some(requests) = spec.requests else { return (vec![None; ready.len()], None) };
    if spec.open.is_some() {
        let own = |number| Some(dealt(requests, number, workers));
        return ((0..workers).map(own).collect(), None);
    }
    let all = ready.iter().map(|(_, connections, _)| *connections as u128).sum::<u128>().max(1);
    let expected = |(_, connections, _): &Ready| {
        let share = u128::from(requests) * *connections as u128 / all;
        (share as u64).max(requests.min(1))
    };
    let expected: Vec<u64> = ready.iter().map(expected).collect();
    let first: u64 = expected.iter().copied().map(UnclaimedRequests::first_of).sum();
    let unclaimed = UnclaimedRequests::new(requests.saturating_sub(first), workers);
    (expected.into_iter().map(Some).collect(), Some(unclaimed))
}

/// Parameters of a worker's recordings.
struct Kept {
    connections: usize,
    seed: u64,
    /// Names of requests, each recorded separately; None unless the load has several.
    names: Option<Arc<RequestNames>>,
}

impl Kept {
    fn new(spec: &TrialSpec, worker: u64, connections: usize) -> Self {
        Self { connections, seed: spec.seed ^ worker, names: spec.traffic.names.clone() }
    }

    /// The recordings before a run: that of the first part, and those of the others. The first has a course if it is the only part, and the
    /// requests by name of all parts.
    fn recordings(self, run: &Run) -> (Recording, Vec<Recording>) {
        let mut first = Recording::default().with_bounds();
        let batches = Division::new(run.record_from_ns, run.end_ns, BATCHES);
        let is_one_part = run.parts_from_ns.is_empty();
        if is_one_part {
            let course = Course::new(run.record_from_ns, run.end_ns, self.connections, self.seed);
            first = first.with_course(course);
            first.phases = Some(Box::new(Phases::new(batches)));
        }
        let by_request = |names| Box::new(ByRequest::new(names, is_one_part.then_some(batches)));
        first.by_request = self.names.map(by_request);
        (first, vec![Recording::default().with_bounds(); run.parts_from_ns.len()])
    }
}

/// The recordings of a worker, its CPU time, and the worker with its open connections.
type Outcome = (Vec<Recording>, TaskUse, Worker);

/// Runs a worker as soon as all others are ready; None if one of them will not be.
fn run_worker(
    mut worker: Worker,
    run: Run,
    kept: Kept,
    place: Place<'_>,
    stop: &AtomicBool,
) -> io::Result<Option<Outcome>> {
    processors::set_min_timer_slack()?;
    let (mut first, mut rest) = kept.recordings(&run);
    if !place.pass() {
        return Ok(None);
    }
    let used = worker.run_in_parts(run, &mut first, &mut rest, stop)?;
    rest.insert(0, first);
    Ok(Some((rest, used, worker)))
}

/// Returns the CPU time, the waits and the response times of a worker.
fn worker_use(parts: &[Recording], used: TaskUse) -> GeneratorWorker {
    let mut response = Distribution::default();
    for part in parts {
        response += &part.response;
    }
    GeneratorWorker {
        cpu_seconds: used.cpu_ns as f64 / 1e9,
        run_delay_us: used.run_delay_ns as f64 / 1e3,
        response: response.summary(),
    }
}

/// The recorded part of a trial that was planned to record over `intended_ns`.
fn recorded(
    spec: &TrialSpec,
    early_end: &EarlyEnd,
    recordings: &[Vec<Recording>],
    intended_ns: Range<u64>,
) -> Recorded {
    // A stop during the drain has no effect: the record is complete.
    let (mut end_ns, ended_by) = early_end
        .get()
        .filter(|(at_ns, by)| *at_ns < intended_ns.end || *by == EndedBy::Requests)
        .unwrap_or((intended_ns.end, EndedBy::Plan));
    if ended_by == EndedBy::Requests && spec.open.is_none() {
        // In a closed loop the record includes the response to the last request.
        let responses_ns = recordings.iter().flatten().map(|recording| recording.last_response_ns);
        end_ns = responses_ns.fold(end_ns, u64::max);
    }
    let since_1970 = wall_time(intended_ns.start).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Recorded {
        from_unix_s: since_1970.as_secs_f64(),
        time: Duration::from_nanos(end_ns.saturating_sub(intended_ns.start)),
        ended_by,
    }
}

/// A worker, with its log sink and its number of connections.
type Ready = (Option<LogSink>, usize, Worker);

fn connect(spec: &TrialSpec, workers: usize, stop: &AtomicBool) -> Result<Vec<Ready>, ConnectError> {
    let traffic = Arc::new(spec.traffic.clone());
    let mut first_connection = 0;
    (0..workers)
        .map(|number| {
            let connections = dealt(spec.connections as u64, number as u64, workers as u64) as usize;
            let log = spec.log.clone().map(|sender| LogSink::new(sender, first_connection as u32));
            first_connection += connections;
            // The workers open their connections one after the other, each in its share of the ramp-up.
            let worker_spec = WorkerSpec {
                traffic: Arc::clone(&traffic),
                connections,
                timeout: spec.timeout,
                pooling: spec.pooling,
                seed: spec.seed,
                number: spec.share.worker(number as u32),
                workers: spec.share.workers(workers as u32),
                kernel_stamps: spec.kernel_stamps,
                ramp_up: spec.ramp_up / workers as u32,
            };
            let worker = Worker::connect_until(&worker_spec, stop)?;
            Ok((log, connections, worker))
        })
        .collect()
}

/// Starts the lookups during the trial, if there are any.
fn lookups(traffic: &Traffic) -> io::Result<Option<Lookups>> {
    let hosts = traffic.hosts.iter();
    let hosts =
        hosts.map(|host| LookupHost { name: host.name.clone(), addresses: Arc::clone(&host.addresses) });
    let refresh = traffic.refresh.clone().filter(|_| traffic.has_refreshed_names());
    refresh.map(|refresh| Lookups::start(refresh, hosts)).transpose()
}

fn release(spec: &TrialSpec, number: u32, workers: u32) -> Release {
    match (&spec.open, spec.think) {
        (Some((pace, arrivals)), _) => {
            let (number, workers) = (spec.share.worker(number), spec.share.workers(workers));
            Release::Open(Schedule::new(arrivals.clone(), pace.clone(), spec.seed, number, workers))
        }
        (None, Some(think)) => Release::Thinking(think),
        (None, None) => Release::Closed,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    // A quarter of the range is 146 years, so sums of such times cannot overflow.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4)
}
