//! Counts and times of a load per interval, reported while it runs: for periodic output and for histogram logs.
//!
//! Each worker sends a [`Part`] at the end of every interval. [`join`] adds the parts of all workers. An event counts in the
//! interval in which it happens: a request when its first byte is sent, a response when its last byte is read. Only recorded
//! requests count, so the sum over all intervals is the result of the load.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hoptax_host::clock::now_ns;
use hoptax_result::{IntervalTimes, LoadInterval};

use crate::by_key::add_by_key;
use crate::distribution::histogram;
use crate::in_flight::InFlight;
use crate::log::Outcome;

/// Receiver and length of the intervals of a trial.
#[derive(Clone, Debug)]
pub struct IntervalSink {
    /// Length of an interval. [`Duration::MAX`] makes the whole record one interval.
    pub length: Duration,
    /// Receives the parts of all workers. A worker never blocks on it.
    pub sender: Sender<Part>,
}

/// One interval, of one worker or of all. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Start of the record, on the engine's clock.
    record_from_ns: u64,
    /// Start, since the start of the record.
    pub from_ns: u64,
    /// End, since the start of the record. The last interval ends with the last response, or at the end of the drain.
    pub to_ns: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered as expected.
    pub answered: u64,
    /// Requests with another outcome, by [`Outcome::label`].
    pub failures: BTreeMap<String, u64>,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<&'static str, u64>,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Response times of the answered requests.
    pub response: Histogram<u64>,
    /// Their service times.
    pub service: Histogram<u64>,
    /// Their send lags.
    pub send_lag: Histogram<u64>,
}

impl Interval {
    fn new(record_from_ns: u64, from_ns: u64, to_ns: u64) -> Self {
        Self {
            record_from_ns,
            from_ns,
            to_ns,
            sent: 0,
            answered: 0,
            failures: BTreeMap::new(),
            unsent: BTreeMap::new(),
            in_flight: 0,
            response: histogram(),
            service: histogram(),
            send_lag: histogram(),
        }
    }

    /// Wall-clock time of the start of the record.
    pub fn record_started(&self) -> SystemTime {
        wall_time(self.record_from_ns)
    }

    /// Adds the same interval of another worker.
    fn add(&mut self, other: &Self) {
        self.in_flight += other.in_flight;
        self.add_counts(other);
    }

    /// Adds the interval that follows.
    fn extend(&mut self, next: &Self) {
        self.in_flight = next.in_flight;
        self.add_counts(next);
    }

    fn add_counts(&mut self, other: &Self) {
        self.to_ns = self.to_ns.max(other.to_ns);
        self.sent += other.sent;
        self.answered += other.answered;
        add_by_key(&mut self.failures, &other.failures);
        add_by_key(&mut self.unsent, &other.unsent);
        self.response += &other.response;
        self.service += &other.service;
        self.send_lag += &other.send_lag;
    }

    /// The interval as a line of JSON output.
    pub fn line(&self) -> LoadInterval {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let started = self.record_started().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let length_s = seconds(self.to_ns.saturating_sub(self.from_ns));
        LoadInterval {
            format: LoadInterval::FORMAT.to_owned(),
            unix_s: started.as_secs_f64() + seconds(self.to_ns),
            from_s: seconds(self.from_ns),
            to_s: seconds(self.to_ns),
            rate: if length_s > 0.0 { self.answered as f64 / length_s } else { 0.0 },
            sent: self.sent,
            answered: self.answered,
            failures: self.failures.clone(),
            unsent: self.unsent.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect(),
            in_flight: self.in_flight,
            response: times(&self.response),
            send_lag: times(&self.send_lag),
            verdict: None,
        }
    }
}

/// Wall-clock time of a past time on the engine's clock.
pub(crate) fn wall_time(at_ns: u64) -> SystemTime {
    let since = Duration::from_nanos(now_ns().saturating_sub(at_ns));
    SystemTime::now().checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Quantiles of an interval; None without times.
fn times(histogram: &Histogram<u64>) -> Option<IntervalTimes> {
    let us = |ns: u64| ns as f64 / 1e3;
    let quantile_us = |p: f64| us(histogram.value_at_quantile(p));
    (!histogram.is_empty()).then(|| IntervalTimes {
        p50_us: quantile_us(0.5),
        p90_us: quantile_us(0.9),
        p99_us: quantile_us(0.99),
        max_us: us(histogram.max()),
    })
}

/// An interval of one worker, for [`join`].
#[derive(Clone, Debug)]
pub struct Part {
    /// Number of the interval, from 0.
    number: u64,
    /// Number of workers of the trial.
    workers: usize,
    /// True if it is the last interval of its worker.
    is_last: bool,
    /// True if the record of its worker ends in it or before it, as known when it was sent.
    is_at_end: bool,
    /// Length of an interval, nanoseconds.
    length_ns: u64,
    interval: Interval,
}

/// Inverse of the share of an interval's length below which the last interval is added to the one before.
const SHORT_DIVISOR: u64 = 10;

impl Part {
    /// Wall-clock time of the start of the record.
    pub fn record_started(&self) -> SystemTime {
        self.interval.record_started()
    }
}

/// Adds the parts of all workers and passes each complete interval to `take`, in order, with true for the last one. The
/// last one is passed when all senders are dropped.
///
/// An interval needs no part of a worker that has ended. Intervals left incomplete by a lost worker are passed at the end. The last
/// interval ends with the last response, so it may last a fraction of a millisecond, too short for a meaningful rate or quantile. If it is
/// shorter than a tenth of an interval, it is added to the one before. To allow for this, an interval in which the records of all workers
/// end is passed one interval late. After an early end, the one before may have been passed already.
///
/// # Errors
/// The first error of `take`, which ends the loop.
pub fn join<E>(
    parts: impl IntoIterator<Item = Part>,
    mut take: impl FnMut(&Interval, bool) -> Result<(), E>,
) -> Result<(), E> {
    let mut open: BTreeMap<u64, Incomplete> = BTreeMap::new();
    // The last interval of each worker that has ended.
    let mut ends: Vec<u64> = Vec::new();
    // The complete intervals that are held back.
    let (mut held, mut length_ns) = (Vec::<Interval>::new(), 0);
    for part in parts {
        length_ns = part.length_ns;
        if part.is_last {
            ends.push(part.number);
        }
        if let Some(incomplete) = open.get_mut(&part.number) {
            incomplete.parts += 1;
            incomplete.is_at_end &= part.is_at_end;
            incomplete.sum.add(&part.interval);
        } else {
            let incomplete = Incomplete { parts: 1, is_at_end: part.is_at_end, sum: part.interval };
            open.insert(part.number, incomplete);
        }
        while let Some(first) = open.first_entry() {
            let ended = ends.iter().filter(|end| *end < first.key()).count();
            if first.get().parts + ended < part.workers {
                break;
            }
            let Incomplete { is_at_end, sum, .. } = first.remove();
            let is_ended = ends.len() == part.workers;
            if !is_ended {
                held.drain(..).try_for_each(|before| take(&before, false))?;
            }
            if is_ended || is_at_end {
                held.push(sum);
            } else {
                take(&sum, false)?;
            }
        }
    }
    held.extend(open.into_values().map(|incomplete| incomplete.sum));
    if let [.., before, last] = held.as_mut_slice()
        && last.to_ns.saturating_sub(last.from_ns) < length_ns / SHORT_DIVISOR
    {
        before.extend(last);
        held.pop();
    }
    let count = held.len();
    held.iter().zip(1..).try_for_each(|(interval, number)| take(interval, number == count))
}

/// An interval that still lacks the parts of some workers.
struct Incomplete {
    /// Number of parts.
    parts: usize,
    /// True if all of them are at the end of their worker's record.
    is_at_end: bool,
    /// The sum of the parts.
    sum: Interval,
}

/// Records the intervals of one worker.
#[derive(Debug)]
pub(crate) struct IntervalRecorder {
    sink: IntervalSink,
    length_ns: u64,
    number: u64,
    workers: usize,
    /// End of the record, on the engine's clock.
    end_ns: u64,
    interval: Interval,
    in_flight: u64,
}

impl IntervalRecorder {
    /// A recorder of one of `workers`, for a record from `record_from_ns` to `end_ns`.
    pub(crate) fn new(sink: IntervalSink, record_from_ns: u64, end_ns: u64, workers: usize) -> Self {
        // A quarter of the range is 146 years, so sums of such times cannot overflow.
        let length_ns = u64::try_from(sink.length.as_nanos()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 4);
        let interval = Interval::new(record_from_ns, 0, length_ns);
        Self { sink, length_ns, number: 0, workers, end_ns, interval, in_flight: 0 }
    }

    /// Ends the record earlier than planned.
    pub(crate) fn truncate(&mut self, end_ns: u64) {
        self.end_ns = self.end_ns.min(end_ns);
    }

    /// End of the interval in progress, on the engine's clock.
    pub(crate) fn due_ns(&self) -> u64 {
        self.interval.record_from_ns.saturating_add(self.interval.to_ns)
    }

    /// Sends the intervals that ended before `now_ns`.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        let record_from_ns = self.interval.record_from_ns;
        while now_ns >= self.due_ns() {
            let from_ns = self.interval.to_ns;
            self.number += 1;
            let next = Interval::new(record_from_ns, from_ns, from_ns.saturating_add(self.length_ns));
            let ended = std::mem::replace(&mut self.interval, next);
            self.send(self.number - 1, false, ended);
        }
    }

    pub(crate) fn record_start(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.in_flight += 1;
        self.interval.sent += 1;
    }

    pub(crate) fn record_response(&mut self, request: &InFlight, last_byte_ns: u64) {
        self.advance(last_byte_ns);
        self.in_flight = self.in_flight.saturating_sub(1);
        let InFlight { intended_ns, written_ns, .. } = *request;
        let interval = &mut self.interval;
        interval.answered += 1;
        interval.response.saturating_record(last_byte_ns.saturating_sub(intended_ns));
        interval.service.saturating_record(last_byte_ns.saturating_sub(written_ns));
        interval.send_lag.saturating_record(written_ns.saturating_sub(intended_ns));
    }

    /// Records a request that ended without a valid response, or was not sent.
    pub(crate) fn record_end(&mut self, outcome: Outcome, now_ns: u64) {
        self.advance(now_ns);
        if let Outcome::Unsent(reason) = outcome {
            *self.interval.unsent.entry(reason.as_str()).or_default() += 1;
        } else {
            self.in_flight = self.in_flight.saturating_sub(1);
            *self.interval.failures.entry(outcome.label()).or_default() += 1;
        }
    }

    /// Sends the last interval, which ends now.
    pub(crate) fn finish(mut self, now_ns: u64) {
        self.advance(now_ns);
        let mut last = self.interval.clone();
        last.to_ns = now_ns.saturating_sub(last.record_from_ns).max(last.from_ns);
        self.send(self.number, true, last);
    }

    fn send(&self, number: u64, is_last: bool, mut interval: Interval) {
        interval.in_flight = self.in_flight;
        let part = Part {
            number,
            workers: self.workers,
            is_last,
            is_at_end: is_last || interval.record_from_ns.saturating_add(interval.to_ns) >= self.end_ns,
            length_ns: self.length_ns,
            interval,
        };
        // A receiver that has ended has reported its error.
        let _ = self.sink.sender.send(part);
    }
}

#[cfg(test)]
mod tests;
