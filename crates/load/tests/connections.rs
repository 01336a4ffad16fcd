//! What becomes of requests when their connection is retired, hangs, is refused or breaks while it is opened.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hoptax_load::{Arrivals, Connect, Pace};
use support::http2::{Http2Peer, PREFACE};
use support::{OK, answering, http2_spec, only_failure, read_request, run, server, spec, wait_until};

/// A server of HTTP/2 that never answers the first request of its first connection. It retires that connection at the
/// `retired_at`th request on it; every other request is answered.
fn retiring(retired_at: usize) -> std::net::SocketAddr {
    let accepted = AtomicUsize::new(0);
    server(move |stream| {
        let is_first = accepted.fetch_add(1, Ordering::Relaxed) == 0;
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        let mut number = 0;
        while let Some(stream) = peer.request() {
            number += 1;
            if is_first && number == retired_at {
                peer.go_away(stream);
            }
            if !(is_first && number == 1) && peer.answer(stream).is_none() {
                return;
            }
        }
    })
}

#[test]
fn a_retired_connection_whose_last_stream_hangs_holds_no_other_request() {
    let mut spec = http2_spec(retiring(2), 1, 4);
    (spec.open, spec.timeout) =
        (Some((Pace::Constant(100.0), Arrivals::Uniform)), Duration::from_millis(1500));
    let result = run(&spec);
    assert_eq!((result.book.planned, result.book.answered), (30, 29), "{:?}", result.book);
}

#[test]
fn requests_go_to_idle_connections_rather_than_wait_for_a_draining_one() {
    let mut spec = http2_spec(retiring(2), 2, 2);
    (spec.open, spec.timeout) =
        (Some((Pace::Constant(100.0), Arrivals::Uniform)), Duration::from_millis(1500));
    let result = run(&spec);
    assert_eq!((result.book.planned, result.book.answered), (30, 29), "{:?}", result.book);
    assert_eq!(result.book.timed_out + result.book.unfinished, 1, "{:?}", result.book);
}

#[test]
fn a_connection_that_has_carried_its_requests_gives_way_while_the_last_one_hangs() {
    let mut spec = http2_spec(retiring(usize::MAX), 1, 4);
    (spec.open, spec.timeout) =
        (Some((Pace::Constant(100.0), Arrivals::Uniform)), Duration::from_millis(1500));
    spec.pooling.lifetime.requests = Some("5".parse().unwrap());
    let result = run(&spec);
    assert_eq!((result.book.planned, result.book.answered), (30, 29), "{:?}", result.book);
}

#[test]
fn a_retired_connection_ends_when_its_last_stream_times_out() {
    let retired = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&retired);
    let address = server(move |stream| {
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        // The first request of each connection is never answered, and retires it.
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
    wait_until("a connection for each request", || retired.load(Ordering::Relaxed) == 3);
}

#[test]
fn every_connection_begins_with_its_preface_also_after_one_that_broke_in_the_middle() {
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
fn a_refused_connection_is_refused_also_where_the_kernel_stamps_it() {
    for kernel_stamps in [false, true] {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut spec = spec(address);
        (spec.connections, spec.kernel_stamps) = (1, kernel_stamps);
        spec.pooling.lifetime.connect = Connect::OnDemand;
        assert_eq!(only_failure(&run(&spec)), "refused", "kernel stamps: {kernel_stamps}");
    }
}

#[test]
fn a_reset_is_a_reset_also_where_the_kernel_stamps_it() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    });
    let mut spec = spec(address);
    (spec.connections, spec.kernel_stamps) = (1, true);
    assert_eq!(only_failure(&run(&spec)), "reset");
}

#[test]
fn only_the_request_that_a_connection_was_opened_for_has_a_connect_time() {
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    let address = server(move |stream| {
        count.fetch_add(1, Ordering::Relaxed);
        let Some(mut peer) = Http2Peer::accept(stream) else { return };
        while let Some(stream) = peer.request()
            && peer.answer(stream).is_some()
        {}
    });
    // Eight requests at once: the first opens the connection, seven join it.
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
fn a_connection_that_is_not_accepted_is_tried_again_for_those_that_wait() {
    // A full queue of connections: the kernel drops what comes then, and the attempt hangs.
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
    // The server begins to accept after the first attempt is given up and before the second is.
    let serving = thread::spawn(move || {
        thread::sleep(Duration::from_millis(450));
        drop(filler);
        for stream in listener.incoming().flatten().take(2) {
            thread::spawn(move || {
                let Some(mut peer) = Http2Peer::accept(stream) else { return };
                while let Some(stream) = peer.request()
                    && peer.answer(stream).is_some()
                {}
            });
        }
    });
    let result = run(&spec);
    serving.join().unwrap();
    assert!(result.book.answered > 0 && result.book.timed_out > 0, "{:?}", result.book);
}

#[test]
fn a_server_that_answers_is_asked_on_as_many_connections_as_were_asked_for() {
    // What the tests above rest on: without retirement nothing is opened a second time.
    let result = run(&spec(answering(OK)));
    assert_eq!(result.latency.connect.count, 0);
}
