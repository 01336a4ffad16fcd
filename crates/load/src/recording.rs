//! What a worker keeps of every request: the book, the failures by kind, and the distributions.
//!
//! Distributions are HDR histograms of three digits in nanoseconds (a value is at most 0.1 % above what is
//! recorded), bounded at one hour. They merge exactly, so that percentiles are never averaged.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_result::{Book, Latency};

/// Largest latency that is told apart, nanoseconds; what is longer counts as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The server refused the connection, or it could not be reached.
    Refused,
    /// The connection was reset.
    Reset,
    /// The connection was closed before a byte of the answer came.
    Closed,
    /// The connection was closed in the middle of the answer.
    Truncated,
    /// What came was not HTTP/1.1.
    Malformed,
    /// Answered with a status of 400 to 499.
    Status4xx,
    /// Answered with a status of 500 or more.
    Status5xx,
    /// Answered, and not as expected.
    Mismatch,
}

impl Failure {
    /// Its name in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
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
    pub fn word(self) -> &'static str {
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
    pub(crate) planned_ns: u64,
    pub(crate) written_ns: u64,
    pub(crate) first_byte_ns: u64,
    pub(crate) last_byte_ns: u64,
    /// Whether it had to wait for a connection.
    pub(crate) blocked: bool,
}

/// Everything that one worker recorded; recordings of several workers or slices merge.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where each request went.
    pub book: Book,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<Unsent, u64>,
    /// Most requests that waited for a connection at once.
    pub most_waiting: u64,
    /// How long answered requests waited for a connection, all together, nanoseconds.
    pub waited_ns: u64,
    /// Failed requests by kind.
    pub failures: BTreeMap<Failure, u64>,
    /// Complete answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Response time of requests planned in the first, second and last third of the recorded time.
    pub response_thirds: [Histogram<u64>; 3],
    /// Service time.
    pub service: Histogram<u64>,
    /// Send lag.
    pub send_lag: Histogram<u64>,
    /// Send lag of the requests that found a free connection.
    pub own_lag: Histogram<u64>,
    /// Time to first byte.
    pub first_byte: Histogram<u64>,
    /// Time of the last byte of the last recorded answer, nanoseconds of the engine's clock.
    pub last_answer_ns: u64,
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
            most_waiting: 0,
            waited_ns: 0,
            failures: BTreeMap::new(),
            statuses: BTreeMap::new(),
            response_thirds: [histogram(), histogram(), histogram()],
            service: histogram(),
            send_lag: histogram(),
            own_lag: histogram(),
            first_byte: histogram(),
            last_answer_ns: 0,
            recent_status: (0, 0),
        }
    }

    /// Response time over the whole recorded time.
    pub fn response(&self) -> Histogram<u64> {
        let [mut all, second, last] = self.response_thirds.clone();
        all += second;
        all += last;
        all
    }

    /// Adds what another worker or slice recorded.
    pub fn merge(&mut self, other: &Self) {
        self.book.add(&other.book);
        for (&reason, count) in &other.unsent {
            *self.unsent.entry(reason).or_default() += count;
        }
        self.most_waiting += other.most_waiting;
        self.waited_ns += other.waited_ns;
        for (&failure, count) in &other.failures {
            *self.failures.entry(failure).or_default() += count;
        }
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (ours, theirs) in self.response_thirds.iter_mut().zip(&other.response_thirds) {
            *ours += theirs;
        }
        self.service += &other.service;
        self.send_lag += &other.send_lag;
        self.own_lag += &other.own_lag;
        self.first_byte += &other.first_byte;
        self.last_answer_ns = self.last_answer_ns.max(other.last_answer_ns);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.book = Book::default();
        self.unsent.clear();
        (self.most_waiting, self.waited_ns) = (0, 0);
        self.failures.clear();
        self.statuses.clear();
        for histogram in &mut self.response_thirds {
            histogram.reset();
        }
        for histogram in [&mut self.service, &mut self.send_lag, &mut self.own_lag, &mut self.first_byte] {
            histogram.reset();
        }
        self.last_answer_ns = 0;
        self.recent_status = (0, 0);
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

    pub(crate) fn record_unsent(&mut self, reason: Unsent) {
        self.book.planned += 1;
        self.book.unsent += 1;
        *self.unsent.entry(reason).or_default() += 1;
    }

    pub(crate) fn record_failure(&mut self, failure: Failure) {
        self.book.failed += 1;
        *self.failures.entry(failure).or_default() += 1;
    }

    pub(crate) fn record_answer(&mut self, moments: &Moments, third: usize) {
        self.book.answered += 1;
        self.last_answer_ns = moments.last_byte_ns;
        let lag_ns = moments.written_ns.saturating_sub(moments.planned_ns);
        if let Some(response) = self.response_thirds.get_mut(third) {
            response.saturating_record(moments.last_byte_ns.saturating_sub(moments.planned_ns));
        }
        self.service.saturating_record(moments.last_byte_ns.saturating_sub(moments.written_ns));
        self.first_byte.saturating_record(moments.first_byte_ns.saturating_sub(moments.written_ns));
        self.send_lag.saturating_record(lag_ns);
        if moments.blocked {
            self.waited_ns += lag_ns;
        } else {
            self.own_lag.saturating_record(lag_ns);
        }
    }
}

/// The summary of a histogram. Empty histograms have no quantiles.
pub fn latency(histogram: &Histogram<u64>) -> Latency {
    let count = histogram.len();
    if count == 0 {
        return Latency::default();
    }
    let us = |ns: u64| Some(ns as f64 / 1e3);
    Latency {
        count,
        min_us: us(histogram.min()),
        mean_us: Some(histogram.mean() / 1e3),
        p50_us: us(histogram.value_at_quantile(0.5)),
        p90_us: us(histogram.value_at_quantile(0.9)),
        p99_us: us(histogram.value_at_quantile(0.99)),
        p99_9_us: us(histogram.value_at_quantile(0.999)),
        max_us: us(histogram.max()),
    }
}

/// An empty histogram of the kind that is recorded in.
#[expect(clippy::missing_panics_doc, reason = "it cannot")]
#[expect(clippy::expect_used, reason = "the bounds are constants within what the histogram allows")]
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constant bounds are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(planned_ns: u64, lag_ns: u64, service_ns: u64) -> Moments {
        Moments {
            planned_ns,
            written_ns: planned_ns + lag_ns,
            first_byte_ns: planned_ns + lag_ns + service_ns / 2,
            last_byte_ns: planned_ns + lag_ns + service_ns,
            blocked: false,
        }
    }

    #[test]
    fn three_distributions_are_kept_apart() {
        let mut recording = Recording::new();
        recording.record_answer(&moments(1_000, 2_000_000, 500_000), 0);
        let service = latency(&recording.service).p50_us.unwrap();
        let response = latency(&recording.response()).p50_us.unwrap();
        let lag = latency(&recording.send_lag).p50_us.unwrap();
        assert!((service - 500.0).abs() < 0.6, "{service}");
        assert!((response - 2500.0).abs() < 2.6, "{response}");
        assert!((lag - 2000.0).abs() < 2.1, "{lag}");
    }

    #[test]
    fn recorded_values_are_at_most_a_thousandth_too_large() {
        let mut histogram = histogram();
        for value in (1_u64..60_000_000_000).step_by(97_000_003) {
            histogram.reset();
            histogram.record(value).unwrap();
            let read = histogram.value_at_quantile(1.0);
            assert!(read >= value && (read - value) as f64 <= 0.001 * value as f64, "{value} read as {read}");
        }
    }

    #[test]
    fn merging_is_the_same_as_recording_together() {
        let (mut together, mut one, mut two) = (Recording::new(), Recording::new(), Recording::new());
        for number in 1..1000_u64 {
            let moments = moments(number, number * 100, number * 977);
            let third = (number % 3) as usize;
            together.record_answer(&moments, third);
            together.record_status(200);
            let half = if number % 2 == 0 { &mut one } else { &mut two };
            half.record_answer(&moments, third);
            half.record_status(200);
        }
        together.record_failure(Failure::Reset);
        two.record_failure(Failure::Reset);
        for recording in [&mut together, &mut one, &mut two] {
            recording.keep_recent_status();
        }
        one.merge(&two);
        assert_eq!(one.book, together.book);
        assert_eq!(
            (one.failures.clone(), one.statuses.clone()),
            (together.failures.clone(), together.statuses.clone())
        );
        assert_eq!(one.response(), together.response());
        assert_eq!(one.service, together.service);
        assert_eq!(one.send_lag, together.send_lag);
        one.clear();
        assert_eq!(one.book, Book::default());
        assert_eq!(latency(&one.response()), Latency::default());
    }
}
