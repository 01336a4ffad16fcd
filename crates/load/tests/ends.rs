//! Ends of a trial: its plan, a stop, or a number of requests.

use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_load::trial;
use hoptax_load::{Arrivals, Pace};
use hoptax_result::{EndedBy, Environment};

use crate::support::{
    OK, answering, answering_after, failed, read_request, run, server, slow, spec, wait_until,
};

#[test]
fn a_stopped_trial_covers_the_time_until_the_stop_without_the_drain() {
    // Responses take 400 ms, so the drain after the stop is a considerable part of the record.
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let address = answering_after(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(400));
    });
    for workers in [1, 2] {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let mut spec = spec(address);
        (spec.connections, spec.workers) = (200, workers);
        (spec.duration, spec.open) =
            (Duration::from_secs(3), Some((Pace::Constant(200.0), Arrivals::Uniform)));
        // Opening all connections takes a while on a busy machine, so the time until the stop counts from the first request.
        let (asked, before) = (Arc::clone(&asked), asked.load(Ordering::Relaxed));
        let stopper = thread::spawn(move || {
            wait_until("a hundred requests", || asked.load(Ordering::Relaxed) >= before + 100);
            flag.store(true, Ordering::Relaxed);
        });
        let result = trial::run(&spec, Environment::default(), &stop, None).unwrap();
        stopper.join().unwrap();
        assert_eq!(result.ended_by, EndedBy::Interrupt);
        assert!(result.book.balances(), "{:?}", result.book);
        // Exactly the requests that were due until the end.
        let planned = result.recorded_s * 200.0;
        assert!(
            (result.book.planned as f64 - planned).abs() <= 1.0 + workers as f64,
            "{planned} {:?}",
            result.book
        );
        assert!((result.rate.offered * result.recorded_s - result.book.sent as f64).abs() < 1e-6);
        let windows = result.windows.len();
        assert!((windows as f64 - result.recorded_s / 0.03).abs() <= 1.0, "{windows} {}", result.recorded_s);
        let in_flight = result.in_flight.unwrap();
        assert!((in_flight.seen / in_flight.computed - 1.0).abs() < 0.2, "{in_flight:?}");
    }
}

#[test]
fn the_cpu_time_of_the_generator_covers_the_record_only() {
    // At maximum speed, CPU time including the warm-up would exceed the recorded time. Requests in flight at the end are
    // never answered, so the drain is longer than the record.
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    let address = server(move |mut stream| {
        while read_request(&mut stream) && (flag.load(Ordering::Relaxed) || stream.write_all(OK).is_ok()) {}
    });
    let mut spec = spec(address);
    (spec.warmup, spec.duration) = (Duration::from_secs(1), Duration::from_millis(200));
    spec.timeout = Duration::from_millis(600);
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1_100));
        ended.store(true, Ordering::Relaxed);
    });
    let generator = run(&spec).body.generator;
    stopper.join().unwrap();
    assert!((generator.wall_seconds - 0.2).abs() < 1e-9, "{generator:?}");
    assert!(generator.cpu_seconds > 0.0 && generator.cpu_seconds < 0.3, "{generator:?}");
}

#[test]
fn a_request_limit_records_exactly_that_many() {
    let uniform = || Some((Pace::Constant(1_000.0), Arrivals::Uniform));
    let poisson = || Some((Pace::Constant(1_000.0), Arrivals::Poisson));
    for (open, requests, workers) in [
        (uniform(), 150, 1),
        (uniform(), 151, 2),
        (poisson(), 200, 2),
        (None, 500, 2),
        (None, 3, 1),
        (None, 1, 2),
    ] {
        let is_open = open.is_some();
        let mut spec = spec(answering(OK));
        (spec.open, spec.requests, spec.workers) = (open, Some(requests), workers);
        (spec.warmup, spec.duration) = (Duration::from_millis(100), Duration::from_secs(20));
        let result = run(&spec);
        let counted = (result.book.planned, result.book.answered);
        assert_eq!(
            counted,
            (requests, requests),
            "{workers} workers: {:?} {:?}",
            result.book,
            result.failures
        );
        assert_eq!(result.ended_by, EndedBy::Requests);
        assert!(result.recorded_s > 0.0 && result.recorded_s < 20.0, "{}", result.recorded_s);
        assert!((result.rate.offered * result.recorded_s - requests as f64).abs() < 1e-6);
        if is_open {
            // The gaps of 100 requests per worker deviate from their mean by a tenth, and by more in the longest of them.
            assert!((result.rate.offered / 1_000.0 - 1.0).abs() < 0.4, "{:?}", result.rate);
        }
    }
}

#[test]
fn a_worker_with_more_connections_sends_more_of_the_requests_of_a_closed_loop() {
    let mut spec = spec(slow(Duration::from_millis(2)));
    (spec.connections, spec.workers, spec.requests) = (3, 2, Some(600));
    spec.duration = Duration::from_hours(1);
    let result = run(&spec);
    assert_eq!((result.book.answered, result.ended_by), (600, EndedBy::Requests));
    let sent: Vec<u64> = result.generator.workers.iter().map(|worker| worker.response.count).collect();
    // With as many each, that with two connections would be done when the other one has half of its requests left.
    assert!(sent[0] * 4 > sent[1] * 5, "{sent:?}");
    assert_eq!(sent[0] + sent[1], 600);
}

#[test]
fn requests_that_wait_at_the_request_limit_are_sent_all_the_same() {
    let mut spec = spec(answering(OK));
    // They are all due within half a millisecond, and one connection takes them in turn.
    spec.open = Some((Pace::Constant(100_000.0), Arrivals::Uniform));
    (spec.requests, spec.connections) = (Some(50), 1);
    let result = run(&spec);
    assert_eq!((result.book.planned, result.book.answered), (50, 50), "{:?}", result.book);
    assert_eq!(result.ended_by, EndedBy::Requests);
    // One connection was busy for the sum of the service times, of which all but the last lie within the record.
    let service = &result.latency.service;
    let busy_s = service.mean_us.unwrap() * 50.0 / 1e6 - service.max_us.unwrap() / 1e6;
    assert!(result.recorded_s >= 0.99 * busy_s, "{} s, {service:?}", result.recorded_s);
}

#[test]
fn the_duration_ends_the_record_before_the_request_limit() {
    let mut spec = spec(answering(OK));
    (spec.open, spec.requests) = (Some((Pace::Constant(100.0), Arrivals::Uniform)), Some(1_000));
    let result = run(&spec);
    assert_eq!((result.book.planned, result.ended_by), (30, EndedBy::Plan));
}

#[test]
fn a_worker_whose_thread_cannot_be_started_is_an_error_that_says_so() {
    const NAME: &str = "ends::a_worker_whose_thread_cannot_be_started_is_an_error_that_says_so";
    const STACK_BYTES: &str = "RUST_MIN_STACK";
    let impossible = (1_u64 << 60).to_string();
    if std::env::var(STACK_BYTES).as_deref() != Ok(impossible.as_str()) {
        // A process of its own, which can start no thread, makes the test program run the test in its main thread.
        let mut own = Command::new(std::env::current_exe().unwrap());
        let ended = own.args([NAME, "--exact"]).env(STACK_BYTES, impossible).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    // The kernel accepts the connections.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut spec = spec(listener.local_addr().unwrap());
    spec.workers = 2;
    let error = failed(&spec);
    assert!(error.to_string().starts_with("cannot start the thread of worker 1 of 2: "), "{error}");
}
