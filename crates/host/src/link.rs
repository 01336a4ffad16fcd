//! An emulated link between two network namespaces, with delay, jitter, rate and loss.
//!
//! Each namespace has a TUN device, and a thread forwards IP packets between the two. TCP and TLS handshakes therefore take their
//! round trips, and TCP windows limit the throughput. The effect is that of netem, but needs only a kernel with TUN. A packet
//! departs after the earlier packets at the rate of the link, and arrives after the delay, never before an earlier packet.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::clock::now_ns;
use crate::namespace::{Namespace, NamespaceError};
use crate::processors;

/// The address of the near end.
pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The address of the far end.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Settings of a namespace for callers that open a connection per call: all ports, and reuse of a port one second after
/// its last connection. With the defaults, at 14,000 connections in a minute the kernel searches a millisecond for each free
/// port.
pub(crate) const CALLER_SETTINGS: [(&str, &str); 2] =
    [("/proc/sys/net/ipv4/ip_local_port_range", "1024 65535"), ("/proc/sys/net/ipv4/tcp_tw_reuse", "1")];
/// Transmit queue length of a device, packets: a burst of handshakes must not lose any.
const QUEUE_PACKETS: u32 = 10_000;
/// Maximum transmission unit, bytes: that of Ethernet.
const MTU_BYTES: u16 = 1500;
/// Queue limit of a link with a rate, packets of any size. Packets beyond it are dropped, as in netem.
const QUEUE_LIMIT: usize = 1000;
/// Maximum time in `epoll_wait`, nanoseconds: bounds how late the end is noticed.
const MAX_WAIT_NS: u64 = 50_000_000;

/// The properties of a link, the same in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Time from departure to arrival.
    pub delay: Duration,
    /// Maximum deviation from the delay, in both directions, drawn for each packet.
    pub jitter: Duration,
    /// Bits per second; none for no limit.
    pub rate: Option<u64>,
    /// Share of lost packets, 0 to 1.
    pub loss: f64,
    /// Random seed of jitter and loss.
    pub seed: u64,
}

/// An error of [`Link::create`].
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A namespace cannot be created or entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A TUN device cannot be created or configured.
    #[error("cannot create a TUN device: {0}; this needs /dev/net/tun and CAP_NET_ADMIN")]
    Device(#[source] io::Error),
}

/// A link. Dropping it stops the forwarding and removes both ends.
#[derive(Debug)]
pub struct Link {
    /// The namespace of callers.
    pub near: Namespace,
    /// The namespace of servers.
    pub far: Namespace,
    counters: Arc<[Counters; 2]>,
    stop: Arc<AtomicBool>,
    forwarder: Option<JoinHandle<io::Result<()>>>,
}

/// Counters of one direction.
#[derive(Debug, Default)]
struct Counters {
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
}

/// The traffic in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Forwarded packets.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Dropped packets.
    pub lost: u64,
}

impl Link {
    /// Creates two namespaces and links them.
    ///
    /// # Errors
    /// Without the required privileges, or on a kernel without TUN.
    pub fn create(spec: &LinkSpec) -> Result<Self, LinkError> {
        let (near, far) = (Namespace::create()?, Namespace::create()?);
        let device = |address| {
            DeviceBuilder::new().name("hoptax0").ipv4(address, 24, None).mtu(MTU_BYTES).build_sync().and_then(
                |device| {
                    device.set_tx_queue_len(QUEUE_PACKETS)?;
                    device.set_nonblocking(true)?;
                    Ok(device)
                },
            )
        };
        let devices = [
            near.within(|| device(NEAR))?.map_err(LinkError::Device)?,
            far.within(|| device(FAR))?.map_err(LinkError::Device)?,
        ];
        let set = || CALLER_SETTINGS.iter().try_for_each(|(path, value)| fs::write(path, value));
        near.within(set)?.map_err(LinkError::Device)?;
        let counters: Arc<[Counters; 2]> = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let forwarder = Forwarder::new(*spec, devices, Arc::clone(&counters));
        let stopped = Arc::clone(&stop);
        let forwarder = thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || forwarder.run(&stopped))
            .map_err(LinkError::Device)?;
        Ok(Self { near, far, counters, stop, forwarder: Some(forwarder) })
    }

    /// The traffic so far, from near to far and from far to near.
    pub fn carried(&self) -> [Carried; 2] {
        let read = |counters: &Counters| Carried {
            packets: counters.packets.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
            lost: counters.lost.load(Ordering::Relaxed),
        };
        let [outbound, inbound] = &*self.counters;
        [read(outbound), read(inbound)]
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(forwarder) = self.forwarder.take() {
            let _ = forwarder.join();
        }
    }
}

/// The state of the forwarding thread.
struct Forwarder {
    spec: LinkSpec,
    devices: [SyncDevice; 2],
    counters: Arc<[Counters; 2]>,
    lanes: [Lane; 2],
    random: SmallRng,
    /// Packet buffers for reuse.
    spare: Vec<Vec<u8>>,
}

/// Packets in flight in one direction.
#[derive(Default)]
struct Lane {
    packets: VecDeque<Packet>,
    /// Departure of the last packet.
    departed_ns: u64,
    /// Arrival of the last packet.
    arrives_ns: u64,
}

/// A packet in flight.
struct Packet {
    departs_ns: u64,
    arrives_ns: u64,
    bytes: Vec<u8>,
}

impl Lane {
    /// Returns true if the queue limit is reached and the next packet is dropped.
    fn is_full(&self, now_ns: u64) -> bool {
        // Packets depart in order.
        let departed = self.packets.partition_point(|packet| packet.departs_ns <= now_ns);
        self.packets.len() - departed >= QUEUE_LIMIT
    }

    /// Adds a packet whose transmission at the rate of the link takes `transmission_ns`.
    fn push(&mut self, now_ns: u64, transmission_ns: u64, delay_ns: u64, bytes: Vec<u8>) {
        self.departed_ns = now_ns.max(self.departed_ns) + transmission_ns;
        self.arrives_ns = self.arrives_ns.max(self.departed_ns + delay_ns);
        self.packets.push_back(Packet { departs_ns: self.departed_ns, arrives_ns: self.arrives_ns, bytes });
    }
}

impl Forwarder {
    fn new(spec: LinkSpec, devices: [SyncDevice; 2], counters: Arc<[Counters; 2]>) -> Self {
        Self {
            spec,
            devices,
            counters,
            lanes: [Lane::default(), Lane::default()],
            random: SmallRng::seed_from_u64(spec.seed),
            spare: Vec::new(),
        }
    }

    fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        processors::set_min_timer_slack()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, device) in self.devices.iter().enumerate() {
            epoll::add(&epoll, device, epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN)?;
        }
        let mut events = Vec::with_capacity(2);
        while !stop.load(Ordering::Relaxed) {
            let next = self
                .lanes
                .iter()
                .filter_map(|lane| lane.packets.front())
                .map(|packet| packet.arrives_ns)
                .min();
            let now = now_ns();
            let wait_ns = next.map_or(MAX_WAIT_NS, |next| next.saturating_sub(now).min(MAX_WAIT_NS));
            let timeout = Timespec {
                tv_sec: (wait_ns / 1_000_000_000) as i64,
                tv_nsec: (wait_ns % 1_000_000_000) as i64,
            };
            events.clear();
            match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.receive(event.data.u64() as usize);
            }
            self.deliver();
        }
        Ok(())
    }

    /// Reads all packets that one end has sent.
    fn receive(&mut self, end: usize) {
        let (Some(device), Some(lane), Some(counters)) =
            (self.devices.get(end), self.lanes.get_mut(end), self.counters.get(end))
        else {
            return;
        };
        loop {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(usize::from(MTU_BYTES), 0);
            let Ok(length) = device.recv(&mut packet) else {
                self.spare.push(packet);
                return;
            };
            packet.truncate(length);
            let now = now_ns();
            let bits = length as u64 * 8;
            let transmission_ns = self.spec.rate.map_or(0, |rate| bits * 1_000_000_000 / rate.max(1));
            let is_full = self.spec.rate.is_some() && lane.is_full(now);
            if is_full || (self.spec.loss > 0.0 && self.random.random_bool(self.spec.loss.min(1.0))) {
                counters.lost.fetch_add(1, Ordering::Relaxed);
                self.spare.push(packet);
                continue;
            }
            let delay_ns = self.spec.delay.as_nanos() as u64;
            let jitter_ns = self.spec.jitter.as_nanos() as u64;
            let delay_ns = if jitter_ns == 0 {
                delay_ns
            } else {
                self.random.random_range(delay_ns.saturating_sub(jitter_ns)..=delay_ns + jitter_ns)
            };
            counters.packets.fetch_add(1, Ordering::Relaxed);
            counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
            lane.push(now, transmission_ns, delay_ns, packet);
        }
    }

    /// Delivers the packets that have arrived.
    fn deliver(&mut self) {
        let now = now_ns();
        for (from, lane) in self.lanes.iter_mut().enumerate() {
            let Some(device) = self.devices.get(1 - from) else { continue };
            while let Some(packet) = lane.packets.pop_front_if(|packet| packet.arrives_ns <= now) {
                // A device with a full queue drops the packet, as a network does.
                let _ = device.send(&packet.bytes);
                self.spare.push(packet.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transmission time of a packet of 1,500 bytes at 10 Mbit/s, nanoseconds.
    const FULL_NS: u64 = 1_200_000;
    /// Transmission time of a packet of 52 bytes at 10 Mbit/s, nanoseconds.
    const SMALL_NS: u64 = 41_600;

    #[test]
    fn the_queue_limit_counts_packets_of_any_size() {
        let mut lane = Lane::default();
        for _ in 0..QUEUE_LIMIT - 1 {
            lane.push(0, FULL_NS, 0, Vec::new());
        }
        // The small packet waits for all full ones: 1.2 s, in which 28,800 small packets could depart.
        assert!(!lane.is_full(0));
        lane.push(0, SMALL_NS, 0, Vec::new());
        assert!(lane.is_full(0));
        assert!(!lane.is_full(FULL_NS), "one has departed");
    }

    #[test]
    fn departed_packets_do_not_count_towards_the_queue_limit() {
        let mut lane = Lane::default();
        for number in 0..2 * QUEUE_LIMIT as u64 {
            lane.push(number * FULL_NS, FULL_NS, 10_000_000_000, Vec::new());
        }
        assert!(!lane.is_full(2 * QUEUE_LIMIT as u64 * FULL_NS));
        assert_eq!(lane.packets.len(), 2 * QUEUE_LIMIT);
    }
}
