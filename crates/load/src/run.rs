//! One run of a worker: what was asked for, and what is known of it while it goes on.

use std::sync::mpsc::SyncSender;

use hdrhistogram::Histogram;
use hoptax_wire::http1::Answer;

use crate::connection::InFlight;
use crate::recording::{Failure, Moments, Recording};
use crate::schedule::Schedule;

/// How often a live sample is sent, nanoseconds.
pub(crate) const LIVE_NS: u64 = 500_000_000;

/// When requests leave.
#[derive(Clone, Debug)]
pub enum Release {
    /// As soon as a connection is free.
    Closed,
    /// When the schedule says; its times count from the start of the run.
    Open(Schedule),
}

/// One run of a worker. Times are of the engine's clock, nanoseconds.
#[derive(Debug)]
pub struct Run {
    /// When releases begin.
    pub start_ns: u64,
    /// Requests planned before this are sent but left out of the record.
    pub record_from_ns: u64,
    /// When releases end.
    pub end_ns: u64,
    /// How long after that answers are waited for.
    pub drain_ns: u64,
    /// When requests leave.
    pub release: Release,
    /// Where live samples go, if anyone looks.
    pub live: Option<SyncSender<LiveSample>>,
}

/// What happened since the sample before, for a live line.
#[derive(Debug)]
pub struct LiveSample {
    /// Requests that were not answered.
    pub errors: u64,
    /// Response times of those that were.
    pub response: Histogram<u64>,
}

/// The state of the run that is going on.
pub(crate) struct Current<'a> {
    pub(crate) run: Run,
    /// First moments of the second and the last third of the record.
    thirds_ns: [u64; 2],
    /// Time of the next release.
    pub(crate) next_ns: u64,
    pub(crate) recording: &'a mut Recording,
    live: Option<LiveSample>,
}

impl<'a> Current<'a> {
    pub(crate) fn new(run: Run, recording: &'a mut Recording) -> Self {
        let third_ns = run.end_ns.saturating_sub(run.record_from_ns) / 3;
        let mut current = Self {
            thirds_ns: [run.record_from_ns + third_ns, run.record_from_ns + 2 * third_ns],
            next_ns: 0,
            live: run.live.as_ref().map(|_| LiveSample::new()),
            recording,
            run,
        };
        current.plan_next();
        current
    }

    /// Sets the time of the next release.
    pub(crate) fn plan_next(&mut self) {
        match &mut self.run.release {
            Release::Closed => self.next_ns = self.run.start_ns,
            Release::Open(schedule) => {
                self.next_ns = self.run.start_ns.saturating_add(schedule.peek_ns());
                schedule.advance();
            }
        }
    }

    pub(crate) fn record_answer(&mut self, in_flight: &InFlight, answer: Answer, last_byte_ns: u64) {
        self.recording.record_status(answer.status);
        if answer.status >= 400 {
            let failure = if answer.status < 500 { Failure::Status4xx } else { Failure::Status5xx };
            self.recording.record_failure(failure);
            return self.count_live_error();
        }
        let [second, last] = self.thirds_ns;
        let third = usize::from(in_flight.planned_ns >= second) + usize::from(in_flight.planned_ns >= last);
        let moments = Moments {
            planned_ns: in_flight.planned_ns,
            written_ns: in_flight.written_ns,
            first_byte_ns: in_flight.first_byte_ns,
            last_byte_ns,
            blocked: in_flight.blocked,
        };
        self.recording.record_answer(&moments, third);
        if let Some(live) = &mut self.live {
            live.response.saturating_record(last_byte_ns.saturating_sub(in_flight.planned_ns));
        }
    }

    pub(crate) fn count_live_error(&mut self) {
        if let Some(live) = &mut self.live {
            live.errors += 1;
        }
    }

    pub(crate) fn send_live(&mut self) {
        if let (Some(live), Some(sender)) = (&mut self.live, &self.run.live) {
            // A reader that is late loses samples of the live line; the record is not touched by that.
            let _ = sender.try_send(std::mem::replace(live, LiveSample::new()));
        }
    }
}

impl LiveSample {
    #[expect(clippy::expect_used, reason = "the bounds are constants within what the histogram allows")]
    fn new() -> Self {
        Self {
            errors: 0,
            response: Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("constant bounds are valid"),
        }
    }
}
