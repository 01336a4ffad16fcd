//! The record of a run: counts, failures by kind, and distributions. Everything merges exactly, so percentiles are never
//! averaged.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_result::{BodyBytes, Book, LatencySet, Reasons};
use hoptax_wire::ERROR_CODES;
use rustix::io::Errno;

use crate::by_key::add_by_key;
use crate::by_request::ByRequest;
use crate::connection::Closing;
use crate::course::Course;
use crate::distribution::{Distribution, histogram};
use crate::failure::Failure;
use crate::handshakes::Handshakes;
use crate::in_flight::InFlight;
use crate::kernel::Stamps;
use crate::phases::{PhaseTimesNs, Phases};

/// Reason why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsent {
    /// Every connection was busy, and the queue was full or waiting was disabled.
    Busy,
    /// The generator was late, and late requests are skipped.
    Late,
    /// It still waited for a connection at the end.
    End,
}

impl Unsent {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Late => "late",
            Self::End => "end",
        }
    }
}

/// The record of one worker. Recordings of several workers or slices can be merged.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Counts of requests by outcome.
    pub book: Book,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<Unsent, u64>,
    /// Maximum number of waiting requests of this worker; after a merge, the sum of the maxima.
    pub max_waiting: u64,
    /// Total time that requests waited for a connection, until they were sent or until the end, nanoseconds.
    pub waited_ns: u64,
    /// Failed requests, by kind.
    pub failures: BTreeMap<Failure, u64>,
    /// Reasons of failures. Also reasons why requests that timed out or stayed unfinished were never sent, where known.
    pub reasons: Reasons,
    /// Complete responses, by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Violations of the protocol that fail no request by themselves, by rule.
    pub deviations: BTreeMap<String, u64>,
    /// Established connections that were closed, from the start of the record on.
    pub closed: BTreeMap<Closing, u64>,
    /// Sizes of the bodies of complete responses; none before the first.
    pub body_bytes: Option<BodyBytes>,
    /// Response time.
    pub response: Distribution,
    /// Response time without the delays of the generator, if enabled.
    pub without_generator: Option<Box<Distribution>>,
    /// Service time.
    pub service: Distribution,
    /// Send lag.
    pub send_lag: Distribution,
    /// The generator's own lag: from the intended start until the worker saw that the request was due, whether or not a
    /// connection was free.
    pub own_lag: Distribution,
    /// Time to first byte.
    pub first_byte: Distribution,
    /// First to last byte.
    pub last_byte: Distribution,
    /// Connect time, of the requests that opened a connection.
    pub connect: Distribution,
    /// Response times of failed and timed-out requests, until they ended, by outcome.
    pub outcomes: BTreeMap<&'static str, Distribution>,
    /// Censored times of requests without a response: since the intended start, and since the first byte was written.
    pub censored: Option<Box<[Histogram<u64>; 2]>>,
    /// Time of the last byte of the last recorded response, nanoseconds on the engine's clock.
    pub last_response_ns: u64,
    /// Longest turn of the event loop within the record, nanoseconds. Each of the first requests of a closed loop counts as a turn. A
    /// worker with requests in flight turns at least every 10 ms, so a much longer turn shows that it was stopped, also in a closed loop,
    /// where no request is late.
    pub longest_turn_ns: u64,
    /// Complete responses to requests of the warm-up. They used CPU time as well.
    pub warmup_responses: u64,
    /// Answered requests whose response was complete before the end of the run, those of the warm-up included.
    pub answered_by_end: u64,
    /// The course of the trial, if enabled.
    pub course: Option<Box<Course>>,
    /// The phases of requests over the record, if enabled.
    pub(crate) phases: Option<Box<Phases>>,
    /// The requests by name, if the load has several names. The recording of the first part holds those of all parts.
    pub(crate) by_request: Option<Box<ByRequest>>,
    /// TLS handshakes, including those of the warm-up.
    pub handshakes: Handshakes,
    /// The lowest limit on concurrent requests of a connection that the server set, if it is below the requested number.
    pub stream_limit: Option<u32>,
    /// Connections that the server drained, by HTTP/2 error code.
    pub drained: BTreeMap<u32, u64>,
    /// Response times by status, if enabled.
    pub by_status: Option<BTreeMap<u16, Distribution>>,
    /// Times between the messages of gRPC responses, if enabled.
    pub messages: Option<Box<Distribution>>,
    /// Reason why the kernel takes no timestamps, although they were requested.
    pub no_stamps: Option<Errno>,
    /// Kernel timestamps of a sample, if enabled.
    pub stamps: Option<Box<Stamps>>,
    /// Cache of the last counted status, so that the common case does not access the map.
    recent_status: (u16, u64),
}

impl Recording {
    /// Enables the course.
    #[must_use]
    pub fn with_course(self, course: Course) -> Self {
        Self { course: Some(Box::new(course)), ..self }
    }

    /// Enables response times without the delays of the generator. They cost a reading of the thread's account in each turn that waits.
    #[must_use]
    pub fn with_bounds(self) -> Self {
        Self { without_generator: Some(Box::default()), ..self }
    }

    /// Divides the record up to an expected end instead of the planned one. Called as the record begins, when at most its first moment is
    /// recorded.
    pub(crate) fn expect_end(&mut self, end_ns: u64) {
        if let Some(course) = &mut self.course {
            course.expect_end(end_ns);
        }
        if let Some(phases) = &mut self.phases {
            phases.expect_end(end_ns);
        }
        if let Some(by_request) = &mut self.by_request {
            by_request.expect_end(end_ns);
        }
    }

    /// Adds the recording of another worker or slice. Courses, phases over the record and requests by name are not merged: this recording
    /// keeps its own.
    pub fn merge(&mut self, other: &Self) {
        self.book.add(&other.book);
        add_by_key(&mut self.unsent, &other.unsent);
        self.max_waiting += other.max_waiting;
        self.waited_ns += other.waited_ns;
        self.warmup_responses += other.warmup_responses;
        self.answered_by_end += other.answered_by_end;
        add_by_key(&mut self.failures, &other.failures);
        self.reasons.merge(&other.reasons);
        add_by_key(&mut self.statuses, &other.statuses);
        add_by_key(&mut self.deviations, &other.deviations);
        add_by_key(&mut self.closed, &other.closed);
        self.add_body_bytes(other.body_bytes);
        self.response += &other.response;
        self.service += &other.service;
        self.send_lag += &other.send_lag;
        self.own_lag += &other.own_lag;
        self.first_byte += &other.first_byte;
        self.last_byte += &other.last_byte;
        self.connect += &other.connect;
        if let Some(theirs) = &other.without_generator {
            **self.without_generator.get_or_insert_default() += theirs;
        }
        add_by_key(&mut self.outcomes, &other.outcomes);
        if let Some(theirs) = &other.censored {
            for (ours, theirs) in self.censored().iter_mut().zip(theirs.iter()) {
                *ours += theirs;
            }
        }
        self.handshakes.merge(&other.handshakes);
        self.no_stamps = self.no_stamps.or(other.no_stamps);
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        add_by_key(&mut self.drained, &other.drained);
        if let (Some(ours), Some(theirs)) = (&mut self.by_status, &other.by_status) {
            add_by_key(ours, theirs);
        }
        if let Some(theirs) = &other.messages {
            **self.messages.get_or_insert_default() += theirs;
        }
        if let Some(theirs) = &other.stamps {
            self.stamps.get_or_insert_default().merge(theirs);
        }
        self.last_response_ns = self.last_response_ns.max(other.last_response_ns);
        self.longest_turn_ns = self.longest_turn_ns.max(other.longest_turn_ns);
    }

    /// Resets the recording, keeping its allocations.
    pub fn clear(&mut self) {
        self.book = Book::default();
        self.unsent.clear();
        (self.max_waiting, self.waited_ns) = (0, 0);
        self.failures.clear();
        self.reasons.clear();
        self.statuses.clear();
        self.deviations.clear();
        self.closed.clear();
        self.body_bytes = None;
        for distribution in self.distributions_mut() {
            if !distribution.is_empty() {
                distribution.clear();
            }
        }
        self.outcomes.clear();
        if let Some(times) = &mut self.without_generator {
            times.clear();
        }
        (self.censored, self.course, self.stamps, self.messages) = (None, None, None, None);
        (self.phases, self.by_request) = (None, None);
        self.handshakes = Handshakes::default();
        (self.stream_limit, self.no_stamps) = (None, None);
        self.drained.clear();
        self.by_status.iter_mut().for_each(BTreeMap::clear);
        (self.last_response_ns, self.longest_turn_ns) = (0, 0);
        (self.warmup_responses, self.answered_by_end) = (0, 0);
        self.recent_status = (0, 0);
    }

    fn distributions_mut(&mut self) -> [&mut Distribution; 7] {
        [
            &mut self.response,
            &mut self.service,
            &mut self.send_lag,
            &mut self.own_lag,
            &mut self.first_byte,
            &mut self.last_byte,
            &mut self.connect,
        ]
    }

    fn censored(&mut self) -> &mut [Histogram<u64>; 2] {
        self.censored.get_or_insert_with(|| Box::new([histogram(), histogram()]))
    }

    /// The distributions as in a result.
    pub fn latencies(&self) -> LatencySet {
        let censored = self.censored.as_deref();
        LatencySet {
            response: self.response.summary_with(censored.map(|[response, _]| response)),
            service: self.service.summary_with(censored.map(|[_, service]| service)),
            send_lag: self.send_lag.summary(),
            own_lag: self.own_lag.summary(),
            first_byte: self.first_byte.summary(),
            last_byte: self.last_byte.summary(),
            connect: self.connect.summary(),
        }
    }

    /// Counts a GOAWAY.
    pub(crate) fn record_goaway(&mut self, code: u32) {
        // Unknown codes count as one, so that a server cannot grow the map.
        let code = if (code as usize) < ERROR_CODES.len() { code } else { u32::MAX };
        *self.drained.entry(code).or_default() += 1;
    }

    /// Counts a complete response with this status and a body of this size.
    pub(crate) fn record_status(&mut self, status: u16, body_bytes: u64) {
        self.add_body_bytes(Some(BodyBytes::new(body_bytes)));
        if self.recent_status.0 == status {
            self.recent_status.1 += 1;
        } else {
            self.flush_recent_status();
            self.recent_status = (status, 1);
        }
    }

    fn add_body_bytes(&mut self, other: Option<BodyBytes>) {
        self.body_bytes = match (self.body_bytes, other) {
            (Some(ours), Some(theirs)) => Some(ours.and(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }

    /// Adds the cached status to the map. Must be called at the end of a run.
    pub(crate) fn flush_recent_status(&mut self) {
        let (status, count) = std::mem::take(&mut self.recent_status);
        if count > 0 {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    /// Records calls reported by an external caller: the response time of each in microseconds, or None if it failed. The
    /// last one ended at `ended_ns`.
    pub fn record_external_calls(&mut self, calls: &[Option<u64>], ended_ns: u64) {
        for call in calls {
            self.book.planned += 1;
            self.book.sent += 1;
            if let Some(us) = call {
                self.book.answered += 1;
                self.response.record(us * 1_000);
            } else {
                self.book.failed += 1;
                *self.failures.entry(Failure::Unknown).or_default() += 1;
            }
        }
        self.last_response_ns = ended_ns;
    }

    /// Records the time between two messages of a response, or from the first byte written to the first message.
    pub(crate) fn record_message(&mut self, ns: u64) {
        self.messages.get_or_insert_default().record(ns);
    }

    pub(crate) fn record_unsent(&mut self, reason: Unsent) {
        self.book.planned += 1;
        self.book.unsent += 1;
        *self.unsent.entry(reason).or_default() += 1;
    }

    /// Records a failed request, with the reason if it is known.
    pub(crate) fn record_failure(&mut self, failure: Failure, reason: Option<&str>, response_ns: u64) {
        self.book.failed += 1;
        *self.failures.entry(failure).or_default() += 1;
        if let Some(reason) = reason {
            self.reasons.add(failure.as_str(), reason, 1);
        }
        self.outcomes.entry(failure.as_str()).or_default().record(response_ns);
    }

    /// Records a request without a response, censored at these times.
    pub(crate) fn record_censored(&mut self, response_ns: u64, service_ns: Option<u64>) {
        let [response, service] = self.censored();
        response.saturating_record(response_ns);
        if let Some(service_ns) = service_ns {
            service.saturating_record(service_ns);
        }
    }

    /// Records the response to a request on a connection: its times and its status.
    pub(crate) fn record_response(
        &mut self,
        request: &InFlight,
        last_byte_ns: u64,
        connection: usize,
        status: u16,
    ) {
        self.book.answered += 1;
        self.last_response_ns = last_byte_ns;
        let lag_ns = request.written_ns.saturating_sub(request.intended_ns);
        let response_ns = last_byte_ns.saturating_sub(request.intended_ns);
        self.response.record(response_ns);
        if let Some(by_status) = &mut self.by_status {
            by_status.entry(status).or_default().record(response_ns);
        }
        let first_byte_ns = request.first_byte_ns.saturating_sub(request.written_ns);
        let rest_ns = last_byte_ns.saturating_sub(request.first_byte_ns);
        let connect_ns = request.connected_ns.saturating_sub(request.started_ns);
        let connect_ns = request.connected.then_some(connect_ns);
        self.service.record(last_byte_ns.saturating_sub(request.written_ns));
        self.first_byte.record(first_byte_ns);
        self.last_byte.record(rest_ns);
        self.send_lag.record(lag_ns);
        self.own_lag.record(request.offered_ns.saturating_sub(request.intended_ns));
        if let Some(connect_ns) = connect_ns {
            self.connect.record(connect_ns);
        }
        if let Some(phases) = &mut self.phases {
            let times = PhaseTimesNs { send_lag: lag_ns, first_byte: first_byte_ns, last_byte: rest_ns };
            phases.record(request.intended_ns, times, connect_ns);
        }
        if let Some(course) = &mut self.course {
            course.record_response(request.intended_ns, response_ns, connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn respond(recording: &mut Recording, intended_ns: u64, lag_ns: u64, service_ns: u64) {
        let (offered_ns, written_ns) = (intended_ns + lag_ns / 2, intended_ns + lag_ns);
        let first_byte_ns = written_ns + service_ns / 2;
        let request = InFlight { intended_ns, offered_ns, written_ns, first_byte_ns, ..InFlight::default() };
        recording.record_response(&request, written_ns + service_ns, 0, 200);
    }

    #[test]
    fn response_service_and_send_lag_are_distinct() {
        let mut recording = Recording::default();
        respond(&mut recording, 1_000, 2_000_000, 500_000);
        let service = recording.service.summary().p50_us.unwrap();
        let response = recording.response.summary().p50_us.unwrap();
        let lag = recording.send_lag.summary().p50_us.unwrap();
        let own_lag = recording.own_lag.summary().p50_us.unwrap();
        let [first_byte, last_byte] =
            [&recording.first_byte, &recording.last_byte].map(|times| times.summary().p50_us.unwrap());
        assert!((service - 500.0).abs() < 0.6, "{service}");
        assert!((response - 2500.0).abs() < 2.6, "{response}");
        assert!((lag - 2000.0).abs() < 2.1, "{lag}");
        assert!((own_lag - 1000.0).abs() < 1.1, "{own_lag}");
        let halves = [first_byte, last_byte];
        assert!(halves.iter().all(|half| (half - 250.0).abs() < 0.3), "{halves:?}");
    }

    #[test]
    fn merging_equals_recording_together() {
        let (mut together, mut one, mut two) =
            (Recording::default(), Recording::default(), Recording::default());
        for number in 1..1000_u64 {
            let half = if number % 2 == 0 { &mut one } else { &mut two };
            for recording in [&mut together, half] {
                respond(recording, number, number * 100, number * 977);
                recording.record_status(200, number);
            }
        }
        together.record_failure(Failure::Reset, Some("a"), 5);
        two.record_failure(Failure::Reset, Some("a"), 5);
        for recording in [&mut together, &mut one, &mut two] {
            recording.flush_recent_status();
        }
        one.merge(&two);
        assert_eq!(one.book, together.book);
        assert_eq!(
            (one.failures.clone(), one.reasons.clone(), one.statuses.clone()),
            (together.failures.clone(), together.reasons.clone(), together.statuses.clone())
        );
        assert_eq!(one.body_bytes, Some(BodyBytes { smallest: 1, largest: 999, total: 499_500 }));
        assert_eq!(one.body_bytes, together.body_bytes);
        assert_eq!(one.response, together.response);
        assert_eq!(one.outcomes, together.outcomes);
        assert_eq!(one.service, together.service);
        assert_eq!(one.send_lag, together.send_lag);
        assert_eq!(one.own_lag, together.own_lag);
        one.clear();
        assert_eq!(one.book, Book::default());
        assert_eq!(one.response, Distribution::default());
    }
}
