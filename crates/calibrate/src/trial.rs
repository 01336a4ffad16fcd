//! Runs one experiment: an origin on the proxy's processors, one worker of the engine on the generator's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use hoptax_host::processors::{self, Placement};
use hoptax_load::log::{ENTRY_BYTES, Entry, LogSink};
use hoptax_load::{Pooling, Recording, Release, Run, Schedule, Target, Worker};
use hoptax_origin::{Origin, OriginOptions, Served};

use crate::CalibrateError;
use crate::experiments::Spec;

/// How long a connection may take to open, and an answer to come.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time between the last connection and the first release.
const SETTLE_NS: u64 = 20_000_000;

/// What an experiment recorded.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) entries: Vec<Entry>,
    /// The start of the record, nanoseconds of the clock.
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
    let origin = Origin::bind(&OriginOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        workers: 1,
        default_query: spec.query.to_owned(),
        tables: Vec::new(),
        seed,
    })?;
    let url = format!("http://{}/", origin.local_address());
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            processors::pin(&placement.proxy)?;
            Ok::<_, CalibrateError>(origin.run_and_keep(&ended)?.1)
        });
        let sent = offer(spec, seed, &url, placement, stop);
        ended.store(true, Ordering::Relaxed);
        let served = server.join().map_err(|_| CalibrateError::OriginLost)??;
        let (entries, start_ns, recording) = sent?;
        Ok(Trial { entries, start_ns, served, recording })
    })
}

/// Offers the load, and returns the log, the start of the record, and the record.
fn offer(
    spec: &Spec,
    seed: u64,
    url: &str,
    placement: &Placement,
    stop: &AtomicBool,
) -> Result<(Vec<Entry>, u64, Recording), CalibrateError> {
    processors::pin(&placement.generator)?;
    processors::wake_precisely()?;
    let target = Target::new(url, "GET", Vec::new(), Vec::new())?;
    let mut worker = Worker::connect(Arc::new(target), spec.connections, TIMEOUT, Pooling::default(), seed)?;
    let release = match &spec.open {
        None => Release::Closed,
        Some((rate, arrivals)) => Release::Open(Schedule::new(arrivals.clone(), *rate, seed, 0, 1)),
    };
    let (sender, pieces) = mpsc::channel();
    let start_ns = now_ns() + SETTLE_NS;
    let run = Run {
        start_ns,
        record_from_ns: start_ns,
        end_ns: start_ns + spec.length.as_nanos() as u64,
        drain_ns: TIMEOUT.as_nanos() as u64,
        release,
        live: None,
        log: Some(LogSink::new(sender, 0)),
    };
    let mut recording = Recording::new();
    worker.run(run, &mut recording, stop)?;
    let bytes: Vec<u8> = pieces.into_iter().flatten().collect();
    let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
    let entries = entries.iter().filter_map(Entry::from_bytes).collect();
    Ok((entries, start_ns, recording))
}

impl From<io::Error> for CalibrateError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
