use std::net::TcpListener;
use std::time::Duration;

use super::*;
use crate::pool::Pooling;
use crate::recording::Recording;
use crate::run::{Release, Run};
use crate::target::Target;
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
    assert_eq!(worker.connections.state(second), State::Connecting { waiting: 1 });
    worker.handle_epoll_event(&mut current, second, epoll::EventFlags::OUT);
    assert!(matches!(worker.connections.state(second), State::Open { in_flight: 1, .. }));
}
