//! One run of a worker: what was asked for, and what is known of it while it goes on.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use hdrhistogram::Histogram;
use hoptax_result::EndedBy;
use hoptax_wire::Response;

use crate::backlog::{Replay, Turn};
use crate::early_end::EarlyEnd;
use crate::interval::{IntervalRecorder, IntervalSink};
use crate::log::{Entry, LogSink, Outcome};
use crate::recording::{Failure, Moments, Recording, Unsent};
use crate::schedule::Schedule;
use crate::think::Think;
use crate::traffic::{Picked, Picker, Traffic};
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

/// Waiting requests below which no backlog is hopeless.
const HOPELESS: u64 = 1_000_000;
/// What a server may answer after all, however little it has answered so far, requests per second.
const HOPE_RATE: f64 = 100_000.0;
/// By what factor it may become faster.
const HOPE: f64 = 10.0;

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
    /// What ends it earlier.
    pub early_end: EarlyEnd,
    /// Whether the worker looks for answers all the time, in place of sleeping until they come: so whoever answers never has to
    /// wake it, which costs them CPU time. Between two looks it lets others run that want its processor.
    pub polls: bool,
    /// Recorded requests after which it ends; None for as many as fit.
    pub requests: Option<u64>,
    /// Where live samples go, if anyone looks.
    pub live: Option<SyncSender<LiveSample>>,
    /// Where every recorded request is logged, if it is.
    pub log: Option<LogSink>,
    /// Where intervals go.
    pub intervals: Vec<IntervalSink>,
    /// Number of workers that send to these.
    pub workers: usize,
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
            early_end: EarlyEnd::new(1),
            polls: false,
            requests: None,
            live: None,
            log: None,
            intervals: Vec::new(),
            workers: 1,
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
    /// Requests that were planned so far, the next one among them.
    planned: u64,
    /// Recorded requests that are still to come, where that is limited.
    left: Option<u64>,
    /// The record of the first part, and of the further ones.
    first: &'a mut Recording,
    rest: &'a mut [Recording],
    live: Option<LiveSample>,
    intervals: Vec<IntervalRecorder>,
}

impl<'a> Current<'a> {
    pub(crate) fn new(run: Run, first: &'a mut Recording, rest: &'a mut [Recording]) -> Self {
        let live = run.live.as_ref().map(|_| LiveSample::new());
        let recorder =
            |sink: &IntervalSink| IntervalRecorder::new(sink.clone(), run.record_from_ns, run.workers);
        Self {
            next_ns: 0,
            next: Picked::default(),
            planned: 0,
            left: run.requests,
            live,
            intervals: run.intervals.iter().map(recorder).collect(),
            first,
            rest,
            run,
        }
    }

    /// Ends the run early where that was asked for, by another worker too, or where what waits can never be sent.
    pub(crate) fn end_early(&mut self, now_ns: u64, is_asked: bool, waiting: u64) {
        if is_asked {
            self.run.early_end.set(now_ns, EndedBy::Interrupt);
        } else if self.is_hopeless(now_ns, waiting) {
            self.run.early_end.set(now_ns, EndedBy::Backlog);
        }
        let at_ns = self.run.early_end.at_ns();
        if at_ns < self.run.end_ns {
            self.end_at(at_ns);
        }
    }

    fn end_at(&mut self, at_ns: u64) {
        self.run.end_ns = at_ns;
        for course in self.recordings().filter_map(|recording| recording.course.as_mut()) {
            course.cut(at_ns);
        }
    }

    /// Takes note of a recorded request, where they are limited; the run ends at `end_ns` with the last.
    fn count_down(&mut self, end_ns: impl FnOnce(&Self) -> u64) {
        let Some(left) = self.left.as_mut().filter(|left| **left > 0) else { return };
        *left -= 1;
        if *left == 0 {
            let end_ns = end_ns(self);
            // After an earlier end nothing more is counted.
            if end_ns <= self.run.end_ns {
                self.end_at(end_ns);
                self.run.early_end.set_done(end_ns);
            }
        }
    }

    /// Whether a closed loop may start a request that is planned then: not after the end, nor after the last that was
    /// asked for.
    pub(crate) fn may_start(&self, intended_ns: u64) -> bool {
        intended_ns < self.run.end_ns && self.left != Some(0)
    }

    /// Whether more waits than would be sent in the whole run, were all of it ten times as fast as it has been.
    fn is_hopeless(&self, now_ns: u64, waiting: u64) -> bool {
        if waiting < HOPELESS || now_ns >= self.run.end_ns {
            return false;
        }
        let seconds = |until_ns: u64| until_ns.saturating_sub(self.run.start_ns).max(1) as f64 / 1e9;
        let rate = self.planned.saturating_sub(waiting) as f64 / seconds(now_ns);
        waiting as f64 > (HOPE * rate).max(HOPE_RATE) * seconds(self.run.end_ns)
    }

    /// The requests after those that have been planned, once more: those of a host, or of these of a connection.
    pub(crate) fn replay(
        &self,
        picker: &Picker,
        traffic: &Arc<Traffic>,
        host: usize,
        turn: Option<Turn>,
    ) -> Option<Replay> {
        let Release::Open(schedule) = &self.run.release else { return None };
        Some(Replay {
            schedule: schedule.clone(),
            picker: picker.clone(),
            traffic: Arc::clone(traffic),
            start_ns: self.run.start_ns,
            first: (self.next_ns, self.next),
            host,
            turn,
        })
    }

    /// Books that a request waits for a connection, with those that waited before.
    pub(crate) fn record_waiting(&mut self, intended_ns: u64, waiting: u64) {
        if intended_ns >= self.run.record_from_ns {
            let recording = self.recording(intended_ns);
            recording.max_waiting = recording.max_waiting.max(waiting);
        }
    }

    /// Books that a server wants no further request on a connection.
    pub(crate) fn record_retirement(&mut self, now_ns: u64, code: u32) {
        if now_ns >= self.run.record_from_ns {
            self.recording(now_ns).retire(code);
        }
    }

    /// Sets the time of the next release.
    pub(crate) fn plan_next(&mut self, next: Picked) {
        let is_taken = self.planned > 0 && self.is_open() && self.next_ns >= self.run.record_from_ns;
        self.next = next;
        self.planned += 1;
        match &mut self.run.release {
            Release::Closed | Release::Thinking(_) => self.next_ns = self.run.start_ns,
            Release::Open(schedule) => {
                self.next_ns = self.run.start_ns.saturating_add(schedule.peek_ns());
                schedule.advance();
            }
        }
        if is_taken {
            // Until the request that would be the next: its time is the end of the gap after the last.
            self.count_down(|current| current.next_ns.min(current.run.end_ns));
        }
    }

    /// The recording of what was planned then.
    pub(crate) fn recording(&mut self, intended_ns: u64) -> &mut Recording {
        let part = self.run.parts_from_ns.partition_point(|from_ns| *from_ns <= intended_ns);
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
        self.intervals.iter_mut().for_each(|interval| interval.advance(now_ns));
    }

    /// Books that a recorded request goes out.
    pub(crate) fn record_start(&mut self, in_flight: &InFlight) {
        let is_open = self.is_open();
        if !is_open {
            self.count_down(|_| in_flight.intended_ns);
        }
        let recording = self.recording(in_flight.intended_ns);
        recording.book.planned += 1;
        recording.book.sent += 1;
        if in_flight.blocked {
            recording.book.blocked += 1;
            recording.waited_ns += in_flight.started_ns.saturating_sub(in_flight.offered_ns);
        }
        if let Some(course) = &mut recording.course {
            course.plan(in_flight.intended_ns);
            if is_open {
                course.send(in_flight.intended_ns, in_flight.started_ns);
            }
        }
        self.intervals.iter_mut().for_each(|interval| interval.record_start(in_flight.started_ns));
    }

    /// Books a complete answer to a recorded request on connection `index`, which may still be a failure.
    pub(crate) fn record_answer(
        &mut self,
        in_flight: &InFlight,
        index: usize,
        answer: Response,
        failure: Option<Failure>,
        last_byte_ns: u64,
    ) {
        let outcome = failure.map_or(Outcome::Answered, Outcome::Failed);
        let status = answer.grpc_status.unwrap_or(answer.status);
        self.log(in_flight, index, outcome, status, last_byte_ns);
        let response_ns = last_byte_ns.saturating_sub(in_flight.intended_ns);
        let recording = self.recording(in_flight.intended_ns);
        if answer.status > 0 {
            recording.record_status(status);
        }
        if let Some(course) = &mut recording.course {
            course.end(in_flight.started_ns, last_byte_ns);
        }
        if let Some(failure) = failure {
            recording.record_failure(failure, response_ns);
            self.intervals.iter_mut().for_each(|interval| interval.record_end(outcome, last_byte_ns));
            return self.count_live_error();
        }
        let moments = Moments {
            intended_ns: in_flight.intended_ns,
            offered_ns: in_flight.offered_ns,
            started_ns: in_flight.started_ns,
            connected_ns: in_flight.connected_ns,
            written_ns: in_flight.written_ns,
            first_byte_ns: in_flight.first_byte_ns,
            last_byte_ns,
            connected: in_flight.connected,
        };
        recording.record_answer(&moments, index, status);
        self.intervals.iter_mut().for_each(|interval| interval.record_answer(&moments));
        if let Some(live) = &mut self.live {
            live.response.saturating_record(response_ns);
        }
    }

    /// Books a recorded request on connection `index` that came to no complete answer until `now_ns`.
    pub(crate) fn record_end(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome, now_ns: u64) {
        let response_ns = now_ns.saturating_sub(in_flight.intended_ns);
        let service_ns = (in_flight.written_ns > 0).then(|| now_ns.saturating_sub(in_flight.written_ns));
        let recording = self.recording(in_flight.intended_ns);
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
        self.intervals.iter_mut().for_each(|interval| interval.record_end(outcome, now_ns));
        self.count_live_error();
    }

    fn log(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome, status: u16, ended_ns: u64) {
        let Some(log) = &mut self.run.log else { return };
        let after = |moment_ns: u64| (moment_ns > 0).then(|| moment_ns.saturating_sub(in_flight.intended_ns));
        log.take(Entry {
            intended_ns: in_flight.intended_ns.wrapping_sub(self.run.record_from_ns) as i64,
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
    pub(crate) fn record_unsent(&mut self, intended_ns: u64, reason: Unsent) {
        if intended_ns < self.run.record_from_ns {
            return;
        }
        let waited_ns = self.run.end_ns.saturating_sub(intended_ns);
        let recording = self.recording(intended_ns);
        recording.record_unsent(reason);
        if let Some(course) = &mut recording.course {
            course.plan(intended_ns);
        }
        if reason == Unsent::End {
            recording.waited_ns += waited_ns;
            recording.record_censored(waited_ns, None);
        }
        let ended_ns = if reason == Unsent::End { self.run.end_ns } else { intended_ns };
        self.intervals.iter_mut().for_each(|interval| interval.record_end(Outcome::Unsent(reason), ended_ns));
        if let Some(log) = &mut self.run.log {
            log.take(Entry {
                intended_ns: (intended_ns - self.run.record_from_ns) as i64,
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

    /// Hands over the last intervals.
    pub(crate) fn finish_intervals(&mut self, now_ns: u64) {
        self.intervals.drain(..).for_each(|interval| interval.finish(now_ns));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is booked of a run from 1,000 to 3,000 that is recorded from 2,000 on.
    fn recorded(book: impl FnOnce(&mut Current)) -> Recording {
        let mut recording = Recording::new();
        let run = Run { record_from_ns: 2_000, ..Run::new(Release::Closed, 1_000, 3_000, 0) };
        book(&mut Current::new(run, &mut recording, &mut []));
        recording
    }

    #[test]
    fn what_happens_before_the_record_is_not_in_it() {
        let recording = recorded(|current| {
            current.record_retirement(1_999, 0);
            current.record_retirement(2_000, 2);
            current.record_waiting(1_999, 50);
            current.record_waiting(2_000, 3);
        });
        assert_eq!((recording.retired, recording.max_waiting), ([(2, 1)].into(), 3));
    }

    #[test]
    fn a_backlog_is_hopeless_only_when_ten_times_the_rate_would_not_send_it() {
        let mut recording = Recording::new();
        let run = Run::new(Release::Closed, 0, 10_000_000_000, 0);
        let mut current = Current::new(run, &mut recording, &mut []);
        // After a second: 20,000 sent, and in ten seconds at ten times that, 2,000,000.
        current.planned = 2_020_000;
        assert!(!current.is_hopeless(1_000_000_000, 2_000_000));
        current.planned = 2_030_001;
        assert!(current.is_hopeless(1_000_000_000, 2_010_001));
        // A server that has stood still may come back.
        current.planned = 1_000_000;
        assert!(!current.is_hopeless(1_000_000_000, 1_000_000));
        assert!(!current.is_hopeless(1_000_000, 999_999));
    }
}
