//! Limits on concurrent requests that an HTTP/2 server announces and changes.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_load::{Arrivals, Connect, Pace};
use proptest::prelude::*;

use crate::support::http2::{Http2Peer, Sent};
use crate::support::{failed, http2_few, http2_spec, run, server};

/// Requests that a server received.
#[derive(Default)]
struct Seen {
    /// Requests beyond the limit that the client had acknowledged.
    excess: AtomicUsize,
    /// Most requests at once.
    most: AtomicUsize,
}

/// Serves a connection that first allows `limits[0]` concurrent streams, and the next of the limits after every five requests, or some time
/// after it has allowed none. It answers a request once the client sends no more.
fn serve(stream: TcpStream, limits: &[u32], seen: &Seen) {
    let mut left = limits.iter().copied();
    let first = left.next().unwrap_or(u32::MAX);
    let Some(mut peer) = Http2Peer::accept_allowing(stream, first) else { return };
    // The limits that were sent and that the client has not acknowledged yet.
    let (mut announced, mut acknowledged) = (vec![first], u32::MAX);
    let mut latest = first;
    let (mut open, mut requests) = (Vec::new(), 0);
    loop {
        match peer.next() {
            Sent::Acknowledged => acknowledged = announced.remove(0),
            Sent::Request(stream) => {
                requests += 1;
                if open.len() as u64 >= u64::from(acknowledged) {
                    seen.excess.fetch_add(1, Ordering::Relaxed);
                    peer.refuse(stream);
                    continue;
                }
                open.push(stream);
                seen.most.fetch_max(open.len(), Ordering::Relaxed);
                if requests % 5 == 0
                    && let Some(next) = left.next()
                {
                    peer.allow(next);
                    announced.push(next);
                    latest = next;
                }
            }
            Sent::Nothing if !open.is_empty() => {
                peer.respond(open.remove(0));
            }
            Sent::Nothing => {
                // The client waits for another limit, or has no request.
                if latest == 0
                    && let Some(next) = left.next()
                {
                    peer.allow(next);
                    announced.push(next);
                    latest = next;
                }
            }
            Sent::End => return,
        }
    }
}

fn limiting(limits: Vec<u32>) -> (SocketAddr, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let ours = Arc::clone(&seen);
    (server(move |stream| serve(stream, &limits, &ours)), seen)
}

#[test]
fn a_limit_that_falls_is_followed_and_further_requests_wait() {
    for connect in [Connect::Ahead, Connect::OnDemand] {
        for open in [None, Some((Pace::Constant(200.0), Arrivals::Burst(8)))] {
            let (address, seen) = limiting(vec![100, 1]);
            let mut spec = http2_few(address, 1, 8, 40);
            (spec.pooling.lifetime.connect, spec.open) = (connect, open.clone());
            let result = run(&spec);
            assert_eq!(result.book.answered, 40, "{connect} {open:?}: {:?}", result.failures);
            assert_eq!((seen.excess.load(Ordering::Relaxed), result.book.sent_again), (0, 0));
            assert!(seen.most.load(Ordering::Relaxed) > 1, "the limit did not fall");
            assert_eq!(result.stream_limit, Some(1));
            assert!(result.book.blocked >= 20, "{:?}", result.book);
            assert!(result.waiting.most > 0 && result.waiting.total_s > 0.0, "{:?}", result.waiting);
        }
    }
}

#[test]
fn a_limit_of_one_from_the_start_is_followed() {
    for connect in [Connect::Ahead, Connect::OnDemand] {
        let (address, seen) = limiting(vec![1]);
        let mut spec = http2_few(address, 2, 8, 30);
        spec.pooling.lifetime.connect = connect;
        let result = run(&spec);
        assert_eq!(result.book.answered, 30, "{connect}: {:?}", result.failures);
        let seen = (seen.excess.load(Ordering::Relaxed), seen.most.load(Ordering::Relaxed));
        assert_eq!((seen, result.stream_limit), ((0, 1), Some(1)));
    }
}

#[test]
fn a_limit_of_zero_is_waited_for() {
    for connect in [Connect::Ahead, Connect::OnDemand] {
        for limits in [vec![0, 100], vec![0, 0, 100, 0, 100]] {
            let (address, seen) = limiting(limits);
            let mut spec = http2_few(address, 1, 8, 20);
            spec.pooling.lifetime.connect = connect;
            let result = run(&spec);
            assert_eq!(result.book.answered, 20, "{connect}: {:?}", result.failures);
            assert_eq!((seen.excess.load(Ordering::Relaxed), result.book.sent_again), (0, 0));
        }
    }
}

#[test]
fn a_limit_that_stays_zero_ends_the_opening_with_its_reason_and_time() {
    let (address, _) = limiting(vec![0]);
    let mut spec = http2_spec(address, 1, 8);
    spec.timeout = Duration::from_millis(200);
    let before = Instant::now();
    let error = failed(&spec).to_string();
    assert!(before.elapsed() >= spec.timeout);
    assert!(error.contains("its limit on concurrent streams was still 0 after 0.2 s"), "{error}");
    // Connections on demand: the requests time out.
    spec.pooling.lifetime.connect = Connect::OnDemand;
    let result = run(&spec);
    assert!(result.book.timed_out > 0, "{:?}", result.book);
    assert_eq!(result.book.sent, result.book.timed_out + result.book.unfinished);
    // None was ever sent, and the reasons say so.
    let expected =
        "never sent: the server allowed no request on the connection (its limit on concurrent streams was 0)";
    assert_eq!(result.reasons.by_frequency("timed-out"), [(expected, result.book.timed_out)]);
    if result.book.unfinished > 0 {
        assert_eq!(result.reasons.by_frequency("unfinished"), [(expected, result.book.unfinished)]);
    }
}

#[test]
fn requests_that_wait_for_a_handshake_or_for_others_until_they_time_out_were_never_sent() {
    let never_sent = |address: SocketAddr, streams: u32| {
        let mut spec = http2_few(address, 1, streams, 2);
        (spec.pooling.lifetime.connect, spec.timeout) = (Connect::OnDemand, Duration::from_millis(200));
        let result = run(&spec);
        assert_eq!(result.book.timed_out + result.book.unfinished, 2, "{:?}", result.book);
        let reasons = ["timed-out", "unfinished"].map(|kind| result.reasons.by_frequency(kind));
        let reasons = reasons.concat().into_iter().map(|(reason, count)| (reason.to_owned(), count));
        reasons.collect::<Vec<_>>()
    };
    let silent = server(|mut stream| drop(std::io::copy(&mut stream, &mut std::io::sink())));
    let expected = "never sent: the handshake of the connection was not complete";
    let reasons = never_sent(silent, 1);
    assert!(reasons.iter().all(|(reason, _)| reason == expected), "{reasons:?}");
    assert_eq!(reasons.iter().map(|(_, count)| count).sum::<u64>(), 2);
    // The first request is sent, and blocks the second.
    let busy = server(|stream| {
        let Some(mut peer) = Http2Peer::accept_allowing(stream, 1) else { return };
        while peer.request().is_some() {}
    });
    let expected = "never sent: the server allowed no further request at once on the connection";
    assert_eq!(never_sent(busy, 2), [(expected.to_owned(), 1)]);
}

#[test]
fn the_wait_for_a_limit_counts_into_response_time_and_not_into_service_time() {
    let address = server(|stream| {
        let Some(mut peer) = Http2Peer::accept_allowing(stream, 1) else { return };
        while let Some(stream) = peer.request() {
            thread::sleep(Duration::from_millis(40));
            peer.respond(stream);
        }
    });
    let mut spec = http2_spec(address, 1, 4);
    (spec.open, spec.requests) = (Some((Pace::Constant(400.0), Arrivals::Burst(4))), Some(4));
    let result = run(&spec);
    let longest = (result.latency.response.max_us.unwrap(), result.latency.service.max_us.unwrap());
    assert_eq!(result.book.answered, 4);
    // The fourth waits for three.
    assert!(longest.0 >= 160_000.0, "{longest:?}");
    assert!(result.waiting.total_s >= 0.239, "{:?}", result.waiting);
    assert!(result.latency.service.p50_us.unwrap() < 80_000.0, "{:?}", result.latency.service);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_sequence_of_limits_is_ever_exceeded(
        mut limits in prop::collection::vec(0..6_u32, 1..8),
        connections in 1..3_usize,
        is_on_demand: bool,
    ) {
        // At last some request must be allowed.
        limits.push(3);
        let (address, seen) = limiting(limits);
        let mut spec = http2_few(address, connections, 6, 30);
        if is_on_demand {
            spec.pooling.lifetime.connect = Connect::OnDemand;
        }
        let result = run(&spec);
        prop_assert_eq!(seen.excess.load(Ordering::Relaxed), 0);
        prop_assert_eq!(result.book.answered, 30, "{:?}", result.failures);
    }
}
