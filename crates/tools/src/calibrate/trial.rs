//! Runs one experiment: an origin on the proxy's processors, one worker of the engine on the generator's.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hoptax_host::clock::now_ns;
use hoptax_host::processors::{self, Placement};
use hoptax_load::log::{self, ENTRY_BYTES, Entry, LogSink};
use hoptax_load::{Recording, Release, Run, Schedule, Target, Worker, WorkerSpec};
use hoptax_origin::{Origin, OriginOptions, Served};

use super::error::CalibrateError;
use super::experiments::{DRAIN, Load, Spec};

/// Time between the last connection and the first release.
const SETTLE_NS: u64 = 20_000_000;

/// The record of an experiment.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) entries: Vec<Entry>,
    /// Start of recording, nanoseconds of the clock.
    pub(crate) start_ns: u64,
    pub(crate) served: Vec<Served>,
    pub(crate) recording: Recording,
}

/// Runs `spec`. The calling thread is left pinned to the generator's processors.
pub(crate) fn run(
    spec: &Spec,
    seed: u64,
    placement: &Placement,
    stop: &AtomicBool,
) -> Result<Trial, CalibrateError> {
    let origin =
        Origin::bind(&OriginOptions { default_query: spec.query.clone(), seed, ..OriginOptions::default() })?;
    let url = format!("http://{}/", origin.local_address());
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            processors::pin(&placement.proxy)?;
            Ok::<_, CalibrateError>(origin.run_recorded(&ended)?.1)
        });
        let sent = offer(spec, seed, &url, placement, stop);
        ended.store(true, Ordering::Relaxed);
        let served = server.join().map_err(|_| CalibrateError::OriginLost)??;
        let (entries, start_ns, recording) = sent?;
        Ok(Trial { entries, start_ns, served, recording })
    })
}

/// Offers the load. Returns the log, the start of recording, and the recording.
fn offer(
    spec: &Spec,
    seed: u64,
    url: &str,
    placement: &Placement,
    stop: &AtomicBool,
) -> Result<(Vec<Entry>, u64, Recording), CalibrateError> {
    processors::pin(&placement.generator)?;
    processors::set_min_timer_slack()?;
    let target = Target::new(url, "GET", Vec::new(), Vec::new())?;
    let mut worker = Worker::connect(&WorkerSpec::single(target, spec.connections, DRAIN, seed))?;
    let release = match &spec.load {
        Load::Closed(None) => Release::Closed,
        Load::Closed(Some(think)) => Release::Thinking(*think),
        Load::Open(rate, arrivals) => Release::Open(Schedule::new(arrivals.clone(), *rate, seed, 0, 1)),
    };
    let (sender, pieces) = log::channel();
    let collector = thread::spawn(move || pieces.into_iter().flatten().collect::<Vec<u8>>());
    let start_ns = now_ns() + SETTLE_NS;
    let end_ns = start_ns + spec.length.as_nanos() as u64;
    let run = Run {
        log: Some(LogSink::new(sender, 0)),
        ..Run::new(release, start_ns, end_ns, spec.drain.as_nanos() as u64)
    };
    let mut recording = Recording::default();
    worker.run(run, &mut recording, stop)?;
    let bytes = collector.join().map_err(|_| io::Error::other("the log thread has panicked"))?;
    let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
    let entries = entries.iter().filter_map(Entry::from_bytes).collect();
    Ok((entries, start_ns, recording))
}
