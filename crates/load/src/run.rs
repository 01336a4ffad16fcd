//! One run of a worker: what was asked for, and what is known of it while it goes on.

use std::sync::mpsc::SyncSender;

use hdrhistogram::Histogram;
use hoptax_wire::http1::Answer;

use crate::connection::InFlight;
use crate::log::{Entry, LogSink, Outcome};
use crate::recording::{Failure, Moments, Recording, Unsent};
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
    /// Where every recorded request is logged, if it is.
    pub log: Option<LogSink>,
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

    /// Books a complete answer to a recorded request on connection `index`, which may still be a failure.
    pub(crate) fn record_answer(
        &mut self,
        in_flight: &InFlight,
        index: usize,
        answer: Answer,
        failure: Option<Failure>,
        last_byte_ns: u64,
    ) {
        self.recording.record_status(answer.status);
        let outcome = failure.map_or(Outcome::Answered, Outcome::Failed);
        self.log(in_flight, index, outcome, Some((answer.status, last_byte_ns)));
        if let Some(failure) = failure {
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

    /// Books a recorded request on connection `index` that came to no complete answer.
    pub(crate) fn record_end(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome) {
        match outcome {
            Outcome::Failed(failure) => self.recording.record_failure(failure),
            Outcome::TimedOut => self.recording.book.timed_out += 1,
            Outcome::Unfinished => self.recording.book.unfinished += 1,
            Outcome::Answered | Outcome::Unsent(_) => {}
        }
        self.log(in_flight, index, outcome, None);
        self.count_live_error();
    }

    fn log(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome, answer: Option<(u16, u64)>) {
        let Some(log) = &mut self.run.log else { return };
        let after = |moment_ns: u64| (moment_ns > 0).then(|| moment_ns.saturating_sub(in_flight.planned_ns));
        log.take(Entry {
            planned_ns: in_flight.planned_ns.wrapping_sub(self.run.record_from_ns) as i64,
            written_ns: after(in_flight.written_ns),
            first_byte_ns: after(in_flight.first_byte_ns),
            last_byte_ns: answer.and_then(|(_, last_byte_ns)| after(last_byte_ns)),
            connection: index as u32,
            status: answer.map_or(0, |(status, _)| status),
            outcome,
            blocked: in_flight.blocked,
        });
    }

    /// Books a request that is not sent.
    pub(crate) fn record_unsent(&mut self, planned_ns: u64, reason: Unsent) {
        if planned_ns >= self.run.record_from_ns {
            self.recording.record_unsent(reason);
            if let Some(log) = &mut self.run.log {
                log.take(Entry {
                    planned_ns: (planned_ns - self.run.record_from_ns) as i64,
                    written_ns: None,
                    first_byte_ns: None,
                    last_byte_ns: None,
                    connection: 0,
                    status: 0,
                    outcome: Outcome::Unsent(reason),
                    blocked: false,
                });
            }
        }
    }

    /// Whether releases have a schedule.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.run.release, Release::Open(_))
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
