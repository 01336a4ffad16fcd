//! CPU time and run delay of processes and threads, and steal time, from `/proc`.
//!
//! CPU time is field 1 of `schedstat`, summed over the threads of a process. The scheduler counts it in nanoseconds;
//! unlike the user and system times of `/proc/PID/stat`, it is not scaled from ticks. Field 2 is the run delay: the
//! time that a task was runnable but not running (kernel documentation, `scheduler/sched-stats`). The kernel updates
//! the counts of a running task at the next tick or context switch, so they are exact only for a sleeping process.
//! The runner therefore reads them after all responses have arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::ops::Sub;
use std::os::unix::fs::FileExt as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::freeze::children;

/// CPU time and run delay of tasks, since they started or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskUse {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// Time runnable but not running, nanoseconds.
    pub run_delay_ns: u64,
}

impl Sub for TaskUse {
    type Output = Self;

    /// The use between two readings. Saturates at 0, as the counts of exited threads are missing from the later sum.
    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            run_delay_ns: self.run_delay_ns.saturating_sub(earlier.run_delay_ns),
        }
    }
}

/// CPU time and run delay of the threads of a process since they started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessUse {
    threads: BTreeMap<u32, TaskUse>,
}

impl ProcessUse {
    /// CPU time of all threads since they started, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.threads.values().map(|thread| thread.cpu_ns).sum()
    }

    /// Adds the threads of another process. Both then count as one process.
    pub fn join(&mut self, other: &Self) {
        self.threads.extend(other.threads.iter().map(|(id, used)| (*id, *used)));
    }

    /// The CPU time of all threads since an earlier reading, and their run delay caused by other processes. Threads
    /// of one process that share a processor delay each other, which is not a disturbance from outside. The run delay
    /// of each thread is therefore counted only where it exceeds the CPU time of its siblings.
    ///
    /// None if a thread of the earlier reading is missing or has used less than it had then: the process or the thread
    /// ended, or another one took its place, and its use in between is unknown. A thread that both started and ended
    /// between the readings is in neither and goes unnoticed.
    pub fn since(&self, earlier: &Self) -> Option<TaskUse> {
        let goes_on = |(id, before): (&u32, &TaskUse)| {
            self.threads
                .get(id)
                .is_some_and(|now| now.cpu_ns >= before.cpu_ns && now.run_delay_ns >= before.run_delay_ns)
        };
        if !earlier.threads.iter().all(goes_on) {
            return None;
        }
        let spans: Vec<TaskUse> = self.spans(earlier).collect();
        let cpu_ns = spans.iter().map(|span| span.cpu_ns).sum();
        let external = |span: &TaskUse| span.run_delay_ns.saturating_sub(cpu_ns - span.cpu_ns);
        Some(TaskUse { cpu_ns, run_delay_ns: spans.iter().map(external).sum() })
    }

    /// The CPU time since an earlier reading of the threads in both readings, nanoseconds. Threads that started or ended in between are
    /// left out.
    pub fn lasting_since_ns(&self, earlier: &Self) -> u64 {
        let lasting = self.threads.iter().filter_map(|(id, now)| Some((now, earlier.threads.get(id)?)));
        lasting.map(|(now, before)| (*now - *before).cpu_ns).sum()
    }

    /// The CPU time since an earlier reading of the thread that used most, nanoseconds; 0 without threads.
    pub fn busiest_since(&self, earlier: &Self) -> u64 {
        self.spans(earlier).map(|span| span.cpu_ns).max().unwrap_or(0)
    }

    /// The use of each thread since an earlier reading.
    fn spans(&self, earlier: &Self) -> impl Iterator<Item = TaskUse> {
        self.threads.iter().map(|(id, now)| *now - earlier.threads.get(id).copied().unwrap_or_default())
    }
}

/// The threads of a process by their ids, as [`process_use`] reads them.
impl FromIterator<(u32, TaskUse)> for ProcessUse {
    fn from_iter<I: IntoIterator<Item = (u32, TaskUse)>>(threads: I) -> Self {
        Self { threads: threads.into_iter().collect() }
    }
}

/// Reads the CPU time and run delay of all threads of process `process_id`.
///
/// # Errors
/// If the process has exited or `/proc` is unavailable.
pub fn process_use(process_id: u32) -> io::Result<ProcessUse> {
    let mut threads = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{process_id}/task"))? {
        let task = task?;
        let Some(id) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        match fs::read_to_string(task.path().join("schedstat")) {
            Ok(text) => {
                threads.insert(id, parse_schedstat(&text)?);
            }
            // A thread may exit between the listing and the read.
            Err(error) if matches!(error.raw_os_error(), Some(2 | 3)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ProcessUse { threads })
}

/// Reads the use of several processes, as if they were one. The threads of a process that has ended are missing, which
/// [`ProcessUse::since`] notices.
pub fn joint_use(process_ids: &BTreeSet<u32>) -> ProcessUse {
    let mut all = ProcessUse::default();
    for id in process_ids {
        all.join(&process_use(*id).unwrap_or_default());
    }
    all
}

/// Reads the use of all descendants of a process, as if they were one.
///
/// Where the kernel does not list children (`CONFIG_PROC_CHILDREN`), there are none.
pub fn descendants_use(process_id: u32) -> ProcessUse {
    let mut all = ProcessUse::default();
    let mut descendants = children(process_id).unwrap_or_default();
    while let Some(id) = descendants.pop() {
        // It may have ended meanwhile.
        all.join(&process_use(id).unwrap_or_default());
        descendants.extend(children(id).unwrap_or_default());
    }
    all
}

/// Resident memory of a process, bytes.
///
/// # Errors
/// If the process has exited or `/proc` is unavailable.
pub fn memory_bytes(process_id: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    bytes_of(&text, "VmRSS")
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no valid `VmRSS` in /proc/PID/status"))
}

/// The bytes that a line `NAME: N kB` of a file in `/proc` states.
pub(crate) fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let size = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    size.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// CPU time and run delay of one thread. Its file stays open, so that a process without free file descriptors can still be
/// accounted for.
#[derive(Debug)]
pub struct ThreadAccount {
    file: File,
}

impl ThreadAccount {
    /// Opens the account of the calling thread.
    ///
    /// # Errors
    /// If `/proc` is unavailable.
    pub fn current() -> io::Result<Self> {
        Ok(Self { file: File::open("/proc/thread-self/schedstat")? })
    }

    /// Reads the use of the thread since it started.
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn read(&self) -> io::Result<TaskUse> {
        // Three decimal numbers of at most 20 digits each.
        let mut text = [0; 64];
        let length = self.file.read_at(&mut text, 0)?;
        parse_schedstat(&String::from_utf8_lossy(&text[..length]))
    }
}

/// Returns true if the kernel counts CPU time per thread. Without `CONFIG_SCHEDSTATS` and with delay accounting off, the account of
/// each thread stays at 0, however long the thread ran.
///
/// # Errors
/// If the account of the calling thread cannot be read.
pub fn counts_cpu_time() -> io::Result<bool> {
    let account = ThreadAccount::current()?;
    let before = account.read()?;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1) {}
    // The kernel updates it when the thread stops.
    thread::sleep(Duration::from_millis(1));
    Ok(account.read()?.cpu_ns > before.cpu_ns)
}

fn parse_schedstat(text: &str) -> io::Result<TaskUse> {
    let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
    match (fields.next(), fields.next()) {
        (Some(Ok(cpu_ns)), Some(Ok(run_delay_ns))) => Ok(TaskUse { cpu_ns, run_delay_ns }),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("invalid schedstat line: `{}`", text.trim()),
        )),
    }
}

/// A tick of `/proc/stat`, nanoseconds. Its unit is 1/100 s (`USER_HZ`), independent of the kernel's own tick.
const TICK_NS: u64 = 10_000_000;

/// Time of one processor since boot, in ticks of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTicks {
    /// Total time.
    pub total: u64,
    /// Idle time, including I/O wait.
    pub idle: u64,
    /// Steal: time that the hypervisor ran others while this processor had work.
    pub steal: u64,
}

impl ProcessorTicks {
    /// Busy ticks: neither idle nor steal.
    pub fn busy_ticks(&self) -> u64 {
        self.total.saturating_sub(self.idle + self.steal)
    }

    /// Counts `spinner_cpu_ns` of the busy time as idle, because `/proc/stat` counts a spinner ([`crate::spinner`]) as busy.
    /// Rounds to whole ticks and moves at most the busy time, as the kernel may sample these counts at its ticks.
    #[must_use]
    pub fn with_spinner_as_idle(self, spinner_cpu_ns: u64) -> Self {
        let ticks = (spinner_cpu_ns.saturating_add(TICK_NS / 2)) / TICK_NS;
        Self { idle: self.idle + ticks.min(self.busy_ticks()), ..self }
    }
}

/// The ticks of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorReading {
    /// The number of the processor.
    pub processor: u32,
    /// Its ticks since the machine started.
    pub ticks: ProcessorTicks,
}

/// Reads the ticks of each processor.
///
/// # Errors
/// If `/proc/stat` cannot be read.
pub fn processor_ticks() -> io::Result<Vec<ProcessorReading>> {
    Ok(parse_stat(&fs::read_to_string("/proc/stat")?))
}

/// The ticks of `processors` between two readings of [`processor_ticks`], summed.
pub fn ticks_between(
    earlier: &[ProcessorReading],
    later: &[ProcessorReading],
    processors: &[u32],
) -> ProcessorTicks {
    let mut sum = ProcessorTicks::default();
    for after in later.iter().filter(|after| processors.contains(&after.processor)) {
        if let Some(before) = earlier.iter().find(|before| before.processor == after.processor) {
            let (before, after) = (before.ticks, after.ticks);
            sum.total += after.total.saturating_sub(before.total);
            sum.idle += after.idle.saturating_sub(before.idle);
            sum.steal += after.steal.saturating_sub(before.steal);
        }
    }
    sum
}

fn parse_stat(text: &str) -> Vec<ProcessorReading> {
    text.lines()
        .filter_map(|line| {
            let (name, fields) = line.split_once(' ')?;
            let processor = name.strip_prefix("cpu")?.parse().ok()?;
            let fields: Vec<u64> =
                fields.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
            // user nice system idle iowait irq softirq steal. Guest time is included in user.
            let total = fields.iter().take(8).sum();
            let field = |index: usize| fields.get(index).copied().unwrap_or(0);
            let ticks = ProcessorTicks { total, idle: field(3) + field(4), steal: field(7) };
            Some(ProcessorReading { processor, ticks })
        })
        .collect()
}

/// CPU time of all children of this process that were waited for, and of their waited-for descendants, nanoseconds.
///
/// # Errors
/// If `getrusage` fails.
pub fn ended_children_cpu_ns() -> io::Result<u64> {
    let used = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    let ns = |time: nix::sys::time::TimeVal| {
        (time.tv_sec() * 1_000_000_000 + time.tv_usec() * 1_000).cast_unsigned()
    };
    Ok(ns(used.user_time()) + ns(used.system_time()))
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    #[test]
    fn this_kernel_counts_cpu_time() {
        assert!(counts_cpu_time().unwrap());
    }

    #[test]
    fn cpu_time_is_counted_for_thread_and_process() {
        let account = ThreadAccount::current().unwrap();
        // The kernel's own clock of this thread: on a virtual machine, neither it nor an account counts the time that the host took.
        let clock = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let (thread, process) = loop {
            let before = (account.read().unwrap(), process_use(std::process::id()).unwrap());
            let end = clock() + Duration::from_millis(50);
            while clock() < end {
                std::hint::spin_loop();
            }
            // A context switch updates the counts.
            std::thread::sleep(Duration::from_millis(1));
            let thread = account.read().unwrap() - before.0;
            // None if another test of this process has just ended its thread.
            if let Some(process) = process_use(std::process::id()).unwrap().since(&before.1) {
                break (thread, process);
            }
        };
        assert!((50_000_000..100_000_000).contains(&thread.cpu_ns), "{thread:?}");
        assert!(process.cpu_ns >= thread.cpu_ns, "{process:?} {thread:?}");
    }

    /// A reading of threads: id, CPU time and run delay.
    fn reading(threads: &[(u32, u64, u64)]) -> ProcessUse {
        let used = |&(id, cpu_ns, run_delay_ns): &(u32, u64, u64)| (id, TaskUse { cpu_ns, run_delay_ns });
        threads.iter().map(used).collect()
    }

    #[test]
    fn run_delay_caused_by_sibling_threads_is_excluded() {
        let earlier = reading(&[(1, 100, 10), (2, 0, 0)]);
        // Threads 1 and 2 waited while the other ran; thread 3 is new.
        let own = reading(&[(1, 1100, 210), (2, 200, 900), (3, 50, 0)]);
        assert_eq!(own.since(&earlier), Some(TaskUse { cpu_ns: 1250, run_delay_ns: 0 }));
        let disturbed = reading(&[(1, 1100, 510), (2, 200, 900)]);
        assert_eq!(disturbed.since(&earlier), Some(TaskUse { cpu_ns: 1200, run_delay_ns: 300 }));
    }

    #[test]
    fn the_use_of_a_process_that_did_not_last_is_unknown() {
        let earlier = reading(&[(1, 100, 10), (2, 50, 0)]);
        assert_eq!(earlier.since(&earlier), Some(TaskUse::default()));
        assert_eq!(reading(&[(1, 150, 10)]).since(&earlier), None, "a thread ended");
        assert_eq!(reading(&[(7, 9_000, 0), (8, 20, 0)]).since(&earlier), None, "the process was restarted");
        assert_eq!(reading(&[(1, 99, 10), (2, 50, 0)]).since(&earlier), None, "its id was used again");
        assert_eq!(reading(&[(1, 100, 9), (2, 50, 0)]).since(&earlier), None, "its id was used again");
        assert_eq!(reading(&[]).since(&earlier), None, "nothing is left");
        assert_eq!(
            earlier.since(&ProcessUse::default()),
            Some(TaskUse { cpu_ns: 150, run_delay_ns: 0 }),
            "the process is new"
        );
    }

    #[test]
    fn a_restarted_process_has_no_use_since_the_reading_of_its_predecessor() {
        let start = || std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let mut first = start();
        let earlier = process_use(first.id()).unwrap();
        first.kill().unwrap();
        first.wait().unwrap();
        let mut second = start();
        let now = process_use(second.id()).unwrap();
        second.kill().unwrap();
        second.wait().unwrap();
        assert_eq!(now.since(&earlier), None);
    }

    #[test]
    fn processes_are_read_as_one_and_the_end_of_any_is_noticed() {
        let mut both = [(); 2].map(|()| std::process::Command::new("sleep").arg("1000").spawn().unwrap());
        let ids = both.iter().map(std::process::Child::id).collect();
        let earlier = joint_use(&ids);
        let lasted = joint_use(&ids).since(&earlier).is_some();
        for process in &mut both {
            process.kill().unwrap();
            process.wait().unwrap();
            assert_eq!(joint_use(&ids).since(&earlier), None);
        }
        assert!(lasted && earlier.threads.keys().eq(&ids), "{earlier:?}");
    }

    #[test]
    fn descendants_are_read_and_those_that_end_count_no_more() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; wait; read -r _"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let earlier = descendants_use(shell.id());
        let lasted = descendants_use(shell.id()).since(&earlier).is_some();
        let pid = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        assert!(lasted && earlier.threads.len() == 1 && earlier.threads.contains_key(&child), "{earlier:?}");
        // Until the shell has waited for it.
        crate::fixture::wait_until(|| descendants_use(shell.id()).since(&earlier).is_none());
        assert_eq!(descendants_use(shell.id()).lasting_since_ns(&earlier), 0);
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn sizes_are_converted_to_bytes() {
        assert_eq!(bytes_of("MemFree: 1 kB\nMemTotal:       2048 kB\n", "MemTotal"), Some(2048 * 1024));
        for none in ["", "MemTotalled: 1 kB\n", "MemTotal: many kB\n", "MemTotal: 1\n"] {
            assert_eq!(bytes_of(none, "MemTotal"), None, "{none}");
        }
    }

    #[test]
    fn an_exited_process_is_an_error() {
        assert!(process_use(u32::MAX).is_err());
    }

    #[test]
    fn an_invalid_schedstat_line_is_an_error() {
        assert_eq!(parse_schedstat("12 34 5\n").unwrap(), TaskUse { cpu_ns: 12, run_delay_ns: 34 });
        assert!(parse_schedstat("12").is_err());
        assert!(parse_schedstat("a b c").is_err());
    }

    #[test]
    fn steal_is_field_eight_and_only_the_given_processors_count() {
        let earlier =
            parse_stat("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 0 0 0 0 0 0 5 0 0\ncpu1 1 0 0 0 0 0 0 1 0 0\n");
        let later = parse_stat("cpu  9 9 9 9\ncpu0 2 0 0 10 0 0 0 8 0 0\ncpu1 1 0 0 0 0 0 0 1 0 0\nintr 5\n");
        assert_eq!(ticks_between(&earlier, &later, &[0]), ProcessorTicks { total: 14, idle: 10, steal: 3 });
        assert_eq!(ticks_between(&earlier, &later, &[1]), ProcessorTicks::default());
    }

    #[test]
    fn spinner_time_counts_as_idle_up_to_the_busy_time() {
        let ticks = ProcessorTicks { total: 100, idle: 20, steal: 10 };
        assert_eq!(ticks.busy_ticks(), 70);
        assert_eq!(ticks.with_spinner_as_idle(0), ticks);
        assert_eq!(ticks.with_spinner_as_idle(496_000_000), ProcessorTicks { idle: 70, ..ticks });
        assert_eq!(ticks.with_spinner_as_idle(5_000_000_000), ProcessorTicks { idle: 90, ..ticks });
    }
}
