use std::cell::{Cell, RefCell};
use std::sync::mpsc::{Receiver, channel};

use super::*;
use crate::failure::Failure;
use crate::recording::Unsent;

/// Recorders of a record from 1,000 to `end_ns`.
fn recorders(workers: usize, length_ns: u64, end_ns: u64) -> (Vec<IntervalRecorder>, Receiver<Part>) {
    let (sender, receiver) = channel();
    let sink = IntervalSink { length: Duration::from_nanos(length_ns), sender };
    let recorder = |_| IntervalRecorder::new(sink.clone(), 1_000, end_ns, workers);
    ((0..workers).map(recorder).collect(), receiver)
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
    worker.record_response(&InFlight { intended_ns: 1_000, written_ns: 1_010, ..InFlight::default() }, 1_100);
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
    // Until the slow worker has sent its parts, nothing is complete; the rest is passed on at the end of the iterator.
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
fn intervals_are_not_held_back_while_a_worker_continues_its_record() {
    let (mut workers, parts) = recorders(2, 100, 1_600);
    let (mut long, mut short) = (workers.remove(0), workers.remove(0));
    // The short one has sent its list of requests, and waits for a response.
    short.record_start(1_010);
    short.truncate(1_050);
    short.advance(1_250);
    long.advance(1_250);
    let taken = RefCell::new(Vec::new());
    let take = |interval: &Interval, is_last: bool| {
        taken.borrow_mut().push((interval.to_ns, is_last));
        Ok::<(), ()>(())
    };
    let count = |expected: usize| assert_eq!(taken.borrow().len(), expected);
    let (mut long, mut short) = (Some(long), Some(short));
    let steps = (0..4).flat_map(|step| {
        match step {
            0 => {}
            1 => {
                count(2);
                short.take().unwrap().finish(1_260);
                long.as_mut().unwrap().advance(1_500);
            }
            2 => {
                count(5);
                long.as_mut().unwrap().advance(1_600);
            }
            _ => {
                // The one that reaches the end of the record may be the last one.
                count(5);
                long.take().unwrap().finish(1_605);
            }
        }
        parts.try_iter().collect::<Vec<_>>()
    });
    join(steps, take).unwrap();
    let expected = [100, 200, 300, 400, 500].map(|to_ns| (to_ns, false));
    assert_eq!(*taken.borrow(), [&expected[..], &[(605, true)]].concat());
}

#[test]
fn the_whole_record_can_be_one_interval() {
    let (sender, parts) = channel();
    let mut worker =
        IntervalRecorder::new(IntervalSink { length: Duration::MAX, sender }, u64::MAX / 2, u64::MAX / 2, 1);
    worker.record_start(u64::MAX / 2 + 10);
    worker.finish(u64::MAX / 2 + 20);
    let all = joined(parts);
    assert_eq!((all.len(), all[0].sent, all[0].to_ns), (1, 1, 20));
}
