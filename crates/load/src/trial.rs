//! One timed trial: several workers on one plan, put together into one result.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use hoptax_host::accounting::{TaskUse, processor_ticks, ticks_between};
use hoptax_host::clock::now_ns;
use hoptax_host::processors;
use hoptax_result::{
    Drift, Environment, Generator, GeneratorWorker, LatencySet, LoadPlan, LoadRate, LoadResult, Loop,
    Verdict, Waiting,
};
use thiserror::Error;

use crate::log::LogSink;
use crate::pool::Pooling;
use crate::recording::{Recording, latency};
use crate::run::{LiveSample, Release, Run};
use crate::schedule::{Arrivals, Schedule};
use crate::target::Target;
use crate::worker::{ConnectError, Worker};

/// Time between the last connection and the first release, so that all workers are ready for it.
const SETTLE_NS: u64 = 20_000_000;
/// Live samples that may wait to be looked at.
const LIVE_BACKLOG: usize = 64;

/// What a trial is to be.
#[derive(Clone, Debug)]
pub struct TrialSpec {
    /// Where the load goes.
    pub target: Target,
    /// Requests per second and how their times are drawn; None for a closed loop.
    pub open: Option<(f64, Arrivals)>,
    /// Connections of all workers together.
    pub connections: usize,
    /// How requests find them.
    pub pooling: Pooling,
    /// Where the raw log goes, in pieces that together are what follows [`crate::log::MAGIC`].
    pub log: Option<Sender<Vec<u8>>>,
    /// Worker threads; at most one per connection is used.
    pub workers: usize,
    /// Time recorded.
    pub duration: Duration,
    /// Time before it that is not.
    pub warmup: Duration,
    /// Time after which a request has timed out, and how long answers are waited for at the end.
    pub timeout: Duration,
    /// Seed of the release times.
    pub seed: u64,
    /// Share of requests without an answer that is tolerated.
    pub max_error_share: f64,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The connections could not be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The kernel refused something.
    #[error("the load could not be run: {0}")]
    System(#[from] io::Error),
    /// A worker ended without a result, which is a fault of hoptax.
    #[error("a worker thread ended without a result; this is a fault of hoptax")]
    WorkerLost,
}

/// What a live line shows: the time since the one before.
#[derive(Debug)]
pub struct LiveLine {
    /// Seconds of the trial that have passed, warm-up included.
    pub elapsed_s: f64,
    /// Seconds that the trial takes, warm-up included.
    pub total_s: f64,
    /// Answers per second.
    pub rate: f64,
    /// Median response time, microseconds.
    pub p50_us: f64,
    /// 99th percentile of response time, microseconds.
    pub p99_us: f64,
    /// Requests without an answer, since the start of the record.
    pub errors: u64,
}

/// Runs a trial. Setting `stop` ends it early with what it has; `on_live` is called about twice a second.
/// The findings and the verdict of the result are left empty: the checks fill them.
///
/// # Errors
/// When a connection cannot be opened at the start, or the kernel refuses what is needed.
pub fn run(
    spec: &TrialSpec,
    environment: Environment,
    stop: &AtomicBool,
    on_live: Option<&mut dyn FnMut(&LiveLine)>,
) -> Result<LoadResult, TrialError> {
    let workers = spec.workers.clamp(1, spec.connections.max(1));
    let target = Arc::new(spec.target.clone());
    let mut ready = Vec::with_capacity(workers);
    let mut first_connection = 0;
    for worker in 0..workers {
        let share = spec.connections / workers + usize::from(worker < spec.connections % workers);
        let log = spec.log.clone().map(|sender| LogSink::new(sender, first_connection as u32));
        first_connection += share;
        ready.push((
            log,
            Worker::connect(
                Arc::clone(&target),
                share,
                spec.timeout,
                spec.pooling,
                spec.seed + worker as u64,
            )?,
        ));
    }
    let start_ns = now_ns() + SETTLE_NS;
    let record_from_ns = start_ns + nanoseconds(spec.warmup);
    let end_ns = record_from_ns + nanoseconds(spec.duration);
    let (sender, receiver) = sync_channel(LIVE_BACKLOG);
    let live = on_live.is_some().then_some(sender);
    let barrier = Barrier::new(workers);

    let (outcomes, ticks) = thread::scope(|scope| {
        let handles: Vec<_> = ready
            .into_iter()
            .enumerate()
            .map(|(number, (log, mut worker))| {
                let release = match &spec.open {
                    None => Release::Closed,
                    Some((rate, arrivals)) => {
                        let (number, workers) = (number as u32, workers as u32);
                        Release::Open(Schedule::new(arrivals.clone(), *rate, spec.seed, number, workers))
                    }
                };
                let drain_ns = nanoseconds(spec.timeout);
                let run =
                    Run { start_ns, record_from_ns, end_ns, drain_ns, release, live: live.clone(), log };
                let barrier = &barrier;
                scope.spawn(move || -> io::Result<(Recording, TaskUse)> {
                    processors::wake_precisely()?;
                    let mut recording = Recording::new();
                    barrier.wait();
                    let used = worker.run(run, &mut recording, stop)?;
                    Ok((recording, used))
                })
            })
            .collect();
        drop(live);
        let before = processor_ticks();
        if let Some(on_live) = on_live {
            show_live(&receiver, start_ns, end_ns, on_live);
        }
        let outcomes: Vec<_> = handles.into_iter().map(thread::ScopedJoinHandle::join).collect();
        (outcomes, before.and_then(|before| Ok((before, processor_ticks()?))))
    });
    let mut recording = Recording::new();
    let mut uses = Vec::with_capacity(workers);
    for outcome in outcomes {
        let (one, used) = outcome.map_err(|_| TrialError::WorkerLost)??;
        recording.merge(&one);
        uses.push(used);
    }
    let finished_ns = now_ns();
    let (before, after) = ticks?;
    let ticks = ticks_between(&before, &after, &processors::allowed()?);
    let generator = Generator {
        cpu_seconds: uses.iter().map(|used| used.cpu_ns as f64 / 1e9).sum(),
        run_delay_us: uses.iter().map(|used| used.run_delay_ns as f64 / 1e3).sum(),
        wall_seconds: finished_ns.saturating_sub(record_from_ns) as f64 / 1e9,
        steal_share: if ticks.total == 0 { 0.0 } else { ticks.steal as f64 / ticks.total as f64 },
        workers: uses
            .iter()
            .map(|used| GeneratorWorker {
                cpu_seconds: used.cpu_ns as f64 / 1e9,
                run_delay_us: used.run_delay_ns as f64 / 1e3,
            })
            .collect(),
    };
    // An interrupted trial recorded for less time than planned.
    let recorded_s = end_ns.min(finished_ns).saturating_sub(record_from_ns) as f64 / 1e9;
    Ok(result(spec, workers, &recording, recorded_s, generator, environment))
}

fn result(
    spec: &TrialSpec,
    workers: usize,
    recording: &Recording,
    recorded_s: f64,
    generator: Generator,
    environment: Environment,
) -> LoadResult {
    let per_second = |count: u64| if recorded_s > 0.0 { count as f64 / recorded_s } else { 0.0 };
    let [first, _, last] = &recording.response_thirds;
    let drift = (!first.is_empty() && !last.is_empty()).then(|| Drift {
        first_third_p50_us: first.value_at_quantile(0.5) as f64 / 1e3,
        last_third_p50_us: last.value_at_quantile(0.5) as f64 / 1e3,
    });
    let failures: BTreeMap<String, u64> =
        recording.failures.iter().map(|(failure, count)| (failure.word().to_owned(), *count)).collect();
    LoadResult {
        format: "hoptax.load/1".to_owned(),
        verdict: Verdict::Sound,
        findings: Vec::new(),
        plan: LoadPlan {
            url: spec.target.url.clone(),
            method: spec.target.method.clone(),
            loop_: if spec.open.is_some() { Loop::Open } else { Loop::Closed },
            arrivals: spec.open.as_ref().map(|(_, arrivals)| arrivals.to_string()),
            connections: spec.connections as u32,
            pool: spec.pooling.order.to_string(),
            when_busy: spec.pooling.when_busy.to_string(),
            when_late: spec.pooling.when_late.to_string(),
            requests_per_connection: spec.pooling.requests_per_connection.map(NonZeroU32::get),
            expect: spec.target.expectation.to_string(),
            workers: workers as u32,
            duration_s: spec.duration.as_secs_f64(),
            warmup_s: spec.warmup.as_secs_f64(),
            timeout_s: spec.timeout.as_secs_f64(),
            seed: spec.seed,
            max_error_share: spec.max_error_share,
        },
        book: recording.book,
        unsent: recording.unsent.iter().map(|(reason, count)| (reason.word().to_owned(), *count)).collect(),
        waiting: Waiting { most: recording.most_waiting, total_s: recording.waited_ns as f64 / 1e9 },
        failures,
        statuses: recording.statuses.clone(),
        rate: LoadRate {
            target: spec.open.as_ref().map(|(rate, _)| *rate),
            offered: per_second(recording.book.sent),
            achieved: Some(per_second(recording.book.answered)),
        },
        latency: LatencySet {
            response: latency(&recording.response()),
            service: latency(&recording.service),
            send_lag: latency(&recording.send_lag),
            own_lag: latency(&recording.own_lag),
            first_byte: latency(&recording.first_byte),
        },
        drift,
        generator,
        environment,
    }
}

/// Puts the samples of all workers together into a line twice a second, until all workers are done.
fn show_live(
    receiver: &Receiver<LiveSample>,
    start_ns: u64,
    end_ns: u64,
    on_live: &mut dyn FnMut(&LiveLine),
) {
    const INTERVAL_NS: u64 = 500_000_000;
    let mut response: Option<Histogram<u64>> = None;
    let mut errors = 0;
    let mut last_ns = start_ns;
    while let Ok(sample) = receiver.recv() {
        errors += sample.errors;
        match &mut response {
            Some(all) => *all += &sample.response,
            None => response = Some(sample.response),
        }
        let now = now_ns();
        if now.saturating_sub(last_ns) < INTERVAL_NS {
            continue;
        }
        if let Some(all) = response.take() {
            on_live(&LiveLine {
                elapsed_s: now.min(end_ns).saturating_sub(start_ns) as f64 / 1e9,
                total_s: (end_ns - start_ns) as f64 / 1e9,
                rate: all.len() as f64 / (now.saturating_sub(last_ns) as f64 / 1e9),
                p50_us: all.value_at_quantile(0.5) as f64 / 1e3,
                p99_us: all.value_at_quantile(0.99) as f64 / 1e3,
                errors,
            });
        }
        last_ns = now;
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    // A quarter of the range is 146 years: sums of such times cannot overflow.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4)
}
