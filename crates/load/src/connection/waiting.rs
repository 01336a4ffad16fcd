//! The requests that wait in a lane: for its connection to open, or for others on it to end.

use super::{Action, Closing, ConnectionId, Connections, End, LaneId, Place, SlotId, State};
use crate::failure::{Cause, MAX_SENT_AGAIN};

impl Connections {
    /// Writes a request on a connection that accepts it now; false if it must wait.
    #[inline]
    pub(super) fn write(&mut self, connection: ConnectionId, slot: SlotId) -> bool {
        let State::Open { in_flight, requests_left, streams } = self.state_mut(connection) else {
            return false;
        };
        if *in_flight >= *streams {
            return false;
        }
        *in_flight += 1;
        *requests_left = requests_left.saturating_sub(1);
        let is_last = *requests_left == 0;
        self.slots[slot.index()].place = Place::InFlight(connection);
        self.actions.push_back(Action::Write { connection, slot });
        if is_last {
            self.start_drain(connection, Closing::Plan);
        }
        true
    }

    /// Queues a request in its lane, behind older ones.
    pub(super) fn put_in_line(&mut self, slot: SlotId) {
        let number = self.slots[slot.index()].number;
        let is_older = |other: &SlotId| self.slots[other.index()].number < number;
        let waiting = &self.lanes[self.layout.lane(slot).index()].waiting;
        let position = waiting.iter().rposition(is_older).map_or(0, |last| last + 1);
        self.lanes[self.layout.lane(slot).index()].waiting.insert(position, slot);
        self.slots[slot.index()].place = Place::Waiting { is_held: false };
        self.waiting += 1;
    }

    /// Removes a request from the queue of its lane.
    pub(super) fn take_from_line(&mut self, slot: SlotId) {
        let waiting = &mut self.lanes[self.layout.lane(slot).index()].waiting;
        if let Some(position) = waiting.iter().position(|one| *one == slot) {
            waiting.remove(position);
            self.waiting -= 1;
        }
    }

    /// Writes as many waiting requests of a lane as its connection accepts, and opens a connection if there is none.
    pub(super) fn serve(&mut self, lane: LaneId) {
        while let Some(&slot) = self.lanes[lane.index()].waiting.front() {
            let connection = match self.current(lane) {
                Some(connection) => connection,
                None => self.open(lane),
            };
            if !self.write(connection, slot) {
                if matches!(self.state(connection), State::Open { .. }) {
                    self.report_held(lane);
                }
                return;
            }
            self.lanes[lane.index()].waiting.pop_front();
            self.waiting -= 1;
        }
    }

    /// Reports each request that waits although its connection is open, once.
    fn report_held(&mut self, lane: LaneId) {
        // The youngest request comes last, and all requests before a reported one are reported already.
        for &slot in self.lanes[lane.index()].waiting.iter().rev() {
            let place = &mut self.slots[slot.index()].place;
            if *place == (Place::Waiting { is_held: true }) {
                break;
            }
            *place = Place::Waiting { is_held: true };
            self.actions.push_back(Action::Held(slot));
        }
    }

    /// Queues a request that lost its connection for the next one, or fails it if it has been sent again too often.
    pub(super) fn send_again(&mut self, slot: SlotId, cause: Cause) {
        let sent_again = &mut self.slots[slot.index()].sent_again;
        if *sent_again == MAX_SENT_AGAIN {
            return self.end(slot, End::Failed(cause), true);
        }
        *sent_again += 1;
        self.actions.push_back(Action::SendAgain(slot));
        self.put_in_line(slot);
    }
}
