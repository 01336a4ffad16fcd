//! A link between two network namespaces of our own, with a delay, jitter, rate and loss.
//!
//! Each namespace has a TUN device, and a thread of ours carries packets from one to the other: whole IP packets, so that
//! handshakes of TCP and TLS take their round trips and windows bind. This does what netem does in a kernel that has it, on
//! every kernel that has TUN, and in the same way everywhere. A packet departs when those before it have at the link's rate,
//! and arrives its delay later, never before one that departed earlier.

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
/// What callers that open a connection for every call need of the near end: all ports, and to use one again a second after
/// its last connection. With the defaults 14,000 connections in a minute make the kernel search for a free port for a
/// millisecond each.
const SETTINGS: [(&str, &str); 2] =
    [("/proc/sys/net/ipv4/ip_local_port_range", "1024 65535"), ("/proc/sys/net/ipv4/tcp_tw_reuse", "1")];
/// Packets that a device keeps for us: a burst of handshakes must not lose any.
const QUEUE_PACKETS: u32 = 10_000;
/// Bytes of a packet at most, as on Ethernet.
const PACKET_BYTES: u16 = 1500;
/// Packets that may wait for a link that has a rate, whatever their size; what comes then is lost, as netem does it.
const BACKLOG: usize = 1000;
/// Longest wait, so that the end is noticed.
const LONGEST_WAIT_NS: u64 = 50_000_000;

/// What a link is to be, each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// From departure to arrival.
    pub delay: Duration,
    /// By how much more or less that is for each packet, at most.
    pub jitter: Duration,
    /// Bits per second; none for no limit.
    pub rate: Option<u64>,
    /// Share of packets that is lost, 0 to 1.
    pub loss: f64,
    /// Seed of jitter and loss.
    pub seed: u64,
}

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device.
    #[error("cannot make a TUN device: {0}; the kernel needs /dev/net/tun, and you CAP_NET_ADMIN")]
    Device(#[source] io::Error),
}

/// A link; its ends are gone when it is dropped.
#[derive(Debug)]
pub struct Link {
    /// Where callers are.
    pub near: Namespace,
    /// Where servers are.
    pub far: Namespace,
    ways: Arc<[Way; 2]>,
    stop: Arc<AtomicBool>,
    carrier: Option<JoinHandle<io::Result<()>>>,
}

/// What went one way.
#[derive(Debug, Default)]
struct Way {
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
}

/// What a link has carried one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Packets that were lost.
    pub lost: u64,
}

impl Link {
    /// Makes two namespaces and joins them.
    ///
    /// # Errors
    /// Without the right to, or on a kernel without TUN.
    pub fn create(spec: &LinkSpec) -> Result<Self, LinkError> {
        let (near, far) = (Namespace::create()?, Namespace::create()?);
        let device = |address| {
            DeviceBuilder::new()
                .name("hoptax0")
                .ipv4(address, 24, None)
                .mtu(PACKET_BYTES)
                .build_sync()
                .and_then(|device| {
                    device.set_tx_queue_len(QUEUE_PACKETS)?;
                    device.set_nonblocking(true)?;
                    Ok(device)
                })
        };
        let devices = [
            near.within(|| device(NEAR))?.map_err(LinkError::Device)?,
            far.within(|| device(FAR))?.map_err(LinkError::Device)?,
        ];
        let set = || SETTINGS.iter().try_for_each(|(path, value)| fs::write(path, value));
        near.within(set)?.map_err(LinkError::Device)?;
        let ways: Arc<[Way; 2]> = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let carrier = Carrier::new(*spec, devices, Arc::clone(&ways));
        let stopped = Arc::clone(&stop);
        let carrier = thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || carrier.run(&stopped))
            .map_err(LinkError::Device)?;
        Ok(Self { near, far, ways, stop, carrier: Some(carrier) })
    }

    /// What it has carried so far: from near to far, and back.
    pub fn carried(&self) -> [Carried; 2] {
        let of = |way: &Way| Carried {
            packets: way.packets.load(Ordering::Relaxed),
            bytes: way.bytes.load(Ordering::Relaxed),
            lost: way.lost.load(Ordering::Relaxed),
        };
        let [there, back] = &*self.ways;
        [of(there), of(back)]
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(carrier) = self.carrier.take() {
            let _ = carrier.join();
        }
    }
}

/// What carries packets.
struct Carrier {
    spec: LinkSpec,
    devices: [SyncDevice; 2],
    ways: Arc<[Way; 2]>,
    lanes: [Lane; 2],
    random: SmallRng,
    spare: Vec<Vec<u8>>,
}

/// Packets under way in one direction.
#[derive(Default)]
struct Lane {
    packets: VecDeque<Packet>,
    /// When the last one has departed, and when it arrives.
    departed_ns: u64,
    arrives_ns: u64,
}

/// A packet under way.
struct Packet {
    departs_ns: u64,
    arrives_ns: u64,
    bytes: Vec<u8>,
}

impl Lane {
    /// Whether so many packets wait to depart that the next is lost.
    fn is_full(&self, now_ns: u64) -> bool {
        // They depart in their order.
        let departed = self.packets.partition_point(|packet| packet.departs_ns <= now_ns);
        self.packets.len() - departed >= BACKLOG
    }

    /// Takes a packet that the link's rate carries in `took_ns`.
    fn push(&mut self, now_ns: u64, took_ns: u64, delay_ns: u64, bytes: Vec<u8>) {
        self.departed_ns = now_ns.max(self.departed_ns) + took_ns;
        self.arrives_ns = self.arrives_ns.max(self.departed_ns + delay_ns);
        self.packets.push_back(Packet { departs_ns: self.departed_ns, arrives_ns: self.arrives_ns, bytes });
    }
}

impl Carrier {
    fn new(spec: LinkSpec, devices: [SyncDevice; 2], ways: Arc<[Way; 2]>) -> Self {
        Self {
            spec,
            devices,
            ways,
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
            let wait_ns = next.map_or(LONGEST_WAIT_NS, |next| next.saturating_sub(now).min(LONGEST_WAIT_NS));
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
                self.take(event.data.u64() as usize);
            }
            self.deliver();
        }
        Ok(())
    }

    /// Takes what has come at one end.
    fn take(&mut self, end: usize) {
        let (Some(device), Some(lane), Some(way)) =
            (self.devices.get(end), self.lanes.get_mut(end), self.ways.get(end))
        else {
            return;
        };
        loop {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(usize::from(PACKET_BYTES), 0);
            let Ok(length) = device.recv(&mut packet) else {
                self.spare.push(packet);
                return;
            };
            packet.truncate(length);
            let now = now_ns();
            let bits = length as u64 * 8;
            let took_ns = self.spec.rate.map_or(0, |rate| bits * 1_000_000_000 / rate.max(1));
            let is_full = self.spec.rate.is_some() && lane.is_full(now);
            if is_full || (self.spec.loss > 0.0 && self.random.random_bool(self.spec.loss.min(1.0))) {
                way.lost.fetch_add(1, Ordering::Relaxed);
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
            way.packets.fetch_add(1, Ordering::Relaxed);
            way.bytes.fetch_add(length as u64, Ordering::Relaxed);
            lane.push(now, took_ns, delay_ns, packet);
        }
    }

    /// Hands over what has arrived.
    fn deliver(&mut self) {
        let now = now_ns();
        for (from, lane) in self.lanes.iter_mut().enumerate() {
            let Some(device) = self.devices.get(1 - from) else { continue };
            while let Some(packet) = lane.packets.pop_front_if(|packet| packet.arrives_ns <= now) {
                // A device whose queue is full loses it, as a network does.
                let _ = device.send(&packet.bytes);
                self.spare.push(packet.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a packet takes of a link of 10 Mbit/s, nanoseconds.
    const FULL_NS: u64 = 1_200_000;
    const SMALL_NS: u64 = 41_600;

    #[test]
    fn a_backlog_is_of_packets_whatever_their_size() {
        let mut lane = Lane::default();
        for _ in 0..BACKLOG - 1 {
            lane.push(0, FULL_NS, 0, Vec::new());
        }
        // The small one waits for all of the full ones: 1.2 s, in which 28,800 of its size depart.
        assert!(!lane.is_full(0));
        lane.push(0, SMALL_NS, 0, Vec::new());
        assert!(lane.is_full(0));
        assert!(!lane.is_full(FULL_NS), "one has departed");
    }

    #[test]
    fn packets_on_their_way_are_no_backlog() {
        let mut lane = Lane::default();
        for number in 0..2 * BACKLOG as u64 {
            lane.push(number * FULL_NS, FULL_NS, 10_000_000_000, Vec::new());
        }
        assert!(!lane.is_full(2 * BACKLOG as u64 * FULL_NS));
        assert_eq!(lane.packets.len(), 2 * BACKLOG);
    }
}
