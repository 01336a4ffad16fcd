//! One run of a worker: what was asked for, and what is known of it while it goes on.

use std::sync::mpsc::SyncSender;

use hdrhistogram::Histogram;
use hoptax_wire::Answer;

use crate::log::{Entry, LogSink, Outcome};
use crate::recording::{Failure, Moments, Recording, Unsent};
use crate::schedule::Schedule;
use crate::think::Think;
use crate::traffic::Picked;
use crate::worker::InFlight;

/// How often a live sample is sent, nanoseconds.
pub(crate) const LIVE_NS: u64 = 500_000_000;

/// When requests leave.
#[derive(Clone, Debug)]
pub enum Release {
    /// As soon as a connection is free.
    Closed,
    /// So long after a connection was answered.
    Thinking(Think),
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
    /// Where the second and each further part of the record begins; what is planned in it goes into a recording of its
    /// own.
    pub parts_from_ns: Vec<u64>,
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

impl Run {
    /// A run from `start_ns` to `end_ns` that is recorded from the start, in one part, without log and live line.
    pub fn new(release: Release, start_ns: u64, end_ns: u64, drain_ns: u64) -> Self {
        Self {
            start_ns,
            record_from_ns: start_ns,
            parts_from_ns: Vec::new(),
            end_ns,
            drain_ns,
            release,
            live: None,
            log: None,
        }
    }
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
    /// Time of the next release, and what is then released.
    pub(crate) next_ns: u64,
    pub(crate) next: Picked,
    /// The record of the first part, and of the further ones.
    first: &'a mut Recording,
    rest: &'a mut [Recording],
    live: Option<LiveSample>,
}

impl<'a> Current<'a> {
    pub(crate) fn new(run: Run, first: &'a mut Recording, rest: &'a mut [Recording]) -> Self {
        let live = run.live.as_ref().map(|_| LiveSample::new());
        Self { next_ns: 0, next: Picked::default(), live, first, rest, run }
    }

    /// Sets the time of the next release.
    pub(crate) fn plan_next(&mut self, next: Picked) {
        self.next = next;
        match &mut self.run.release {
            Release::Closed | Release::Thinking(_) => self.next_ns = self.run.start_ns,
            Release::Open(schedule) => {
                self.next_ns = self.run.start_ns.saturating_add(schedule.peek_ns());
                schedule.advance();
            }
        }
    }

    /// The recording of what was planned then.
    pub(crate) fn recording(&mut self, planned_ns: u64) -> &mut Recording {
        let part = self.run.parts_from_ns.partition_point(|from_ns| *from_ns <= planned_ns);
        match part.checked_sub(1) {
            Some(number) if number < self.rest.len() => &mut self.rest[number],
            _ => self.first,
        }
    }

    /// That of the first part.
    pub(crate) fn first(&mut self) -> &mut Recording {
        self.first
    }

    /// All of them.
    pub(crate) fn recordings(&mut self) -> impl Iterator<Item = &mut Recording> {
        std::iter::once(&mut *self.first).chain(self.rest.iter_mut())
    }

    /// Looks at what goes on, for the course of the trial.
    pub(crate) fn look(&mut self, now_ns: u64, in_flight: usize, open_connections: usize) {
        if let Some(course) = &mut self.recording(now_ns).course {
            course.look(now_ns, in_flight, open_connections);
        }
    }

    /// Books that a recorded request goes out.
    pub(crate) fn record_start(&mut self, in_flight: &InFlight) {
        let is_open = self.is_open();
        let recording = self.recording(in_flight.planned_ns);
        recording.book.planned += 1;
        recording.book.sent += 1;
        recording.book.blocked += u64::from(in_flight.blocked);
        if let Some(course) = &mut recording.course {
            course.plan(in_flight.planned_ns);
            if is_open {
                course.send(in_flight.planned_ns, in_flight.started_ns);
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
        let outcome = failure.map_or(Outcome::Answered, Outcome::Failed);
        let status = answer.grpc_status.unwrap_or(answer.status);
        self.log(in_flight, index, outcome, status, last_byte_ns);
        let response_ns = last_byte_ns.saturating_sub(in_flight.planned_ns);
        let recording = self.recording(in_flight.planned_ns);
        if answer.status > 0 {
            recording.record_status(status);
        }
        if let Some(course) = &mut recording.course {
            course.end(in_flight.started_ns, last_byte_ns);
        }
        if let Some(failure) = failure {
            recording.record_failure(failure, response_ns);
            return self.count_live_error();
        }
        let moments = Moments {
            planned_ns: in_flight.planned_ns,
            offered_ns: in_flight.offered_ns,
            started_ns: in_flight.started_ns,
            connected_ns: in_flight.connected_ns,
            written_ns: in_flight.written_ns,
            first_byte_ns: in_flight.first_byte_ns,
            last_byte_ns,
            blocked: in_flight.blocked,
            connected: in_flight.connected,
        };
        recording.record_answer(&moments, index, status);
        if let Some(live) = &mut self.live {
            live.response.saturating_record(response_ns);
        }
    }

    /// Books a recorded request on connection `index` that came to no complete answer until `now_ns`.
    pub(crate) fn record_end(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome, now_ns: u64) {
        let response_ns = now_ns.saturating_sub(in_flight.planned_ns);
        let service_ns = (in_flight.written_ns > 0).then(|| now_ns.saturating_sub(in_flight.written_ns));
        let recording = self.recording(in_flight.planned_ns);
        if let Some(course) = &mut recording.course {
            course.end(in_flight.started_ns, now_ns);
        }
        match outcome {
            Outcome::Failed(failure) => recording.record_failure(failure, response_ns),
            Outcome::TimedOut => {
                recording.book.timed_out += 1;
                recording.outcomes.entry("timed-out").or_default().record(response_ns);
                recording.record_censored(response_ns, service_ns);
            }
            Outcome::Unfinished => {
                recording.book.unfinished += 1;
                recording.record_censored(response_ns, service_ns);
            }
            Outcome::Answered | Outcome::Unsent(_) => {}
        }
        self.log(in_flight, index, outcome, 0, now_ns);
        self.count_live_error();
    }

    fn log(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome, status: u16, ended_ns: u64) {
        let Some(log) = &mut self.run.log else { return };
        let after = |moment_ns: u64| (moment_ns > 0).then(|| moment_ns.saturating_sub(in_flight.planned_ns));
        log.take(Entry {
            planned_ns: in_flight.planned_ns.wrapping_sub(self.run.record_from_ns) as i64,
            offered_ns: after(in_flight.offered_ns),
            started_ns: after(in_flight.started_ns),
            connected_ns: after(in_flight.connected_ns),
            written_ns: after(in_flight.written_ns),
            first_byte_ns: after(in_flight.first_byte_ns),
            ended_ns: after(ended_ns),
            connection: index as u32,
            status,
            outcome,
            blocked: in_flight.blocked,
            connected: in_flight.connected,
        });
    }

    /// Books a request that is not sent. One that would still wait at the end counts as slow as it has waited.
    pub(crate) fn record_unsent(&mut self, planned_ns: u64, reason: Unsent) {
        if planned_ns < self.run.record_from_ns {
            return;
        }
        let waited_ns = self.run.end_ns.saturating_sub(planned_ns);
        let recording = self.recording(planned_ns);
        recording.record_unsent(reason);
        if let Some(course) = &mut recording.course {
            course.plan(planned_ns);
        }
        if reason == Unsent::End {
            recording.record_censored(waited_ns, None);
        }
        if let Some(log) = &mut self.run.log {
            log.take(Entry {
                planned_ns: (planned_ns - self.run.record_from_ns) as i64,
                offered_ns: None,
                started_ns: None,
                connected_ns: None,
                written_ns: None,
                first_byte_ns: None,
                ended_ns: (reason == Unsent::End).then_some(waited_ns),
                connection: 0,
                status: 0,
                outcome: Outcome::Unsent(reason),
                blocked: false,
                connected: false,
            });
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
