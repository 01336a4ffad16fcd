//! A run in progress: its plan, its end, and the records of its events.

mod bodies;
mod ends;

use std::sync::Arc;

use hoptax_host::accounting::ThreadAccount;
use hoptax_host::clock::now_ns;
use hoptax_wire::Response;

use crate::addresses::Addresses;
use crate::backlog::{Replay, Turn};
use crate::connection::Closing;
use crate::failure::FailedResponse;
use crate::generator_delay::GeneratorDelay;
use crate::in_flight::InFlight;
use crate::interval::{IntervalRecorder, IntervalSink};
use crate::log::{Entry, Outcome};
use crate::recording::{Recording, Unsent};
use crate::run::{LiveSample, Release, Run};
use crate::traffic::{Picked, Picker, Traffic};

/// State of the run in progress.
pub(crate) struct Current<'a> {
    pub(crate) run: Run,
    /// Intended start of the next request, and which request it is.
    pub(crate) next_ns: u64,
    pub(crate) next: Picked,
    /// Requests planned so far, including the next one.
    planned: u64,
    /// Start of the current turn of the event loop.
    turn_from_ns: u64,
    /// Recorded requests left to start, out of those that the worker has claimed, if their number is limited.
    requests_left: Option<u64>,
    /// Intended start of the request after the last one, in an open loop whose requests are all planned; None again once the run has ended.
    planned_until_ns: Option<u64>,
    /// Recordings of the first part and of the further parts.
    first: &'a mut Recording,
    rest: &'a mut [Recording],
    live: Option<LiveSample>,
    /// Open connections as of the last live sample that was received.
    live_connections: i64,
    intervals: Vec<IntervalRecorder>,
    /// Number of changes of addresses that the worker has applied.
    address_changes: u64,
    /// Time at which the next sample is due, at the earliest.
    sample_due_ns: u64,
    /// The delays of this worker, if response times without them are recorded.
    generator_delay: Option<GeneratorDelay>,
}

impl<'a> Current<'a> {
    pub(crate) fn new(run: Run, first: &'a mut Recording, rest: &'a mut [Recording]) -> Self {
        let live = run.live.as_ref().map(|_| LiveSample::new(run.record_from_ns));
        let recorder = |sink: &IntervalSink| {
            IntervalRecorder::new(sink.clone(), run.record_from_ns, run.end_ns, run.workers)
        };
        Self {
            next_ns: 0,
            next: Picked::default(),
            planned: 0,
            turn_from_ns: 0,
            requests_left: run.requests_at_first(),
            planned_until_ns: None,
            live,
            live_connections: 0,
            intervals: run.intervals.iter().map(recorder).collect(),
            address_changes: 0,
            sample_due_ns: 0,
            generator_delay: None,
            first,
            rest,
            run,
        }
    }

    /// Accounts for the delays of this thread, if the recordings have response times without them.
    pub(crate) fn account_for_delays(&mut self, now_ns: u64) {
        if self.first.without_generator.is_some() {
            self.generator_delay = Some(GeneratorDelay::new(ThreadAccount::current().ok(), now_ns));
        }
    }

    /// A wait for events from `from_ns` has returned.
    #[inline]
    pub(crate) fn end_wait(&mut self, from_ns: u64) {
        if let Some(generator_delay) = &mut self.generator_delay {
            generator_delay.returned(from_ns, now_ns());
        }
    }

    /// Records the responses of this turn without the delays of the generator.
    #[inline]
    pub(crate) fn end_turn(&mut self) {
        let Some(mut generator_delay) = self.generator_delay.take() else { return };
        generator_delay.end_turn(|target, intended_ns, without_ns| {
            if let Some(times) = &mut self.recording(intended_ns).without_generator {
                times.record(without_ns);
            }
            if let Some(by_request) = &mut self.first.by_request {
                by_request.answer_without_generator(target, without_ns);
            }
        });
        self.generator_delay = Some(generator_delay);
    }

    /// Records that a request starts late by `lag_ns`. `is_first` is true if no other is in flight.
    #[inline]
    pub(crate) fn start_late(&mut self, lag_ns: u64, is_first: bool) {
        if let Some(generator_delay) = &mut self.generator_delay {
            generator_delay.start(lag_ns, is_first);
        }
    }

    /// Begins a turn of the event loop, and records the length of the last one. The warm-up does not count. Each of the first requests of a
    /// closed loop counts as a turn: on many connections it takes long to start all of them, but that is no stall.
    pub(crate) fn begin_turn(&mut self, now_ns: u64) {
        let from_ns = std::mem::replace(&mut self.turn_from_ns, now_ns);
        if from_ns > 0 {
            let turn_ns = now_ns.saturating_sub(from_ns.max(self.run.record_from_ns));
            self.first.longest_turn_ns = turn_ns.max(self.first.longest_turn_ns);
        }
    }

    /// A replay of one host's requests after those planned so far; with a `turn`, only those of one connection.
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

    /// Records the number of waiting requests, when a request starts to wait.
    pub(crate) fn record_waiting(&mut self, intended_ns: u64, waiting: u64) {
        if intended_ns >= self.run.record_from_ns {
            let recording = self.recording(intended_ns);
            recording.max_waiting = recording.max_waiting.max(waiting);
        }
    }

    /// Records that the server drains a connection.
    pub(crate) fn record_goaway(&mut self, now_ns: u64, code: u32) {
        if now_ns >= self.run.record_from_ns {
            self.recording(now_ns).record_goaway(code);
        }
    }

    /// Records that an established connection is closed.
    pub(crate) fn record_close(&mut self, now_ns: u64, why: Closing) {
        if now_ns >= self.run.record_from_ns {
            *self.recording(now_ns).closed.entry(why).or_default() += 1;
        }
    }

    /// Records bytes that the server sent, against the protocol, on a connection without a request in flight.
    pub(crate) fn record_unsolicited(&mut self, now_ns: u64, what: &str) {
        if now_ns >= self.run.record_from_ns {
            let what = format!("{what}, while no request was in flight");
            *self.recording(now_ns).deviations.entry(what).or_default() += 1;
        }
    }

    /// Advances to the next request of the schedule.
    pub(crate) fn plan_next(&mut self, next: Picked) {
        let is_recorded = self.planned > 0 && self.is_open() && self.next_ns >= self.run.record_from_ns;
        self.next = next;
        self.planned += 1;
        match &mut self.run.release {
            Release::Closed | Release::Thinking(_) => self.next_ns = self.run.start_ns,
            Release::Open(schedule) => {
                self.next_ns = self.run.start_ns.saturating_add(schedule.peek_ns());
                schedule.advance();
            }
        }
        if is_recorded && self.count_down() {
            self.planned_until_ns = Some(self.next_ns.min(self.run.end_ns));
            // No further request is ever due.
            self.next_ns = u64::MAX;
        }
    }

    /// The recording of the part that contains `intended_ns`.
    pub(crate) fn recording(&mut self, intended_ns: u64) -> &mut Recording {
        if self.run.parts_from_ns.is_empty() {
            return self.first;
        }
        let part = self.run.parts_from_ns.partition_point(|from_ns| *from_ns <= intended_ns);
        match part.checked_sub(1) {
            Some(number) if number < self.rest.len() => &mut self.rest[number],
            _ => self.first,
        }
    }

    /// The recording of the first part.
    pub(crate) fn first(&mut self) -> &mut Recording {
        self.first
    }

    /// The recordings of all parts.
    pub(crate) fn recordings(&mut self) -> impl Iterator<Item = &mut Recording> {
        std::iter::once(&mut *self.first).chain(self.rest.iter_mut())
    }

    /// Samples the connections for the course of the trial, and ends intervals. It is called several times for each request
    /// and rarely has anything to do.
    #[inline]
    pub(crate) fn sample(&mut self, now_ns: u64, in_flight: usize, open_connections: usize) {
        if now_ns >= self.sample_due_ns {
            self.take_samples(now_ns, in_flight, open_connections);
        }
    }

    fn take_samples(&mut self, now_ns: u64, in_flight: usize, open_connections: usize) {
        if let Some(course) = &mut self.recording(now_ns).course {
            course.sample(now_ns, in_flight, open_connections);
        }
        self.for_intervals(|interval| interval.advance(now_ns));
        let courses = self.recordings().filter_map(|recording| recording.course.as_ref());
        let sample_due_ns = courses.map(|course| course.sample_due_ns()).min();
        let interval_due_ns = self.intervals.iter().map(IntervalRecorder::due_ns).min();
        self.sample_due_ns = sample_due_ns.into_iter().chain(interval_due_ns).min().unwrap_or(u64::MAX);
    }

    /// Calls `record` for each interval recorder. Few loads have any, so the loop is kept out of line.
    #[inline]
    fn for_intervals(&mut self, record: impl FnMut(&mut IntervalRecorder)) {
        #[cold]
        fn each(intervals: &mut [IntervalRecorder], record: impl FnMut(&mut IntervalRecorder)) {
            intervals.iter_mut().for_each(record);
        }
        if !self.intervals.is_empty() {
            each(&mut self.intervals, record);
        }
    }

    /// Records the start of a request.
    pub(crate) fn record_start(&mut self, in_flight: &InFlight) {
        let is_open = self.is_open();
        if !is_open && self.count_down() {
            self.end_with_requests(in_flight.intended_ns);
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
        if let Some(by_request) = &mut self.first.by_request {
            by_request.start(in_flight.picked.target, in_flight.blocked);
        }
        self.for_intervals(|interval| interval.record_start(in_flight.started_ns));
    }

    /// Records that a request is sent again because its server handed it back.
    pub(crate) fn record_sent_again(&mut self, in_flight: &InFlight) {
        self.recording(in_flight.intended_ns).book.sent_again += 1;
        if let Some(by_request) = &mut self.first.by_request {
            by_request.send_again(in_flight.picked.target);
        }
    }

    /// Records a TLS handshake that ended at `now_ns`. Handshakes before the record only count in the totals of the load.
    pub(crate) fn record_handshake(&mut self, now_ns: u64, took_ns: u64) {
        if now_ns >= self.run.record_from_ns
            && let Some(phases) = &mut self.first.phases
        {
            phases.record_handshake(now_ns, took_ns);
        }
    }

    /// Records a complete response on connection `index`. It may still count as a failure.
    pub(crate) fn record_response(
        &mut self,
        in_flight: &InFlight,
        index: usize,
        response: Response,
        failed: Option<FailedResponse>,
        last_byte_ns: u64,
    ) {
        let outcome = failed.map_or(Outcome::Answered, |failed| Outcome::Failed(failed.failure));
        let status = response.grpc_status.unwrap_or(response.status);
        self.log(in_flight, index, outcome, status, last_byte_ns);
        let response_ns = last_byte_ns.saturating_sub(in_flight.intended_ns);
        self.record_read(last_byte_ns, response.body_bytes);
        let recording = self.recording(in_flight.intended_ns);
        if response.status > 0 {
            recording.record_status(status, response.body_bytes);
        }
        if let Some(course) = &mut recording.course {
            course.end(in_flight.started_ns, last_byte_ns);
        }
        if let Some(FailedResponse { failure, reason }) = failed {
            recording.record_failure(failure, reason, response_ns);
            if let Some(by_request) = &mut self.first.by_request {
                by_request.fail(in_flight.picked.target, failure.as_str());
            }
            self.for_intervals(|interval| interval.record_end(outcome, last_byte_ns));
            return self.count_live_error();
        }
        recording.record_response(in_flight, last_byte_ns, index, status);
        let InFlight { intended_ns, blocked, .. } = *in_flight;
        let target = in_flight.picked.target;
        if let Some(by_request) = &mut self.first.by_request {
            by_request.answer(target, intended_ns, response_ns);
        }
        if let Some(generator_delay) = &mut self.generator_delay {
            let service_ns = last_byte_ns.saturating_sub(in_flight.written_ns);
            generator_delay.read(target, intended_ns, response_ns, service_ns, last_byte_ns, blocked);
        }
        self.for_intervals(|interval| interval.record_response(in_flight, last_byte_ns));
        if let Some(live) = &mut self.live {
            live.response.record(response_ns);
            live.send_lag.record(in_flight.written_ns.saturating_sub(in_flight.intended_ns));
        }
    }

    /// Records a request on connection `index` that ended at `now_ns` without a complete response, with the reason if it is known.
    pub(crate) fn record_end(
        &mut self,
        in_flight: &InFlight,
        index: usize,
        outcome: Outcome,
        reason: Option<&str>,
        now_ns: u64,
    ) {
        let response_ns = now_ns.saturating_sub(in_flight.intended_ns);
        let service_ns = (in_flight.written_ns > 0).then(|| now_ns.saturating_sub(in_flight.written_ns));
        let recording = self.recording(in_flight.intended_ns);
        if let Some(course) = &mut recording.course {
            course.end(in_flight.started_ns, now_ns);
        }
        let kind = match outcome {
            Outcome::TimedOut => Some("timed-out"),
            Outcome::Unfinished => Some("unfinished"),
            Outcome::Failed(_) | Outcome::Answered | Outcome::Unsent(_) => None,
        };
        if let (Some(kind), Some(reason)) = (kind, reason) {
            recording.reasons.add(kind, reason, 1);
        }
        match outcome {
            Outcome::Failed(failure) => recording.record_failure(failure, reason, response_ns),
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
        if let Some(by_request) = &mut self.first.by_request {
            let target = in_flight.picked.target;
            match outcome {
                Outcome::Failed(failure) => by_request.fail(target, failure.as_str()),
                Outcome::TimedOut => by_request.time_out(target, response_ns),
                Outcome::Unfinished => by_request.leave(target, response_ns),
                Outcome::Answered | Outcome::Unsent(_) => {}
            }
        }
        self.log(in_flight, index, outcome, 0, now_ns);
        self.for_intervals(|interval| interval.record_end(outcome, now_ns));
        self.count_live_error();
    }

    /// Counts the end of a request of the warm-up, which is not recorded. Until then it is one of the sampled requests in
    /// flight.
    pub(crate) fn end_unrecorded(&mut self, in_flight: &InFlight, ended_ns: u64) {
        if let Some(course) = &mut self.first.course {
            course.end(in_flight.started_ns, ended_ns);
        }
    }

    fn log(&mut self, in_flight: &InFlight, index: usize, outcome: Outcome, status: u16, ended_ns: u64) {
        let Some(log) = &mut self.run.log else { return };
        let after = |moment_ns: u64| (moment_ns > 0).then(|| moment_ns.saturating_sub(in_flight.intended_ns));
        log.write(Entry {
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

    /// Records a request that is not sent. One that still waits at the end is censored at the time it has waited.
    pub(crate) fn record_unsent(&mut self, intended_ns: u64, picked: Picked, reason: Unsent) {
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
        if let Some(by_request) = &mut self.first.by_request {
            let waited_ns = (reason == Unsent::End).then_some(waited_ns);
            by_request.omit(picked.target, reason.as_str(), waited_ns);
        }
        let ended_ns = if reason == Unsent::End { self.run.end_ns } else { intended_ns };
        self.for_intervals(|interval| interval.record_end(Outcome::Unsent(reason), ended_ns));
        if let Some(log) = &mut self.run.log {
            log.write(Entry {
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

    /// The addresses of all hosts, if one has changed since the last call.
    pub(crate) fn take_addresses(&mut self) -> Option<Vec<Arc<Addresses>>> {
        let lookups = self.run.lookups.as_ref()?;
        let changes = lookups.changes();
        (std::mem::replace(&mut self.address_changes, changes) != changes).then(|| lookups.hosts())
    }

    /// True if this is an open loop.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.run.release, Release::Open(_))
    }

    pub(crate) fn count_live_error(&mut self) {
        if let Some(live) = &mut self.live {
            live.errors += 1;
        }
    }

    /// Sends the last interval of each recorder.
    pub(crate) fn finish_intervals(&mut self, now_ns: u64) {
        self.intervals.drain(..).for_each(|interval| interval.finish(now_ns));
    }

    pub(crate) fn send_live(&mut self, now_ns: u64, open_connections: usize) {
        let until_ns = now_ns.max(self.run.record_from_ns);
        if let (Some(live), Some(sender)) = (&mut self.live, &self.run.live) {
            let open_connections = open_connections as i64;
            live.more_connections = open_connections - self.live_connections;
            live.covered_ns = until_ns.saturating_sub(live.from_ns);
            // A slow reader loses live samples, but no change of the connections. The recordings are unaffected.
            if sender.try_send(std::mem::replace(live, LiveSample::new(until_ns))).is_ok() {
                self.live_connections = open_connections;
            }
        }
    }
}

#[cfg(test)]
mod tests;
