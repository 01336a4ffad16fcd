//! All counters of a subject and of the processes behind it at one moment, and the use between two readings.

use std::io;

use hoptax_host::accounting::{
    ProcessUse, ProcessorReading, TaskUse, descendants_use, joint_use, process_use,
};
use hoptax_host::awake::Awake;
use hoptax_host::link::Link;
use hoptax_host::network::Network;
use hoptax_host::parts::process_parts;
use hoptax_load::now_ns;
use hoptax_result::PartCounts;

use super::Setting;
use super::subject::Subject;

/// All counters at one moment.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) at_ns: u64,
    /// CPU time of each origin, with its descendants: the command of an application may be a script, or a server with worker processes.
    origins: Vec<ProcessUse>,
    /// CPU time of the processes that each origin started, for applications that are a script or have worker processes.
    workers: Vec<ProcessUse>,
    /// CPU time of the companion; empty for a subject that does not call it.
    companion: ProcessUse,
    pub(super) link_bytes: u64,
    /// Packets that arrived from callers in the network of the subject; 0 without one.
    pub(super) received_packets: u64,
    /// CPU time of each proxy.
    hops: Vec<ProcessUse>,
    /// Activity counters of all proxies; none where the kernel does not report them.
    parts: Option<PartCounts>,
    pub(super) ticks: Vec<ProcessorReading>,
    /// CPU time of a spinner on the processors of generator and origin.
    pub(super) spinner_ns: u64,
}

/// CPU time that processes used between two readings, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// CPU time of all proxies, and the time that they waited for a processor that none of them used.
    pub(super) proxies: TaskUse,
    /// CPU time of each proxy, in the order in which a request passes them.
    pub(super) hops_cpu_ns: Vec<u64>,
    /// CPU time of the busiest thread of all proxies.
    pub(super) busiest_thread_ns: u64,
    /// CPU time of all origins.
    pub(super) origin_cpu_ns: u64,
    /// CPU time of the companion; 0 for a subject that does not call it.
    pub(super) companion_cpu_ns: u64,
}

impl Reading {
    /// Reads the counters now.
    ///
    /// # Errors
    /// When a process is gone, or the kernel does not report its CPU time.
    pub(super) fn take(
        subject: &Subject,
        origins: &[u32],
        companion: Option<u32>,
        setting: &Setting<'_>,
        link: Option<&Link>,
    ) -> io::Result<Self> {
        let mut spinner_ns = 0;
        for (processor, cpu_ns) in setting.awake.map_or(Ok(Vec::new()), Awake::cpu_ns)? {
            if setting.placement.generator.contains(&processor) {
                spinner_ns += cpu_ns;
            }
        }
        Ok(Self {
            at_ns: now_ns(),
            origins: origins.iter().map(|id| process_use(*id)).collect::<io::Result<_>>()?,
            workers: origins.iter().map(|id| descendants_use(*id)).collect(),
            companion: companion.map(process_use).transpose()?.unwrap_or_default(),
            link_bytes: link.map_or(0, |link| link.carried().iter().map(|way| way.bytes).sum()),
            received_packets: subject
                .network
                .as_deref()
                .map_or(Ok(0), Network::received_packets)
                .map_err(io::Error::other)?,
            hops: hops(subject)?,
            parts: subject.processes().map(|id| process_parts(id).ok()).sum(),
            ticks: (setting.ticks)()?,
            spinner_ns,
        })
    }

    /// Returns the use of resources since an earlier reading. None if a process or a thread ended between the two readings: its use is then
    /// unknown.
    pub(super) fn since(&self, earlier: &Self) -> Option<Used> {
        let of_proxies = self.proxies_since(earlier)?;
        let mut origin_cpu_ns = 0;
        for (origin, earlier) in self.origins.iter().zip(&earlier.origins) {
            origin_cpu_ns += origin.since(earlier)?.cpu_ns;
        }
        // An application may replace its workers at any time, also while other arms are measured.
        for (workers, earlier) in self.workers.iter().zip(&earlier.workers) {
            origin_cpu_ns += workers.lasting_since_ns(earlier);
        }
        let companion_cpu_ns = self.companion.since(&earlier.companion)?.cpu_ns;
        Some(Used { origin_cpu_ns, companion_cpu_ns, ..of_proxies })
    }

    /// Returns the use of the proxies alone since an earlier reading, with 0 for all other processes; None as in [`Self::since`].
    pub(super) fn proxies_since(&self, earlier: &Self) -> Option<Used> {
        let mut hops_cpu_ns = Vec::with_capacity(self.hops.len());
        let (mut now, mut before) = (ProcessUse::default(), ProcessUse::default());
        for (hop, earlier) in self.hops.iter().zip(&earlier.hops) {
            hops_cpu_ns.push(hop.since(earlier)?.cpu_ns);
            now.join(hop);
            before.join(earlier);
        }
        let threads = self.hops.iter().zip(&earlier.hops).map(|(hop, earlier)| hop.busiest_since(earlier));
        let busiest_thread_ns = threads.max().unwrap_or(0);
        Some(Used { proxies: now.since(&before)?, hops_cpu_ns, busiest_thread_ns, ..Used::default() })
    }

    /// Activity of the proxies since an earlier reading, with the number of requests; none without a proxy, and where
    /// the kernel does not report it.
    pub(super) fn counts_since(&self, earlier: &Self, requests: u64) -> Option<PartCounts> {
        let done = self.parts.filter(|_| !self.hops.is_empty())? - earlier.parts?;
        Some(PartCounts { requests, ..done })
    }
}

/// CPU time of each proxy, or of all processes of an external server together.
fn hops(subject: &Subject) -> io::Result<Vec<ProcessUse>> {
    let Some(processes) = &subject.account else {
        return subject.proxies.iter().map(|proxy| process_use(proxy.id())).collect();
    };
    Ok(vec![joint_use(processes)])
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::runner::fixture;

    /// A process with one thread.
    fn process(id: u32, cpu_ns: u64) -> ProcessUse {
        [(id, TaskUse { cpu_ns, run_delay_ns: 0 })].into_iter().collect()
    }

    /// A chain of proxies, two origins and a companion, each with its process id and its CPU time.
    fn reading(hops: &[(u32, u64)], origins: [(u32, u64); 2], companion: (u32, u64)) -> Reading {
        let processes = |all: &[(u32, u64)]| all.iter().map(|(id, cpu_ns)| process(*id, *cpu_ns)).collect();
        Reading {
            hops: processes(hops),
            origins: processes(&origins),
            companion: process(companion.0, companion.1),
            ..Reading::default()
        }
    }

    #[test]
    fn every_proxy_of_a_long_chain_is_counted() {
        let at =
            |cpu_ns: u64| -> Vec<(u32, u64)> { (1..=5).map(|id| (id, cpu_ns * u64::from(id))).collect() };
        let before = reading(&at(100), [(11, 5), (12, 6)], (20, 7));
        let after = reading(&at(110), [(11, 8), (12, 7)], (20, 9));
        let used = after.since(&before).unwrap();
        assert_eq!(used.hops_cpu_ns, [10, 20, 30, 40, 50]);
        assert_eq!(used.busiest_thread_ns, 50);
        assert_eq!((used.proxies.cpu_ns, used.origin_cpu_ns, used.companion_cpu_ns), (150, 4, 2));
    }

    /// Takes a reading of an origin alone.
    fn of_origin(id: u32) -> Reading {
        fixture::with_setting(&[0], |setting| {
            Reading::take(&Subject::default(), &[id], None, setting, None).unwrap()
        })
    }

    #[test]
    fn what_the_worker_of_an_application_uses_is_used_by_the_application() {
        // The shell waits for a process that it started. This process works when it has read a line of input, and ends when the input ends.
        let script = "exec 3<&0; (echo ready; read -r _ <&3; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo done; \
                      read -r _ <&3) & wait";
        let mut wrapper = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(wrapper.stdout.take().unwrap()).lines();
        let mut next_line = || said.next().unwrap().unwrap();
        assert_eq!(next_line(), "ready");
        let (before, alone_before) = (of_origin(wrapper.id()), process_use(wrapper.id()).unwrap());
        wrapper.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        assert_eq!(next_line(), "done");
        let (after, alone) = (of_origin(wrapper.id()), process_use(wrapper.id()).unwrap());
        // It ends with its input.
        drop(wrapper.stdin.take());
        wrapper.wait().unwrap();
        let used = after.since(&before).unwrap().origin_cpu_ns;
        let alone = alone.since(&alone_before).unwrap().cpu_ns;
        // A step takes more than 5 ns on every machine, and the shell does nothing meanwhile.
        assert!(used > 1_000_000 && alone < used / 2, "{used} {alone}");
    }

    #[test]
    fn a_restarted_process_leaves_the_use_unknown() {
        let hops = [(1, 100), (2, 200)];
        let before = reading(&hops, [(11, 1_000), (12, 1_000)], (20, 1_000));
        assert!(before.since(&before).is_some());
        // With a saturating difference of sums, the first two would count as no CPU time at all, and the third as too much.
        for after in [
            reading(&hops, [(11, 1_000), (99, 3)], (20, 1_000)),
            reading(&hops, [(11, 1_000), (12, 1_000)], (99, 3)),
            reading(&hops, [(11, 1_000), (99, 5_000)], (20, 1_000)),
            reading(&[(1, 100), (99, 3)], [(11, 1_000), (12, 1_000)], (20, 1_000)),
        ] {
            assert_eq!(after.since(&before), None, "{after:?}");
        }
    }
}
