//! What is different on a connection of QUIC: datagrams come and go, and some of what it does is due by the clock.

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::Handshake;
use hoptax_wire::{Client, Event};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::connection::{Connection, Read, Scratch, Trouble};
use crate::run::Current;
use crate::worker::{Worker, failure_of};

impl Connection {
    /// Whether the protocol has datagrams of its own in place of bytes.
    pub(super) fn has_datagrams(&self) -> bool {
        matches!(self.client, Client::Http3(_))
    }

    /// Whether a connection can begin at all.
    pub(super) fn check_datagrams(&mut self) -> Result<(), Trouble> {
        self.client.datagrams().map_or(Ok(()), |client| Ok(client.check()?))
    }

    /// Sends the datagrams that are due, as far as the socket takes them. The next one waits for room in `output`.
    pub(super) fn transmit_datagrams(&mut self) -> Result<(), Errno> {
        let (Some(socket), Some(client)) = (&self.socket, self.client.datagrams()) else { return Ok(()) };
        while !self.output.is_empty() || client.next_datagram(&mut self.output) {
            match rustix::net::send(socket, &self.output, SendFlags::NOSIGNAL) {
                // A queue behind the socket is full: lost as on any way, which QUIC mends.
                Ok(_) | Err(Errno::NOBUFS) => self.output.clear(),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.output.clear();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Reads one datagram and finds out what it means. When there is none left, what is due in turn is sent: one
    /// acknowledgement for all.
    pub(super) fn read_datagram(
        &mut self,
        buffer: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(Read, Option<(u64, Handshake)>), Trouble> {
        let (Some(socket), Some(client)) = (&self.socket, self.client.datagrams()) else {
            return Err(Errno::NOTCONN.into());
        };
        let read = match rustix::net::recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((count, _)) => count,
            Err(Errno::INTR) => 0,
            Err(Errno::AGAIN) => {
                self.transmit()?;
                return Ok((Read::Later, None));
            }
            Err(error) => return Err(error.into()),
        };
        client.feed(buffer.get(..read).unwrap_or_default(), &mut scratch.events)?;
        let handshake = client.take_handshake();
        self.look_ready();
        let took_ns = now_ns().saturating_sub(self.connected_ns);
        Ok((Read::Bytes(buffer.len()), handshake.map(|done| (took_ns, done))))
    }

    /// Does what is due by the clock, and leaves in `events` what came of it.
    pub(crate) fn tick(&mut self, events: &mut Vec<Event>) -> Result<(), Trouble> {
        if self.socket.is_some()
            && let Some(client) = self.client.datagrams()
        {
            client.tick(events)?;
            self.transmit_datagrams()?;
        }
        Ok(())
    }

    /// Tells the server that the connection ends.
    pub(super) fn say_goodbye(&mut self) {
        if let Some(client) = self.client.datagrams() {
            client.close();
            match self.transmit_datagrams() {
                // A server that is not told learns it in time.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

impl Worker {
    /// Does on all connections what is due by the clock.
    pub(crate) fn tick(&mut self, current: &mut Current, now: u64) {
        for index in 0..self.connections.len() {
            let mut events = Vec::new();
            let ticked = self.connections.get_mut(index).map_or(Ok(()), |one| one.tick(&mut events));
            for event in events {
                self.take_meaning(current, index, event, false, now);
            }
            if let Err(trouble) = ticked {
                self.fail_all(current, index, failure_of(&trouble));
            }
        }
    }
}
