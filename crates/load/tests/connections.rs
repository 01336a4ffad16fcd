//! Requests on connections that drain, hang, are refused, or break while they are opened.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use hoptax_load::{Arrivals, Connect, Pace, Recording, Release, Run, Worker, WorkerSpec, now_ns};

use crate::support::http2::{Http2Peer, PREFACE};
use crate::support::{
    OK, answering, few, http2_few, http2_spec, numbered, only_failure, run, server, spec, wait_until,
};

/// An HTTP/2 server that never answers the first request of its first connection, and sends GOAWAY on that connection
/// at the request with number `goaway_at`. It answers every other request.
fn sending_goaway(goaway_at: usize) -> std::net::SocketAddr {
    let (address, _) = numbered(move |connection, stream| {
        let is_first = connection == 0;
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        let mut number = 0;
        while let Some(stream) = peer.request() {
            number += 1;
            if is_first && number == goaway_at {
                peer.go_away(stream);
            }
            if !(is_first && number == 1) && peer.respond(stream).is_none() {
                return;
            }
        }
    });
    address
}

#[test]
fn a_connection_that_drains_or_is_replaced_while_a_request_hangs_holds_up_no_other() {
    for (goaway_at, connections, streams, requests_per_connection) in
        [(2, 1, 4, None), (2, 2, 2, None), (usize::MAX, 1, 4, Some("5"))]
    {
        let mut spec = http2_spec(sending_goaway(goaway_at), connections, streams);
        (spec.open, spec.timeout) =
            (Some((Pace::Constant(100.0), Arrivals::Uniform)), Duration::from_millis(1500));
        spec.pooling.lifetime.requests = requests_per_connection.map(|most: &str| most.parse().unwrap());
        let result = run(&spec);
        assert_eq!((result.book.planned, result.book.answered), (30, 29), "{:?}", result.book);
        assert_eq!(result.book.timed_out + result.book.unfinished, 1, "{:?}", result.book);
    }
}

#[test]
fn a_goaway_that_completes_an_early_handshake_loses_no_request() {
    let (address, accepted) = numbered(|number, stream| {
        if number == 0 {
            Http2Peer::go_away_at_once(stream);
        } else {
            Http2Peer::answer_all(stream);
        }
    });
    let result = run(&http2_spec(address, 1, 1));
    assert!(result.book.answered > 0, "{:?}", result.book);
    assert_eq!(result.book.answered, result.book.planned, "{:?}", result.book);
    assert_eq!(accepted.load(Ordering::Relaxed), 2);
}

#[test]
fn a_draining_connection_closes_when_its_last_stream_times_out() {
    let goaways = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&goaways);
    let address = server(move |stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        // The first request of each connection is never answered, and causes a GOAWAY.
        if let Some(stream) = peer.request() {
            peer.go_away(stream);
            count.fetch_add(1, Ordering::Relaxed);
        }
        while peer.request().is_some() {}
    });
    let mut spec = http2_spec(address, 1, 1);
    (spec.open, spec.timeout) = (Some((Pace::Constant(10.0), Arrivals::Uniform)), Duration::from_millis(80));
    let result = run(&spec);
    assert_eq!((result.book.planned, result.book.timed_out), (3, 3), "{:?}", result.book);
    wait_until("a connection for each request", || goaways.load(Ordering::Relaxed) == 3);
}

#[test]
fn a_connection_that_gets_two_goaways_counts_as_drained_once() {
    let address = server(|stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        while let Some(stream) = peer.request() {
            // A graceful end (RFC 9113, section 6.8): first without a limit, then with the last stream that is processed.
            peer.go_away(u32::MAX >> 1);
            peer.go_away(stream);
            peer.respond(stream);
        }
    });
    let result = run(&http2_few(address, 1, 1, 3));
    assert_eq!(result.book.answered, 3, "{:?}", result.book);
    // Each request has a connection of its own.
    assert_eq!(result.drained, BTreeMap::from([("no-error".to_owned(), 3)]));
}

#[test]
fn a_connection_that_closes_while_another_one_opens_loses_no_request() {
    let first_is_closed = Barrier::new(2);
    let (address, accepted) = numbered(move |number, stream| {
        if number == 0 {
            // The connection is ready for requests, and then closed.
            if let Some(mut peer) = Http2Peer::accept(stream) {
                peer.acknowledged();
            }
            first_is_closed.wait();
            return;
        }
        if number == 1 {
            first_is_closed.wait();
        }
        Http2Peer::answer_all(stream);
    });
    // Without a ramp-up, both are opened at once.
    let traffic = http2_spec(address, 1, 1).traffic;
    let mut worker = Worker::connect(&WorkerSpec::single(traffic, 2, Duration::from_secs(5), 1)).unwrap();
    // The worker reads bytes that arrive before the first request.
    let start_ns = now_ns() + 300_000_000;
    let run = Run::new(Release::Closed, start_ns, start_ns + 100_000_000, 5_000_000_000);
    let mut recording = Recording::default();
    worker.run(run, &mut recording, &AtomicBool::new(false)).unwrap();
    assert!(recording.book.answered > 0 && recording.book.failed == 0, "{:?}", recording.book);
    // The first request of the closed one opened another.
    assert_eq!(accepted.load(Ordering::Relaxed), 3);
}

#[test]
fn every_connection_starts_with_the_preface_even_after_a_broken_one() {
    let bad = Arc::new(Mutex::new(Vec::new()));
    let ours = Arc::clone(&bad);
    let address = server(move |mut stream| {
        let mut first = [0; PREFACE.len()];
        if stream.read_exact(&mut first).is_ok() && first != *PREFACE {
            ours.lock().unwrap().push(first);
        }
        // Closing with unread bytes in the socket makes the kernel send a reset.
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    });
    let mut spec = http2_spec(address, 1, 100);
    (spec.pooling.lifetime.connect, spec.duration) = (Connect::OnDemand, Duration::from_millis(600));
    let result = run(&spec);
    assert!(result.book.answered == 0 && result.book.failed > 100, "{:?}", result.book);
    assert_eq!(*bad.lock().unwrap(), Vec::<[u8; 24]>::new());
}

#[test]
fn a_refused_connection_is_refused_with_kernel_timestamps_too() {
    for kernel_stamps in [false, true] {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut spec = spec(address);
        (spec.connections, spec.kernel_stamps) = (1, kernel_stamps);
        spec.pooling.lifetime.connect = Connect::OnDemand;
        assert_eq!(only_failure(&run(&spec)), "refused", "kernel stamps: {kernel_stamps}");
    }
}

#[test]
fn only_the_request_that_opens_a_connection_has_a_connect_time() {
    let (address, accepted) = numbered(|_, stream| Http2Peer::answer_all(stream));
    // Eight requests at once: the first opens the connection, seven share it.
    let mut spec = http2_spec(address, 1, 8);
    spec.open = Some((Pace::Constant(80.0), Arrivals::Burst(8)));
    spec.pooling.lifetime.connect = Connect::OnDemand;
    let result = run(&spec);
    assert_eq!(result.book.answered, result.book.planned);
    assert_eq!(accepted.load(Ordering::Relaxed), 1);
    assert_eq!(result.latency.connect.count, 1);
    assert!(result.latency.connect.min_us.unwrap() > 0.0, "{:?}", result.latency.connect);
}

#[test]
fn a_connect_that_times_out_is_retried_for_waiting_requests() {
    // The listen backlog is full, so the kernel drops the SYN and the connect hangs.
    let listener = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(&listener, &std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    let filler = std::net::TcpStream::connect(address).unwrap();
    let mut spec = http2_spec(address, 1, 64);
    spec.pooling.lifetime.connect = Connect::OnDemand;
    (spec.open, spec.timeout, spec.duration) = (
        Some((Pace::Constant(100.0), Arrivals::Uniform)),
        Duration::from_millis(400),
        Duration::from_millis(600),
    );
    // The server starts to accept after the first attempt has timed out and before the second one does.
    let serving = thread::spawn(move || {
        thread::sleep(Duration::from_millis(450));
        drop(filler);
        for stream in listener.incoming().flatten().take(2) {
            thread::spawn(move || Http2Peer::answer_all(stream));
        }
    });
    let result = run(&spec);
    serving.join().unwrap();
    assert!(result.book.answered > 0 && result.book.timed_out > 0, "{:?}", result.book);
}

#[test]
fn without_goaway_no_connection_is_reopened() {
    // The tests above rely on this.
    let result = run(&few(answering(OK), 200));
    assert_eq!(result.latency.connect.count, 0);
}
