//! What a worker keeps of every request: the book, the failures by kind, and the distributions. All of it merges
//! exactly, so that percentiles are never averaged.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_result::{Book, LatencySet};

use crate::course::Course;
use crate::distribution::{Distribution, histogram};
use crate::handshakes::Handshakes;
use crate::kernel::Stamps;

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// This machine could not open or use a connection: it is out of ports, files or memory, or may not.
    Generator,
    /// The server refused the connection, or it could not be reached.
    Refused,
    /// The connection was reset.
    Reset,
    /// The connection was closed before a byte of the answer came.
    Closed,
    /// The connection was closed in the middle of the answer.
    Truncated,
    /// What came broke the rules of the protocol.
    Malformed,
    /// The handshake of TLS failed.
    Tls,
    /// The server speaks another protocol, or refused to change to this one.
    Protocol,
    /// The server reset the stream of HTTP/2, with this error code.
    StreamReset(u8),
    /// The server went away without having looked at the request.
    Unprocessed,
    /// Answered with a status of gRPC other than 0, or without one.
    GrpcStatus,
    /// A caller that is not this generator failed, and does not say how.
    Unknown,
    /// Answered with a status of 400 to 499.
    Status4xx,
    /// Answered with a status of 500 or more.
    Status5xx,
    /// Answered, and not as expected.
    Mismatch,
}

/// The names of resets, by the error code of HTTP/2 (RFC 9113, section 7).
const STREAM_RESETS: [&str; 14] = [
    "stream-reset-no-error",
    "stream-reset-protocol-error",
    "stream-reset-internal-error",
    "stream-reset-flow-control-error",
    "stream-reset-settings-timeout",
    "stream-reset-stream-closed",
    "stream-reset-frame-size-error",
    "stream-reset-refused-stream",
    "stream-reset-cancel",
    "stream-reset-compression-error",
    "stream-reset-connect-error",
    "stream-reset-enhance-your-calm",
    "stream-reset-inadequate-security",
    "stream-reset-http-1-1-required",
];

impl Failure {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::StreamReset(code) => {
                STREAM_RESETS.get(usize::from(code)).copied().unwrap_or("stream-reset-unknown")
            }
            Self::Unprocessed => "unprocessed",
            Self::GrpcStatus => "grpc-status",
            Self::Unknown => "unknown",
            Self::Status4xx => "status-4xx",
            Self::Status5xx => "status-5xx",
            Self::Mismatch => "mismatch",
        }
    }
}

/// Why a planned request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsent {
    /// Every connection was busy, and it was not to wait, or no more were.
    Busy,
    /// The generator was late with it, and it was not to be sent late.
    Late,
    /// It waited for a connection until the end.
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

/// The moments of one answered request, nanoseconds of the engine's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) intended_ns: u64,
    /// When the generator took note of it.
    pub(crate) offered_ns: u64,
    /// When a connection had it: bytes were written, or a connection was asked for.
    pub(crate) started_ns: u64,
    /// When a connection that was opened for it was connected.
    pub(crate) connected_ns: u64,
    pub(crate) written_ns: u64,
    pub(crate) first_byte_ns: u64,
    pub(crate) last_byte_ns: u64,
    /// Whether its connection was opened for it, and not for a request before it that it joined.
    pub(crate) connected: bool,
}

/// Everything that one worker recorded; recordings of several workers or slices merge.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where each request went.
    pub book: Book,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<Unsent, u64>,
    /// Most requests that waited for a connection of this worker at once; of several workers, the sum of their mosts.
    pub max_waiting: u64,
    /// How long requests waited for a connection, all together, until they were sent or until the end, nanoseconds.
    pub waited_ns: u64,
    /// Failed requests by kind.
    pub failures: BTreeMap<Failure, u64>,
    /// Complete answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Response time.
    pub response: Distribution,
    /// Service time.
    pub service: Distribution,
    /// Send lag.
    pub send_lag: Distribution,
    /// The generator's own lag: planned release to when it took note of the request, whether or not a connection was free.
    pub own_lag: Distribution,
    /// Time to first byte.
    pub first_byte: Distribution,
    /// First to last byte.
    pub last_byte: Distribution,
    /// Time to connect, of the requests that connections were opened for: one for each connection.
    pub connect: Distribution,
    /// Response time of failed and timed-out requests, up to that, by the word for it.
    pub outcomes: BTreeMap<&'static str, Distribution>,
    /// How long answers were waited for that did not come: since the planned release, and since the first byte was
    /// written.
    pub censored: Option<Box<[Histogram<u64>; 2]>>,
    /// Time of the last byte of the last recorded answer, nanoseconds of the engine's clock.
    pub last_answer_ns: u64,
    /// Complete answers to requests that were planned before the record began: CPU time was spent on them as well.
    pub early_answers: u64,
    /// The course of the trial, where it is recorded.
    pub course: Option<Box<Course>>,
    /// The handshakes of TLS, also those before the record.
    pub handshakes: Handshakes,
    /// Connections that the server wanted no further request on, by the error code of HTTP/2.
    pub retired: BTreeMap<u32, u64>,
    /// Response times by status, where that is asked for.
    pub by_status: Option<BTreeMap<u16, Distribution>>,
    /// Times of messages of gRPC calls, where they are timed.
    pub messages: Option<Box<Distribution>>,
    /// What the kernel's time stamps say of a sample.
    pub stamps: Option<Box<Stamps>>,
    /// The status that was counted last, kept apart so that the common case touches no map.
    recent_status: (u16, u64),
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Self {
            book: Book::default(),
            unsent: BTreeMap::new(),
            max_waiting: 0,
            waited_ns: 0,
            failures: BTreeMap::new(),
            statuses: BTreeMap::new(),
            response: Distribution::new(),
            service: Distribution::new(),
            send_lag: Distribution::new(),
            own_lag: Distribution::new(),
            first_byte: Distribution::new(),
            last_byte: Distribution::new(),
            connect: Distribution::new(),
            outcomes: BTreeMap::new(),
            censored: None,
            last_answer_ns: 0,
            early_answers: 0,
            course: None,
            handshakes: Handshakes::default(),
            retired: BTreeMap::new(),
            messages: None,
            stamps: None,
            by_status: None,
            recent_status: (0, 0),
        }
    }

    /// The same, which also records its course.
    #[must_use]
    pub fn with_course(self, course: Course) -> Self {
        Self { course: Some(Box::new(course)), ..self }
    }

    /// Adds what another worker or slice recorded. Courses of other times are not put together: it keeps its own.
    pub fn merge(&mut self, other: &Self) {
        self.book.add(&other.book);
        for (&reason, count) in &other.unsent {
            *self.unsent.entry(reason).or_default() += count;
        }
        self.max_waiting += other.max_waiting;
        self.waited_ns += other.waited_ns;
        self.early_answers += other.early_answers;
        for (&failure, count) in &other.failures {
            *self.failures.entry(failure).or_default() += count;
        }
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (ours, theirs) in self.distributions_mut().into_iter().zip(other.distributions()) {
            *ours += theirs;
        }
        for (&outcome, theirs) in &other.outcomes {
            *self.outcomes.entry(outcome).or_default() += theirs;
        }
        if let Some(theirs) = &other.censored {
            for (ours, theirs) in self.censored().iter_mut().zip(theirs.iter()) {
                *ours += theirs;
            }
        }
        self.handshakes.merge(&other.handshakes);
        for (&code, count) in &other.retired {
            *self.retired.entry(code).or_default() += count;
        }
        if let (Some(ours), Some(theirs)) = (&mut self.by_status, &other.by_status) {
            for (&status, theirs) in theirs {
                *ours.entry(status).or_default() += theirs;
            }
        }
        if let Some(theirs) = &other.messages {
            **self.messages.get_or_insert_default() += theirs;
        }
        if let Some(theirs) = &other.stamps {
            self.stamps.get_or_insert_default().merge(theirs);
        }
        self.last_answer_ns = self.last_answer_ns.max(other.last_answer_ns);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.book = Book::default();
        self.unsent.clear();
        (self.max_waiting, self.waited_ns) = (0, 0);
        self.failures.clear();
        self.statuses.clear();
        for distribution in self.distributions_mut() {
            if !distribution.is_empty() {
                distribution.clear();
            }
        }
        self.outcomes.clear();
        (self.censored, self.course, self.stamps, self.messages) = (None, None, None, None);
        self.handshakes = Handshakes::default();
        self.retired.clear();
        self.by_status.iter_mut().for_each(BTreeMap::clear);
        (self.last_answer_ns, self.early_answers) = (0, 0);
        self.recent_status = (0, 0);
    }

    fn distributions(&self) -> [&Distribution; 7] {
        [
            &self.response,
            &self.service,
            &self.send_lag,
            &self.own_lag,
            &self.first_byte,
            &self.last_byte,
            &self.connect,
        ]
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

    /// What a result says of the distributions.
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

    /// Takes note that the server wants no further request on a connection.
    pub(crate) fn retire(&mut self, code: u32) {
        *self.retired.entry(code).or_default() += 1;
    }

    pub(crate) fn record_status(&mut self, status: u16) {
        if self.recent_status.0 == status {
            self.recent_status.1 += 1;
        } else {
            self.keep_recent_status();
            self.recent_status = (status, 1);
        }
    }

    /// Moves what was kept apart into the map. To be called at the end of a run.
    pub(crate) fn keep_recent_status(&mut self) {
        let (status, count) = std::mem::take(&mut self.recent_status);
        if count > 0 {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    /// Books calls that others made and told of: what each took, microseconds, or that it failed. The last ended at
    /// `ended_ns`.
    pub fn record_said(&mut self, calls: &[Option<u64>], ended_ns: u64) {
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
        self.last_answer_ns = ended_ns;
    }

    /// Records the time between two messages of an answer, or from the first byte written to the first message.
    pub(crate) fn record_message(&mut self, ns: u64) {
        self.messages.get_or_insert_default().record(ns);
    }

    pub(crate) fn record_unsent(&mut self, reason: Unsent) {
        self.book.planned += 1;
        self.book.unsent += 1;
        *self.unsent.entry(reason).or_default() += 1;
    }

    pub(crate) fn record_failure(&mut self, failure: Failure, response_ns: u64) {
        self.book.failed += 1;
        *self.failures.entry(failure).or_default() += 1;
        self.outcomes.entry(failure.as_str()).or_default().record(response_ns);
    }

    /// Records that an answer had not come when it was no longer waited for.
    pub(crate) fn record_censored(&mut self, response_ns: u64, service_ns: Option<u64>) {
        let [response, service] = self.censored();
        response.saturating_record(response_ns);
        if let Some(service_ns) = service_ns {
            service.saturating_record(service_ns);
        }
    }

    pub(crate) fn record_answer(&mut self, moments: &Moments, connection: usize, status: u16) {
        self.book.answered += 1;
        self.last_answer_ns = moments.last_byte_ns;
        let lag_ns = moments.written_ns.saturating_sub(moments.intended_ns);
        let response_ns = moments.last_byte_ns.saturating_sub(moments.intended_ns);
        self.response.record(response_ns);
        if let Some(by_status) = &mut self.by_status {
            by_status.entry(status).or_default().record(response_ns);
        }
        self.service.record(moments.last_byte_ns.saturating_sub(moments.written_ns));
        self.first_byte.record(moments.first_byte_ns.saturating_sub(moments.written_ns));
        self.last_byte.record(moments.last_byte_ns.saturating_sub(moments.first_byte_ns));
        self.send_lag.record(lag_ns);
        self.own_lag.record(moments.offered_ns.saturating_sub(moments.intended_ns));
        if moments.connected {
            self.connect.record(moments.connected_ns.saturating_sub(moments.started_ns));
        }
        if let Some(course) = &mut self.course {
            course.answer(moments.intended_ns, response_ns, connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(intended_ns: u64, lag_ns: u64, service_ns: u64) -> Moments {
        Moments {
            intended_ns,
            written_ns: intended_ns + lag_ns,
            first_byte_ns: intended_ns + lag_ns + service_ns / 2,
            offered_ns: intended_ns + lag_ns,
            started_ns: intended_ns + lag_ns,
            connected_ns: 0,
            last_byte_ns: intended_ns + lag_ns + service_ns,
            connected: false,
        }
    }

    #[test]
    fn three_distributions_are_kept_apart() {
        let mut recording = Recording::new();
        recording.record_answer(&moments(1_000, 2_000_000, 500_000), 0, 200);
        let service = recording.service.summary().p50_us.unwrap();
        let response = recording.response.summary().p50_us.unwrap();
        let lag = recording.send_lag.summary().p50_us.unwrap();
        assert!((service - 500.0).abs() < 0.6, "{service}");
        assert!((response - 2500.0).abs() < 2.6, "{response}");
        assert!((lag - 2000.0).abs() < 2.1, "{lag}");
    }

    #[test]
    fn merging_is_the_same_as_recording_together() {
        let (mut together, mut one, mut two) = (Recording::new(), Recording::new(), Recording::new());
        for number in 1..1000_u64 {
            let moments = moments(number, number * 100, number * 977);
            together.record_answer(&moments, 0, 200);
            together.record_status(200);
            let half = if number % 2 == 0 { &mut one } else { &mut two };
            half.record_answer(&moments, 0, 200);
            half.record_status(200);
        }
        together.record_failure(Failure::Reset, 5);
        two.record_failure(Failure::Reset, 5);
        for recording in [&mut together, &mut one, &mut two] {
            recording.keep_recent_status();
        }
        one.merge(&two);
        assert_eq!(one.book, together.book);
        assert_eq!(
            (one.failures.clone(), one.statuses.clone()),
            (together.failures.clone(), together.statuses.clone())
        );
        assert_eq!(one.response, together.response);
        assert_eq!(one.outcomes, together.outcomes);
        assert_eq!(one.service, together.service);
        assert_eq!(one.send_lag, together.send_lag);
        one.clear();
        assert_eq!(one.book, Book::default());
        assert_eq!(one.response, Distribution::new());
    }
}
