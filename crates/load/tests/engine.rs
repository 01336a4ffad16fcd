//! The engine against servers that work, misbehave and disappear. The book must balance in every case.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_load::trial::{self, TrialError, TrialSpec};
use hoptax_load::{
    Arrivals, Pace, PoolOrder, Pooling, Recording, Release, Run, Schedule, Target, Trace, WhenBusy, WhenLate,
    Worker, WorkerSpec, now_ns,
};
use hoptax_result::Environment;

use crate::support::{
    OK, answering, answering_after, counting, failed, few, only_failure, read_request, run, run_with_log,
    server, slow, spec, target,
};

#[test]
fn every_request_of_a_closed_loop_is_answered() {
    let result = run(&spec(answering(OK)));
    assert_eq!(result.book.answered, result.book.planned);
    assert!(result.book.answered > 100, "{:?}", result.book);
    assert_eq!(result.statuses.get(&200), Some(&result.book.answered));
}

#[test]
fn the_first_requests_of_a_closed_loop_are_not_late() {
    let mut spec = spec(answering(OK));
    (spec.connections, spec.requests) = (100, Some(100));
    let (_, entries) = run_with_log(spec);
    let intended: BTreeSet<i64> = entries.iter().map(|entry| entry.intended_ns).collect();
    assert_eq!((intended.len(), entries.len()), (100, 100), "each has a start of its own");
}

#[test]
fn to_start_a_closed_loop_is_no_stall() {
    const CONNECTIONS: usize = 400;
    let address = slow(Duration::from_secs(2));
    let is_shorter = |_| {
        let spec = WorkerSpec::single(target(address), CONNECTIONS, Duration::from_secs(5), 1);
        let mut worker = Worker::connect(&spec).unwrap();
        let now = now_ns();
        // It ends when all first requests have started.
        let requests = Some(CONNECTIONS as u64);
        let run = Run { requests, ..Run::new(Release::Closed, now, now + 1_000_000_000, 0) };
        let mut recording = Recording::default();
        worker.run(run, &mut recording, &AtomicBool::new(false)).unwrap();
        assert_eq!(recording.book.sent, CONNECTIONS as u64);
        2 * recording.longest_turn_ns < now_ns() - now
    };
    // One turn for all first requests would be nearly as long as each run. Another task may stop some of them for as long.
    assert!((0..10).any(is_shorter));
}

#[test]
fn several_workers_share_connections_and_rate() {
    let (address, connected) = counting();
    let mut spec = spec(address);
    (spec.workers, spec.connections, spec.open) = (2, 5, Some((Pace::Constant(400.0), Arrivals::Uniform)));
    let result = run(&spec);
    assert_eq!(connected.load(Ordering::Relaxed), 5);
    assert_eq!(result.book.planned, 120);
    assert_eq!(result.generator.workers.len(), 2);
}

#[test]
fn an_open_loop_keeps_its_rate_with_a_slow_server() {
    let address = slow(Duration::from_millis(50));
    let mut spec = spec(address);
    (spec.connections, spec.open) = (1, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    let result = run(&spec);
    // 60 requests are due in 0.3 s; one connection with 50 ms per response carries six or seven of them.
    assert_eq!(result.book.planned, 60);
    assert!(result.book.sent <= 8 && result.book.unsent >= 52, "{:?}", result.book);
    assert!(result.book.blocked >= 1, "{:?}", result.book);
    let (response, service) =
        (result.outcomes["answered"].max_us.unwrap(), result.latency.service.max_us.unwrap());
    assert!(
        response > service + 100_000.0,
        "the wait must count towards response time: response {response}, service {service}"
    );
}

#[test]
fn without_a_queue_a_request_is_skipped_and_counted() {
    let mut spec = spec(slow(Duration::from_millis(50)));
    (spec.connections, spec.open) = (1, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    spec.pooling.when_busy = WhenBusy::Skip;
    let result = run(&spec);
    assert_eq!(
        (result.book.planned, result.book.blocked, result.waiting.most),
        (60, 0, 0),
        "{:?}",
        result.book
    );
    assert_eq!(result.unsent.get("busy"), Some(&result.book.unsent), "{:?}", result.unsent);
    assert!(result.book.unsent >= 50, "{:?}", result.book);
}

#[test]
fn a_queue_is_limited_to_its_length() {
    let mut spec = spec(slow(Duration::from_millis(50)));
    (spec.connections, spec.open) = (1, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    spec.pooling.when_busy = WhenBusy::Queue(3);
    let result = run(&spec);
    assert_eq!((result.book.planned, result.waiting.most), (60, 3));
    assert!(result.book.blocked > 0 && result.waiting.total_s > 0.0, "{:?}", result.book);
    // Requests still in the queue at the end are not sent.
    assert_eq!(result.unsent.get("end"), Some(&3), "{:?}", result.unsent);
    assert_eq!(result.unsent.values().sum::<u64>(), result.book.unsent);
}

#[test]
fn waiting_in_the_warm_up_is_not_recorded() {
    // The first response takes 400 ms of the warm-up, in which 80 requests come due on one connection.
    let held = AtomicBool::new(false);
    let address = answering_after(move |_| {
        if !held.swap(true, Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(400));
        }
    });
    let mut spec = spec(address);
    (spec.connections, spec.open) = (1, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    spec.warmup = Duration::from_secs(1);
    let result = run(&spec);
    assert!(result.waiting.most < 60, "{:?} {:?}", result.waiting, result.book);
}

#[test]
fn the_wait_of_a_request_without_a_response_counts() {
    // Nothing is ever answered. The first request times out after 100 ms, and so does each that waited for its connection.
    let mut spec = spec(server(|mut stream| while read_request(&mut stream) {}));
    (spec.connections, spec.open) = (1, Some((Pace::Constant(100.0), Arrivals::Uniform)));
    spec.timeout = Duration::from_millis(100);
    let result = run(&spec);
    assert!(result.book.timed_out >= 2 && result.book.answered == 0, "{:?}", result.book);
    // One of 30 requests is sent at once, and two or three after 90 ms or more. The others wait until the end: 3.5 s in total on a prompt
    // machine, and more on a busy one.
    assert!(result.waiting.total_s > 3.0, "{:?} {:?}", result.waiting, result.book);
}

#[test]
fn a_pinned_request_waits_for_its_own_connection() {
    // The connection accepted first is slow, the second is not.
    let address = answering_after(|connection| {
        thread::sleep(Duration::from_millis(if connection == 0 { 100 } else { 0 }));
    });
    let mut spec = spec(address);
    (spec.connections, spec.open) = (2, Some((Pace::Constant(200.0), Arrivals::Uniform)));
    spec.pooling.order = PoolOrder::Pinned;
    let result = run(&spec);
    // Half of the 60 requests belong to the slow connection, which has time for three or four of them.
    assert!((25..=29).contains(&result.book.unsent), "{:?}", result.book);
}

#[test]
fn late_requests_are_sent_or_skipped_as_configured() {
    for (when_late, skipped) in [(WhenLate::Send, false), (WhenLate::Skip, true)] {
        let pooling = Pooling { when_late, ..Pooling::default() };
        let alone = WorkerSpec::single(target(answering(OK)), 64, Duration::from_secs(5), 1);
        let mut worker = Worker::connect(&WorkerSpec { pooling, ..alone }).unwrap();
        // As if the worker had stalled for 200 ms: 20 requests are due, all but the last more than 10 ms late.
        let now = now_ns();
        let release = Release::Open(Schedule::new(Arrivals::Uniform, 100.0, 1, 0, 1));
        let run = Run::new(release, now - 200_000_000, now + 20_000_000, 5_000_000_000);
        let mut recording = Recording::default();
        worker.run(run, &mut recording, &AtomicBool::new(false)).unwrap();
        assert!(recording.book.balances() && recording.book.planned == 22, "{:?}", recording.book);
        let late = recording.book.unsent;
        assert!(if skipped { (18..=22).contains(&late) } else { late == 0 }, "{when_late}: {late}");
    }
}

#[test]
fn a_polling_worker_never_sleeps() {
    let address = slow(Duration::from_millis(20));
    let awake_share = |polls| {
        let spec = WorkerSpec::single(target(address), 4, Duration::from_secs(5), 1);
        let mut worker = Worker::connect(&spec).unwrap();
        let now = now_ns();
        let run = Run { polls, ..Run::new(Release::Closed, now, now + 200_000_000, 5_000_000_000) };
        let mut recording = Recording::default();
        let used = worker.run(run, &mut recording, &AtomicBool::new(false)).unwrap();
        assert!(recording.book.balances() && recording.book.answered > 0, "{:?}", recording.book);
        // The worker of a busy machine may be runnable without running.
        (used.cpu_ns + used.run_delay_ns) as f64 / (now_ns() - now) as f64
    };
    let (polling, sleeping) = (awake_share(true), awake_share(false));
    assert!(polling > 0.8 && sleeping < polling / 2.0, "{polling} {sleeping}");
}

#[test]
fn pressure_is_not_reported_while_processors_are_kept_from_halting() {
    let mut spec = spec(answering(OK));
    (spec.never_halted, spec.open) = (true, Some((Pace::Constant(100.0), Arrivals::Uniform)));
    let result = run(&spec);
    assert!(result.plan.never_halted);
    assert_eq!(result.generator.pressure_share, None);
}

#[test]
fn a_connection_carries_its_maximum_number_of_requests() {
    let (address, accepted) = counting();
    let mut spec = spec(address);
    (spec.connections, spec.open) = (1, Some((Pace::Constant(100.0), Arrivals::Uniform)));
    spec.pooling.lifetime.requests = Some("5".parse().unwrap());
    // 30 requests, five per connection.
    assert_eq!(run(&spec).book.answered, 30);
    assert_eq!(accepted.load(Ordering::Relaxed), 6);
}

#[test]
fn a_response_that_violates_a_condition_is_a_failure() {
    let mut spec = few(answering(OK), 20);
    spec.traffic.expectation = "size=3".parse().unwrap();
    let result = run(&spec);
    assert_eq!((only_failure(&result), result.book.answered), ("mismatch", 0));
}

#[test]
fn a_trace_is_replayed_once() {
    let trace = Trace::parse("t", "0ms\n5ms\n5ms\n100ms\n").unwrap();
    let mut spec = spec(answering(OK));
    (spec.workers, spec.open) = (2, Some((Pace::Constant(trace.rate()), Arrivals::Trace(Arc::new(trace)))));
    assert_eq!(run(&spec).book.answered, 4);
}

#[test]
fn a_server_stall_shows_in_response_time_but_not_in_most_service_times() {
    // One second at 500 requests/s; the server stalls for 300 ms of it.
    let frozen = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&frozen);
    let address = answering_after(move |_| {
        while flag.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    });
    let freezer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        frozen.store(true, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(300));
        frozen.store(false, Ordering::Relaxed);
    });
    let mut spec = spec(address);
    (spec.connections, spec.open, spec.duration) =
        (2, Some((Pace::Constant(500.0), Arrivals::Uniform)), Duration::from_secs(1));
    let result = run(&spec);
    freezer.join().unwrap();
    // 30 % of the requests were due during the stall, and a tenth of all waited more than 200 ms.
    assert!(result.latency.response.p90_us.unwrap() > 150_000.0, "{:?}", result.latency.response);
    assert!(result.latency.service.p90_us.unwrap() < 150_000.0, "{:?}", result.latency.service);
}

#[test]
fn the_warm_up_is_not_recorded_and_its_connections_are_reused() {
    let seen = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let count = Arc::clone(&seen);
    let address = answering_after(move |connection| {
        count.0.fetch_max(connection + 1, Ordering::Relaxed);
        count.1.fetch_add(1, Ordering::Relaxed);
    });
    let mut spec = spec(address);
    (spec.open, spec.warmup) =
        (Some((Pace::Constant(1000.0), Arrivals::Poisson)), Duration::from_millis(300));
    let result = run(&spec);
    assert_eq!(seen.0.load(Ordering::Relaxed), 4);
    let served = seen.1.load(Ordering::Relaxed) as u64;
    assert!(result.book.sent < served && served < 3 * result.book.sent, "{served} {:?}", result.book);
}

#[test]
fn a_backlog_of_the_warm_up_is_in_flight_and_not_recorded() {
    let address = slow(Duration::from_millis(5));
    // The 600 requests of the warm-up take the only connection for 3 s, so none of the record is sent in its 300 ms.
    let mut spec = spec(address);
    (spec.connections, spec.open) = (1, Some((Pace::Constant(2_000.0), Arrivals::Uniform)));
    spec.warmup = Duration::from_millis(300);
    let result = run(&spec);
    assert_eq!(result.book.sent, 0, "{:?}", result.book);
    let in_flight = result.in_flight.unwrap();
    assert!(in_flight.seen > 0.5, "{in_flight:?}");
    assert!((in_flight.seen - in_flight.computed).abs() < 0.1 * in_flight.seen, "{in_flight:?}");
}

#[test]
fn a_response_after_the_timeout_is_late_however_soon_it_is_looked_for() {
    // Each response arrives before the next scan for timeouts.
    let mut spec = spec(slow(Duration::from_millis(3)));
    spec.timeout = Duration::from_millis(1);
    let result = run(&spec);
    assert!(result.book.timed_out > 0 && result.book.answered == 0, "{:?}", result.book);
}

#[test]
fn a_server_that_never_responds_leaves_timeouts_and_unfinished_requests() {
    let address = server(|mut stream| while read_request(&mut stream) {});
    let mut spec = spec(address);
    spec.timeout = Duration::from_millis(100);
    let result = run(&spec);
    assert_eq!(result.book.answered, 0);
    assert!(result.book.timed_out >= 8, "{:?}", result.book);
    spec.timeout = Duration::from_secs(1);
    spec.open = Some((Pace::Constant(10.0), Arrivals::Uniform));
    spec.connections = 10;
    let began = Instant::now();
    let result = run(&spec);
    // The drain is as long as the timeout, so each request has timed out or, if sent late, is unfinished.
    assert_eq!(result.book.planned, result.book.timed_out + result.book.unfinished, "{:?}", result.book);
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[test]
fn failures_are_counted_by_kind() {
    let huge: &'static [u8] = Box::leak(
        format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(400_000)).into_bytes().into_boxed_slice(),
    );
    for (response, kind) in [
        (&b"SSH-2.0-OpenSSH\r\n\r\n"[..], "malformed"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "status-4xx"),
        (b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n", "status-5xx"),
        (huge, "malformed"),
    ] {
        assert_eq!(only_failure(&run(&few(answering(response), 20))), kind);
    }
    let once = |response: &'static [u8]| {
        server(move |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(response);
        })
    };
    assert_eq!(only_failure(&run(&few(once(b""), 20))), "closed");
    let half = once(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
    assert_eq!(only_failure(&run(&few(half, 20))), "truncated");
}

#[test]
fn a_reset_is_counted_and_the_connection_is_reopened() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        // Closing with unread bytes in the socket makes the kernel send a reset.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    });
    for kernel_stamps in [false, true] {
        let result = run(&TrialSpec { kernel_stamps, ..few(address, 50) });
        assert_eq!(only_failure(&result), "reset", "kernel stamps: {kernel_stamps}");
        assert!(result.book.failed > 8, "connections must be reopened: {:?}", result.book);
    }
}

#[test]
fn a_server_that_closes_after_each_response_causes_no_failures() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    });
    let result = run(&few(address, 200));
    assert_eq!(result.book.answered, result.book.planned);
    assert!(result.book.answered > 8);
}

#[test]
fn a_server_that_stops_in_the_run_is_counted_as_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handle = thread::spawn(move || {
        let mut streams: Vec<TcpStream> = (0..4).map(|_| listener.accept().unwrap().0).collect();
        for stream in &mut streams {
            read_request(stream);
            stream.write_all(OK).unwrap();
        }
        // Listener and connections are closed here.
    });
    let result = run(&spec(address));
    handle.join().unwrap();
    assert!(result.book.answered >= 1);
    assert!(result.failures.get("refused").is_some_and(|&count| count > 4), "{:?}", result.failures);
    // Four connections that back off for 10 ms after each refusal cannot fail thousands of times.
    assert!(result.book.failed < 400, "{:?}", result.failures);
}

#[test]
fn a_port_without_a_listener_is_an_error_at_the_start() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = failed(&spec(address));
    assert!(matches!(error, TrialError::Connect(_)), "{error}");
    assert!(error.to_string().contains("is the server running"), "{error}");
}

#[test]
fn live_lines_are_reported_during_the_run() {
    // A server that takes some time leaves the processors to other tests.
    let mut spec = spec(slow(Duration::from_millis(4)));
    spec.duration = Duration::from_millis(1700);
    let lines_of = |spec: &TrialSpec| {
        let mut lines = Vec::new();
        let mut keep = |line: &trial::LiveLine| lines.push(*line);
        trial::run(spec, Environment::default(), &AtomicBool::new(false), Some(&mut keep)).unwrap();
        assert!(lines.len() >= 2, "{lines:?}");
        let are_known =
            |line: &trial::LiveLine| line.rate > 0.0 && line.p50_us > 0.0 && line.p99_us >= line.p50_us;
        assert!(lines.iter().all(are_known), "{lines:?}");
        let has_bytes = |line: &trial::LiveLine| line.body_bytes_per_s.is_some_and(|bytes| bytes > 0.0);
        assert!(lines.iter().all(has_bytes), "{lines:?}");
        let all = Some(spec.connections as u64);
        assert!(lines.iter().any(|line| line.connections == all), "{lines:?}");
        assert!(lines.iter().all(|line| line.connections <= all), "{lines:?}");
        lines
    };
    let closed = lines_of(&spec);
    assert!(closed.iter().all(|line| line.send_lag_p99_us.is_none()), "{closed:?}");
    spec.open = Some((Pace::Constant(200.0), Arrivals::Uniform));
    let open = lines_of(&spec);
    let is_part =
        |line: &trial::LiveLine| line.send_lag_p99_us.is_some_and(|lag| 0.0 < lag && lag <= line.p99_us);
    assert!(open.iter().all(is_part), "{open:?}");
}

#[test]
fn bytes_of_bodies_are_recorded_over_the_record() {
    const BODY: &[u8] = b"a body, and its end";
    let address = server(|mut stream| {
        let (mut received, mut piece) = (Vec::new(), [0; 512]);
        while let Ok(count) = stream.read(&mut piece) {
            received.extend_from_slice(&piece[..count]);
            if received.ends_with(BODY) {
                received.clear();
                if stream.write_all(OK).is_err() {
                    return;
                }
            } else if count == 0 {
                return;
            }
        }
    });
    let url = format!("http://{address}/");
    let post = Target::new(&url, "POST", Vec::new(), BODY.to_vec()).unwrap();
    let result = run(&TrialSpec { traffic: post.into(), ..spec(address) });
    let bytes = result.bytes_over_time.as_ref().unwrap();
    assert!((bytes.part_s - 0.003).abs() < 1e-9, "a hundredth of the record: {}", bytes.part_s);
    let (answered, sent) = (result.book.answered, result.book.sent);
    // Responses after the end of the record are in no part of it.
    for (parts, size, most) in [(&bytes.received, 2, answered), (&bytes.sent, BODY.len() as u64, sent)] {
        let sum: u64 = parts.iter().sum();
        assert!(parts.len() == 100 && parts.iter().all(|part| part.is_multiple_of(size)), "{parts:?}");
        assert!(sum > 0 && sum <= size * most, "{sum} of {most} times {size}");
    }
    let without_bodies = run(&spec(answering(b"HTTP/1.1 204 No Content\r\n\r\n")));
    assert!(without_bodies.book.answered > 0 && without_bodies.bytes_over_time.is_none());
}
