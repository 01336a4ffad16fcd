use std::io::{Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::*;
use crate::connection::{LaneId, SlotId};
use crate::pool::Pooling;
use crate::recording::Recording;
use crate::run::{Release, Run};
use crate::target::Target;
use crate::worker::MAX_EVENTS;
use crate::worker::actions::BACKOFF_NS;
use crate::{Connect, Lifetime, Worker, WorkerSpec};

#[test]
fn an_event_of_a_closed_socket_does_not_reach_its_successor() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let target = Target::get(&url).unwrap();
    let lifetime = Lifetime { connect: Connect::OnDemand, ..Lifetime::default() };
    let spec = WorkerSpec {
        pooling: Pooling { lifetime, ..Pooling::default() },
        ..WorkerSpec::single(target, 1, Duration::from_secs(5), 1)
    };
    let mut worker = Worker::connect(&spec).unwrap();
    let mut recording = Recording::default();
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
    /// Size of the read buffer, so that the response fills many reads.
    const BUFFER_BYTES: usize = 64;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let target = Target::get(&url).unwrap();
    let mut worker = Worker::connect(&WorkerSpec::single(target, 2, Duration::from_secs(5), 1)).unwrap();
    worker.buffer = vec![0; BUFFER_BYTES];
    let mut peers = [(); 2].map(|()| listener.accept().unwrap().0);
    let connections = [0, 1].map(|peer| {
        let address = peers[peer].peer_addr().unwrap();
        let lane = worker.local_addresses().iter().position(|local| *local == Some(address)).unwrap();
        worker.connections.current(LaneId(lane as u32)).unwrap()
    });
    let mut recording = Recording::default();
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

/// A worker that has sent as much of a large request as the sockets hold, its connection, and the server's side of it.
fn blocked(listener: &TcpListener) -> (Worker, ConnectionId, TcpStream, Recording) {
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let target = Target::new(&url, "POST", Vec::new(), vec![b'x'; 16 << 20]).unwrap();
    let mut worker = Worker::connect(&WorkerSpec::single(target, 1, Duration::from_mins(1), 1)).unwrap();
    let mut recording = Recording::default();
    let now = now_ns();
    let run = Run { requests: Some(1), ..Run::new(Release::Closed, now, now + 3_600_000_000_000, 0) };
    let mut current = Current::new(run, &mut recording, &mut []);
    worker.release(&mut current, now_ns());
    let connection = worker.connections.current(LaneId(0)).unwrap();
    assert!(!worker.transports[connection].has_sent(StreamId(0)));
    (worker, connection, listener.accept().unwrap().0, recording)
}

/// Handles events until the request has ended.
fn finish(worker: &mut Worker, recording: &mut Recording) {
    let now = now_ns();
    let run = Run { requests: Some(0), ..Run::new(Release::Closed, now, now + 3_600_000_000_000, 0) };
    let mut current = Current::new(run, recording, &mut []);
    let mut events = Vec::with_capacity(MAX_EVENTS);
    while worker.connections.in_flight() > 0 {
        worker.wait(&mut events, 1_000_000_000).unwrap();
        assert!(!events.is_empty(), "nothing ends the request");
        worker.handle_epoll_events(&mut current, &events);
    }
    recording.flush_recent_status();
}

#[test]
fn a_response_is_read_whether_it_arrives_before_or_with_the_error_of_sending() {
    const REFUSAL: &[u8] = b"HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for closes_first in [false, true] {
        let (mut worker, connection, mut peer, mut recording) = blocked(&listener);
        peer.write_all(REFUSAL).unwrap();
        let peer = if closes_first {
            // Bytes of the request are unread, so the kernel resets the connection.
            drop(peer);
            let socket = worker.transports[connection].socket();
            let mut polled = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::empty())];
            assert_eq!(rustix::event::poll(&mut polled, None), Ok(1), "the reset arrives");
            None
        } else {
            Some(peer)
        };
        finish(&mut worker, &mut recording);
        assert_eq!(recording.statuses, [(413, 1)].into(), "{closes_first}: {:?}", recording.failures);
        assert_eq!(recording.failures, [(Failure::Status4xx, 1)].into());
        assert!(
            worker.connections.current(LaneId(0)).is_none(),
            "its state is unknown: it carries nothing more"
        );
        drop(peer);
    }
}

#[test]
fn a_reset_without_a_response_is_a_reset_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut worker, _, peer, mut recording) = blocked(&listener);
    drop(peer);
    finish(&mut worker, &mut recording);
    assert_eq!(recording.failures, [(Failure::Reset, 1)].into());
    assert_eq!(recording.reasons.by_frequency("reset").len(), 1, "{:?}", recording.reasons);
}
