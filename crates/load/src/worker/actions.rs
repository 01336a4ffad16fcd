//! Performs the actions of the connection state machine: opens, writes, cancels and closes, and ends requests.

use hoptax_host::clock::now_ns;

use super::Worker;
use crate::connection::{Action, Closing, ConnectionId, End, Event, SlotId};
use crate::current::Current;
use crate::failure::FailedResponse;
use crate::in_flight::InFlight;
use crate::log::Outcome;
use crate::traffic::MessageTimes;

/// Backoff of a slot after a failed connect, nanoseconds.
pub(super) const BACKOFF_NS: u64 = 10_000_000;

impl Worker {
    /// Performs queued actions until the queue is empty.
    #[inline]
    pub(super) fn perform(&mut self, current: &mut Current, now: u64) {
        // It is called after every event, and most events cause no action.
        if self.connections.has_action() {
            self.perform_queued(current, now);
        }
    }

    fn perform_queued(&mut self, current: &mut Current, now: u64) {
        let mut has_written = false;
        while let Some(action) = self.connections.next_action() {
            match action {
                Action::Open(connection) => {
                    // A connect counts only for requests that started with it, not for those left from an earlier attempt.
                    for slot in self.connections.waiting_for(connection) {
                        if let Some(request) = &mut self.requests[slot.index()] {
                            request.connected &= request.started_ns >= now;
                        }
                    }
                    if let Err(error) = self.open(connection, now) {
                        let cause = self.reasons.cause(&error.into());
                        self.connections.handle(Event::Failed { connection, cause });
                    }
                }
                Action::Write { connection, slot } => {
                    // For the first request of a batch the time of its start is recent enough; save a clock read.
                    let InFlight { started_ns, recorded, picked, .. } = *self.request(slot);
                    let written_ns = if started_ns >= now && !has_written { started_ns } else { now_ns() };
                    has_written = true;
                    self.end_hold(current, slot, written_ns);
                    if recorded {
                        current.record_write(written_ns, self.traffic.body_bytes(picked.target));
                    }
                    self.write(connection, slot, written_ns);
                }
                Action::Held(slot) => self.begin_hold(current, slot, now),
                Action::SendAgain(slot) => {
                    let request = self.request(slot);
                    if request.recorded {
                        current.record_sent_again(request);
                    }
                }
                Action::Cancel { connection, stream } => {
                    let transport = &mut self.transports[connection];
                    if let Err(error) = transport.cancel(stream, &mut self.scratch) {
                        let cause = self.reasons.cause(&error);
                        self.connections.handle(Event::Failed { connection, cause });
                    } else if transport.has_failed() {
                        self.read_after_failure(connection);
                    }
                }
                Action::Close { connection, was_open, why } => {
                    if let Some(why) = why.filter(|_| was_open) {
                        current.record_close(now, why);
                    }
                    self.close(connection, was_open);
                }
                Action::End { slot, end, backs_off } => {
                    self.finish_request(current, slot, end, backs_off, now);
                }
            }
        }
    }

    /// Writes the request in a slot.
    fn write(&mut self, connection: ConnectionId, slot: SlotId, written_ns: u64) {
        let request = self.request(slot);
        let is_first = request.written_ns == 0;
        if is_first {
            request.written_ns = written_ns;
        }
        let picked = request.picked;
        let target = &self.traffic.targets[picked.target];
        let transport = &mut self.transports[connection];
        let bytes = if target.placeholders.is_empty() {
            &target.request.bytes
        } else {
            self.filled.clear();
            self.filled.extend_from_slice(&target.request.bytes);
            target.fill(&mut self.filled, picked.counter, picked.random);
            &self.filled
        };
        let stream = self.connections.layout().stream(slot);
        let sent = transport.send(stream, &target.request, bytes, &mut self.scratch);
        if is_first && transport.is_corked() {
            self.corked.push(slot);
        }
        if let Err(error) = sent {
            let cause = self.reasons.cause(&error);
            self.connections.handle(Event::Failed { connection, cause });
        } else if transport.has_failed() {
            self.read_after_failure(connection);
        } else if transport.is_exhausted() {
            self.connections.handle(Event::Drain { connection, why: Closing::Plan });
        }
    }

    /// Records the end of a request, then reuses its slot or puts it into backoff.
    fn finish_request(&mut self, current: &mut Current, slot: SlotId, end: End, backs_off: bool, now: u64) {
        self.end_hold(current, slot, now);
        let place = &mut self.requests[slot.index()];
        let Some(request) = place else { panic!("{slot:?} is busy but has no request") };
        let lane = self.connections.layout().lane(slot).index();
        let (outcome, reason, ended_ns) = match end {
            // The scan for timeouts had not come to it. All of the response is there, so its connection takes the next request.
            End::Answered if now.saturating_sub(request.started_ns) >= self.timeout_ns => {
                (Outcome::TimedOut, None, now)
            }
            End::Answered => {
                let Some(response) = request.response else {
                    panic!("{slot:?} is answered without a response")
                };
                let failure = self.traffic.expectation.failure(&response);
                if failure.is_none() && now <= current.run.end_ns {
                    current.first().answered_by_end += 1;
                }
                if request.recorded {
                    let expectation = &self.traffic.expectation;
                    let failed = failure.map(|failure| FailedResponse {
                        failure,
                        reason: expectation.reason(failure, &response),
                    });
                    current.record_response(request, lane, response, failed, now);
                    if let Some(MessageTimes::Sent(messages)) = self.traffic.messages
                        && failure.is_none()
                    {
                        let service_ns = now.saturating_sub(request.written_ns);
                        let message_ns = service_ns / u64::from(messages.max(1));
                        current.recording(request.intended_ns).record_message(message_ns);
                    }
                } else {
                    current.first().warmup_responses += 1;
                    current.end_unrecorded(request, now);
                }
                *place = None;
                return self.reuse_slot(current, slot, now);
            }
            End::Failed(cause) => (Outcome::Failed(cause.failure), self.reasons.text(cause.reason), now_ns()),
            End::TimedOut => (Outcome::TimedOut, self.unwritten.remove(&slot), now),
            End::Unfinished => (Outcome::Unfinished, self.unwritten.remove(&slot), now),
        };
        if request.recorded {
            current.record_end(request, lane, outcome, reason, ended_ns);
        } else {
            current.end_unrecorded(request, ended_ns);
        }
        *place = None;
        if backs_off {
            self.backing_off.push_back((ended_ns + BACKOFF_NS, slot));
        } else {
            self.reuse_slot(current, slot, ended_ns);
        }
    }

    pub(super) fn end_backoffs(&mut self, current: &mut Current, now: u64) {
        while let Some(&(backoff_end_ns, slot)) = self.backing_off.front()
            && backoff_end_ns <= now
        {
            self.backing_off.pop_front();
            self.reuse_slot(current, slot, now);
        }
    }
}
