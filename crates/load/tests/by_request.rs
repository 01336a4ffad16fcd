//! Counts and response times of the requests of each name.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use hoptax_load::merge::{Run, merge};
use hoptax_load::trial::TrialSpec;
use hoptax_load::{Arrivals, Pace, Target, Traffic, WhenBusy};
use hoptax_result::{Book, LoadResult, NamedRequests, QuantileIntervals};

use crate::support::{OK, answering, few, read_head, run, server, spec};

/// The time that a request of `/slow` takes more than others.
const SLOW: Duration = Duration::from_millis(20);

/// A server that answers `/slow` later, closes the connection of `/gone`, and answers all else at once.
fn by_path() -> SocketAddr {
    server(|mut stream| {
        while let Some(head) = read_head(&mut stream) {
            match head.split(' ').nth(1) {
                Some("/gone") => return,
                Some("/slow") => thread::sleep(SLOW),
                _ => {}
            }
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    })
}

/// An open loop of two workers, whose requests have these paths and weights.
fn of_paths(address: SocketAddr, paths: &[(&str, f64)]) -> TrialSpec {
    let target = |path: &str| Target::get(&format!("http://{address}{path}")).unwrap();
    let (targets, weights): (Vec<Target>, Vec<f64>) =
        paths.iter().map(|(path, weight)| (target(path), *weight)).unzip();
    let mut spec = spec(address);
    spec.traffic = Traffic::by_weight(targets, &weights);
    (spec.connections, spec.workers, spec.duration) = (16, 2, Duration::from_secs(1));
    spec.open = Some((Pace::Constant(400.0), Arrivals::Uniform));
    spec
}

/// The result of a trial whose rows add up to it.
fn run_by_name(spec: &TrialSpec) -> LoadResult {
    let result = run(spec);
    let mut book = Book::default();
    let (mut unsent, mut failures) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    let mut responses = 0;
    for row in &result.by_request {
        assert!(row.book.balances(), "{row:?}");
        book.add(&row.book);
        row.unsent.iter().for_each(|(why, count)| *unsent.entry(why.clone()).or_default() += count);
        row.failures.iter().for_each(|(kind, count)| *failures.entry(kind.clone()).or_default() += count);
        responses += row.response.count;
    }
    assert_eq!((book, &unsent, &failures), (result.book, &result.unsent, &result.failures));
    assert_eq!(responses, result.latency.response.count);
    result
}

fn names(result: &LoadResult) -> Vec<&str> {
    result.by_request.iter().map(|row| row.name.as_str()).collect()
}

#[test]
fn requests_of_different_delays_have_their_own_times() {
    let result = run_by_name(&of_paths(by_path(), &[("/fast?a={counter}", 1.0), ("/slow", 1.0)]));
    assert_eq!(names(&result), ["GET /fast?a={counter}", "GET /slow"]);
    let [fast, slow] = result.by_request.as_slice() else { panic!("{:?}", result.by_request) };
    let slow_us = SLOW.as_secs_f64() * 1e6;
    assert!(slow.response.min_us.unwrap() >= slow_us, "{slow:?}");
    assert!(fast.response.min_us.unwrap() < slow_us, "{fast:?}");
    assert!(fast.response.p50_us.unwrap() < slow.response.p50_us.unwrap(), "{fast:?} {slow:?}");
    for row in [fast, slow] {
        let (p50_us, interval) = (row.response.p50_us.unwrap(), row.intervals.p50_us.unwrap());
        assert!(interval.low <= p50_us && p50_us <= interval.high, "{row:?}");
        // The times of the server alone are no longer.
        let without = row.without_generator.unwrap();
        assert_eq!(without.count, row.book.answered);
        assert!(without.p50_us <= row.response.p50_us, "{row:?}");
    }
}

#[test]
fn the_rows_of_a_result_are_read_from_its_histograms() {
    let result = run_by_name(&of_paths(by_path(), &[("/", 3.0), ("/slow", 1.0)]));
    let run = Run { file: "load.json".to_owned(), result: result.clone() };
    let alone = merge(&[run], Vec::new()).unwrap();
    assert_eq!(alone.histograms, result.histograms);
    assert_eq!(alone.by_request.len(), 2);
    for (read, row) in alone.by_request.iter().zip(&result.by_request) {
        assert_eq!((&read.name, read.book, read.intervals), (&row.name, row.book, row.intervals));
        assert_eq!((read.response.p99_us, read.bounds.p99_us), (row.response.p99_us, row.bounds.p99_us));
    }
}

#[test]
fn a_failure_is_of_its_request_alone() {
    let result = run_by_name(&of_paths(by_path(), &[("/", 3.0), ("/gone", 1.0)]));
    let [fine, gone] = result.by_request.as_slice() else { panic!("{:?}", result.by_request) };
    assert_eq!((fine.book.failed, fine.failures.len()), (0, 0));
    assert!(gone.book.failed > 0 && gone.book.answered == 0, "{gone:?}");
    assert_eq!(gone.failures, result.failures);
}

#[test]
fn requests_that_are_not_sent_or_not_answered_in_time_are_counted_by_name() {
    let mut skipping = of_paths(by_path(), &[("/", 1.0), ("/slow", 1.0)]);
    (skipping.connections, skipping.workers, skipping.pooling.when_busy) = (1, 1, WhenBusy::Skip);
    let skipped = run_by_name(&skipping);
    assert!(skipped.by_request.iter().all(|row| row.unsent.contains_key("busy")), "{:?}", skipped.by_request);
    let mut waiting = of_paths(by_path(), &[("/", 1.0), ("/slow", 3.0)]);
    (waiting.connections, waiting.workers, waiting.timeout) = (1, 1, Duration::from_millis(2));
    let late = run_by_name(&waiting);
    let slow = &late.by_request[1];
    assert!(slow.book.timed_out > 0 && slow.book.answered == 0, "{slow:?}");
    assert!(slow.response.p50_us.is_none() && slow.response.at_least.p50_us.is_some(), "{slow:?}");
    assert!(late.by_request.iter().any(|row| row.unsent.contains_key("end")), "{:?}", late.by_request);
}

#[test]
fn a_closed_loop_has_rows_too_and_most_names_share_one() {
    let address = answering(OK);
    let count = NamedRequests::MOST + 10;
    let targets =
        (0..count).map(|number| Target::get(&format!("http://{address}/{number}")).unwrap()).collect();
    let mut spec = few(address, 600);
    spec.traffic = Traffic::in_turn(targets);
    let result = run_by_name(&spec);
    assert_eq!(result.by_request.len(), NamedRequests::MOST + 1);
    let [.., last] = result.by_request.as_slice() else { panic!("no rows") };
    assert_eq!((last.name.as_str(), last.book.planned), (NamedRequests::OTHERS, 100));
}

#[test]
fn a_closed_loop_that_ends_with_its_requests_is_divided_by_the_time_that_its_warm_up_tells() {
    let address = by_path();
    let targets = ["/", "/slow"].map(|path| Target::get(&format!("http://{address}{path}")).unwrap());
    let mut spec = few(address, 400);
    spec.traffic = Traffic::in_turn(targets.to_vec());
    (spec.connections, spec.workers, spec.warmup) = (8, 2, Duration::from_millis(300));
    let result = run_by_name(&spec);
    let window_s = result.window_s.unwrap();
    let windows = result.windows.len();
    assert!(
        windows as f64 * window_s <= result.recorded_s,
        "{windows} of {window_s} s: {}",
        result.recorded_s
    );
    let histograms = result.histograms.as_ref().unwrap();
    for row in &result.by_request {
        let batches = &histograms.by_request[&row.name].batches;
        // Other work may also have made it so much longer that its end is in no window.
        let covered = windows as f64 * window_s / result.recorded_s;
        let expected = if windows >= 5 && batches.is_empty() && covered < 0.9 { 0 } else { windows / 5 };
        assert_eq!(batches.len(), expected, "{covered}");
        // Other work may have made the record shorter than the warm-up told.
        let has_enough = batches.iter().flatten().count() >= 10;
        assert_eq!(row.intervals.p50_us.is_some(), has_enough, "{row:?}");
    }
    // Nobody knows how long they take without a warm-up.
    spec.warmup = Duration::ZERO;
    let result = run_by_name(&spec);
    assert_eq!((result.window_s, result.windows.len()), (None, 0));
    assert!(result.by_request.iter().all(|row| row.intervals == QuantileIntervals::default()));
}

#[test]
fn stages_have_rows_of_all_of_them_without_intervals() {
    let mut spec = of_paths(by_path(), &[("/", 1.0), ("/slow", 1.0)]);
    let pace: Pace = "200@200ms,400@200ms".parse().unwrap();
    spec.duration = pace.length().unwrap();
    spec.open = Some((pace, Arrivals::Uniform));
    let result = run_by_name(&spec);
    assert_eq!((result.stages.len(), result.book.planned), (2, 120));
    assert!(result.by_request.iter().all(|row| row.intervals == QuantileIntervals::default()));
    let histograms = result.body.histograms.unwrap();
    assert!(histograms.by_request.values().all(|one| one.batches.is_empty() && one.response.is_some()));
}

#[test]
fn a_load_of_one_name_has_no_rows() {
    let result = run(&few(answering(OK), 20));
    assert!(result.by_request.is_empty() && result.body.histograms.unwrap().by_request.is_empty());
}
