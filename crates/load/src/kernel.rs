//! Kernel timestamps of a sample of requests (software `SO_TIMESTAMPING`): splits service time into the parts before,
//! on and after the wire.
//!
//! They are on the real-time clock and are compared only with readings of that clock. A read that spans several packets
//! gets the timestamp of the last one. One request is in flight per connection, so the transmit timestamp that is found
//! after a response belongs to its request.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use hoptax_result::KernelStamps;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt};
use rustix::io::Errno;

use crate::distribution::Distribution;

/// One in this many connections is sampled, including the first of each worker.
pub(crate) const SAMPLE_ONE_IN: usize = 16;

/// Size of the control buffer: three timestamps, and the extended error that carries them.
const CONTROL_BYTES: usize = 256;

/// Distributions of the times between timestamps.
#[expect(clippy::struct_field_names, reason = "each is a way to or from it")]
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    to_wire: Distribution,
    on_wire: Distribution,
    from_wire: Distribution,
}

impl Stamps {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.to_wire += &other.to_wire;
        self.on_wire += &other.on_wire;
        self.from_wire += &other.from_wire;
    }

    fn record(&mut self, one: Stamped) -> Option<()> {
        let sent_ns = one.sent_ns?;
        let received_ns = one.received_ns?;
        // If the clock was set back in between, the request is discarded.
        let to_wire_ns = sent_ns.checked_sub(one.written_ns)?;
        let on_wire_ns = received_ns.checked_sub(sent_ns)?;
        let from_wire_ns = one.read_ns.checked_sub(received_ns)?;
        self.to_wire.record(to_wire_ns);
        self.on_wire.record(on_wire_ns);
        self.from_wire.record(from_wire_ns);
        Some(())
    }

    /// The summary for a result.
    pub fn summary(&self) -> KernelStamps {
        KernelStamps {
            to_wire: self.to_wire.summary(),
            on_wire: self.on_wire.summary(),
            from_wire: self.from_wire.summary(),
        }
    }
}

/// The timestamps of one request, nanoseconds on the real-time clock.
#[expect(clippy::struct_field_names, reason = "the unit belongs into the name")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamped {
    pub(crate) written_ns: u64,
    sent_ns: Option<u64>,
    received_ns: Option<u64>,
    read_ns: u64,
}

impl Stamped {
    /// Starts a request. Discards the timestamps of earlier writes.
    pub(crate) fn begin(socket: &OwnedFd) -> Self {
        while take(socket, &mut [0], MsgFlags::MSG_ERRQUEUE).is_ok() {}
        Self { written_ns: wall_ns(), ..Self::default() }
    }

    /// Reads from the socket and stores the receive timestamp.
    pub(crate) fn read(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (count, stamp_ns) = take(socket, buffer, MsgFlags::empty())?;
        self.read_ns = wall_ns();
        self.received_ns = stamp_ns;
        Ok(count)
    }

    /// Records a request whose response is complete.
    pub(crate) fn finish(mut self, socket: &OwnedFd, stamps: &mut Stamps) {
        while let Ok((_, stamp_ns)) = take(socket, &mut [0], MsgFlags::MSG_ERRQUEUE) {
            self.sent_ns = stamp_ns.or(self.sent_ns);
        }
        stamps.record(self);
    }
}

/// Enables timestamps on a socket. The kernel starts to timestamp received packets some time later. Until then the
/// timestamp is that of the read, and the time from the wire is too short; the warm-up excludes these.
pub(crate) fn enable(socket: &OwnedFd) -> Result<(), Errno> {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
    setsockopt(socket, sockopt::Timestamping, &flags).map_err(|error| Errno::from_raw_os_error(error as i32))
}

/// Reads once from the socket or its error queue. Returns the number of bytes, and the timestamp that came with them.
fn take(socket: &OwnedFd, buffer: &mut [u8], flags: MsgFlags) -> Result<(usize, Option<u64>), Errno> {
    let mut space = vec![0; CONTROL_BYTES];
    let mut pieces = [IoSliceMut::new(buffer)];
    let flags = flags | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut pieces, Some(&mut space), flags)
        .map_err(|error| Errno::from_raw_os_error(error as i32))?;
    let mut stamp_ns = None;
    for part in message.cmsgs().into_iter().flatten() {
        if let ControlMessageOwned::ScmTimestampsns(stamps) = part {
            let system = stamps.system;
            stamp_ns = Some(system.tv_sec() as u64 * 1_000_000_000 + system.tv_nsec() as u64);
        }
    }
    Ok((message.bytes, stamp_ns))
}

fn wall_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_in_an_unread_socket_counts_as_time_from_the_wire() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut writer = client.try_clone().unwrap();
        let socket = OwnedFd::from(client);
        enable(&socket).unwrap();
        let mut exchange = || {
            let mut stamps = Stamps::default();
            let mut stamped = Stamped::begin(&socket);
            writer.write_all(b"get").unwrap();
            let mut request = [0; 3];
            server.read_exact(&mut request).unwrap();
            server.write_all(b"response").unwrap();
            thread::sleep(Duration::from_millis(30));
            assert_eq!(stamped.read(&socket, &mut [0; 64]).unwrap(), 8);
            stamped.finish(&socket, &mut stamps);
            stamps.summary()
        };
        // The kernel starts to timestamp received packets some time after timestamps are enabled.
        let is_stamped = |found: &KernelStamps| found.from_wire.min_us.is_some_and(|us| us >= 29_000.0);
        let found = (0..100)
            .map(|_| exchange())
            .find(is_stamped)
            .expect("one in a hundred responses has a receive timestamp");
        assert_eq!(found.from_wire.count, 1);
        assert!(found.on_wire.max_us.unwrap() < found.from_wire.min_us.unwrap(), "{found:?}");
    }

    #[test]
    fn timestamps_across_a_clock_step_are_discarded() {
        let mut stamps = Stamps::default();
        let back = Stamped { written_ns: 100, sent_ns: Some(50), received_ns: Some(60), read_ns: 70 };
        assert_eq!(stamps.record(back), None);
        assert_eq!(stamps.record(Stamped { sent_ns: None, ..back }), None);
        assert_eq!(stamps.record(Stamped { written_ns: 40, ..back }), Some(()));
    }
}
