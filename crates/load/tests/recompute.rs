//! Every number of a load's result can be recomputed from its raw log.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_load::log::{Entry, Outcome};
use hoptax_load::merge::{Run, merge};
use hoptax_load::{Arrivals, Distribution, Pace, histogram};
use hoptax_result::{Book, LatencySet};

use crate::support::{OK, read_request, run_with_log, server, spec};

/// Book, distributions and outcomes, computed from a log.
fn computed(entries: &[Entry]) -> (Book, LatencySet, BTreeMap<String, Distribution>) {
    let mut book = Book { planned: entries.len() as u64, ..Book::default() };
    let of = |values: &dyn Fn(&Entry) -> Option<u64>| {
        let mut all = Distribution::default();
        let answered = entries.iter().filter(|entry| entry.outcome == Outcome::Answered);
        answered.filter_map(values).for_each(|ns| all.record(ns));
        all
    };
    let (mut censored_response, mut censored_service) = (histogram(), histogram());
    let mut outcomes: BTreeMap<String, Distribution> = BTreeMap::new();
    for entry in entries {
        let open = matches!(entry.outcome, Outcome::TimedOut | Outcome::Unfinished | Outcome::Unsent(_));
        if let Some(ended_ns) = entry.ended_ns.filter(|_| open) {
            censored_response.saturating_record(ended_ns);
            if let Some(written_ns) = entry.written_ns {
                censored_service.saturating_record(ended_ns - written_ns);
            }
        }
        match entry.outcome {
            Outcome::Unsent(_) => book.unsent += 1,
            Outcome::Answered => book.answered += 1,
            Outcome::Failed(_) => book.failed += 1,
            Outcome::TimedOut => book.timed_out += 1,
            Outcome::Unfinished => book.unfinished += 1,
        }
        book.blocked += u64::from(entry.blocked);
        if matches!(entry.outcome, Outcome::Failed(_) | Outcome::TimedOut | Outcome::Answered) {
            outcomes.entry(entry.outcome.label()).or_default().record(entry.ended_ns.unwrap());
        }
    }
    book.sent = book.planned - book.unsent;
    let latencies = LatencySet {
        response: of(&|entry| entry.ended_ns).summary_with(Some(&censored_response)),
        service: of(&|entry| Some(entry.ended_ns? - entry.written_ns?)).summary_with(Some(&censored_service)),
        send_lag: of(&|entry| entry.written_ns).summary(),
        own_lag: of(&|entry| entry.offered_ns).summary(),
        first_byte: of(&|entry| Some(entry.first_byte_ns? - entry.written_ns?)).summary(),
        last_byte: of(&|entry| Some(entry.ended_ns? - entry.first_byte_ns?)).summary(),
        connect: of(&|entry| Some(entry.connected_ns? - entry.started_ns?).filter(|_| entry.connected))
            .summary(),
    };
    (book, latencies, outcomes)
}

#[test]
fn every_number_can_be_recomputed_from_the_log() {
    // Some responses are slow, some are errors, some never arrive, and some connections are closed.
    let asked = AtomicUsize::new(0);
    let address = server(move |mut stream| {
        while read_request(&mut stream) {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            let response: &[u8] = match number % 40 {
                7 => b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n",
                13 => return,
                29 => {
                    thread::sleep(Duration::from_secs(1));
                    return;
                }
                _ => OK,
            };
            thread::sleep(Duration::from_millis(3));
            if stream.write_all(response).is_err() {
                return;
            }
        }
    });
    let mut spec = spec(address);
    (spec.connections, spec.workers, spec.timeout) = (6, 2, Duration::from_millis(120));
    spec.open = Some((Pace::Constant(600.0), Arrivals::Poisson));
    spec.pooling.lifetime.requests = Some("5-20".parse().unwrap());
    let (result, entries) = run_with_log(spec);
    let (book, latencies, outcomes) = computed(&entries);
    assert_eq!(book, result.book);
    assert!(book.failed > 0 && book.timed_out > 0 && book.blocked > 0, "{book:?}");
    assert_eq!(latencies, result.latency);
    let outcomes: BTreeMap<_, _> = outcomes.iter().map(|(word, one)| (word.clone(), one.summary())).collect();
    assert_eq!(outcomes, result.outcomes);

    // The histograms in the result are those of its numbers.
    let run = Run { file: "load.json".to_owned(), result: result.clone() };
    let alone = merge(&[run], Vec::new()).unwrap();
    assert_eq!(quantiles(alone.latency.clone()), quantiles(latencies));
    assert_eq!(alone.outcomes.keys().collect::<Vec<_>>(), outcomes.keys().collect::<Vec<_>>());
    assert_eq!((alone.response_intervals, alone.drift), (result.response_intervals, result.drift));
    assert_eq!((&alone.modes, &alone.histograms), (&result.modes, &result.histograms));
}

/// Returns the distributions with only the numbers that are read from histograms.
fn quantiles(mut of: LatencySet) -> LatencySet {
    for one in [
        &mut of.response,
        &mut of.service,
        &mut of.send_lag,
        &mut of.own_lag,
        &mut of.first_byte,
        &mut of.last_byte,
        &mut of.connect,
    ] {
        (one.mean_us, one.standard_deviation_us) = (None, None);
    }
    of
}
