//! The parameters of one run of a worker.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use crate::counts::Counts;
use crate::early_end::EarlyEnd;
use crate::expected_length::ExpectedLength;
use crate::interval::IntervalSink;
use crate::log::LogSink;
use crate::lookups::AddressUpdates;
use crate::schedule::Schedule;
use crate::think::Think;
use crate::unclaimed::UnclaimedRequests;

/// Interval between live samples, nanoseconds.
pub(crate) const LIVE_NS: u64 = 500_000_000;

/// The times at which requests are sent.
#[derive(Clone, Debug)]
pub enum Release {
    /// As soon as a connection is free (closed loop).
    Closed,
    /// A think time after the connection's last response (closed loop).
    Thinking(Think),
    /// Requests follow a schedule, whose times count from the start of the run (open loop).
    Open(Schedule),
}

/// One run of a worker. Times are on the engine's clock, in nanoseconds.
#[derive(Debug)]
pub struct Run {
    /// Start of the run: the schedule counts from here.
    pub start_ns: u64,
    /// Requests with an earlier intended start are sent but not recorded (warm-up).
    pub record_from_ns: u64,
    /// Start of the second and each further part of the record. Each part has a recording of its own, which holds the
    /// requests with an intended start in it.
    pub parts_from_ns: Vec<u64>,
    /// End of the run: no request starts after it.
    pub end_ns: u64,
    /// Time limit of responses after the end.
    pub drain_ns: u64,
    /// The times at which requests are sent.
    pub release: Release,
    /// Ends the run early, together with the other workers of its trial.
    pub early_end: EarlyEnd,
    /// True if the worker busy-polls for events instead of sleeping in epoll. The server then never has to wake the worker, which would
    /// cost the server CPU time. The worker yields its processor between polls.
    pub polls: bool,
    /// Number of recorded requests after which the run ends; None for no limit. If `unclaimed` is set, it is the number that the worker is
    /// expected to send.
    pub requests: Option<u64>,
    /// The requests that the workers of a closed loop claim, so that all end at about the same time; None if this worker has its own.
    pub unclaimed: Option<UnclaimedRequests>,
    /// The expected length of a record with a limited number of requests, shared by the workers of a trial.
    pub expected_length: ExpectedLength,
    /// Receives live samples.
    pub live: Option<SyncSender<LiveSample>>,
    /// Receives a log entry for every recorded request.
    pub log: Option<LogSink>,
    /// Receives the intervals.
    pub intervals: Vec<IntervalSink>,
    /// Number of workers that send intervals.
    pub workers: usize,
    /// The addresses of hosts whose names are looked up again during the run.
    pub lookups: Option<Arc<AddressUpdates>>,
}

impl Run {
    /// A run from `start_ns` to `end_ns`, recorded from its start in one part, without log or live samples.
    pub fn new(release: Release, start_ns: u64, end_ns: u64, drain_ns: u64) -> Self {
        Self {
            start_ns,
            record_from_ns: start_ns,
            parts_from_ns: Vec::new(),
            end_ns,
            drain_ns,
            release,
            early_end: EarlyEnd::new(1),
            polls: false,
            requests: None,
            unclaimed: None,
            expected_length: ExpectedLength::default(),
            live: None,
            log: None,
            intervals: Vec::new(),
            workers: 1,
            lookups: None,
        }
    }

    /// The requests that the worker may record before it claims more, if their number is limited.
    pub(crate) fn requests_at_first(&self) -> Option<u64> {
        if self.unclaimed.is_some() { self.requests.map(UnclaimedRequests::first_of) } else { self.requests }
    }
}

/// Errors, response times, send lags and bytes since the previous live sample.
#[derive(Debug)]
pub struct LiveSample {
    /// Requests without a response.
    pub errors: u64,
    /// Start of the sample, which is in the record.
    pub(crate) from_ns: u64,
    /// Length of the part of the record that the sample covers.
    pub(crate) covered_ns: u64,
    /// Response times of answered requests.
    pub(crate) response: Counts<u64, 2>,
    /// Send lags of answered requests.
    pub(crate) send_lag: Counts<u64, 2>,
    /// Bytes of the bodies of complete responses.
    pub(crate) body_bytes: u64,
    /// The change of the worker's open connections since the previous sample that was received.
    pub(crate) more_connections: i64,
}

impl LiveSample {
    pub(crate) fn new(from_ns: u64) -> Self {
        Self {
            errors: 0,
            from_ns,
            covered_ns: 0,
            response: Counts::new(),
            send_lag: Counts::new(),
            body_bytes: 0,
            more_connections: 0,
        }
    }
}
