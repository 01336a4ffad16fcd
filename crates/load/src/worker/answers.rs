//! Taking what comes back.

use hoptax_host::clock::now_ns;
use hoptax_wire::http1::{Answer, Progress};
use rustix::event::epoll;
use rustix::io::Errno;

use super::Worker;
use super::connect::READ_BYTES;
use crate::log::Outcome;
use crate::recording::Failure;
use crate::run::{Current, Release};

/// How long a connection that could not be opened rests before the next attempt, nanoseconds.
const REST_NS: u64 = 10_000_000;

impl Worker {
    pub(super) fn take_events(&mut self, current: &mut Current, events: &[epoll::Event]) {
        for event in events {
            self.take_event(current, event.data.u64() as usize, event.flags);
            // With many events at once the next release may come due before the last is handled.
            if current.is_open() {
                let now = now_ns();
                if current.next_ns <= now && now < current.run.end_ns {
                    self.release(current, now);
                }
            }
        }
    }

    fn take_event(&mut self, current: &mut Current, index: usize, flags: epoll::EventFlags) {
        let Some(connection) = self.connections.get(index) else { return };
        if connection.socket().is_none() {
            return;
        }
        let flags = connection.meaning(flags);
        if !connection.is_established() {
            let now = now_ns();
            if self.finish_open(index, now).is_err() {
                return self.fail(current, index, Failure::Refused);
            }
            if let Some(in_flight) = self.connections.get_mut(index).and_then(|one| one.in_flight.as_mut()) {
                in_flight.written_ns = now;
                self.begin_write(current, index);
            }
        } else if flags.contains(epoll::EventFlags::OUT) {
            self.write(current, index);
        }
        let closing = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if flags.intersects(epoll::EventFlags::IN | closing) {
            self.read(current, index, flags.intersects(closing));
        }
    }

    /// Reads what has come. The socket is edge-triggered: a short read has emptied it, unless its end has come.
    fn read(&mut self, current: &mut Current, index: usize, closing: bool) {
        loop {
            let Some(connection) = self.connections.get_mut(index) else { return };
            if connection.socket().is_none() {
                return;
            }
            let count = match connection.read(&mut self.buffer) {
                Ok(count) => count,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(error) => return self.fail(current, index, failure_of(error)),
            };
            let now = now_ns();
            let Some(in_flight) = &mut connection.in_flight else {
                // Nothing was asked: the server has closed an idle connection, or sent what nobody wanted.
                return self.close(index);
            };
            if count == 0 {
                return match connection.reader.end() {
                    Ok(Some(answer)) => self.complete(current, index, answer, now),
                    Ok(None) => self.fail(current, index, Failure::Closed),
                    Err(_) => self.fail(current, index, Failure::Truncated),
                };
            }
            if in_flight.first_byte_ns == 0 {
                in_flight.first_byte_ns = now;
            }
            match connection.reader.feed(self.buffer.get(..count).unwrap_or_default()) {
                Ok(Progress::Complete(mut answer)) => {
                    answer.keep_alive &= !closing;
                    return self.complete(current, index, answer, now);
                }
                Ok(Progress::Partial) if count < READ_BYTES && !closing => return,
                Ok(Progress::Partial) => {}
                Err(_) => return self.fail(current, index, Failure::Malformed),
            }
        }
    }

    /// Books an answer and frees its connection.
    fn complete(&mut self, current: &mut Current, index: usize, answer: Answer, last_byte_ns: u64) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let Some(in_flight) = connection.in_flight.take() else { return };
        if in_flight.recorded
            && let (Some(stamped), Some(socket)) = (connection.stamps.take(), connection.socket())
        {
            let stamps = current.recording(in_flight.planned_ns).stamps.get_or_insert_default();
            stamped.finish(socket, stamps);
        }
        connection.requests_left -= 1;
        let is_old = self.lifetime.age.is_some_and(|age| {
            u128::from(last_byte_ns.saturating_sub(connection.opened_ns)) >= age.as_nanos()
        });
        let request = self.traffic.targets.get(in_flight.picked.target);
        // An answer that came before its request was written whole leaves a connection of unknown state.
        let is_written = request.is_some_and(|target| in_flight.written_bytes >= target.request.len());
        if !answer.keep_alive || connection.requests_left == 0 || is_old || !is_written {
            self.close(index);
        }
        current.look(last_byte_ns, self.in_flight, self.established);
        self.in_flight -= 1;
        if in_flight.recorded {
            let failure = self.traffic.expectation.failure(&answer);
            current.record_answer(&in_flight, index, answer, failure, last_byte_ns);
        }
        if matches!(current.run.release, Release::Closed) && last_byte_ns < current.run.end_ns {
            self.start_any(current, index, last_byte_ns);
        } else {
            self.give_back(current, index, last_byte_ns);
        }
    }

    /// Books a failure, closes its connection, and lets it rest when it could not even be opened.
    pub(super) fn fail(&mut self, current: &mut Current, index: usize, failure: Failure) {
        self.close(index);
        let in_flight = self.connections.get_mut(index).and_then(|connection| connection.in_flight.take());
        let Some(in_flight) = in_flight else { return };
        let now = now_ns();
        current.look(now, self.in_flight, self.established);
        self.in_flight -= 1;
        if in_flight.recorded {
            current.record_end(&in_flight, index, Outcome::Failed(failure), now);
        }
        if failure == Failure::Refused {
            self.resting.push_back((now + REST_NS, index));
        } else {
            self.give_back(current, index, now);
        }
    }

    pub(super) fn wake_resting(&mut self, current: &mut Current, now: u64) {
        while let Some(&(rest_ns, index)) = self.resting.front()
            && rest_ns <= now
        {
            self.resting.pop_front();
            self.give_back(current, index, now);
        }
    }
}

pub(super) fn failure_of(error: Errno) -> Failure {
    match error {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT => Failure::Refused,
        _ => Failure::Reset,
    }
}
