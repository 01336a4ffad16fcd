//! Taking what comes back.

use hoptax_host::clock::now_ns;
#[cfg(feature = "http3")]
use hoptax_wire::Quic;
use hoptax_wire::{Answer, Broken, Event, Loss};
use rustix::event::epoll;
use rustix::io::Errno;

use super::Worker;
use super::connect::READ_BYTES;
use crate::connection::{Connection, Read, Trouble};
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
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.socket().is_none() {
            return;
        }
        let flags = connection.meaning(flags);
        if connection.is_connecting() {
            let now = now_ns();
            if let Err(trouble) = self.finish_connect(index, now) {
                return self.fail_all(current, index, failure_of(&trouble));
            }
            for slot in self.slots_of(index) {
                if let Some(in_flight) = self.slots.get_mut(slot).and_then(Option::as_mut) {
                    in_flight.connected_ns = now;
                }
            }
            self.look_ready(current, index);
        } else if flags.contains(epoll::EventFlags::OUT)
            && let Err(trouble) = connection.transmit()
        {
            return self.fail_all(current, index, failure_of(&trouble));
        }
        let closing = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        if flags.intersects(epoll::EventFlags::IN | closing) {
            self.read(current, index, flags.intersects(closing));
        }
    }

    /// Takes note that a connection has become ready, and sends what waited for that.
    fn look_ready(&mut self, current: &mut Current, index: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        if !connection.is_ready() || connection.is_counted {
            return;
        }
        self.set_ready(index);
        let now = now_ns();
        for slot in self.slots_of(index) {
            let Some(in_flight) = self.slots.get_mut(slot).and_then(Option::as_mut) else { continue };
            if in_flight.written_ns == 0 {
                in_flight.written_ns = now;
                self.write(current, slot);
            }
        }
    }

    /// Reads what has come. The socket is edge-triggered: a short read has emptied it, unless its end has come.
    fn read(&mut self, current: &mut Current, index: usize, closing: bool) {
        loop {
            let Some(connection) = self.connections.get_mut(index) else { return };
            if connection.socket().is_none() {
                return;
            }
            let generation = connection.generation;
            let read = connection.read(&mut self.buffer, self.traffic.protocol.alpn(), &mut self.scratch);
            let now = now_ns();
            let (read, trouble) = match read {
                Ok((read, handshake)) => {
                    self.record_handshake(handshake);
                    (read, None)
                }
                Err(trouble) => (Read::End, Some(trouble)),
            };
            let events = std::mem::take(&mut self.scratch.events);
            self.take_retirement(current, index, &events, now);
            // With several answers at once the next requests leave together.
            if self.streams > 1
                && let Some(connection) = self.connections.get_mut(index)
            {
                connection.cork();
            }
            for event in &events {
                // An answer may have closed the connection, and the next request opened it anew.
                if self.connections.get(index).is_none_or(|one| one.generation != generation) {
                    break;
                }
                self.take_meaning(current, index, *event, closing, now);
            }
            self.scratch.events = events;
            if self.connections.get(index).is_none_or(|one| one.generation != generation) {
                self.corked.clear();
                return;
            }
            if self.streams > 1 && !self.uncork(current, index) {
                return;
            }
            if let Some(trouble) = trouble {
                return self.fail_all(current, index, failure_of(&trouble));
            }
            self.look_ready(current, index);
            match read {
                Read::Later => return,
                Read::End => return self.end(current, index, now),
                Read::Bytes(count) if count < READ_BYTES && !closing => return,
                Read::Bytes(_) => {}
            }
        }
    }

    /// Takes note that a server wants no further request on a connection, before an answer beside that sets one off.
    fn take_retirement(&mut self, current: &mut Current, index: usize, events: &[Event], now: u64) {
        for event in events {
            if let (Event::Retired { code }, Some(connection)) = (event, self.connections.get_mut(index)) {
                current.record_retirement(now, *code);
                connection.is_retired = true;
            }
        }
    }

    /// Sends what was held back on a connection; false when that fails. Only then are its requests written.
    fn uncork(&mut self, current: &mut Current, index: usize) -> bool {
        let Some(connection) = self.connections.get_mut(index) else { return false };
        let sent = connection.uncork();
        let now = now_ns();
        for slot in self.corked.drain(..) {
            if let Some(in_flight) = self.slots.get_mut(slot).and_then(Option::as_mut) {
                in_flight.written_ns = now;
            }
        }
        if let Err(trouble) = sent {
            self.fail_all(current, index, failure_of(&trouble));
            return false;
        }
        true
    }

    pub(crate) fn take_meaning(
        &mut self,
        current: &mut Current,
        index: usize,
        event: Event,
        closing: bool,
        now: u64,
    ) {
        let slot_of = |stream: u32| index * self.streams + stream as usize;
        match event {
            Event::Begun { stream } => {
                if let Some(in_flight) = self.slots.get_mut(slot_of(stream)).and_then(Option::as_mut) {
                    in_flight.first_byte_ns = now;
                }
            }
            Event::Answered { stream, mut answer } => {
                answer.keep_alive &= !closing;
                self.complete(current, slot_of(stream), answer, now);
            }
            Event::Lost { stream, loss } => {
                let failure = match loss {
                    Loss::Reset(code) => Failure::StreamReset(code.min(u32::from(u8::MAX)) as u8),
                    Loss::Unseen => Failure::Unseen,
                    Loss::Malformed => Failure::Malformed,
                };
                let slot = slot_of(stream);
                self.end_stream(slot);
                self.fail(current, slot, failure);
                self.end_retired(current, index);
            }
            Event::Retired { .. } => self.end_retired(current, index),
        }
    }

    /// The server has closed a connection.
    fn end(&mut self, current: &mut Current, index: usize, now: u64) {
        let is_ready = self.connections.get(index).is_some_and(Connection::is_ready);
        if !is_ready {
            return self.fail_all(current, index, failure_of(&Trouble::Closed));
        }
        let mut outcomes = Vec::new();
        for slot in self.slots_of(index) {
            let is_written = self.slots.get(slot).copied().flatten().is_some_and(|one| one.written_ns > 0);
            if is_written && let Some(connection) = self.connections.get_mut(index) {
                outcomes.push((slot, connection.end((slot % self.streams) as u32)));
            }
        }
        self.close(index);
        for (slot, outcome) in outcomes {
            match outcome {
                Ok(Some(mut answer)) => {
                    answer.keep_alive = false;
                    self.complete(current, slot, answer, now);
                }
                Ok(None) => self.fail(current, slot, Failure::Closed),
                Err(_) => self.fail(current, slot, Failure::Truncated),
            }
        }
        self.open_for_held(current, index);
    }

    /// One request less is under way.
    pub(super) fn end_stream(&mut self, slot: usize) {
        if let Some(connection) = self.connections.get_mut(slot / self.streams) {
            connection.under_way = connection.under_way.saturating_sub(1);
        }
    }

    /// Closes a retired connection that has nothing under way, and opens it anew for what was held back.
    fn end_retired(&mut self, current: &mut Current, index: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        if connection.is_retired && connection.under_way == 0 {
            self.close(index);
            self.open_for_held(current, index);
        }
    }

    /// Opens a closed connection if requests are held back for it.
    fn open_for_held(&mut self, current: &mut Current, index: usize) {
        let is_closed = self.connections.get(index).is_some_and(Connection::is_closed);
        if is_closed
            && self.slots_of(index).any(|slot| self.slots.get(slot).is_some_and(Option::is_some))
            && let Err(error) = self.open(index)
        {
            self.fail_all(current, index, failure_of(&error.into()));
        }
    }

    /// Books an answer and frees its stream.
    fn complete(&mut self, current: &mut Current, slot: usize, answer: Answer, last_byte_ns: u64) {
        let (index, stream) = (slot / self.streams, (slot % self.streams) as u32);
        let Some(in_flight) = self.slots.get_mut(slot).and_then(Option::take) else { return };
        let Some(connection) = self.connections.get_mut(index) else { return };
        if in_flight.recorded
            && let (Some(stamped), Some(socket)) = (connection.stamps.take(), connection.socket())
        {
            let stamps = current.recording(in_flight.planned_ns).stamps.get_or_insert_default();
            stamped.finish(socket, stamps);
        }
        connection.requests_left = connection.requests_left.saturating_sub(1);
        connection.under_way = connection.under_way.saturating_sub(1);
        let is_old = self.lifetime.age.is_some_and(|age| {
            u128::from(last_byte_ns.saturating_sub(connection.opened_ns)) >= age.as_nanos()
        });
        // An answer that came before its request was written whole leaves a connection of unknown state.
        let is_spoilt = self.streams == 1 && !connection.has_sent(stream);
        connection.is_retired |= !answer.keep_alive || connection.requests_left == 0 || is_old || is_spoilt;
        self.end_retired(current, index);
        current.look(last_byte_ns, self.in_flight, self.established);
        self.in_flight -= 1;
        if in_flight.recorded {
            let failure = self.traffic.expectation.failure(&answer);
            current.record_answer(&in_flight, index, answer, failure, last_byte_ns);
        } else {
            current.first().early_answers += 1;
        }
        if matches!(current.run.release, Release::Closed) && last_byte_ns < current.run.end_ns {
            self.start_any(current, slot, last_byte_ns);
        } else {
            self.give_back(current, slot, last_byte_ns);
        }
    }

    /// Books the failure of everything on a connection and closes it. What it had not begun to send goes to the next one,
    /// unless this one could not even be opened.
    pub(crate) fn fail_all(&mut self, current: &mut Current, index: usize, failure: Failure) {
        let was_ready = self.connections.get(index).is_some_and(Connection::is_ready);
        self.close(index);
        let is_lost = |slot: &usize| {
            let in_flight = self.slots.get(*slot).copied().flatten();
            in_flight.is_some_and(|in_flight| in_flight.written_ns > 0 || !was_ready)
        };
        // What takes the place of a failed request is none of them.
        let lost: Vec<usize> = self.slots_of(index).filter(is_lost).collect();
        for slot in lost {
            self.fail(current, slot, failure);
        }
        if was_ready {
            self.open_for_held(current, index);
        }
    }

    /// Books a failure and frees its stream, which rests when the connection could not even be opened.
    pub(super) fn fail(&mut self, current: &mut Current, slot: usize, failure: Failure) {
        let Some(in_flight) = self.slots.get_mut(slot).and_then(Option::take) else { return };
        let now = now_ns();
        current.look(now, self.in_flight, self.established);
        self.in_flight -= 1;
        if in_flight.recorded {
            current.record_end(&in_flight, slot / self.streams, Outcome::Failed(failure), now);
        }
        if in_flight.written_ns == 0 {
            self.resting.push_back((now + REST_NS, slot));
        } else {
            self.give_back(current, slot, now);
        }
    }

    pub(super) fn wake_resting(&mut self, current: &mut Current, now: u64) {
        while let Some(&(rest_ns, slot)) = self.resting.front()
            && rest_ns <= now
        {
            self.resting.pop_front();
            self.give_back(current, slot, now);
        }
    }
}

pub(crate) fn failure_of(trouble: &Trouble) -> Failure {
    match trouble {
        Trouble::Socket(Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT) => {
            Failure::Refused
        }
        Trouble::Socket(_) => Failure::Reset,
        Trouble::Tls(_) => Failure::Tls,
        Trouble::Alpn(_)
        | Trouble::Broken(Broken::NotHttp2 | Broken::NotUpgraded(_) | Broken::BadUpgrade) => {
            Failure::Protocol
        }
        #[cfg(feature = "http3")]
        Trouble::Broken(Broken::Quic(Quic::Alert(_))) => Failure::Tls,
        #[cfg(feature = "http3")]
        Trouble::Broken(Broken::Quic(_)) => Failure::Closed,
        Trouble::Broken(_) => Failure::Malformed,
        Trouble::Closed => Failure::Closed,
    }
}
