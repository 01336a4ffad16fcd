//! What is different on a connection of QUIC: datagrams come and go, and some of what it does is due by the clock.

use hoptax_host::clock::now_ns;
use hoptax_wire::Event;
use hoptax_wire::tls::Handshake;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::transport::{ConnectionError, Read, Scratch, Transport};

impl Transport {
    /// Whether a connection can begin at all.
    pub(super) fn check_datagrams(&mut self) -> Result<(), ConnectionError> {
        self.client.datagrams().map_or(Ok(()), |client| Ok(client.check()?))
    }

    /// Sends the datagrams that are due, as far as the socket takes them. The next one waits for room in `output`.
    pub(super) fn transmit_datagrams(&mut self) -> Result<(), Errno> {
        let Some(client) = self.client.datagrams() else { return Ok(()) };
        while !self.output.is_empty() || client.next_datagram(&mut self.output) {
            match rustix::net::send(&self.socket, &self.output, SendFlags::NOSIGNAL) {
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
    ) -> Result<(Read, Option<(u64, Handshake)>), ConnectionError> {
        let read = match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((count, _)) => count,
            Err(Errno::INTR) => 0,
            Err(Errno::AGAIN) => {
                self.transmit()?;
                return Ok((Read::WouldBlock, None));
            }
            Err(error) => return Err(error.into()),
        };
        let Some(client) = self.client.datagrams() else { unreachable!("datagrams are read of QUIC only") };
        client.feed(buffer.get(..read).unwrap_or_default(), &mut scratch.events)?;
        let handshake = client.take_handshake();
        let took_ns = now_ns().saturating_sub(self.connected_ns);
        Ok((Read::Bytes(buffer.len()), handshake.map(|done| (took_ns, done))))
    }

    /// Does what is due by the clock, and leaves in `events` what came of it.
    pub(crate) fn tick(&mut self, events: &mut Vec<Event>) -> Result<(), ConnectionError> {
        if let Some(client) = self.client.datagrams() {
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
