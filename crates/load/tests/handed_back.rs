//! Requests that an HTTP/2 server hands back unprocessed.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_load::{Arrivals, Connect, Pace};

use crate::support::http2::Http2Peer;
use crate::support::{few, http2_few, numbered, only_failure, run, server};

/// A server that answers so many requests of each connection, as nginx does: with the last of them it sends GOAWAY, and it ignores
/// those after it. Returns the number of connections too.
fn answering_at_most(requests: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    numbered(move |_, stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        for number in 1..=requests {
            let Some(stream) = peer.request() else { return };
            if number == requests {
                peer.go_away(stream);
            }
            peer.respond(stream);
        }
        while peer.request().is_some() {}
    })
}

#[test]
fn a_server_that_ends_each_connection_after_some_requests_answers_all_of_them() {
    for connect in [Connect::Ahead, Connect::OnDemand] {
        for (per_connection, streams) in [(20, 8), (20, 1), (1, 8), (3, 8)] {
            for open in [None, Some((Pace::Constant(1_000.0), Arrivals::Burst(10)))] {
                let (address, accepted) = answering_at_most(per_connection);
                let mut spec = http2_few(address, 2, streams, 200);
                (spec.pooling.lifetime.connect, spec.open) = (connect, open);
                let result = run(&spec);
                let case = format!("{connect}, {per_connection} per connection, {streams} streams");
                assert_eq!(result.book.answered, 200, "{case}: {:?}", result.failures);
                assert!(accepted.load(Ordering::Relaxed) >= 200 / per_connection, "{case}");
                if streams == 1 {
                    assert_eq!(result.book.sent_again, 0, "{case}");
                }
            }
        }
    }
    let (address, _) = answering_at_most(20);
    assert!(run(&http2_few(address, 1, 8, 200)).book.sent_again > 0);
}

#[test]
fn the_response_time_of_a_request_that_is_sent_again_counts_from_its_first_intended_start() {
    let (address, _) = numbered(|connection, stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        while let Some(stream) = peer.request() {
            if connection == 0 {
                thread::sleep(Duration::from_millis(150));
                peer.go_away(0);
            } else {
                peer.respond(stream);
            }
        }
    });
    let result = run(&http2_few(address, 1, 1, 1));
    assert_eq!((result.book.answered, result.book.sent_again), (1, 1));
    let (response, service) =
        (result.latency.response.min_us.unwrap(), result.latency.service.min_us.unwrap());
    assert!(response >= 150_000.0 && service >= 150_000.0, "{response} {service}");
}

/// A server whose first connections refuse every request, and which then answers.
fn refusing(connections: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    numbered(move |number, stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        while let Some(stream) = peer.request() {
            let sent = if number < connections { peer.refuse(stream) } else { peer.respond(stream) };
            if sent.is_none() {
                return;
            }
        }
    })
}

#[test]
fn a_refused_request_is_sent_again_on_another_connection() {
    let (address, accepted) = refusing(3);
    let result = run(&http2_few(address, 1, 1, 5));
    assert_eq!((result.book.answered, result.book.sent_again), (5, 3), "{:?}", result.failures);
    assert_eq!(accepted.load(Ordering::Relaxed), 4);
}

#[test]
fn a_request_that_is_refused_on_every_connection_fails_with_that_reason() {
    let (address, accepted) = refusing(usize::MAX);
    let result = run(&http2_few(address, 1, 1, 2));
    assert_eq!(only_failure(&result), "stream-reset-refused-stream");
    assert_eq!((result.book.failed, result.book.sent_again), (2, 20));
    assert_eq!(
        result.reasons.by_frequency("stream-reset-refused-stream"),
        [("error code 7, sent 11 times", 2)]
    );
    assert_eq!(result.closed.keys().collect::<Vec<_>>(), ["refused"], "{:?}", result.closed);
    assert_eq!(accepted.load(Ordering::Relaxed), 22);
}

#[test]
fn a_request_that_no_connection_processes_fails_with_that_reason() {
    let address = server(|stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        peer.request();
        peer.go_away(0);
        while peer.request().is_some() {}
    });
    let result = run(&http2_few(address, 1, 1, 1));
    assert_eq!((only_failure(&result), result.book.sent_again), ("unprocessed", 10));
    assert_eq!(result.reasons.by_frequency("unprocessed"), [("GOAWAY with error code 0, sent 11 times", 1)]);
    assert_eq!(result.closed.keys().collect::<Vec<_>>(), ["server"], "{:?}", result.closed);
}

#[test]
fn a_connection_that_goes_away_before_it_is_ready_is_a_reason() {
    let mut spec = http2_few(server(Http2Peer::go_away_at_once), 1, 1, 1);
    spec.pooling.lifetime.connect = Connect::OnDemand;
    let result = run(&spec);
    assert_eq!((only_failure(&result), result.book.sent_again), ("unprocessed", 10));
    let expected = "11 connections in turn ended with GOAWAY before they were ready";
    assert_eq!(result.reasons.by_frequency("unprocessed"), [(expected, 1)]);
}

#[test]
fn the_code_of_a_reset_is_its_reason_also_without_a_name() {
    for (code, kind) in [(8, "stream-reset-cancel"), (99, "stream-reset-unknown")] {
        let address = server(move |stream| {
            let Some(mut peer) = Http2Peer::accept(stream) else { return };
            while let Some(stream) = peer.request() {
                peer.reset(stream, code);
            }
        });
        let result = run(&http2_few(address, 1, 1, 3));
        assert_eq!(only_failure(&result), kind);
        assert_eq!(result.reasons.by_frequency(kind), [(format!("error code {code}").as_str(), 3)]);
    }
}

#[test]
fn a_request_of_http1_is_not_sent_again() {
    // The server may have processed it.
    let address = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
    });
    let mut spec = few(address, 4);
    spec.connections = 1;
    let result = run(&spec);
    assert_eq!((only_failure(&result), result.book.failed, result.book.sent_again), ("closed", 4, 0));
}
