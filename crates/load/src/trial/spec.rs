//! The specification of a trial.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::account::Accounted;
use super::start::Start;
use crate::interval::IntervalSink;
use crate::pace::Pace;
use crate::pool::Pooling;
use crate::schedule::Arrivals;
use crate::share::Share;
use crate::think::Think;
use crate::traffic::Traffic;

/// Parameters of a trial.
#[derive(Clone, Debug)]
pub struct TrialSpec {
    /// The requests and their hosts.
    pub traffic: Traffic,
    /// Rate and arrival process of an open loop, for all its generators together; None for a closed loop.
    pub open: Option<(Pace, Arrivals)>,
    /// Think time of a closed loop.
    pub think: Option<Think>,
    /// This generator's share of the load. All other fields but `open` describe this generator alone.
    pub share: Share,
    /// When it starts; None for as soon as its connections are open.
    pub start: Option<Start>,
    /// Connections, over all workers.
    pub connections: usize,
    /// Assignment of requests to connections.
    pub pooling: Pooling,
    /// Receives the raw log in pieces; their concatenation follows [`crate::log::MAGIC`] in a file.
    pub log: Option<SyncSender<Vec<u8>>>,
    /// Receives intervals while the trial runs.
    pub intervals: Vec<IntervalSink>,
    /// Worker threads, limited to one per connection.
    pub workers: usize,
    /// Length of the record.
    pub duration: Duration,
    /// Number of recorded requests after which the record ends early; None for no limit.
    pub requests: Option<u64>,
    /// Length of the warm-up, which is not recorded.
    pub warmup: Duration,
    /// Time before the warm-up over which preconnected connections are opened evenly; zero to open all at once.
    pub ramp_up: Duration,
    /// Request timeout, and how long to wait for responses after the end.
    pub timeout: Duration,
    /// Seed of the schedule.
    pub seed: u64,
    /// True to take kernel timestamps of a sample of the connections.
    pub kernel_stamps: bool,
    /// True if the caller keeps the processors from halting ([`hoptax_host::awake`]). CPU pressure then includes the spinners, so it is
    /// not reported.
    pub never_halted: bool,
    /// Tolerated share of requests without a response.
    pub max_error_share: f64,
    /// Percentiles to report in addition to the default ones, above 0 and below 100.
    pub percentiles: Vec<f64>,
    /// Limits of response time, us. The responses within each of them are counted.
    pub limits_us: Vec<f64>,
    /// Processes whose CPU time and memory are accounted for.
    pub account: Option<Accounted>,
}

impl TrialSpec {
    /// A closed loop of 10 s on 16 connections: the defaults of `hoptax load`.
    pub fn new(traffic: impl Into<Traffic>) -> Self {
        Self {
            traffic: traffic.into(),
            open: None,
            think: None,
            share: Share::WHOLE,
            start: None,
            connections: 16,
            pooling: Pooling::default(),
            log: None,
            intervals: Vec::new(),
            workers: 1,
            duration: Duration::from_secs(10),
            requests: None,
            warmup: Duration::from_secs(1),
            ramp_up: Duration::ZERO,
            timeout: Duration::from_secs(5),
            seed: 1,
            kernel_stamps: false,
            never_halted: false,
            max_error_share: 0.001,
            percentiles: Vec::new(),
            limits_us: Vec::new(),
            account: None,
        }
    }

    /// Start of the second and each further stage, relative to the start of the record.
    pub(super) fn stages_from(&self) -> Vec<Duration> {
        let Some((Pace::Stages(stages), _)) = &self.open else { return Vec::new() };
        let mut sum = Duration::ZERO;
        stages
            .iter()
            .take(stages.len().saturating_sub(1))
            .map(|stage| {
                sum += stage.length;
                sum
            })
            .collect()
    }
}
