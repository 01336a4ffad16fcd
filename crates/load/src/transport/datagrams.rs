//! The QUIC part of a transport: datagrams and timers.

use hoptax_host::clock::now_ns;
use hoptax_wire::Event;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::{Read, Scratch, Transport};
use crate::connection_error::ConnectionError;

impl Transport {
    /// Checks that the QUIC connection could be created.
    pub(super) fn check_datagrams(&mut self) -> Result<(), ConnectionError> {
        self.client.datagrams().map_or(Ok(()), |client| Ok(client.check()?))
    }

    /// Sends pending datagrams until the socket blocks. The datagram that blocks stays in `output`.
    pub(super) fn transmit_datagrams(&mut self) -> Result<(), Errno> {
        let Some(client) = self.client.datagrams() else { return Ok(()) };
        while !self.output.is_empty() || client.next_datagram(&mut self.output) {
            match rustix::net::send(&self.socket, &self.output, SendFlags::NOSIGNAL) {
                // A full queue below the socket drops the datagram, like any loss; QUIC recovers.
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

    /// Reads and parses one datagram. When none is left, sends pending datagrams, so that one acknowledgement covers all.
    pub(super) fn read_datagram(
        &mut self,
        buffer: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<Read, ConnectionError> {
        let received = rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty());
        scratch.read_ns = now_ns();
        let read = match received {
            Ok((count, _)) => count,
            Err(Errno::INTR) => 0,
            Err(Errno::AGAIN) => {
                self.transmit()?;
                return Ok(Read::WouldBlock);
            }
            Err(error) => return Err(error.into()),
        };
        let Some(client) = self.client.datagrams() else { unreachable!("only QUIC reads datagrams") };
        client.feed(buffer.get(..read).unwrap_or_default(), &mut scratch.events)?;
        if let Some(handshake) = client.take_handshake() {
            scratch.handshake = Some((now_ns().saturating_sub(self.connected_ns), handshake));
        }
        Ok(Read::Bytes(buffer.len()))
    }

    /// Runs the QUIC timers that are due. Their protocol events are appended to `events`.
    pub(crate) fn tick(&mut self, events: &mut Vec<Event>) -> Result<(), ConnectionError> {
        if let Some(client) = self.client.datagrams() {
            client.tick(events)?;
            self.transmit_datagrams()?;
        }
        Ok(())
    }

    /// Sends `CONNECTION_CLOSE`.
    pub(super) fn close_quic(&mut self) {
        if let Some(client) = self.client.datagrams() {
            client.close();
            match self.transmit_datagrams() {
                // If it is lost, the server's idle timeout applies.
                Ok(()) | Err(_) => {}
            }
        }
    }
}
