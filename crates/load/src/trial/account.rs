//! Accounts for the CPU time and memory of given processes during a trial, usually those of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Range;

use hoptax_host::accounting::{ProcessUse, joint_use, memory_bytes, process_use};
use hoptax_host::clock::{now_ns, sleep_until};
use hoptax_host::running::Running;
use hoptax_host::usable::usable_processors;
use hoptax_result::ProcessAccount;

/// The processes that a trial accounts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accounted {
    /// Processes that are found when the trial begins.
    Running(Running),
    /// Processes with these ids, such as the proxies of an arm.
    Processes(BTreeSet<u32>),
}

impl Accounted {
    fn processes(&self) -> io::Result<BTreeSet<u32>> {
        match self {
            Self::Running(running) => running.processes(),
            Self::Processes(ids) => Ok(ids.clone()),
        }
    }
}

impl fmt::Display for Accounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running(running) => running.fmt(f),
            Self::Processes(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                write!(f, "pid {}", ids.join(", "))
            }
        }
    }
}

/// CPU time of each process over the record, nanoseconds, by its id. A process whose use is not known is missing. Empty if the record ended
/// early.
pub type CpuTimes = BTreeMap<u32, u64>;

/// The account of a trial that runs.
pub(super) struct Account<'a> {
    name: &'a Accounted,
    processes: BTreeSet<u32>,
    processors: f64,
    /// Counters before the first request.
    before: ProcessUse,
}

/// CPU time and memory between the two ends of the record.
pub(super) struct OverRecord {
    /// CPU time in processors; None if it is not known, or the record did not begin.
    cpu_processors: Option<f64>,
    memory_bytes: Option<u64>,
    cpu_times: CpuTimes,
}

/// The account of a trial whose responses are not counted yet.
pub(super) struct OverTrial {
    account: ProcessAccount,
    /// CPU time of each process in the record.
    pub(super) cpu_times: CpuTimes,
    /// CPU time from before the first request until all responses arrived.
    cpu_ns: Option<u64>,
}

impl<'a> Account<'a> {
    /// Finds the processes and reads their counters.
    ///
    /// # Errors
    /// When there are none.
    pub(super) fn begin(name: &'a Accounted) -> io::Result<Self> {
        let processes = name.processes()?;
        Ok(Self {
            name,
            processors: usable_processors(&processes)?,
            before: joint_use(&processes),
            processes,
        })
    }

    /// Waits for both ends of the record, and reads the counters there. `has_ended` tells of an early end.
    pub(super) fn over_record(&self, record_ns: Range<u64>, has_ended: impl Fn() -> bool) -> OverRecord {
        sleep_until(record_ns.start, &has_ended);
        let (from_ns, first) = (now_ns(), self.uses());
        sleep_until(record_ns.end, &has_ended);
        let (to_ns, last) = (now_ns(), self.uses());
        let has_begun = from_ns >= record_ns.start && to_ns > from_ns;
        let used = joined(&last).since(&joined(&first)).filter(|_| has_begun);
        let is_whole = has_begun && to_ns >= record_ns.end;
        let cpu_ns = |(id, last): (&u32, &ProcessUse)| Some((*id, last.since(first.get(id)?)?.cpu_ns));
        OverRecord {
            cpu_processors: used.map(|used| used.cpu_ns as f64 / (to_ns - from_ns) as f64),
            memory_bytes: self.processes.iter().map(|id| memory_bytes(*id).ok()).sum(),
            cpu_times: last.iter().filter(|_| is_whole).filter_map(cpu_ns).collect(),
        }
    }

    /// The use of each process that still runs.
    fn uses(&self) -> BTreeMap<u32, ProcessUse> {
        self.processes.iter().filter_map(|id| Some((*id, process_use(*id).ok()?))).collect()
    }

    /// Ends the account after the last response.
    pub(super) fn end(self, record: OverRecord) -> OverTrial {
        OverTrial {
            account: ProcessAccount {
                processes: self.name.to_string(),
                processors: self.processors,
                cpu_share: record.cpu_processors.map(|used| used / self.processors),
                cpu_us: None,
                memory_bytes: record.memory_bytes,
            },
            cpu_times: record.cpu_times,
            cpu_ns: joint_use(&self.processes).since(&self.before).map(|used| used.cpu_ns),
        }
    }
}

/// The use of several processes, as if they were one.
fn joined(uses: &BTreeMap<u32, ProcessUse>) -> ProcessUse {
    let mut all = ProcessUse::default();
    for one in uses.values() {
        all.join(one);
    }
    all
}

impl OverTrial {
    /// The account, given the number of responses, those of the warm-up included.
    pub(super) fn with_responses(self, responses: u64) -> ProcessAccount {
        let cpu_us = self.cpu_ns.filter(|_| responses > 0).map(|ns| ns as f64 / 1e3 / responses as f64);
        ProcessAccount { cpu_us, ..self.account }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Ends a process when dropped.
    struct Guarded(Child);

    impl Drop for Guarded {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn start(program: &str, arguments: &[&str]) -> (Guarded, Accounted) {
        let child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = Guarded(child.unwrap());
        let name = Accounted::Running(Running::Pid(child.0.id()));
        (child, name)
    }

    /// The account of processes over a record of 100 ms.
    fn account(name: &Accounted) -> OverTrial {
        let account = Account::begin(name).unwrap();
        let from_ns = now_ns();
        let record = account.over_record(from_ns..from_ns + 100_000_000, || false);
        account.end(record)
    }

    #[test]
    fn a_process_that_always_runs_uses_cpu_time_and_one_that_sleeps_uses_none() {
        let (busy, name) = start("sh", &["-c", "while :; do :; done"]);
        let accounted = account(&name);
        let cpu_ns = accounted.cpu_ns.unwrap();
        let found = accounted.with_responses(10);
        // Beside other work, it may get little, and a bit more than in the record alone.
        let in_record_ns = found.cpu_share.unwrap() * found.processors * 1e8;
        assert!(cpu_ns > 0 && in_record_ns > 0.0 && cpu_ns as f64 >= in_record_ns, "{found:?}");
        assert!((found.cpu_us.unwrap() - cpu_ns as f64 / 1e4).abs() < 1e-6, "{found:?}");
        assert!(found.processors > 0.0 && found.memory_bytes.unwrap() > 100_000, "{found:?}");
        assert_eq!(found.processes, format!("pid {}", busy.0.id()));
        let (_idle, name) = start("sleep", &["600"]);
        let found = account(&name).with_responses(0);
        assert!(found.cpu_us.is_none() && found.cpu_share.unwrap() < 0.5, "{found:?}");
    }

    #[test]
    fn each_process_has_its_own_cpu_time_between_the_ends_of_the_record() {
        let (busy, _) = start("sh", &["-c", "while :; do :; done"]);
        let (idle, _) = start("sleep", &["600"]);
        let (busy_id, idle_id) = (busy.0.id(), idle.0.id());
        let began_ns = now_ns();
        let found = account(&Accounted::Processes(BTreeSet::from([busy_id, idle_id]))).cpu_times;
        assert!(now_ns() >= began_ns + 100_000_000, "{found:?}");
        assert!(found.contains_key(&idle_id) && found[&busy_id] > 0, "{found:?}");
    }

    #[test]
    fn given_processes_are_named_by_their_ids() {
        let (one, _) = start("sleep", &["600"]);
        let (other, _) = start("sleep", &["600"]);
        let ids = BTreeSet::from([one.0.id(), other.0.id()]);
        let found = account(&Accounted::Processes(ids.clone())).with_responses(1);
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        assert_eq!(found.processes, format!("pid {}", ids.join(", ")));
        assert!(found.memory_bytes.unwrap() > 200_000, "{found:?}");
    }

    #[test]
    fn the_use_of_a_process_that_ended_is_not_known() {
        let (mut ends, name) = start("cat", &[]);
        let account = Account::begin(&name).unwrap();
        drop(ends.0.stdin.take());
        ends.0.wait().unwrap();
        let from_ns = now_ns();
        let record = account.over_record(from_ns..from_ns + 1_000_000, || false);
        let over_trial = account.end(record);
        assert!(over_trial.cpu_times.is_empty(), "{:?}", over_trial.cpu_times);
        let found = over_trial.with_responses(10);
        assert_eq!((found.cpu_us, found.memory_bytes), (None, None));
        assert!(Account::begin(&name).is_err());
    }

    #[test]
    fn a_record_that_ends_early_or_never_begins_is_not_waited_for() {
        let (_idle, name) = start("sleep", &["600"]);
        let account = Account::begin(&name).unwrap();
        let hour_ns = 3_600_000_000_000;
        let never = account.over_record(now_ns() + hour_ns..now_ns() + 2 * hour_ns, || true);
        assert!(never.cpu_processors.is_none() && never.cpu_times.is_empty());
        let asked = AtomicU32::new(0);
        let now = now_ns();
        let early = account.over_record(now..now + hour_ns, || asked.fetch_add(1, Ordering::Relaxed) > 1);
        assert!(early.cpu_processors.is_some() && early.cpu_times.is_empty(), "a part of the record");
    }
}
