//! Tests the state machine with single sequences of events.

use super::*;
use crate::failure::Failure;
use crate::failure::MAX_SENT_AGAIN;

fn machine(lanes: u32, streams: u32) -> Connections {
    Connections::new(Layout { lanes, streams }, true)
}

fn actions(machine: &mut Connections) -> Vec<Action> {
    std::iter::from_fn(|| machine.next_action()).collect()
}

/// Opens the first lane's connection with a request in the first slot.
fn open(machine: &mut Connections, requests: u32) -> ConnectionId {
    machine.request(SlotId(0));
    let connection = machine.current(LaneId(0)).unwrap();
    machine.handle(Event::Connected(connection));
    machine.handle(Event::Ready { connection, requests, streams: u32::MAX });
    let write = Action::Write { connection, slot: SlotId(0) };
    assert_eq!(actions(machine), [Action::Open(connection), write]);
    connection
}

#[test]
fn a_request_opens_another_connection_while_one_drains() {
    let mut machine = machine(1, 2);
    let first = open(&mut machine, 10);
    machine.handle(Event::Drain { connection: first, why: Closing::Server });
    machine.request(SlotId(1));
    let second = machine.current(LaneId(0)).unwrap();
    assert_eq!(actions(&mut machine), [Action::Open(second)]);
    assert_eq!(machine.state(first), State::Draining { in_flight: 1 });
}

#[test]
fn a_draining_connection_closes_when_its_last_request_times_out() {
    let mut machine = machine(1, 2);
    let connection = open(&mut machine, 1);
    machine.handle(Event::TimedOut(SlotId(0)));
    let expected = [
        Action::Close { connection, was_open: true, why: Some(Closing::Plan) },
        Action::End { slot: SlotId(0), end: End::TimedOut, backs_off: false },
    ];
    assert_eq!(actions(&mut machine), expected);
}

#[test]
fn unwritten_requests_of_a_broken_connection_move_to_the_next() {
    let mut machine = machine(1, 3);
    for slot in 0..3 {
        machine.request(SlotId(slot));
    }
    let first = machine.current(LaneId(0)).unwrap();
    machine.handle(Event::Connected(first));
    machine.handle(Event::Ready { connection: first, requests: 10, streams: 3 });
    assert_eq!(machine.next_action(), Some(Action::Open(first)));
    assert_eq!(machine.next_action(), Some(Action::Write { connection: first, slot: SlotId(0) }));
    machine.handle(Event::Failed { connection: first, cause: Failure::Reset.into() });
    let second = machine.current(LaneId(0)).unwrap();
    let expected = [
        Action::Close { connection: first, was_open: true, why: Some(Closing::Server) },
        Action::End { slot: SlotId(0), end: End::Failed(Failure::Reset.into()), backs_off: false },
        Action::Open(second),
    ];
    assert_eq!(actions(&mut machine), expected);
    assert_eq!((machine.state(second), machine.waiting()), (State::Connecting, 2));
}

#[test]
fn a_request_beyond_the_limit_of_the_server_waits_for_another_one_to_end() {
    let mut machine = machine(1, 3);
    let connection = open(&mut machine, 10);
    machine.handle(Event::Limit { connection, streams: 1 });
    machine.request(SlotId(1));
    machine.request(SlotId(2));
    assert_eq!(actions(&mut machine), [Action::Held(SlotId(1)), Action::Held(SlotId(2))]);
    machine.answer(connection, StreamId(0));
    let end = Action::End { slot: SlotId(0), end: End::Answered, backs_off: false };
    assert_eq!(actions(&mut machine), [end, Action::Write { connection, slot: SlotId(1) }]);
    machine.handle(Event::Limit { connection, streams: 0 });
    machine.answer(connection, StreamId(1));
    assert_eq!(actions(&mut machine).len(), 1, "no request is allowed now");
    machine.handle(Event::Limit { connection, streams: 2 });
    assert_eq!(actions(&mut machine), [Action::Write { connection, slot: SlotId(2) }]);
}

#[test]
fn a_request_that_is_handed_back_goes_to_another_connection_before_younger_ones() {
    let mut machine = machine(1, 3);
    let first = open(&mut machine, 10);
    machine.request(SlotId(2));
    assert_eq!(actions(&mut machine).len(), 1);
    let cause = Failure::Unprocessed.into();
    machine.handle(Event::HandedBack { connection: first, stream: StreamId(2), cause });
    let second = machine.current(LaneId(0)).unwrap();
    assert_eq!(actions(&mut machine), [Action::SendAgain(SlotId(2)), Action::Open(second)]);
    assert_eq!(machine.state(first), State::Draining { in_flight: 1 });
    machine.request(SlotId(1));
    machine.handle(Event::HandedBack { connection: first, stream: StreamId(0), cause });
    // The first connection has no request left.
    let close = Action::Close { connection: first, was_open: true, why: Some(Closing::Refused) };
    assert_eq!(actions(&mut machine), [close, Action::SendAgain(SlotId(0))]);
    let waiting: Vec<SlotId> = machine.waiting_for(second).collect();
    assert_eq!(waiting, [SlotId(0), SlotId(2), SlotId(1)]);
}

#[test]
fn a_request_that_every_connection_hands_back_fails_at_last() {
    let mut machine = machine(1, 1);
    machine.request(SlotId(0));
    let mut connections = 0;
    let ended = loop {
        let connection = machine.current(LaneId(0)).unwrap();
        connections += 1;
        machine.handle(Event::Connected(connection));
        // Every other one already at its handshake.
        if connections % 2 == 0 {
            machine.handle(Event::Ready { connection, requests: 10, streams: 1 });
            let cause = Failure::reset(7).into();
            machine.handle(Event::HandedBack { connection, stream: StreamId(0), cause });
        } else {
            machine.handle(Event::Drain { connection, why: Closing::Server });
        }
        let end = actions(&mut machine).into_iter().find(|action| matches!(action, Action::End { .. }));
        if let Some(end) = end {
            break end;
        }
    };
    assert_eq!(connections, u32::from(MAX_SENT_AGAIN) + 1);
    let end = End::Failed(Cause::NEVER_READY);
    assert_eq!(ended, Action::End { slot: SlotId(0), end, backs_off: true });
}

#[test]
fn the_first_reason_to_close_a_connection_counts_and_the_end_of_the_run_is_none() {
    let why = |machine: &mut Connections| {
        let close = actions(machine).into_iter().find_map(|action| match action {
            Action::Close { why, .. } => Some(why),
            _ => None,
        });
        close.unwrap()
    };
    let mut one = machine(1, 1);
    let connection = open(&mut one, 10);
    one.handle(Event::Drain { connection, why: Closing::Request });
    one.handle(Event::Failed { connection, cause: Failure::Reset.into() });
    assert_eq!(why(&mut one), Some(Closing::Request));
    let connection = open(&mut one, 10);
    one.handle(Event::Failed { connection, cause: Failure::Malformed.into() });
    assert_eq!(why(&mut one), Some(Closing::Violation));
    open(&mut one, 10);
    one.handle(Event::Stopped);
    assert_eq!(why(&mut one), None);
    let mut without_cancel = Connections::new(Layout { lanes: 1, streams: 1 }, false);
    open(&mut without_cancel, 10);
    without_cancel.handle(Event::TimedOut(SlotId(0)));
    assert_eq!(why(&mut without_cancel), Some(Closing::TimeOut));
}
