//! Origins that call other servers before they respond.

use std::io::Write;
use std::time::{Duration, Instant};

use hoptax_origin::{Call, CallingOptions, CallingOrigin, Calls, OriginOptions};

use super::{Running, body, read_response, run_at, start};

fn leaf(default_query: &str) -> Running {
    start(&OriginOptions { default_query: default_query.to_owned(), ..OriginOptions::default() })
}

fn options(default_query: &str, steps: Vec<Vec<Call>>) -> CallingOptions {
    CallingOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        default_query: default_query.to_owned(),
        calls: Calls { steps },
        seed: 1,
    }
}

pub(super) fn calling(default_query: &str, steps: Vec<Vec<Call>>) -> Running {
    let origin = CallingOrigin::bind(&options(default_query, steps)).unwrap();
    run_at(origin.local_address(), |stop| origin.run(stop))
}

/// Sends requests on one connection, and returns the responses.
fn get(origin: &Running, count: usize) -> Vec<String> {
    let mut stream = origin.connect();
    (0..count)
        .map(|_| {
            stream.write_all(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc").unwrap();
            read_response(&mut stream)
        })
        .collect()
}

fn call(to: &Running, factor: f64) -> Call {
    Call {
        address: to.address,
        factor,
        method: "POST".to_owned(),
        target: "/hoptax".to_owned(),
        headers: vec![("x-a".to_owned(), "b".to_owned())],
        body: "{}".to_owned(),
    }
}

#[test]
fn each_request_makes_its_calls_over_connections_that_stay_open() {
    let (often, sometimes, leaf) = (leaf(""), leaf("size=70000"), leaf(""));
    let between = calling("", vec![vec![call(&leaf, 1.0)]]);
    let steps = vec![vec![call(&often, 3.0), call(&sometimes, 0.25)], vec![call(&between, 1.0)]];
    let entry = calling("size=100", steps);
    let responses = get(&entry, 8);
    assert!(responses.iter().all(|response| response.starts_with("HTTP/1.1 200 OK")), "{responses:?}");
    assert!(responses.iter().all(|response| response.contains("content-length: 100")), "{responses:?}");
    assert_eq!(entry.end().answered, 8);
    for (server, answered) in [(often, 24), (sometimes, 2), (between, 8), (leaf, 8)] {
        let report = server.end();
        assert_eq!((report.answered, report.connections, report.broken), (answered, 1, 0));
    }
}

#[test]
fn calls_of_a_step_are_in_flight_together_and_steps_follow_each_other() {
    let slow = || leaf("delay=120ms");
    let took = |steps: Vec<Vec<Call>>| {
        let entry = calling("", steps);
        let began = Instant::now();
        get(&entry, 1);
        began.elapsed()
    };
    let (one, two) = (slow(), slow());
    let after = took(vec![vec![call(&one, 1.0)], vec![call(&two, 1.0)]]);
    let repeated = took(vec![vec![call(&one, 2.0)]]);
    let both = Duration::from_millis(240);
    // No less is possible, however fast the machine is.
    assert!(after >= both && repeated >= both, "{after:?} {repeated:?}");
    // Less is only possible together, and on a busy machine not always.
    let mut tries = (0..20).map(|_| took(vec![vec![call(&one, 1.0), call(&two, 1.0)]]));
    assert!(tries.any(|together| together < both));
}

#[test]
fn its_own_time_comes_before_the_calls_and_counts() {
    let leaf = leaf("");
    let entry = calling("delay=50ms", vec![vec![call(&leaf, 1.0)]]);
    let began = Instant::now();
    get(&entry, 2);
    assert!(began.elapsed() >= Duration::from_millis(100));
}

#[test]
fn a_failed_call_fails_the_request_and_the_next_one_may_succeed() {
    let failing = leaf("status=503");
    let entry = calling("", vec![vec![call(&failing, 1.0)]]);
    let responses = get(&entry, 2);
    assert!(responses.iter().all(|response| response.starts_with("HTTP/1.1 502 ")), "{responses:?}");
    let head = entry.exchange(b"HEAD /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 502 ") && body(&head).is_empty(), "{head}");
    // A server that nobody listens at.
    let gone = leaf("");
    let to_gone = call(&gone, 1.0);
    gone.end();
    let entry = calling("", vec![vec![to_gone]]);
    assert!(get(&entry, 1)[0].starts_with("HTTP/1.1 502 "));
    let closing = leaf("close=true");
    let entry = calling("", vec![vec![call(&closing, 2.0)]]);
    assert!(get(&entry, 3).iter().all(|response| response.starts_with("HTTP/1.1 200 ")));
}

#[test]
fn a_call_that_cannot_be_sent_is_an_error_at_the_start() {
    let leaf = leaf("");
    let wrong = Call { target: "/a b".to_owned(), ..call(&leaf, 1.0) };
    let error = CallingOrigin::bind(&options("", vec![vec![wrong]])).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("percent-encode"), "{error}");
}
