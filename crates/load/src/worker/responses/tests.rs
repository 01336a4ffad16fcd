use std::io::{Read as _, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use super::*;
use crate::connection::LaneId;
use crate::pool::Pooling;
use crate::recording::Recording;
use crate::run::{Release, Run};
use crate::target::Target;
use crate::worker::MAX_EVENTS;
use crate::{Connect, Lifetime, Worker, WorkerSpec};

#[test]
fn local_resource_limits_are_not_failures_of_the_server() {
    for error in [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        assert_eq!(failure_of(&error.into()), Failure::Generator, "{error}");
    }
    for error in [Errno::CONNREFUSED, Errno::AGAIN, Errno::NOENT] {
        assert_eq!(failure_of(&error.into()), Failure::Refused, "{error}");
    }
    assert_eq!(failure_of(&Errno::CONNRESET.into()), Failure::Reset);
}

#[test]
fn an_event_of_a_closed_socket_does_not_reach_its_successor() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let target = Target::new(&url, "GET", Vec::new(), Vec::new()).unwrap();
    let lifetime = Lifetime { connect: Connect::OnDemand, ..Lifetime::default() };
    let spec = WorkerSpec {
        pooling: Pooling { lifetime, ..Pooling::default() },
        ..WorkerSpec::single(target, 1, Duration::from_secs(5), 1)
    };
    let mut worker = Worker::connect(&spec).unwrap();
    let mut recording = Recording::new();
    let now = now_ns();
    let run = Run::new(Release::Closed, now, now + 3_600_000_000_000, 0);
    let mut current = Current::new(run, &mut recording, &mut []);
    let lane = worker.connections.layout().lane(SlotId(0));
    worker.release(&mut current, now_ns());
    let first = worker.connections.current(lane).unwrap();
    worker.fail(&mut current, first, &ConnectionError::Closed);
    worker.end_backoffs(&mut current, now_ns() + BACKOFF_NS);
    worker.perform(&mut current, now_ns());
    let second = worker.connections.current(lane).unwrap();
    assert!(first != second && first.index() == second.index(), "{first:?} {second:?}");
    worker.handle_epoll_event(&mut current, first, epoll::EventFlags::OUT | epoll::EventFlags::HUP);
    assert_eq!(worker.connections.state(second), State::Connecting);
    worker.handle_epoll_event(&mut current, second, epoll::EventFlags::OUT);
    assert!(matches!(worker.connections.state(second), State::Open { in_flight: 1, .. }));
}

#[test]
fn a_long_response_is_read_in_turn_with_the_others() {
    const BODY_BYTES: usize = 20_000;
    /// Of the read buffer, so that the response fills many reads.
    const BUFFER_BYTES: usize = 64;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let target = Target::new(&url, "GET", Vec::new(), Vec::new()).unwrap();
    let mut worker = Worker::connect(&WorkerSpec::single(target, 2, Duration::from_secs(5), 1)).unwrap();
    worker.buffer = vec![0; BUFFER_BYTES];
    let mut peers = [(); 2].map(|()| listener.accept().unwrap().0);
    let connections = [0, 1].map(|peer| {
        let address = peers[peer].peer_addr().unwrap();
        let lane = worker.local_addresses().iter().position(|local| *local == Some(address)).unwrap();
        worker.connections.current(LaneId(lane as u32)).unwrap()
    });
    let mut recording = Recording::new();
    let now = now_ns();
    let run = Run { requests: Some(2), ..Run::new(Release::Closed, now, now + 3_600_000_000_000, 0) };
    let mut current = Current::new(run, &mut recording, &mut []);
    worker.release(&mut current, now_ns());
    assert_eq!(worker.connections.in_flight(), 2);
    let head = |bytes: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
    let responses = [BODY_BYTES, 2].map(|bytes| [head(bytes).into_bytes(), vec![b'x'; bytes]].concat());
    for ((peer, response), connection) in peers.iter_mut().zip(&responses).zip(connections) {
        assert!(peer.read(&mut [0; 1024]).unwrap() > 0);
        peer.write_all(response).unwrap();
        let unread = || rustix::io::ioctl_fionread(worker.transports[connection].socket()).unwrap();
        while unread() < response.len() as u64 {
            thread::yield_now();
        }
    }
    // One turn reads a part of the long response. The next one has the events of both.
    let [long, short] = connections;
    worker.handle_epoll_event(&mut current, long, epoll::EventFlags::IN);
    let is_answered = |worker: &Worker, connection| {
        matches!(worker.connections.state(connection), State::Open { in_flight: 0, .. })
    };
    let mut events = Vec::with_capacity(MAX_EVENTS);
    let mut turns = 1;
    while !is_answered(&worker, long) {
        assert_eq!(is_answered(&worker, short), turns > 1, "{turns}");
        worker.wait(&mut events, 1_000_000_000).unwrap();
        assert!(!events.is_empty(), "the rest of the response is never read");
        worker.handle_epoll_events(&mut current, &events);
        turns += 1;
    }
    assert_eq!(turns, responses[0].len().div_ceil(BUFFER_BYTES * MAX_READS as usize));
    assert_eq!(current.first().book.answered, 2);
}
