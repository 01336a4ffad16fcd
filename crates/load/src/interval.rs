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

use crate::distribution::histogram;
use crate::log::Outcome;
use crate::recording::Timestamps;

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
        let since = Duration::from_nanos(now_ns().saturating_sub(self.record_from_ns));
        SystemTime::now().checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Adds the same interval of another worker.
    fn add(&mut self, other: &Self) {
        self.to_ns = self.to_ns.max(other.to_ns);
        self.sent += other.sent;
        self.answered += other.answered;
        for (kind, count) in &other.failures {
            *self.failures.entry(kind.clone()).or_default() += count;
        }
        for (reason, count) in &other.unsent {
            *self.unsent.entry(reason).or_default() += count;
        }
        self.in_flight += other.in_flight;
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
            format: "hoptax.load-interval/1".to_owned(),
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
        }
    }
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
    /// Whether it is the last interval of its worker.
    is_last: bool,
    interval: Interval,
}

impl Part {
    /// Wall-clock time of the start of the record.
    pub fn record_started(&self) -> SystemTime {
        self.interval.record_started()
    }
}

/// Adds the parts of all workers and passes each complete interval to `take`, in order, until all senders are dropped.
///
/// An interval needs no part of a worker that has ended. Intervals left incomplete by a lost worker are passed at the end.
///
/// # Errors
/// The first error of `take`, which ends the loop.
pub fn join<E>(
    parts: impl IntoIterator<Item = Part>,
    mut take: impl FnMut(&Interval) -> Result<(), E>,
) -> Result<(), E> {
    // By interval: the number of workers that have sent it, and the sum of their parts.
    let mut open: BTreeMap<u64, (usize, Interval)> = BTreeMap::new();
    // The last interval of each worker that has ended.
    let mut ends: Vec<u64> = Vec::new();
    for part in parts {
        if part.is_last {
            ends.push(part.number);
        }
        match open.get_mut(&part.number) {
            Some((workers, sum)) => {
                *workers += 1;
                sum.add(&part.interval);
            }
            None => {
                open.insert(part.number, (1, part.interval));
            }
        }
        while let Some(first) = open.first_entry() {
            let ended = ends.iter().filter(|end| *end < first.key()).count();
            if first.get().0 + ended < part.workers {
                break;
            }
            take(&first.remove().1)?;
        }
    }
    open.values().try_for_each(|(_, interval)| take(interval))
}

/// Records the intervals of one worker.
#[derive(Debug)]
pub(crate) struct IntervalRecorder {
    sink: IntervalSink,
    length_ns: u64,
    number: u64,
    workers: usize,
    interval: Interval,
    in_flight: u64,
}

impl IntervalRecorder {
    /// A recorder of one of `workers`, for a record that begins at `record_from_ns`.
    pub(crate) fn new(sink: IntervalSink, record_from_ns: u64, workers: usize) -> Self {
        // A quarter of the range is 146 years, so sums of such times cannot overflow.
        let length_ns = u64::try_from(sink.length.as_nanos()).unwrap_or(u64::MAX).clamp(1, u64::MAX / 4);
        let interval = Interval::new(record_from_ns, 0, length_ns);
        Self { sink, length_ns, number: 0, workers, interval, in_flight: 0 }
    }

    /// Sends the intervals that ended before `now_ns`.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        let record_from_ns = self.interval.record_from_ns;
        while now_ns >= record_from_ns.saturating_add(self.interval.to_ns) {
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

    pub(crate) fn record_response(&mut self, timestamps: &Timestamps) {
        self.advance(timestamps.last_byte_ns);
        self.in_flight = self.in_flight.saturating_sub(1);
        let interval = &mut self.interval;
        interval.answered += 1;
        interval.response.saturating_record(timestamps.last_byte_ns.saturating_sub(timestamps.intended_ns));
        interval.service.saturating_record(timestamps.last_byte_ns.saturating_sub(timestamps.written_ns));
        interval.send_lag.saturating_record(timestamps.written_ns.saturating_sub(timestamps.intended_ns));
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
        // A receiver that has ended has reported its error.
        let _ = self.sink.sender.send(Part { number, workers: self.workers, is_last, interval });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::recording::{Failure, Unsent};

    fn recorders(workers: usize, length_ns: u64) -> (Vec<IntervalRecorder>, Receiver<Part>) {
        let (sender, receiver) = channel();
        let sink = IntervalSink { length: Duration::from_nanos(length_ns), sender };
        ((0..workers).map(|_| IntervalRecorder::new(sink.clone(), 1_000, workers)).collect(), receiver)
    }

    fn timestamps(intended_ns: u64, written_ns: u64, last_byte_ns: u64) -> Timestamps {
        Timestamps {
            intended_ns,
            offered_ns: intended_ns,
            started_ns: written_ns,
            connected_ns: 0,
            written_ns,
            first_byte_ns: last_byte_ns,
            last_byte_ns,
            connected: false,
        }
    }

    fn joined(parts: Receiver<Part>) -> Vec<Interval> {
        let mut all = Vec::new();
        let taken: Result<(), ()> = join(parts, |interval| {
            all.push(interval.clone());
            Ok(())
        });
        taken.unwrap();
        all
    }

    #[test]
    fn events_count_in_the_interval_in_which_they_happen() {
        let (mut workers, parts) = recorders(1, 100);
        let mut worker = workers.remove(0);
        worker.record_start(1_010);
        worker.record_start(1_099);
        worker.record_response(&timestamps(1_000, 1_010, 1_100));
        worker.record_end(Outcome::Failed(Failure::Reset), 1_350);
        worker.record_end(Outcome::Unsent(Unsent::Busy), 1_350);
        worker.finish(1_360);
        let all = joined(parts);
        let seen: Vec<_> =
            all.iter().map(|one| (one.from_ns, one.to_ns, one.sent, one.answered, one.in_flight)).collect();
        assert_eq!(seen, [(0, 100, 2, 0, 2), (100, 200, 0, 1, 1), (200, 300, 0, 0, 1), (300, 360, 0, 0, 0)]);
        let times = [&all[1].response, &all[1].service, &all[1].send_lag].map(Histogram::max);
        assert_eq!(times, [100, 90, 10]);
        assert_eq!(all[3].failures, [("reset".to_owned(), 1)].into());
        assert_eq!(all[3].unsent, [("busy", 1)].into());
    }

    #[test]
    fn an_interval_is_passed_on_when_all_workers_have_sent_it_or_ended() {
        let (mut workers, parts) = recorders(2, 100);
        let (mut slow, fast) = (workers.remove(0), workers.remove(0));
        let mut fast = fast;
        fast.record_start(1_010);
        fast.advance(1_200);
        let sent: Vec<Part> = parts.try_iter().collect();
        assert_eq!(sent.len(), 2);
        let mut given = 0;
        let count = |_: &Interval| -> Result<(), ()> {
            given += 1;
            Ok(())
        };
        // The end of the iterator means that all senders are dropped; only then are incomplete intervals passed on.
        join(sent.clone(), count).unwrap();
        assert_eq!(given, 2);
        fast.finish(1_250);
        slow.record_start(1_050);
        slow.advance(1_400);
        slow.finish(1_410);
        let rest: Vec<Part> = parts.try_iter().collect();
        let mut order = Vec::new();
        let keep = |interval: &Interval| -> Result<(), ()> {
            order.push((interval.from_ns, interval.to_ns, interval.sent));
            Ok(())
        };
        join(sent.into_iter().chain(rest), keep).unwrap();
        assert_eq!(order, [(0, 100, 2), (100, 200, 0), (200, 300, 0), (300, 400, 0), (400, 410, 0)]);
    }

    #[test]
    fn the_whole_record_can_be_one_interval() {
        let (sender, parts) = channel();
        let mut worker =
            IntervalRecorder::new(IntervalSink { length: Duration::MAX, sender }, u64::MAX / 2, 1);
        worker.record_start(u64::MAX / 2 + 10);
        worker.finish(u64::MAX / 2 + 20);
        let all = joined(parts);
        assert_eq!((all.len(), all[0].sent, all[0].to_ns), (1, 1, 20));
    }
}
