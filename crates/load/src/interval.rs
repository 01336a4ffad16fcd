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
        for (kind, count) in &other.failures {
            *self.failures.entry(kind.clone()).or_default() += count;
        }
        for (reason, count) in &other.unsent {
            *self.unsent.entry(reason).or_default() += count;
        }
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
            verdict: None,
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
    /// Whether it reaches the end of the record, as known when it was sent.
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

/// Adds the parts of all workers and passes each complete interval to `take`, in order, with whether it is the last one. The
/// last one is passed when all senders are dropped.
///
/// An interval needs no part of a worker that has ended. Intervals left incomplete by a lost worker are passed at the end. The
/// last interval ends with the last response, so it may be a fraction of a millisecond, whose rate and quantiles say nothing.
/// If it is shorter than a tenth of an interval, it is added to the one before. Intervals from the end of the record on are
/// passed one interval late for that. After an early end, the one before may have been passed already.
///
/// # Errors
/// The first error of `take`, which ends the loop.
pub fn join<E>(
    parts: impl IntoIterator<Item = Part>,
    mut take: impl FnMut(&Interval, bool) -> Result<(), E>,
) -> Result<(), E> {
    // By interval: the number of workers that have sent it, and the sum of their parts.
    let mut open: BTreeMap<u64, (usize, Interval)> = BTreeMap::new();
    // The last interval of each worker that has ended.
    let mut ends: Vec<u64> = Vec::new();
    // The complete intervals that are held back, and the first one that is.
    let (mut held, mut hold_from, mut length_ns) = (Vec::<Interval>::new(), u64::MAX, 0);
    for part in parts {
        length_ns = part.length_ns;
        if part.is_last {
            ends.push(part.number);
        }
        if part.is_at_end {
            hold_from = hold_from.min(part.number);
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
            let (number, (_, interval)) = first.remove_entry();
            let is_ended = ends.len() == part.workers;
            if !is_ended {
                held.drain(..).try_for_each(|before| take(&before, false))?;
            }
            if is_ended || number >= hold_from {
                held.push(interval);
            } else {
                take(&interval, false)?;
            }
        }
    }
    held.extend(open.into_values().map(|(_, interval)| interval));
    if let [.., before, last] = held.as_mut_slice()
        && last.to_ns.saturating_sub(last.from_ns) < length_ns / SHORT_DIVISOR
    {
        before.extend(last);
        held.pop();
    }
    let count = held.len();
    held.iter().zip(1..).try_for_each(|(interval, number)| take(interval, number == count))
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
        let part = Part {
            number,
            workers: self.workers,
            is_last,
            is_at_end: interval.record_from_ns.saturating_add(interval.to_ns) >= self.end_ns,
            length_ns: self.length_ns,
            interval,
        };
        // A receiver that has ended has reported its error.
        let _ = self.sink.sender.send(part);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::recording::{Failure, Unsent};

    /// Recorders of a record from 1,000 to `end_ns`.
    fn recorders(workers: usize, length_ns: u64, end_ns: u64) -> (Vec<IntervalRecorder>, Receiver<Part>) {
        let (sender, receiver) = channel();
        let sink = IntervalSink { length: Duration::from_nanos(length_ns), sender };
        let recorder = |_| IntervalRecorder::new(sink.clone(), 1_000, end_ns, workers);
        ((0..workers).map(recorder).collect(), receiver)
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

    fn joined(parts: impl IntoIterator<Item = Part>) -> Vec<Interval> {
        let mut all = Vec::new();
        let taken: Result<(), ()> = join(parts, |interval, is_last| {
            all.push((interval.clone(), is_last));
            Ok(())
        });
        taken.unwrap();
        assert_eq!(all.iter().filter(|(_, is_last)| *is_last).count(), all.len().min(1));
        all.into_iter().map(|(interval, _)| interval).collect()
    }

    /// Start, end and requests sent of each interval.
    fn spans(all: &[Interval]) -> Vec<(u64, u64, u64)> {
        all.iter().map(|one| (one.from_ns, one.to_ns, one.sent)).collect()
    }

    #[test]
    fn events_count_in_the_interval_in_which_they_happen() {
        let (mut workers, parts) = recorders(1, 100, 1_300);
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
        let (mut workers, parts) = recorders(2, 100, 1_400);
        let (mut slow, mut fast) = (workers.remove(0), workers.remove(0));
        fast.record_start(1_010);
        fast.advance(1_200);
        let mut sent: Vec<Part> = parts.try_iter().collect();
        // Until the slow worker has sent its parts, nothing is complete; what is left at the end of the iterator is passed on.
        assert_eq!(spans(&joined(sent.clone())), [(0, 100, 1), (100, 200, 0)]);
        fast.finish(1_250);
        slow.record_start(1_050);
        slow.advance(1_400);
        slow.finish(1_450);
        sent.extend(parts.try_iter());
        let all = joined(sent);
        assert_eq!(spans(&all), [(0, 100, 2), (100, 200, 0), (200, 300, 0), (300, 400, 0), (400, 450, 0)]);
    }

    #[test]
    fn a_short_last_interval_is_added_to_the_one_before() {
        for (finish_ns, early_ns, expected) in [
            (1_209, 1_200, vec![(0, 100, 1), (100, 209, 1)]),
            (1_210, 1_200, vec![(0, 100, 1), (100, 200, 1), (200, 210, 0)]),
            // The end moved to 1,200 before the interval that reaches it was sent.
            (1_205, 1_900, vec![(0, 100, 1), (100, 205, 1)]),
        ] {
            let (mut workers, parts) = recorders(1, 100, early_ns);
            let mut worker = workers.remove(0);
            worker.record_start(1_050);
            worker.record_start(1_150);
            worker.truncate(1_200);
            worker.record_end(Outcome::TimedOut, 1_201);
            worker.finish(finish_ns);
            let all = joined(parts);
            assert_eq!(spans(&all), expected, "{finish_ns}");
            // Both the requests in flight at the end and the failures are of both.
            let last = all.last().unwrap();
            assert_eq!((last.in_flight, last.failures.values().sum::<u64>()), (1, 1));
        }
    }

    #[test]
    fn only_intervals_from_the_end_of_the_record_on_are_held_back() {
        let (mut workers, parts) = recorders(1, 100, 1_200);
        let mut worker = workers.remove(0);
        worker.advance(1_250);
        let (taken, taken_before_the_end) = (RefCell::new(Vec::new()), Cell::new(None));
        let end = std::iter::once_with(|| taken_before_the_end.set(Some(taken.borrow().len())));
        let joined: Result<(), ()> =
            join(parts.try_iter().chain(end.filter_map(|()| None)), |interval, is_last| {
                taken.borrow_mut().push((interval.to_ns, is_last));
                Ok(())
            });
        joined.unwrap();
        assert_eq!(taken_before_the_end.get(), Some(1));
        assert_eq!(*taken.borrow(), [(100, false), (200, true)]);
    }

    #[test]
    fn the_whole_record_can_be_one_interval() {
        let (sender, parts) = channel();
        let mut worker = IntervalRecorder::new(
            IntervalSink { length: Duration::MAX, sender },
            u64::MAX / 2,
            u64::MAX / 2,
            1,
        );
        worker.record_start(u64::MAX / 2 + 10);
        worker.finish(u64::MAX / 2 + 20);
        let all = joined(parts);
        assert_eq!((all.len(), all[0].sent, all[0].to_ns), (1, 1, 20));
    }
}
